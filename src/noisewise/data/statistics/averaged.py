"""The Gram statistic of rows averaged in random groups (paper 002, Appendix B.1), from the literature.

Groups must not depend on the values of rows, nor on the order of a file: a file may be sorted, so that one changed value moves
all rows after it. So groups come from a uniformly random permutation (A3 of privacy/sensitivity/averaged.md), drawn from the
operating system's randomness and never kept.

Grouping rows requires their number. Most sources know it (Parquet footers, tables in memory). The rows of a CSV file are counted
in a separate pass, and a stream that can be read only once is held in memory.

Memory: the sums of the groups, which is 8 bytes times columns times rows/k, and up to 32 bytes for each row while the groups are
drawn. One thread reads the rows and another adds them up, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.checks import is_whole
from noisewise.data.block import Piece
from noisewise.data.columns import require_columns, wanted_columns
from noisewise.data.exact import BLOCK_ROWS, GRID_BITS, PRODUCT_BITS, VALUE_BITS, BigIntegers, Integers
from noisewise.data.passes import RowWorker, share_batches
from noisewise.data.plan import Plan
from noisewise.data.reading import count_rows, readable_twice
from noisewise.data.sources import open_source
from noisewise.data.sources.base import other_number_of_rows
from noisewise.data.splitting.order import RandomBytes, random_order, system_bytes
from noisewise.errors import DataError
from noisewise.run import DEFAULT, Run
from noisewise.schema.basis import Basis
from noisewise.schema.schema import Schema
from noisewise.words import leave_out

LARGEST_GROUP: Final = 1 << 16
"""The most rows in a group. Its sums are then at most 2**36, so that their upper halves fit the exact products below."""

_HALF_BITS: Final = 16
_LOW_HALF: Final = (1 << _HALF_BITS) - 1

Groups = npt.NDArray[np.int64]


def averaged_gram_sum(source: object, schema: Schema, basis: Basis, group: int, *, run: Run = DEFAULT,
                      groups: Groups | None = None) -> AveragedGramSum:
    """Sum (1/k)(Σa)(Σa)ᵀ over random groups of ``group`` rows. The other arguments are those of `gram_sum`.

    ``groups``, for tests, gives the group of each row instead of a random one.

    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [0, 100]}}})
    >>> averaged_gram_sum({"age": np.full(3, 75.0)}, schema, Basis.of(schema), 2).to_grid() / 2**16
    array([[3.  , 1.5 ],
           [1.5 , 0.75]])
    """
    _check(schema, group)
    opened = open_source(source)
    plan = Plan.of(basis)
    wanted = wanted_columns([schema.column(name) for name in plan.columns], None)
    require_columns(opened, wanted)
    opened = readable_twice(opened, wanted)
    rows = opened.rows if opened.rows is not None else count_rows(opened, wanted, run)
    sums = GroupSums(basis.size - 1, random_groups(rows, group) if groups is None else groups, group)
    return share_batches(opened, wanted, lambda: _AveragedWorker(plan, sums, basis.names), in_order=True, run=run, rows=rows)[0]


def _check(schema: Schema, group: int) -> None:
    if not is_whole(group, 2, LARGEST_GROUP):
        raise DataError(f"rows can be averaged in groups of 2 to {LARGEST_GROUP}", found=repr(group),
                        remedy="use a smaller group; averages of ten rows are already nearly normal")
    if not schema.rows_are_public:
        raise DataError("rows can be averaged only if each row is a unit and the number of rows is public", argument="average",
                        found=f"adjacency {schema.adjacency}, unit {schema.unit.to_dict()!r}",
                        remedy='declare adjacency = "replace-one" and unit = "row", or ' + leave_out("average"))


def random_groups(rows: int, group: int, random_bytes: RandomBytes = system_bytes) -> Groups:
    """The group of each row. All groups have ``group`` rows, except perhaps the last. All such groupings are equally likely.

    >>> np.bincount(random_groups(5, 2)).tolist()
    [2, 2, 1]
    """
    groups: Groups = np.empty(rows, dtype=np.int64)
    groups[random_order(rows, random_bytes)] = np.arange(rows) // group
    return groups


@dataclass(frozen=True, eq=False)
class AveragedGramSum:
    """Σ_groups (1/k)(Σa)(Σa)ᵀ in exact parts, before division: the matrix of the full groups and that of a smaller last group."""

    basis_names: tuple[str, ...]
    rows: int
    group: int
    sums: tuple[int, ...]
    """Σu over all rows, in units of 2**-20."""
    full: BigIntegers
    """The groups of ``group`` rows, in units of 2**-40."""
    last: BigIntegers
    """The same for the last group if it is smaller, else zeros."""

    def to_grid(self) -> Integers:
        """The statistic, divided by the sizes of the groups and then rounded down to whole multiples of 2**-16."""
        size = len(self.basis_names)
        rest = self.rows % self.group or self.group
        grid: Integers = np.zeros((size, size), dtype=np.int64)
        grid[0, 0] = self.rows << GRID_BITS
        grid[0, 1:] = grid[1:, 0] = [total >> (VALUE_BITS - GRID_BITS) for total in self.sums]
        common = (self.group * rest) << (PRODUCT_BITS - GRID_BITS)
        grid[1:, 1:] = (self.full * rest + self.last * self.group) // common
        return grid


class GroupSums:
    """The sums of u over each group, in units of 2**-20. Memory grows with the number of groups times columns."""

    def __init__(self, columns: int, groups: Groups, group: int) -> None:
        self._groups, self._group = groups, group
        self._sums = np.zeros((columns, -(-len(groups) // group)))
        self._rows = 0

    def add(self, values: Array) -> None:
        """Add rows, one per column of ``values``."""
        first, self._rows = self._rows, self._rows + values.shape[1]
        if self._rows > len(self._groups):
            raise other_number_of_rows()
        places = self._groups[first:self._rows]
        for sums, column in zip(self._sums, values, strict=True):
            np.add.at(sums, places, column)  # whole numbers below 2**53: exact

    def gram(self, names: Sequence[str]) -> AveragedGramSum:
        """The exact matrix, after every row has been added."""
        if self._rows != len(self._groups):
            raise other_number_of_rows()
        full = self._rows // self._group
        sums = tuple(int(row.astype(np.int64).sum()) for row in self._sums)
        return AveragedGramSum(tuple(names), self._rows, self._group, sums, full=_exact_gram(self._sums[:, :full]),
                               last=_exact_gram(self._sums[:, full:]))


def _exact_gram(sums: Array) -> BigIntegers:
    """``sums @ sums.T`` in Python integers, for whole numbers of at most 2**36.

    Each number is split into halves, s = 2**16 high + low with |high| ≤ 2**20 and 0 ≤ low < 2**16. Products over 8192 groups then
    stay within 2**53 and are exact in double precision, in any order. Sums over blocks are 64-bit integers.
    """
    size, count = sums.shape
    high_high, high_low, low_low = (np.zeros((size, size), dtype=np.int64) for _ in range(3))
    for start in range(0, count, BLOCK_ROWS):
        whole = sums[:, start:start + BLOCK_ROWS].astype(np.int64)
        high, low = (half.astype(np.float64) for half in (whole >> _HALF_BITS, whole & _LOW_HALF))
        high_high += (high @ high.T).astype(np.int64)
        high_low += (high @ low.T).astype(np.int64)
        low_low += (low @ low.T).astype(np.int64)
    upper, mixed = high_high.astype(object), high_low.astype(object) + high_low.T.astype(object)
    total: BigIntegers = upper * (1 << 2 * _HALF_BITS) + mixed * (1 << _HALF_BITS) + low_low.astype(object)
    return total


class _AveragedWorker(RowWorker[AveragedGramSum]):
    def __init__(self, plan: Plan, sums: GroupSums, names: tuple[str, ...]) -> None:
        super().__init__(plan, None, None)
        self._sums, self._names = sums, names

    def add_rows(self, piece: Piece) -> None:
        self._sums.add(self.block.released(piece))

    def result(self) -> AveragedGramSum:
        return self._sums.gram(self._names)
