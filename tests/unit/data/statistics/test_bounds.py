"""Counts on a public grid: exact, the same from every source, and without a value that could fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.data.statistics.bounds import grid_counts
from noisewise.errors import DataError
from noisewise.run import Run
from noisewise.schema import Unit

GRID = np.array([-2.0, 0.0, 0.5, 3.0])
ROW = Unit()


def by_hand(cells: list[float | None]) -> list[int]:
    """The definition, one cell at a time."""
    counts = [0] * (2 * len(GRID) + 1)
    for cell in cells:
        if cell is None or math.isnan(cell):
            continue
        value = min(max(cell, GRID[0]), GRID[-1])
        below, at = sum(point < value for point in GRID), value in GRID
        counts[2 * below + 1 if at else 2 * below] += 1
    return counts


numbers = st.one_of(st.none(), st.sampled_from([*GRID.tolist(), -0.0, 1.0, 1e-300, -1e308]), st.floats(allow_subnormal=False))


@given(st.lists(numbers, max_size=40))
def test_every_cell_is_counted_once_where_it_lies(cells: list[float | None]) -> None:
    found = grid_counts({"x": cells}, ["x"], GRID, ROW)
    assert found.columns["x"].tolist() == by_hand(cells) and found.rows == len(cells)


def table(rows: int) -> pa.Table:
    random = np.random.default_rng(rows)
    return pa.table({
        "x": pa.array(random.choice([*GRID, -7.0, 0.25, 1.0], rows), mask=random.random(rows) < 0.2),
        "whole": pa.array(random.integers(-3, 5, rows)),
        "person": pa.array(random.integers(0, rows // 3 + 1, rows)),
        "unused": pa.array([[1]] * rows, pa.list_(pa.int64())),
    })


def _parquet(rows: pa.Table, folder: Path) -> Any:
    pq.write_table(rows, folder / "rows.parquet", row_group_size=997)
    return folder / "rows.parquet"


def _csv(rows: pa.Table, folder: Path) -> Any:
    pyarrow.csv.write_csv(rows.drop_columns(["unused"]), folder / "rows.csv")
    return folder / "rows.csv"


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "parquet": _parquet,
    "csv": _csv,
    "arrow": lambda rows, _: rows,
    "reader": lambda rows, _: rows.to_reader(500),
    "pandas": lambda rows, _: rows.to_pandas(),
    "polars": lambda rows, _: pl.from_arrow(rows),
    "arrays": lambda rows, _: {name: rows[name].to_pandas() for name in ("x", "whole", "person")},
    "lists": lambda rows, _: {name: rows[name].to_pylist() for name in ("x", "whole", "person")},
}


@pytest.mark.parametrize("unit", [ROW, Unit("person", 2)], ids=["rows", "persons"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same(source: str, unit: Unit, tmp_path: Path) -> None:
    rows = table(3000)
    found = grid_counts(SOURCES[source](rows, tmp_path), ["x", "whole"], GRID, unit)
    frame = rows.to_pandas()
    if unit.column is not None:
        frame = frame[frame.groupby("person").cumcount() < 2]
    assert found.rows == 3000
    for name in ("x", "whole"):
        assert found.columns[name].tolist() == by_hand(frame[name].tolist())


def test_several_batches_are_added(tmp_path: Path) -> None:
    rows = table(70_000)
    assert grid_counts(rows, ["x"], GRID, ROW).columns["x"].tolist() == by_hand(rows["x"].to_pylist())


def test_text_that_is_no_number_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('x,y\n1,a\nabc,b\n"5,c\n0.5,d\n,e\n')
    assert grid_counts(path, ["x"], GRID, ROW).columns["x"].tolist() == by_hand([1.0, 0.5])


def test_no_rows_and_nothing_but_missing_cells_are_no_failure() -> None:
    for cells in ([], [None] * 5):
        assert not grid_counts({"x": pa.array(cells, pa.float64())}, ["x"], GRID, ROW).columns["x"].any()


def test_a_missing_column_and_a_wrong_type_are_refused_by_name() -> None:
    with pytest.raises(DataError, match="no column 'z'"):
        grid_counts({"x": [1.0]}, ["z"], GRID, ROW)
    with pytest.raises(DataError, match="declared as a number"):
        grid_counts(pd.DataFrame({"x": pd.to_datetime(["2024-01-01"])}), ["x"], GRID, ROW)


def test_progress_is_told() -> None:
    told: list[tuple[int, int | None]] = []
    grid_counts(table(100), ["x"], GRID, ROW, run=Run(progress=lambda done, total: told.append((done, total))))
    assert told[-1] == (100, 100)
