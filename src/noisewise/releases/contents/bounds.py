"""The contents of a `Bounds` release: estimated bounds, how accurate they are, and the lines to paste into a schema."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Final, Self, Unpack

import numpy as np

from noisewise.kinds import Bounds
from noisewise.releases.checks import LARGEST_ENTRY, number_of, plain_bytes, require, settle, whole_number
from noisewise.releases.contribution import Contribution, StoredHead
from noisewise.releases.fields import RecordFields, items, known_part, shape, shape_of
from noisewise.schema.basis import BasisColumn
from noisewise.schema.columns import UNFILLED, Categorical
from noisewise.schema.schema import Schema
from noisewise.schema.toml import to_toml

ROUNDING: Final = 20
"""Bounds are rounded by at most this fraction of their distance."""
SIDES: Final = ("lower", "upper")


@dataclass(frozen=True)
class ColumnBounds:
    """The bounds of one column; ``asked`` says which of them were estimated. The other one was known.

    With the stated probability, at most ``outside`` rows lie beyond each estimated bound, or the tail's share of the rows plus
    ``error`` if that is more. With fewer than ``rows_needed`` rows nothing is promised.
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
        """True if the lower bound is below the upper one. If not, there were too few rows for this epsilon."""
        return self.lower < self.upper

    def __post_init__(self) -> None:
        object.__setattr__(self, "asked", tuple(self.asked))
        require(self.asked != () and set(self.asked) <= set(SIDES),
                "bounds: asked must list which of lower and upper were estimated", self.asked)
        settle(self, number_of, *SIDES, where="bounds: {}", most=LARGEST_ENTRY**2)
        settle(self, whole_number, "outside", "error", "rows_needed", where="bounds: {}", least=0)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BoundsContribution(Contribution):
    """Bounds of columns, estimated under differential privacy, to declare in a schema.

    With ``probability``, their error stays below what is stated. ``sensitivity`` is that of the score of a candidate.
    """

    FIELDS: ClassVar[type[RecordFields]] = shape("BoundsFields", probability=float,
                                           columns=items(shape_of(ColumnBounds, asked=list[str])))

    columns: tuple[ColumnBounds, ...]
    probability: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", tuple(self.columns))
        settle(self, number_of, "probability")
        require(0 < self.probability < 1, "probability must be between 0 and 1", self.probability)
        require(self.delta == 0, "delta must be 0 for bounds", self.delta)

    def check_promise(self) -> None:
        """A selection states no noise, so nothing can contradict its epsilon."""

    def check(self, kind: Bounds, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Refuse columns other than the requested ones, columns with levels, and known bounds that were changed."""
        names = [column.name for column in self.columns]
        require(names == list(kind.of), "the bounds must be those of the requested columns, in their order", names)
        self.check_sensitivity(schema.unit.max_rows)
        for column in self.columns:
            require(not isinstance(schema.column(column.name), Categorical),
                    f"column '{column.name}': only numeric columns have bounds", "a column with levels")
            known = dict(zip(SIDES, kind.of[column.name], strict=True))
            wrong = [side for side, bound in known.items()
                     if (bound is None) != (side in column.asked) or (bound is not None and bound != getattr(column, side))]
            require(not wrong, f"column '{column.name}': known bounds must be unchanged, and the others estimated",
                    ", ".join(wrong))

    def __getitem__(self, name: str) -> tuple[float, float]:
        """The bounds of a column."""
        for column in self.columns:
            if column.name == name:
                return column.lower, column.upper
        raise KeyError(name)

    def to_toml(self) -> str:
        """Lines for a schema file. Columns without usable bounds are left to fill in."""
        return to_toml({"columns": {
            column.name: {"bounds": [_plain(column.lower), _plain(column.upper)] if column.usable else [UNFILLED, UNFILLED]}
            for column in self.columns}}).lstrip("\n")

    def fingerprint(self) -> bytes:
        """The SHA-256 digest of all bounds, known ones included, and of the privacy statement."""
        numbers = np.array([bound for column in self.columns for bound in (column.lower, column.upper)])
        return hashlib.sha256(plain_bytes(numbers) + self.statement.encode()).digest()

    def count(self) -> int:
        """The number of estimated bounds; known ones do not count."""
        return sum(len(column.asked) for column in self.columns)

    @classmethod
    def from_contents(cls, contents: RecordFields, kind: Bounds, schema: Schema, columns: Sequence[BasisColumn],
                      **head: Unpack[StoredHead]) -> Self:
        """Build the contribution from the validated fields alone; `check` compares it with the request."""
        found = tuple(ColumnBounds(**known_part(one)) for one in contents.columns)
        return cls(columns=found, probability=contents.probability, **head)

    def lines(self, kind: Bounds, schema: Schema) -> list[tuple[str, str]]:
        """Describe each column's bounds and their accuracy, or the rows that usable bounds need; then what was spent."""
        each = f", in equal parts for {self.count()} bounds" if self.count() > 1 else ""
        return [*((column.name, self._described(column, kind.tail)) for column in self.columns),
                ("spent", f"epsilon {_plain(self.epsilon)}, delta 0{each}"), ("missing", "cells without a number were left out")]

    def own_facts(self) -> dict[str, object]:
        """All of `contents`: the bounds, their accuracy and its probability."""
        return self.contents()

    def _described(self, column: ColumnBounds, tail: float) -> str:
        lower, upper = _plain(column.lower), _plain(column.upper)
        needed = f"{column.rows_needed:,} rows with a number"
        if not column.usable:
            return (f"no usable bounds: the lower bound came out above the upper one ({lower} and {upper}). At this "
                    f"epsilon at least {needed} are needed.")
        which = ("beyond each of these bounds, and neither bound lies" if len(column.asked) > 1 else
                 f"beyond the {column.asked[0]} bound, which does not lie")
        more = f" (or {tail * 100:g} % of the rows plus {column.error:,}, if that is more)" if tail else ""
        return (f"{lower} to {upper}. With probability {self.probability * 100:g} %, at most {column.outside:,} rows{more} lie "
                f"{which} further out than the outermost row, apart from rounding. This requires at least {needed}.")


def rounded_outwards(found: ColumnBounds) -> ColumnBounds:
    """The same bounds as rounder numbers: each estimated bound is moved outwards by at most a twentieth of their distance.

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
    """The largest 1, 2 or 5 times a power of ten that is at most this size."""
    power = Fraction(10) ** math.floor(math.log10(size))
    return max(factor * scale for scale in (power / 10, power, power * 10) for factor in (1, 2, 5) if factor * scale <= size)


def _plain(value: float) -> int | float:
    """The value as an integer if it is whole: 98, not 98.0."""
    return int(value) if value == int(value) and abs(value) < 1e15 else value


CONTRIBUTION = BoundsContribution
