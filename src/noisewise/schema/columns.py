"""The kinds of column: numbers with bounds, numbers without, and categories with levels.

Every cell of a declared column has a public meaning, whatever it holds: a number outside the bounds is clipped, a missing cell
becomes a fixed public value, and an undeclared level becomes a fixed public level. So reading a table never fails because of a
value in it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from noisewise.errors import DeclarationError

DROP: Final = "drop"
Level: TypeAlias = str | int | float | bool

UNKNOWN: Final = "unknown"
"""Declared in place of bounds that nobody knows: for releases of kind partition, or of kind bounds, which estimates them."""

UNFILLED: Final = "?"
"""Marks what a schema template leaves for the data holder to fill in."""


@dataclass(frozen=True)
class Numeric:
    """A column of numbers with declared bounds.

    >>> age = Numeric("age", 18, 98)
    >>> age.centre, age.half_width, age.fill
    (58.0, 40.0, 58.0)
    """

    name: str
    lower: float
    upper: float
    missing: float | Literal["drop"] | None = None

    def __post_init__(self) -> None:
        where = f"column '{self.name}'"
        check_text(self.name, "the name of a column")
        found = repr([self.lower, self.upper])
        if not (is_finite_number(self.lower) and is_finite_number(self.upper)):
            raise DeclarationError(f"{where}: bounds must be two finite numbers", found=found, remedy="declare bounds = [lowest, "
                                   f"highest] for '{self.name}' from public knowledge, not from the data")
        if not self.lower < self.upper:
            raise DeclarationError(f"{where}: the lower bound must be below the upper bound", found=found,
                                   remedy="swap or widen the bounds")
        if not 0 < self.half_width < math.inf:
            raise DeclarationError(f"{where}: the distance between the bounds must be positive and finite as a double",
                                   found=found, remedy="declare bounds whose distance a double can hold")
        if self.missing not in (None, DROP):
            if not is_finite_number(self.missing) or not float(self.lower) <= float(self.missing) <= float(self.upper):
                raise DeclarationError(f"{where}: missing must be a value within the bounds, or \"drop\"",
                                       found=repr(self.missing), remedy=f"choose a value between {self.lower} and {self.upper}, "
                                       "or leave it out to use the middle")

    @property
    def centre(self) -> float:
        """The middle between the bounds."""
        return float(self.lower) + self.half_width

    @property
    def half_width(self) -> float:
        """Half the distance between the bounds."""
        return (float(self.upper) - float(self.lower)) / 2

    @property
    def fill(self) -> float | Literal["drop"]:
        """The number that replaces a missing cell, or "drop" to leave out the row."""
        if self.missing is None:
            return self.centre
        return DROP if self.missing == DROP else float(self.missing)

    def to_dict(self) -> dict[str, object]:
        """The declaration as plain data."""
        return _given(bounds=[self.lower, self.upper], missing=self.missing)


@dataclass(frozen=True)
class Categorical:
    """A column of categories with declared levels; the first level is the reference.

    >>> ward = Categorical("ward", ("A", "B", "C"))
    >>> ward.fill, Categorical("ward", ("A", "B", "rest"), other="rest").unseen
    ('A', 'rest')
    """

    name: str
    levels: tuple[Level, ...]
    missing: Level | None = None
    other: Level | None = None

    def __post_init__(self) -> None:
        where = f"column '{self.name}'"
        check_text(self.name, "the name of a column")
        texts, found = [str(level) for level in self.levels], repr(list(self.levels))
        if any(not isinstance(level, (str, bool)) and not is_finite_number(level) for level in self.levels):
            raise DeclarationError(f"{where}: levels must be strings, finite numbers or booleans", found=found)
        for level in self.levels:
            check_text(level, f"{where}: a level")
        if UNFILLED in texts:
            raise DeclarationError(f"{where}: its levels have not been filled in", found=found, remedy="list every level of "
                                   f"'{self.name}', from public knowledge, with the reference level first")
        if DROP in texts:
            raise DeclarationError(f"{where}: \"{DROP}\" cannot be a level, because missing = \"{DROP}\" leaves rows out",
                                   found=found, remedy="give that level another name in the table")
        # Check both: the strings "1" and "1.0" differ, while the values 1, 1.0 and true are equal.
        if min(len(set(texts)), len(set(self.levels))) < max(2, len(texts)):
            raise DeclarationError(f"{where}: levels must be at least two different values", found=found,
                                   remedy="list each level once, with the reference level first")
        for key, value in (("missing", self.missing), ("other", self.other)):
            allowed: tuple[Level, ...] = self.levels + ((DROP,) if key == "missing" else ())
            # Compare strings too: True equals 1, and levels are told apart by their strings.
            if value is not None and not any(value == level and str(value) == str(level) for level in allowed):
                rule = f"{where}: {key} must be one of the declared levels" + (" or \"drop\"" if key == "missing" else "")
                raise DeclarationError(rule, found=repr(value), remedy=f"add {value!r} to levels or choose one of {found}")

    @property
    def fill(self) -> Level:
        """The level that replaces a missing cell, or "drop" to leave out the row."""
        if self.missing is not None:
            return self.missing
        return self.levels[0] if self.other is None else self.other

    @property
    def unseen(self) -> Level:
        """The level that replaces an undeclared one."""
        return self.fill if self.other is None else self.other

    @property
    def two_level(self) -> bool:
        """True for a column with two levels, which is coded −1/+1, like a number between 0 and 1."""
        return len(self.levels) == 2

    def to_dict(self) -> dict[str, object]:
        """The declaration as plain data."""
        return _given(levels=list(self.levels), missing=self.missing, other=self.other)


@dataclass(frozen=True)
class Unbounded:
    """A column of numbers without known bounds. A missing cell drops its row or becomes a fixed value.

    >>> Unbounded("income").fill
    'drop'
    """

    name: str
    missing: float | Literal["drop"] | None = None

    def __post_init__(self) -> None:
        check_text(self.name, "the name of a column")
        if self.missing not in (None, DROP) and not is_finite_number(self.missing):
            raise DeclarationError(f"column '{self.name}': missing must be a number, or \"drop\"", found=repr(self.missing),
                                   remedy="choose a number, or leave missing out to drop the row")

    @property
    def fill(self) -> float | Literal["drop"]:
        """The number that replaces a missing cell, or "drop" to leave out the row."""
        return DROP if self.missing is None or self.missing == DROP else float(self.missing)

    def to_dict(self) -> dict[str, object]:
        """The declaration as plain data."""
        return _given(bounds=UNKNOWN, missing=self.missing)


Column: TypeAlias = Numeric | Categorical | Unbounded


def _given(**declared: object) -> dict[str, object]:
    return {key: value for key, value in declared.items() if value is not None}


def column_from_dict(name: str, declared: object) -> Column:
    """The column that a part of a schema file declares."""
    where = f"column '{name}'"
    if not isinstance(declared, dict):
        raise DeclarationError(f"{where}: a column is declared with bounds or levels", found=repr(declared),
                               remedy=f"write [columns.{name}] with bounds = [lowest, highest] or levels = [...]")
    unknown = set(declared) - {"bounds", "levels", "missing", "other"}
    if unknown:
        raise DeclarationError(f"{where}: unknown key", found=", ".join(sorted(map(str, unknown))),
                               remedy="a column has bounds or levels, and optionally missing and other")
    if ("bounds" in declared) == ("levels" in declared):
        raise DeclarationError(f"{where}: exactly one of bounds and levels must be declared",
                               found="both" if "bounds" in declared else "neither", remedy=f"give '{name}' bounds = [lowest, "
                               "highest] if it is a number, or levels = [...] if it is a category")
    if "levels" in declared:
        levels = declared["levels"]
        if not isinstance(levels, (list, tuple)):
            raise DeclarationError(f"{where}: levels must be a list", found=repr(levels), remedy="write levels = [\"A\", \"B\"]")
        return Categorical(name, tuple(levels), declared.get("missing"), declared.get("other"))
    bounds = declared["bounds"]
    if bounds == UNKNOWN and "other" not in declared:
        return Unbounded(name, declared.get("missing"))
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2:
        raise DeclarationError(f"{where}: bounds must be a list of two numbers", found=repr(bounds),
                               remedy="write bounds = [lowest, highest], or bounds = \"unknown\" for a partition release, which "
                               "needs none")
    if UNFILLED in bounds:
        raise DeclarationError(f"{where}: its bounds have not been filled in", found=repr(list(bounds)),
                               remedy=f"give '{name}' the lowest and highest possible values, from public knowledge, not from "
                               "the data; if nobody knows them, `noisewise bounds` estimates them privately")
    if "other" in declared:
        raise DeclarationError(f"{where}: other is only for columns with levels", remedy="use missing = <value>")
    return Numeric(name, bounds[0], bounds[1], declared.get("missing"))


def is_finite_number(value: object) -> bool:
    """True for an int or float that a release file can hold; booleans do not count."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value) and (isinstance(value, float) or abs(value) < 2**63)
    except OverflowError:  # a whole number beyond the largest double
        return False


def check_text(value: object, what: str) -> None:
    """Refuse a string that a release file cannot hold, with control characters or halves of surrogate pairs."""
    if isinstance(value, str) and re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", value):
        raise DeclarationError(f"{what} must not contain control characters", found=ascii(value))
