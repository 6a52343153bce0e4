"""Suggested bounds: a few noisy numbers, what they cost, what may be expected of them, and the lines to paste into a schema."""

from __future__ import annotations

import json
import math
import textwrap
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from typing import Any, Final

from noisewise.errors import ReleaseFormatError
from noisewise.schema.columns import UNFILLED
from noisewise.schema.toml import to_toml

FORMAT: Final = "noisewise-bounds"
VERSION: Final = "1.0"
ROUNDING: Final = 20
"""Bounds are rounded by at most this part of their distance."""
_WIDTH: Final = 100


@dataclass(frozen=True)
class ColumnBounds:
    """The bounds of one column; ``asked`` says which of the two were estimated, the other one was known.

    ``outside``: with the stated probability at most so many rows lie outside each estimated bound, or the tail's share of the
    rows and ``error`` more. ``rows_needed``: with fewer rows than this nothing is promised.
    """

    name: str
    lower: float
    upper: float
    asked: tuple[str, ...]
    outside: int
    error: int
    rows_needed: int

    @property
    def usable(self) -> bool:
        """Whether the lower one is below the upper one: if not, there were too few rows for this epsilon."""
        return self.lower < self.upper


@dataclass(frozen=True)
class SuggestedBounds:
    """Bounds of columns that were estimated under differential privacy, to be declared in a schema.

    They may be given to anyone, like a release: what they cost is in ``epsilon``, and delta is zero.
    """

    columns: tuple[ColumnBounds, ...]
    epsilon: float
    tail: float
    digits: int
    probability: float
    adjacency: str
    unit: str | dict[str, Any]
    partition: dict[str, str]
    statement: str
    created: str
    library: str

    def __getitem__(self, name: str) -> tuple[float, float]:
        """The bounds of a column."""
        for column in self.columns:
            if column.name == name:
                return column.lower, column.upper
        raise KeyError(name)

    def to_toml(self) -> str:
        """Lines for a schema file; a column whose bounds are of no use is left open."""
        return to_toml({"columns": {
            column.name: {"bounds": [_plain(column.lower), _plain(column.upper)] if column.usable else [UNFILLED, UNFILLED]}
            for column in self.columns}}).lstrip("\n")

    def describe(self) -> str:
        """What was found, what it cost and how far off it may be, in words."""
        asked = sum(len(column.asked) for column in self.columns)
        lines = ["suggested bounds", *(line for column in self.columns for line in _in_words(column, self))]
        parts = f", in equal parts for {asked} bounds" if asked > 1 else ""
        lines += _wrap("spent", f"epsilon {_plain(self.epsilon)}, delta 0{parts}")
        lines += _wrap("promise", self.statement)
        lines += _wrap("missing", "cells without a number were left out")
        return "\n".join(lines)

    def __repr__(self) -> str:
        found = ", ".join(f"{column.name} {column.lower:g} to {column.upper:g}" for column in self.columns)
        return f"<SuggestedBounds: {found}; {self.adjacency}, epsilon {self.epsilon}>"

    def _repr_html_(self) -> str:
        from noisewise.notebook import described

        return described(self.describe())

    def document(self) -> dict[str, Any]:
        """For machines."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    def encode(self) -> bytes:
        return json.dumps(self.document(), sort_keys=True, allow_nan=False).encode()

    @classmethod
    def decode(cls, content: bytes) -> SuggestedBounds:
        """Read what `encode` wrote."""
        try:
            stored = json.loads(content)
            if stored.pop("format") != FORMAT or stored.pop("version") != VERSION:
                raise ValueError
            names = {field.name for field in fields(cls)}
            columns = tuple(ColumnBounds(**{**column, "asked": tuple(column["asked"])}) for column in stored["columns"])
            return cls(**{**{name: stored[name] for name in names}, "columns": columns})
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ReleaseFormatError("what is stored for this request are no bounds", found="another document",
                                     remedy="see noisewise ledger verify") from None


def rounded_outwards(found: ColumnBounds) -> ColumnBounds:
    """The same with rounder numbers: estimated bounds are moved outwards, each by at most a twentieth of their distance.

    >>> found = rounded_outwards(ColumnBounds("age", 22.4, 94.9, ("lower", "upper"), 117, 58, 235))
    >>> found.lower, found.upper
    (22.0, 96.0)
    """
    if not found.usable:
        return found
    lower, upper = (Fraction(repr(bound)) for bound in (found.lower, found.upper))
    step = _step_below((upper - lower) / ROUNDING)
    moved = {"lower": float(math.floor(lower / step) * step), "upper": float(math.ceil(upper / step) * step)}
    return replace(found, **{side: moved[side] for side in found.asked})  # type: ignore[arg-type]


def _step_below(size: Fraction) -> Fraction:
    """The largest 1, 2 or 5 times a power of ten that is not above a size."""
    power = Fraction(10) ** math.floor(math.log10(size))
    return max(factor * scale for scale in (power / 10, power, power * 10) for factor in (1, 2, 5) if factor * scale <= size)


def _in_words(column: ColumnBounds, found: SuggestedBounds) -> list[str]:
    lower, upper = _plain(column.lower), _plain(column.upper)
    needed = f"{column.rows_needed:,} rows with a number"
    if not column.usable:
        return _wrap(column.name, f"nothing that could be used: the lower bound came out above the upper one ({lower} and "
                     f"{upper}). At this epsilon at least {needed} are needed.")
    which = ("beyond each of these bounds, and neither lies" if len(column.asked) > 1 else
             f"beyond the {column.asked[0]} bound, which does not lie")
    more = f" (or {found.tail * 100:g} % of the rows and {column.error:,}, if that is more)" if found.tail else ""
    return _wrap(column.name, f"{lower} to {upper}. With probability {found.probability * 100:g} % at most {column.outside:,} "
                 f"rows{more} lie {which} further out than the outermost row, but for rounding. That needs at least {needed}.")


def _wrap(label: str, words: str) -> list[str]:
    return textwrap.wrap(words, _WIDTH, initial_indent=f"  {label:<12}", subsequent_indent=" " * 14) or [f"  {label}"]


def _plain(value: float) -> int | float:
    """A whole number as such: 98, not 98.0."""
    return int(value) if value == int(value) and abs(value) < 1e15 else value


def request_of(blank: SuggestedBounds, edition: str) -> dict[str, Any]:
    """All that the result depends on besides the rows, without what follows from the rest; ``blank`` has no estimates yet."""
    asked = {key: value for key, value in blank.document().items() if key not in ("version", "statement", "created", "library")}
    columns = [[column.name, column.asked, column.lower, column.upper] for column in blank.columns]
    return {**asked, "columns": columns, "edition": edition}
