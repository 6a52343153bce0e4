"""Rows in random groups, and the exact Gram matrix of the groups' sums (the averaging of paper 002, Appendix B.1).

Which rows share a group may not depend on their values, and not on the order of a file either: files are sorted, and one changed
value moves all rows behind it. So the groups come from a uniformly random permutation (A3 of
`noisewise/privacy/sensitivity/averaged.md`), drawn from the operating system's randomness and never kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.data.exact import BLOCK_ROWS, GRID_BITS, PRODUCT_BITS, VALUE_BITS, Integers
from noisewise.data.random_order import RandomBytes, random_order, system_bytes
from noisewise.errors import DataError

LARGEST_GROUP: Final = 1 << 16
"""Rows of a group. Its sums are then at most 2**36, so that their upper halves fit the exact products below."""

_HALF_BITS: Final = 16
_LOW_HALF: Final = (1 << _HALF_BITS) - 1

Groups = npt.NDArray[np.int64]


def random_groups(rows: int, group: int, random_bytes: RandomBytes = system_bytes) -> Groups:
    """The group of each row: ``group`` rows each, the last one may have fewer; every such grouping is equally likely.

    >>> np.bincount(random_groups(5, 2)).tolist()
    [2, 2, 1]
    """
    groups: Groups = np.empty(rows, dtype=np.int64)
    groups[random_order(rows, random_bytes)] = np.arange(rows) // group
    return groups


@dataclass(frozen=True, eq=False)
class AveragedGramSum:
    """Σ_groups (1/k)(Σa)(Σa)ᵀ in exact parts: the matrix of the full groups' sums and that of a smaller one, undivided."""

    basis_names: tuple[str, ...]
    rows: int
    group: int
    sums: tuple[int, ...]
    """Σu over all rows, in units of 2**-20."""
    full: npt.NDArray[Any]
    """Python integers in units of 2**-40: the groups of ``group`` rows."""
    last: npt.NDArray[Any]
    """The same for the last group if it is smaller, else zeros."""

    def to_grid(self) -> Integers:
        """The statistic, divided by the sizes of the groups and only then rounded down to whole multiples of 2**-16."""
        size = len(self.basis_names)
        rest = self.rows % self.group or self.group
        grid: Integers = np.zeros((size, size), dtype=np.int64)
        grid[0, 0] = self.rows << GRID_BITS
        grid[0, 1:] = grid[1:, 0] = [total >> (VALUE_BITS - GRID_BITS) for total in self.sums]
        common = (self.group * rest) << (PRODUCT_BITS - GRID_BITS)
        grid[1:, 1:] = (self.full * rest + self.last * self.group) // common
        return grid


class GroupSums:
    """The sums of u over each group, as whole numbers of 2**-20; memory is the number of groups times the columns."""

    def __init__(self, columns: int, groups: Groups, group: int) -> None:
        self._groups = groups
        self._group = group
        self._sums = np.zeros((columns, -(-len(groups) // group)))
        self._rows = 0

    def add(self, values: npt.NDArray[np.float64]) -> None:
        """Add the next rows: one column of ``values`` each."""
        first, self._rows = self._rows, self._rows + values.shape[1]
        if self._rows > len(self._groups):
            raise _changed()
        places = self._groups[first:self._rows]
        for sums, column in zip(self._sums, values, strict=True):
            np.add.at(sums, places, column)  # whole numbers below 2**53: exact

    def gram(self, names: Sequence[str]) -> AveragedGramSum:
        """The exact matrix, once every row has been added."""
        if self._rows != len(self._groups):
            raise _changed()
        full = self._rows // self._group
        return AveragedGramSum(
            basis_names=tuple(names),
            rows=self._rows,
            group=self._group,
            sums=tuple(int(row.astype(np.int64).sum()) for row in self._sums),
            full=_exact_gram(self._sums[:, :full]),
            last=_exact_gram(self._sums[:, full:]),
        )


def _exact_gram(sums: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """``sums @ sums.T`` in Python integers, for whole numbers of at most 2**36.

    Each number is split into halves, s = 2**16 high + low with |high| ≤ 2**20 and 0 ≤ low < 2**16: products of 8192 groups
    then stay within 2**53 and are exact in double precision, in whatever order. Sums over blocks are kept in 64-bit integers.
    """
    size, count = sums.shape
    high_high, high_low, low_low = (np.zeros((size, size), dtype=np.int64) for _ in range(3))
    for start in range(0, count, BLOCK_ROWS):
        whole = sums[:, start:start + BLOCK_ROWS].astype(np.int64)
        high, low = (half.astype(np.float64) for half in (whole >> _HALF_BITS, whole & _LOW_HALF))
        high_high += (high @ high.T).astype(np.int64)
        high_low += (high @ low.T).astype(np.int64)
        low_low += (low @ low.T).astype(np.int64)
    mixed = high_low.astype(object) + high_low.T.astype(object)
    total: npt.NDArray[Any] = (
        high_high.astype(object) * (1 << 2 * _HALF_BITS) + mixed * (1 << _HALF_BITS) + low_low.astype(object)
    )
    return total


def _changed() -> DataError:
    return DataError("the table must have the same number of rows each time it is read", found="another number",
                     remedy="release a table that nobody is writing to; nothing was released")
