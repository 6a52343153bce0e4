"""Averaged rows: the groups are uniformly random, the statistic is exact, and every source gives the same."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import floor
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
from tests.refusals import about

from noisewise.data import averaged_gram_sum, gram_sum
from noisewise.data.block import Block, pieces
from noisewise.data.columns import wanted_columns
from noisewise.data.plan import Plan
from noisewise.data.sources import open_source
from noisewise.data.statistics.averaged import LARGEST_GROUP, AveragedGramSum, GroupSums, random_groups
from noisewise.errors import DataError
from noisewise.run import QUIET, Run
from noisewise.schema import Basis, Schema

SCHEMA = Schema.from_dict({"adjacency": "replace-one", "norm_bound": 1.4, "columns": {
    "age": {"bounds": [18, 98]}, "stay": {"bounds": [0, 10], "missing": 2.5}, "ward": {"levels": ["A", "B", "C"]},
    "smoker": {"levels": ["no", "yes"]}}})
BASIS = Basis.of(SCHEMA, "age:ward + I(age**2)")
ONE_COLUMN = Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [-1, 1]}, "y": {"bounds": [-1, 1]}}})


def table(rows: int) -> pa.Table:
    random = np.random.default_rng(rows)
    holes = random.random(rows) < 0.1
    return pa.table({
        "age": pa.array(random.normal(60, 30, rows), mask=holes),
        "stay": pa.array(random.gamma(2, 2, rows), mask=holes[::-1].copy()),
        "ward": pa.array(random.choice(["A", "B", "C", "D"], rows).tolist(), pa.string()),
        "smoker": pa.array(random.choice(["no", "yes"], rows).tolist(), pa.string()),
    })


def scaled_rows(data: Any) -> list[list[int]]:
    """The rows u in units of 2**-20, from the same block as `gram_sum` fills."""
    plan, found = Plan.of(BASIS), []
    source = open_source(data)
    for task in source.tasks(wanted_columns([SCHEMA.column(name) for name in plan.columns], None)):
        for batch in task():
            with np.errstate(all="ignore"):
                for piece in pieces(plan, batch):
                    found += Block(plan).released(piece).T.astype(int).tolist()
    return found


def by_hand(rows: list[list[int]], groups: list[int]) -> list[list[int]]:
    """The definition in exact rational numbers, floored to the grid."""
    size = 1 + len(rows[0])
    total = [[Fraction(0)] * size for _ in range(size)]
    for group in set(groups):
        members = [[2**20, *row] for row, place in zip(rows, groups, strict=True) if place == group]
        sums = [sum(column) for column in zip(*members, strict=True)]
        for i, j in itertools.product(range(size), repeat=2):
            total[i][j] += Fraction(sums[i] * sums[j], len(members) * 2**40)
    return [[floor(entry * 2**16) for entry in row] for row in total]


@pytest.mark.parametrize(("rows", "group"), [(1, 2), (2, 2), (7, 3), (9, 3), (60, 7), (60, 100)])
def test_the_statistic_is_its_definition_in_exact_numbers(rows: int, group: int) -> None:
    groups = random_groups(rows, group)
    found = averaged_gram_sum(table(rows), SCHEMA, BASIS, group, groups=groups, run=QUIET).to_grid()
    assert found.tolist() == by_hand(scaled_rows(table(rows)), groups.tolist())


@given(st.integers(2, 9), st.lists(st.tuples(st.integers(-2**20, 2**20), st.integers(-2**20, 2**20)), min_size=1, max_size=40))
def test_any_whole_numbers_are_summed_exactly(group: int, rows: list[tuple[int, int]]) -> None:
    groups = np.arange(len(rows)) // group
    sums = GroupSums(2, groups, group)
    values = np.array(rows, dtype=float).T
    sums.add(values[:, : len(rows) // 2])
    sums.add(values[:, len(rows) // 2 :])
    assert sums.gram(("1", "x", "y")).to_grid().tolist() == by_hand([list(row) for row in rows], groups.tolist())


def test_the_largest_groups_are_exact_where_doubles_are_not() -> None:
    random = np.random.default_rng(3)
    values = np.where(random.random((2, 3 * LARGEST_GROUP)) < 0.5, 2.0**20, 2.0**20 - 1)
    groups = np.arange(values.shape[1]) // LARGEST_GROUP
    sums = GroupSums(2, groups, LARGEST_GROUP)
    sums.add(values)
    found = sums.gram(("1", "x", "y"))
    totals = values.reshape(2, 3, -1).sum(axis=2).astype(int).tolist()
    exact = [[sum(a * b for a, b in zip(one, other, strict=True)) for other in totals] for one in totals]
    assert found.full.tolist() == exact
    naive = np.array(totals, dtype=float) @ np.array(totals, dtype=float).T
    assert naive.astype(object).tolist() != exact  # why the sums are split into halves


def test_only_the_block_of_the_columns_is_averaged() -> None:
    averaged = averaged_gram_sum(table(500), SCHEMA, BASIS, 10, run=QUIET).to_grid()
    ordinary = gram_sum(table(500), SCHEMA, BASIS, run=QUIET).to_grid()
    assert np.array_equal(averaged[0], ordinary[0]) and np.array_equal(averaged[:, 0], ordinary[:, 0])
    assert np.array_equal(averaged, averaged.T) and not np.array_equal(averaged, ordinary)


def test_no_rows_at_all() -> None:
    assert not averaged_gram_sum(table(0), SCHEMA, BASIS, 3, run=QUIET).to_grid().any()


SOURCES = {
    "arrow": lambda rows, folder: rows,
    "batch": lambda rows, folder: rows.combine_chunks().to_batches()[0],
    "reader": lambda rows, folder: rows.to_reader(max_chunksize=77),
    "pandas": lambda rows, folder: rows.to_pandas(),
    "polars": lambda rows, folder: pl.from_arrow(rows),
    "arrays": lambda rows, folder: {name: rows[name].to_pandas().to_numpy() for name in rows.column_names},
    "parquet": lambda rows, folder: pq.write_table(rows, folder / "t.parquet", row_group_size=300) or folder / "t.parquet",
    "csv": lambda rows, folder: pyarrow.csv.write_csv(rows, folder / "t.csv") or folder / "t.csv",
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same(kind: str, tmp_path: Path) -> None:
    rows, groups = table(1000), random_groups(1000, 6)
    expected = averaged_gram_sum(rows, SCHEMA, BASIS, 6, groups=groups, run=QUIET).to_grid()
    found = averaged_gram_sum(SOURCES[kind](rows, tmp_path), SCHEMA, BASIS, 6, groups=groups, run=QUIET)
    assert np.array_equal(found.to_grid(), expected)
    assert isinstance(found, AveragedGramSum) and found.rows == 1000


def test_a_category_alone_is_enough() -> None:
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"ward": {"levels": ["A", "B", "C"]}}})
    found = averaged_gram_sum(pd.DataFrame({"ward": ["B"] * 4}), schema, Basis.of(schema), 2, run=QUIET).to_grid() / 2**16
    assert found.tolist() == [[4, 4, 0], [4, 4, 0], [0, 0, 0]]


def share_of_each_grouping(draw: Any, times: int = 6000) -> list[float]:
    """How often each of the three ways to pair four rows occurs, in a table that is sorted."""
    partners = [next(other for other in (1, 2, 3) if groups[other] == groups[0]) for groups in (draw() for _ in range(times))]
    return [partners.count(other) / times for other in (1, 2, 3)]


def test_every_grouping_is_equally_likely() -> None:
    """This randomness has no seed: 5.5 standard errors for each of three shares fail once in 10 million runs."""
    error = 5.5 * (1 / 3 * 2 / 3 / 6000) ** 0.5
    assert all(abs(share - 1 / 3) < error for share in share_of_each_grouping(lambda: random_groups(4, 2)))
    # Wrong ones: consecutive groups, and consecutive groups from a random start.
    assert share_of_each_grouping(lambda: np.arange(4) // 2, times=10) == [1, 0, 0]
    random = np.random.default_rng(1)
    rotated = share_of_each_grouping(lambda: np.roll(np.arange(4), random.integers(4)) // 2)
    assert any(abs(share - 1 / 3) > error for share in rotated)


def test_equal_keys_are_drawn_again() -> None:
    asked = iter([bytes(24), np.array([5, 1, 3], dtype=np.uint64).tobytes()])
    assert random_groups(3, 2, random_bytes=lambda _: next(asked)).tolist() == [1, 0, 0]


def test_two_releases_group_differently() -> None:
    assert not np.array_equal(random_groups(1000, 10), random_groups(1000, 10))


class Changing:
    """A table that has another number of rows than it said."""

    description, untyped, header_is_text = "a table", frozenset[str](), False

    def __init__(self, said: int, has: int) -> None:
        self.rows, self.has = said, has

    def column_types(self) -> dict[str, pa.DataType]:
        return {"x": pa.float64(), "y": pa.float64()}

    def tasks(self, wanted: Any) -> list[Any]:
        return [lambda: iter([pa.record_batch({"x": np.zeros(self.has), "y": np.zeros(self.has)})])]


@pytest.mark.parametrize("has", [4, 6])
def test_a_table_that_changes_is_refused(has: int) -> None:
    with pytest.raises(DataError, match="same number of rows"):
        averaged_gram_sum(Changing(5, has), ONE_COLUMN, Basis.of(ONE_COLUMN), 2, run=QUIET)


@pytest.mark.parametrize("group", [0, 1, -1, LARGEST_GROUP + 1, 2.0, True, None])
def test_groups_of_an_odd_size_are_refused(group: Any) -> None:
    with pytest.raises(DataError, match="groups of 2 to 65536"):
        averaged_gram_sum({"x": np.zeros(3), "y": np.zeros(3)}, ONE_COLUMN, Basis.of(ONE_COLUMN), group)


@pytest.mark.parametrize("changes", [{"adjacency": "add-remove"}, {"unit": {"column": "person", "max_rows": 1}}])
def test_private_numbers_of_rows_are_refused(changes: dict[str, Any]) -> None:
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [-1, 1]}}} | changes)
    with pytest.raises(DataError, check=about("average")):
        averaged_gram_sum({"x": np.zeros(3)}, schema, Basis.of(schema), 2)


def test_progress_is_told_once_for_every_row(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(table(1000), tmp_path / "t.csv")
    for data in (tmp_path / "t.csv", table(1000)):
        heard: list[tuple[int, int | None]] = []
        averaged_gram_sum(data, SCHEMA, BASIS, 3, run=Run(progress=lambda done, total, heard=heard: heard.append((done, total))))
        assert heard[-1] == (1000, 1000) and [done for done, _ in heard] == sorted(done for done, _ in heard)
