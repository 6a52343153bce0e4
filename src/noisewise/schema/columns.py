"""The kinds of column: numbers with bounds, numbers without, and categories with levels.

Every cell of a declared column has a public meaning, whatever it holds: a number outside the bounds is clipped, a missing
cell takes a public fixed value, a level that was not declared takes a public fixed level. So reading a table can never fail
because of a value in it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from noisewise.errors import DeclarationError

DROP: Final = "drop"
Level: TypeAlias = str | int | float | bool

UNKNOWN: Final = "unknown"
"""Declared instead of bounds where nobody knows any: for releases of kind partition, or of kind bounds, which finds some."""

UNFILLED: Final = "?"
"""What a schema template holds where only the data holder can know the answer."""


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
            raise DeclarationError(f"{where}: the distance between the bounds must be a positive finite number", found=found,
                                   remedy="declare bounds that a double can tell apart and subtract")
        if self.missing not in (None, DROP):
            if not is_finite_number(self.missing) or not float(self.lower) <= float(self.missing) <= float(self.upper):
                raise DeclarationError(f"{where}: missing must be a value within the bounds, or \"drop\"",
                                       found=repr(self.missing), remedy=f"choose a value between {self.lower} and {self.upper}, "
                                       "or leave it out (the middle is used)")

    @property
    def centre(self) -> float:
        return float(self.lower) + self.half_width

    @property
    def half_width(self) -> float:
        return (float(self.upper) - float(self.lower)) / 2

    @property
    def fill(self) -> float | Literal["drop"]:
        """What stands for a missing cell: a number, or "drop" for the whole row."""
        if self.missing is None:
            return self.centre
        return DROP if self.missing == DROP else float(self.missing)

    def to_dict(self) -> dict[str, Any]:
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
            raise DeclarationError(f"{where}: levels must be texts, finite numbers or booleans", found=found)
        for level in self.levels:
            check_text(level, f"{where}: a level")
        if UNFILLED in texts:
            raise DeclarationError(f"{where}: its levels have not been filled in", found=found, remedy="list every level of "
                                   f"'{self.name}' from public knowledge, the reference level first")
        if DROP in texts:
            raise DeclarationError(f"{where}: \"{DROP}\" cannot be a level, because missing = \"{DROP}\" leaves rows out",
                                   found=found, remedy="give that level another name in the table")
        # Both, because the texts "1" and "1.0" are different and the values 1, 1.0 and true are equal.
        if min(len(set(texts)), len(set(self.levels))) < max(2, len(texts)):
            raise DeclarationError(f"{where}: levels must be at least two different values", found=found,
                                   remedy="list each level once, the reference level first")
        for key, value in (("missing", self.missing), ("other", self.other)):
            allowed: tuple[Level, ...] = self.levels + ((DROP,) if key == "missing" else ())
            # Text and value, because True equals 1 and a level is told from others by its text.
            if value is not None and not any(value == level and str(value) == str(level) for level in allowed):
                rule = f"{where}: {key} must be one of the declared levels" + (" or \"drop\"" if key == "missing" else "")
                raise DeclarationError(rule, found=repr(value), remedy=f"add {value!r} to levels or choose among {found}")

    @property
    def fill(self) -> Level:
        """What stands for a missing cell: a level, or "drop" for the whole row."""
        if self.missing is not None:
            return self.missing
        return self.levels[0] if self.other is None else self.other

    @property
    def unseen(self) -> Level:
        """What stands for a value that is not a declared level."""
        return self.fill if self.other is None else self.other

    @property
    def two_level(self) -> bool:
        """A two-level column is coded −1/+1, like a number between 0 and 1."""
        return len(self.levels) == 2

    def to_dict(self) -> dict[str, Any]:
        return _given(levels=list(self.levels), missing=self.missing, other=self.other)


@dataclass(frozen=True)
class Unbounded:
    """A column of numbers of which no bounds are known. A row in which it is missing is left out, or it takes a fixed value.

    >>> Unbounded("income").fill
    'drop'
    """

    name: str
    missing: float | Literal["drop"] | None = None

    def __post_init__(self) -> None:
        check_text(self.name, "the name of a column")
        if self.missing not in (None, DROP) and not is_finite_number(self.missing):
            raise DeclarationError(f"column '{self.name}': missing must be a number, or \"drop\"", found=repr(self.missing),
                                   remedy="choose a number, or leave it out (the row is left out)")

    @property
    def fill(self) -> float | Literal["drop"]:
        """What stands for a missing cell: a number, or "drop" for the whole row."""
        return DROP if self.missing is None or self.missing == DROP else float(self.missing)

    def to_dict(self) -> dict[str, Any]:
        return _given(bounds=UNKNOWN, missing=self.missing)


Column: TypeAlias = Numeric | Categorical | Unbounded


def _given(**declared: Any) -> dict[str, Any]:
    return {key: value for key, value in declared.items() if value is not None}


def column_from_dict(name: str, declared: object) -> Column:
    """One column from its part of a schema file."""
    where = f"column '{name}'"
    if not isinstance(declared, dict):
        raise DeclarationError(f"{where}: a column is declared by bounds or levels", found=repr(declared),
                               remedy=f"write [columns.{name}] with bounds = [lowest, highest] or levels = [...]")
    unknown = set(declared) - {"bounds", "levels", "missing", "other"}
    if unknown:
        raise DeclarationError(f"{where}: unknown key", found=", ".join(sorted(map(str, unknown))),
                               remedy="a column has bounds or levels, and optionally missing and other")
    if ("bounds" in declared) == ("levels" in declared):
        raise DeclarationError(f"{where}: exactly one of bounds and levels must be declared",
                               found="both" if "bounds" in declared else "neither", remedy=f"give '{name}' bounds = [lowest, "
                               "highest] if it is a number, levels = [...] if it is a category")
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
                               remedy="write bounds = [lowest, highest]; or bounds = \"unknown\" for a partition release, which "
                               "needs none")
    if UNFILLED in bounds:
        raise DeclarationError(f"{where}: its bounds have not been filled in", found=repr(list(bounds)),
                               remedy=f"give '{name}' the lowest and highest value that are possible, from public knowledge, not "
                               "from the data; `noisewise bounds` estimates them privately if nobody knows them")
    if "other" in declared:
        raise DeclarationError(f"{where}: other belongs to columns with levels", remedy="use missing = <value>")
    return Numeric(name, bounds[0], bounds[1], declared.get("missing"))


def is_finite_number(value: object) -> bool:
    """Whether this is an int or a float, no boolean, that a release file can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value) and (isinstance(value, float) or abs(value) < 2**63)
    except OverflowError:  # a whole number beyond the largest double
        return False


def check_text(value: object, what: str) -> None:
    """Refuse text that a release file cannot hold: control characters and halves of surrogate pairs."""
    if isinstance(value, str) and re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", value):
        raise DeclarationError(f"{what} must be text without control characters", found=ascii(value))
