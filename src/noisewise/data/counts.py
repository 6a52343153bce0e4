"""How many cells of a column lie at and between the points of a public grid: exact counts, in one pass and constant memory.

A missing cell is left out, and one beyond the grid counts as its outermost point: public rules, so that no cell can fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from noisewise.data.columns import numbers, require_columns
from noisewise.data.progress import reporting
from noisewise.data.sources import open_source
from noisewise.data.sources.base import Wanted
from noisewise.data.units import limit_units
from noisewise.progress import Tick
from noisewise.schema.schema import Unit

if TYPE_CHECKING:
    import pyarrow as pa

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class GridCounts:
    """For each column 2m + 1 counts on a grid of m points: below the first, at it, between it and the second, at that, …

    ``rows`` is the number of rows of the table, whatever their cells hold.
    """

    columns: dict[str, Counts]
    rows: int


def grid_counts(
    source: Any, columns: Sequence[str], grid: npt.NDArray[np.float64], unit: Unit, *, progress: Tick | bool | None = None
) -> GridCounts:
    """Count the cells of these columns; of each unit only the first rows count, as in `gram_sum`.

    >>> grid_counts({"x": [-7.0, 1.0, 1.5, 9.0, None]}, ["x"], np.array([0.0, 1.0, 2.0]), Unit()).columns["x"]
    array([0, 1, 0, 1, 1, 1, 0])
    """
    opened = open_source(source)
    wanted = [Wanted(name, "number") for name in columns]
    if unit.column is not None:
        wanted.append(Wanted(unit.column, "unit"))
    require_columns(opened, wanted)
    opened, limit = limit_units(opened, unit, wanted)
    totals = {name: np.zeros(2 * len(grid) + 1, dtype=np.int64) for name in columns}
    rows = 0
    with reporting(progress, opened.rows) as counter:
        for task in opened.tasks(wanted):
            for batch in task():
                keep = None if limit is None else limit.keep(batch.column(unit.column))
                for name, total in totals.items():
                    total += _places(batch.column(name), keep, grid)
                rows += batch.num_rows
                counter.add(batch.num_rows)
    return GridCounts(totals, rows)


def _places(column: pa.Array, keep: npt.NDArray[np.bool_] | None, grid: npt.NDArray[np.float64]) -> Counts:
    """The counts of one batch."""
    cells = numbers(column).astype(np.float64)
    cells = cells[~np.isnan(cells) if keep is None else keep & ~np.isnan(cells)].clip(grid[0], grid[-1])
    # Points to the left of a cell, and those that are not to its right: twice the same, or one more if the cell is a point.
    places = np.searchsorted(grid, cells, "left") + np.searchsorted(grid, cells, "right")
    return np.bincount(places, minlength=2 * len(grid) + 1)
