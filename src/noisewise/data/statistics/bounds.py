"""Counts of the cells of a column at and between the points of a public grid: exact, in one pass and constant memory.

By public rules, so that no cell can fail, a missing cell is left out and one beyond the grid counts as its outermost point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from noisewise.arrays import Array, Flags
from noisewise.data.columns import numbers
from noisewise.data.exact import ExactSum
from noisewise.data.passes import sum_over_columns
from noisewise.data.sources.base import Wanted
from noisewise.data.splitting.units import UnitLimit
from noisewise.run import DEFAULT, Run
from noisewise.schema.schema import Unit

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class GridCounts:
    """For each column, 2m + 1 counts on a grid of m points: below the first, at it, between it and the second, at that, …

    ``rows`` is the number of rows of the table, including those with missing cells.
    """

    columns: dict[str, Counts]
    rows: int


def grid_counts(source: object, columns: Sequence[str], grid: Array, unit: Unit, *, run: Run = DEFAULT) -> GridCounts:
    """Count the cells of these columns. Only the first rows of each unit count, as in `gram_sum`.

    >>> grid_counts({"x": [-7.0, 1.0, 1.5, 9.0, None]}, ["x"], np.array([0.0, 1.0, 2.0]), Unit()).columns["x"]
    array([0, 1, 0, 1, 1, 1, 0])
    """
    wanted = [Wanted(name, "number") for name in columns]
    if unit.column is not None:
        wanted.append(Wanted(unit.column, "unit"))
    found = sum_over_columns(source, wanted, unit, partial(_Counter, tuple(columns), grid, unit.column), run=run).high
    return GridCounts(dict(zip(columns, found[1:].reshape(len(columns), -1), strict=True)), int(found[0]))


class _Counter:
    """Counts rows, and the cells of each column."""

    def __init__(self, columns: tuple[str, ...], grid: Array, unit: str | None, limit: UnitLimit | None) -> None:
        self._columns, self._grid, self._unit, self._limit = columns, grid, unit, limit
        self._rows = 0
        self._totals = np.zeros((len(columns), 2 * len(grid) + 1), dtype=np.int64)

    def add(self, batch: pa.RecordBatch) -> None:
        keep = None if self._limit is None else self._limit.keep(batch.column(self._unit))
        for name, total in zip(self._columns, self._totals, strict=True):
            total += _places(batch.column(name), keep, self._grid)
        self._rows += batch.num_rows

    def result(self) -> ExactSum:
        counts = np.append(self._rows, self._totals)
        return ExactSum.of(("rows", *self._columns), counts, np.zeros_like(counts))


def _places(column: pa.Array, keep: Flags | None, grid: Array) -> Counts:
    """The counts of one batch."""
    cells = numbers(column).astype(np.float64)
    cells = cells[~np.isnan(cells) if keep is None else keep & ~np.isnan(cells)].clip(grid[0], grid[-1])
    # Two places for each point to the left of a cell, and one more if the cell is itself a point.
    left = np.searchsorted(grid, cells, "left")
    return np.bincount(2 * left + (grid[left] == cells), minlength=2 * len(grid) + 1)
