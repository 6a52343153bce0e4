"""The first look at a table: which sums it has, and what they say about each declared column.

A number in [−1, 1] (its scaled value) has the sum of its values and that of its squares; a category one sum for each level but
the first (for two levels, of −1 and 1); a count as response one sum for each range of counts: 0, 1, 2–3, 4–7, and so on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from noisewise.arrays import Array
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.columns import Numeric
from noisewise.schema.schema import Schema
from noisewise.scores.families import Family
from noisewise.scores.rounds import Look

DEFAULT_SD = 1.0 / 3.0
"""Standard deviation of a scaled number, and how far its mean is from 0, as long as nothing is known about it."""
LEAST_VARIANCE = 1e-5
KNOWN = 0.02
"""How far the default mean square of a scaled number, and the default share of a level, are trusted (as variances)."""


@dataclass(frozen=True)
class Layout:
    """The columns of the first look, and the places of their sums: columns, then squares of numbers, then ranges of counts."""

    columns: tuple[BasisColumn, ...]
    squared: tuple[int, ...]
    ranges: int
    """How many ranges of counts; 0 unless the response is a count."""

    @classmethod
    def of(cls, basis: Basis, family: Family) -> Layout:
        """The layout for a release whose columns are the constant, the predictors and, last, the response."""
        schema, response = basis.schema, basis.columns[-1]
        used = {factor.column for column in basis.columns for factor in column.factors}
        counted = family.response == "count"
        if counted:
            used.discard(response.factors[0].column)
        columns = tuple(column for column in Basis.of(schema).columns[1:] if column.factors[0].column in used)
        squared = tuple(index for index, column in enumerate(columns) if is_number(schema, column))
        return cls(columns, squared, len(range_starts(largest(basis))) if counted else 0)

    @property
    def size(self) -> int:
        """The number of sums, without the number of rows."""
        return len(self.columns) + len(self.squared) + self.ranges

    def squares(self, schema: Schema, added: bool) -> float:
        """A bound on the squared norm of the change of all sums if a row is added, or if it is replaced."""
        groups = {column.block for column in self.columns} - {None}
        twos = len(self.columns) - len(self.squared) - sum(column.block is not None for column in self.columns)
        counts = 1 if self.ranges else 0
        if added:
            return float(2 * len(self.squared) + twos + len(groups) + counts)
        return float(4 * len(self.squared) + 4 * twos + 2 * len(groups) + 2 * counts)


def is_number(schema: Schema, column: BasisColumn) -> bool:
    """Whether a released column is a declared number."""
    return isinstance(schema.column(column.factors[0].column), Numeric)


def response_bounds(basis: Basis) -> tuple[float, float]:
    """The declared bounds of the response; 0 and 1 for two levels."""
    declared = basis.schema.column(basis.columns[-1].factors[0].column)
    return (float(declared.lower), float(declared.upper)) if isinstance(declared, Numeric) else (0.0, 1.0)


def largest(basis: Basis) -> float:
    """The largest response that is declared."""
    return response_bounds(basis)[1]


def range_starts(most: float) -> Array:
    """The first count of each range: 0, 1, 2, 4, 8, ... up to the largest count.

    >>> range_starts(10.0).tolist()
    [0.0, 1.0, 2.0, 4.0, 8.0]
    """
    return np.concatenate([[0.0], 2.0 ** np.arange(math.floor(math.log2(max(most, 1.0))) + 1)])


@dataclass(frozen=True)
class Known:
    """What a first look says: mean and variance of each scaled number, chance of each level, and of the response.

    ``chances`` are those of the levels from the second on.
    """

    numbers: Mapping[str, tuple[float, float]]
    chances: Mapping[str, Array]
    response: tuple[float, float]
    """Mean and variance, in the user's units."""

    @classmethod
    def of(cls, basis: Basis, family: Family, look: Look) -> Known:
        """Read noisy sums, held closer to a default the noisier they are."""
        layout, rows = Layout.of(basis, family), max(look.rows, 1.0)
        noise = look.noise / rows
        means, squares, ranges = np.split(look.sums / rows, [len(layout.columns), len(layout.columns) + len(layout.squared)])
        square_of = dict(zip(layout.squared, squares, strict=True))
        numbers: dict[str, tuple[float, float]] = {}
        chances: dict[str, list[float]] = {}
        for index, column in enumerate(layout.columns):
            name = column.factors[0].column
            if index in square_of:
                mean = means[index] * DEFAULT_SD**2 / (DEFAULT_SD**2 + noise**2)
                square = DEFAULT_SD**2 + (square_of[index] - DEFAULT_SD**2) * KNOWN / (KNOWN + noise**2)
                mean = float(np.clip(mean, -0.999, 0.999))
                least = LEAST_VARIANCE + noise**2 / 4
                numbers[name] = mean, float(np.clip(square - mean**2, min(least, (1 - mean**2) / 2), (1 - mean**2) * 0.98))
            else:
                share = means[index] if column.block is not None else (means[index] + 1.0) / 2.0
                count = 2 if column.block is None else 1 + sum(one.block == column.block for one in layout.columns)
                kept = KNOWN / (KNOWN + noise**2)
                chances.setdefault(name, []).append(float(np.clip(1 / count + (share - 1 / count) * kept, 0.002, 0.998)))
        response = basis.columns[-1].factors[0].column
        if layout.ranges:
            about = _counts(ranges, noise, largest(basis))
        elif response in numbers:
            (mean, variance), (low, high) = numbers[response], response_bounds(basis)
            # Rather too large than too small: residuals are clipped by it, and it is the unit of the prior.
            unsure = noise * math.sqrt(KNOWN / (KNOWN + noise**2))
            variance = min((variance + math.hypot(variance, 2 * unsure)) / 2, 1.0)
            half = (high - low) / 2
            about = (low + high) / 2 + half * mean, half**2 * variance
        else:
            share = chances[response][0]
            about = share, share * (1 - share)
        return cls(numbers, {name: np.array(found) / max(1.0, sum(found) / 0.998) for name, found in chances.items()}, about)


def _counts(shares: Array, noise: float, most: float) -> tuple[float, float]:
    """Mean and variance of counts, from noisy shares of ranges; shares within twice the noise are left out."""
    starts = range_starts(most)
    ends = np.minimum(np.append(starts[1:] - 1.0, most), most)
    middles = (starts + ends) / 2
    kept = np.where(shares > 2 * noise, shares, 0.0)
    if kept.sum() <= 0.0:
        return 1.0, 2.0
    kept = kept / kept.sum()
    mean = float(kept @ middles)
    return max(mean, 0.05), max(float(kept @ (middles - mean) ** 2), 0.05)


def names_of(columns: Sequence[BasisColumn]) -> list[str]:
    """The declared columns behind released ones, each once."""
    return list(dict.fromkeys(factor.column for column in columns for factor in column.factors))
