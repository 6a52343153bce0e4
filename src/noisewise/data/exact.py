"""Partial sums in whole numbers. They are exact, and so do not depend on order, batches or threads.

Floating-point summation would round differently for neighbouring tables and could exceed the sensitivity proved for real numbers
(Casacuberta et al. 2022, "Widespread Underestimation of Sensitivity in Differentially Private Libraries"). Here only the values
of each row are rounded, never sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.errors import DataError
from noisewise.schema.basis import STATISTIC_GRID

VALUE_BITS: Final = 20
"""Scaled values are whole multiples of 2**-20."""
ONE: Final = 2.0**VALUE_BITS
"""The value 1 in those units."""
BLOCK_ROWS: Final = 8192
"""A product of two values is at most 2**40, so a sum of 2**13 of them is at most 2**53: exact in double precision."""
PRODUCT_BITS: Final = 2 * VALUE_BITS
GRID_BITS: Final = -round(math.log2(STATISTIC_GRID))
"""The statistic is released in whole multiples of 2**-16."""
_LOW: Final = (1 << PRODUCT_BITS) - 1
_FOLD_EVERY: Final = 512  # blocks: 512 * 2**53 = 2**62 still fits into an int64

Integers: TypeAlias = npt.NDArray[np.int64]
BigIntegers: TypeAlias = npt.NDArray[np.object_]
"""Python integers, which have no limits."""


@dataclass(frozen=True, eq=False)
class ExactSum:
    """An exact partial sum over rows: ``high + low * 2**-40`` with 0 ≤ low < 2**40, entry by entry."""

    basis_names: tuple[str, ...]
    high: Integers
    low: Integers

    @classmethod
    def of(cls, names: Sequence[str], high: Integers, low: Integers) -> Self:
        """The sum of two parts. ``low`` may exceed its range; the excess is carried."""
        high = high + (low >> PRODUCT_BITS)
        low = low & _LOW
        high.flags.writeable = low.flags.writeable = False
        return cls(tuple(names), high, low)

    @property
    def total(self) -> BigIntegers:
        """The sum as Python integers, in units of 2**-40."""
        whole: BigIntegers = self.high.astype(object) * (1 << PRODUCT_BITS) + self.low.astype(object)
        return whole

    def merge(self, other: Self) -> Self:
        """The sum over the rows of both. Exact, hence associative and commutative."""
        if self.basis_names != other.basis_names:
            raise DataError("partial sums can be added only if they have the same columns",
                            found=f"{', '.join(self.basis_names)} and {', '.join(other.basis_names)}",
                            remedy="use the same schema and terms for each of them")
        return self.of(self.basis_names, self.high + other.high, self.low + other.low)

    def to_grid(self) -> Integers:
        """The sum, rounded down to whole multiples of the statistic's grid (2**-16)."""
        return (self.high << GRID_BITS) + (self.low >> (PRODUCT_BITS - GRID_BITS))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactSum) or type(other) is not type(self):
            return NotImplemented
        return (self.basis_names == other.basis_names and np.array_equal(self.high, other.high)
                and np.array_equal(self.low, other.low))

    def __hash__(self) -> int:
        return hash((self.basis_names, self.high.tobytes(), self.low.tobytes()))


class Total:
    """Adds up blocks of rows, in one thread."""

    def __init__(self, *shape: int) -> None:
        self._high = np.zeros(shape, dtype=np.int64)
        self._low = np.zeros(shape, dtype=np.int64)
        self._blocks = 0

    def add_block(self, block: npt.NDArray[np.float64]) -> None:
        """Add whole numbers of at most 2**53."""
        self._low += block.astype(np.int64)
        self._blocks += 1
        if self._blocks % _FOLD_EVERY == 0:
            self._high += self._low >> PRODUCT_BITS
            self._low &= _LOW

    @property
    def parts(self) -> tuple[Integers, Integers]:
        """The total, as `ExactSum.of` takes it."""
        return self._high, self._low
