"""The sums of a model release: as plain NumPy finds them, bit by bit the same for all sources, threads and batches."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from noisewise.data import ModelRows
from noisewise.data.statistics.model import ModelLayout, RoundSums, RoundTables, _RoundWorker, in_whole_numbers
from noisewise.errors import DataError, PrivacyError
from noisewise.kinds import Model
from noisewise.run import ALONE, QUIET, Run
from noisewise.schema import Design, Schema
from noisewise.scores.families import FAMILIES
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Layout
from noisewise.scores.nodes import Nodes
from noisewise.scores.rounds import Look, Point

ROWS = 9_000
RESPONSES = {"gaussian": "stay", "logistic": "sick", "probit": "sick", "poisson": "visits", "negative-binomial": "visits"}
SCALES = {"gaussian": 6.0, "negative-binomial": 0.4}


def table(rows: int = ROWS) -> dict[str, NDArray[Any]]:
    random = np.random.default_rng(5)
    return {
        "age": random.uniform(10, 105, rows),
        "ward": random.choice(["A", "B", "C", "D"], rows),  # D is none of the levels
        "pain": random.uniform(0, 10, rows),
        "visits": random.integers(0, 14, rows).astype(float),
        "stay": random.normal(20, 9, rows),
        "sick": random.choice(["no", "yes"], rows),
        "person": np.arange(rows) // 3,
    }


def schema_with(adjacency: str = "replace-one", missing: Any = None, **more: Any) -> Schema:
    fill = {} if missing is None else {"missing": missing}
    return Schema.from_dict({"adjacency": adjacency, **more, "columns": {
        "age": {"bounds": [18, 98], **fill}, "ward": {"levels": ["A", "B", "C"]}, "pain": {"bounds": [0, 10]},
        "visits": {"bounds": [0, 12]}, "stay": {"bounds": [0, 60]}, "sick": {"levels": ["no", "yes"]}}})


class Made:
    """A problem with a point that is far from nothing in particular."""

    def __init__(self, family: str = "logistic", schema: Schema | None = None, predictors: str = "age + ward + pain",
                 spread: bool = True, **options: Any) -> None:
        self.kind = Model(f"{RESPONSES[family]} ~ {predictors}", family=family, **options)
        self.schema = schema or schema_with()
        self.basis = self.kind.settled(self.schema)
        self.layout = Layout.of(self.basis, FAMILIES[family])
        design = Design.of(self.kind.formula, self.basis, self.kind.terms)
        look = Look(noise=0.0, sums=np.zeros(self.layout.size), rows=float(ROWS), rows_noise=0.0)
        self.problem = Problem.of(self.basis, design, FAMILIES[family], look)
        random, size = np.random.default_rng(8), self.basis.size - 1
        coefficients = np.linalg.lstsq(self.problem.features, random.normal(size=size), rcond=None)[0]
        coordinates = random.normal(size=(self.problem.terms, size)) * (0.1 if family == "gaussian" else 0.6)
        self.point = Point(coefficients=coefficients, coordinates=coordinates, scale=SCALES.get(family, 1.0), spread=spread)

    def open(self, data: Any) -> ModelRows:
        return ModelRows.open(data, self.basis, self.layout)

    def round(self, data: Any, run: Run = QUIET) -> RoundSums:
        return self.open(data).round(self.problem, self.point, run=run)


def scaled(rows: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """The released columns of the predictors, the constant first, in plain NumPy."""
    age, pain = (np.clip((rows[name] - middle) / half, -1, 1) for name, middle, half in (("age", 58, 40), ("pain", 5, 5)))
    return np.column_stack([np.ones(len(age)), age, rows["ward"] == "B", rows["ward"] == "C", pain]).astype(float)


def response(rows: dict[str, NDArray[Any]], family: str) -> NDArray[np.float64]:
    if FAMILIES[family].response == "two levels":
        return (rows["sick"] == "yes").astype(float)
    return np.clip(rows["visits"], 0, 12) if FAMILIES[family].response == "count" else np.clip(rows["stay"], 0, 60)


@pytest.mark.parametrize("family", RESPONSES)
def test_a_round_is_that_of_the_formulas(family: str) -> None:
    made, rows = Made(family), table()
    found, x, y = made.round(rows), scaled(rows), response(rows, family)
    nodes = Nodes.of(FAMILIES[family], made.problem.bounds, made.point.scale)
    at, u = nodes.place(x @ (made.problem.features @ made.point.coefficients)), x @ made.point.coordinates.T
    psi = nodes.factor[at] * (np.clip(y, nodes.low[at], nodes.high[at]) - nodes.mean[at])
    w = 1 / np.maximum(1, np.sum(u**2, axis=1) * nodes.bound[at] ** 2)
    s, r = (w * psi)[:, None] * u, np.sqrt(w * nodes.rate[at])[:, None] * u
    # Columns and entries are rounded to 2**-20, so a few rows are one node further.
    for numbers, expected in ((found.score, s.sum(axis=0)), (found.matrix, r.T @ r), (found.spread, s.T @ s)):
        assert numbers is not None
        np.testing.assert_allclose(numbers / 2**16, expected, rtol=0, atol=ROWS * 5e-6)
        assert not np.allclose(numbers / 2**16, expected * 1.001, rtol=0, atol=ROWS * 5e-6)
    if FAMILIES[family].scaled:
        assert found.square / 2**16 == pytest.approx(np.sum((psi / nodes.bound[at]) ** 2), abs=ROWS * 1e-6)
    assert found.rows == ROWS
    assert found.point.coordinates == pytest.approx(made.point.coordinates, rel=1e-6)


@pytest.mark.parametrize("family", RESPONSES)
def test_the_first_look_is_exact(family: str) -> None:
    made, rows = Made(family), table()
    found = made.open(rows).look(run=QUIET)
    x, y = np.rint(scaled(rows)[:, 1:] * 2**20) / 2**20, response(rows, family)
    named = dict(zip(("age", "ward[B]", "ward[C]", "pain"), x.T, strict=True))
    if family == "gaussian":
        named["stay"] = np.rint((y - 30) / 30 * 2**20) / 2**20
    elif FAMILIES[family].response == "two levels":
        named["sick"] = 2 * y - 1
    columns = [named[column.name] for column in made.layout.columns]
    squares = [columns[place] ** 2 for place in made.layout.squared]
    ranges = [np.isin(y, some) for some in ([0], [1], [2, 3], [4, 5, 6, 7], range(8, 13))] if made.layout.ranges else []
    expected = [math.floor(np.sum(column) * 2**16) for column in (*columns, *squares, *ranges)]
    assert found.to_grid().tolist() == expected and found.rows == ROWS


def test_without_its_squares_a_round_has_none() -> None:
    made = Made("poisson", spread=False)
    found = made.round(table(50))
    assert found.spread is None and found.matrix.shape == (5, 5) and np.array_equal(found.matrix, found.matrix.T)


# One row, one value -----------------------------------------------------------------------------------------------------------


def test_the_result_does_not_depend_on_source_threads_or_batches(tmp_path: Path) -> None:
    rows, made = table(), Made("gaussian")
    expected, look = made.round(rows).exact, made.open(rows).look(run=QUIET).exact
    arrow = pa.table(rows)
    pq.write_table(arrow, tmp_path / "rows.parquet", row_group_size=1237)
    import pandas as pd
    import polars as pl

    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    sources = {"arrow": arrow, "parquet": tmp_path / "rows.parquet", "csv": tmp_path / "rows.csv", "pandas": pd.DataFrame(rows),
               "polars": pl.DataFrame(rows), "chunks": pa.Table.from_batches(arrow.to_batches(max_chunksize=501))}
    for name, source in sources.items():
        for threads in (1, 3):
            run, opened = Run(threads, progress=False), made.open(source)
            assert opened.look(run=run).exact == look, (name, threads)
            assert opened.round(made.problem, made.point, run=run).exact == expected, (name, threads)


def test_a_stream_is_kept_for_all_passes() -> None:
    rows, made = table(3000), Made()
    opened = made.open(pa.table(rows).to_reader(max_chunksize=700))
    first = opened.look(run=QUIET)
    for _ in range(2):
        found = opened.round(made.problem, made.point, run=QUIET)
        assert found.exact == made.round(rows).exact and found.fingerprint == first.fingerprint


@pytest.mark.parametrize("family", RESPONSES)
def test_a_row_adds_the_same_bits_wherever_it_is(family: str) -> None:
    """Alone, at every place of a batch, and in batches of every size: BLAS and vector instructions treat ends differently."""
    made, random = Made(family), np.random.default_rng(4)
    rows = table(70)
    alone = [made.round({name: values[place:place + 1] for name, values in rows.items()}).exact for place in range(70)]
    for size in (2, 3, 5, 7, 8, 17, 33, 70):
        chosen = random.permutation(70)[:size]
        together = made.round({name: values[chosen] for name, values in rows.items()}).exact
        total = alone[chosen[0]]
        for place in chosen[1:]:
            total = total.merge(alone[place])
        assert together == total, size
    assert alone[0] != alone[1]


@given(st.data())
def test_a_rounded_point_never_leaves_whole_numbers(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 60))
    numbers = st.floats(-1e60, 1e60, allow_subnormal=False)
    matrix = np.array(data.draw(st.lists(numbers, min_size=2 * size, max_size=2 * size))).reshape(2, size)
    found, unit = in_whole_numbers(matrix)
    assert np.all(found == np.rint(found)) and np.abs(found).sum(axis=1).max() <= 2.0**33
    assert math.frexp(unit)[0] == 0.5
    assert np.all(np.abs(found * unit - matrix) <= np.abs(matrix).sum(axis=1).max() * 2.0**-31)


@pytest.mark.parametrize("wrong", [1e200, math.inf, math.nan, 1e-200])
def test_a_point_beyond_what_floats_can_do_is_refused(wrong: float) -> None:
    made = Made()
    point = Point(coefficients=made.point.coefficients, coordinates=made.point.coordinates * wrong, scale=1.0, spread=False)
    with pytest.raises(PrivacyError, match="ordinary size"):
        made.open(table(3)).round(made.problem, point, run=QUIET)


# Rows that count ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["gaussian", "logistic"])
def test_a_row_that_is_left_out_adds_nothing_at_all(family: str) -> None:
    """Not even through the constant, whose u is not 0."""
    schema, rows = schema_with("add-remove", "drop"), table(4000)
    gone = np.arange(4000) % 7 == 0
    rows["age"] = np.where(gone, np.nan, rows["age"])
    made = Made(family, schema)
    kept = {name: values[~gone] for name, values in rows.items()}
    found = made.round(rows)
    assert found.exact == made.round(kept).exact and found.rows == (~gone).sum()
    assert made.open(rows).look(run=QUIET).exact == made.open(kept).look(run=QUIET).exact
    nobody = {name: values[gone] for name, values in rows.items()}
    assert not np.any(made.round(nobody).exact.total) and not np.any(made.open(nobody).look(run=QUIET).exact.total)


def test_missing_values_follow_the_schema() -> None:
    rows = table(500)
    rows["age"][::3] = np.nan
    filled = {**rows, "age": np.where(np.isnan(rows["age"]), 40.0, rows["age"])}
    made = Made(schema=schema_with(missing=40))
    assert made.round(rows).exact == made.round(filled).exact != Made(schema=schema_with(missing=41)).round(rows).exact


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_the_same_rows_of_a_unit_count_in_every_pass(adjacency: str) -> None:
    rows = table(3000)
    made = Made(schema=schema_with(adjacency, unit={"column": "person", "max_rows": 2}))
    kept = {name: values[np.arange(3000) % 3 < 2] for name, values in rows.items()}
    opened, expected = made.open(rows), Made().round(kept).exact
    first = opened.look(run=QUIET)
    assert first.rows == 2000
    for threads in (1, 3):
        found = opened.round(made.problem, made.point, run=Run(threads, progress=False))
        assert np.array_equal(found.exact.total, expected.total) and found.fingerprint == first.fingerprint


def test_a_norm_bound_shortens_no_row() -> None:
    """Rows far from the others count for less in each round, so a norm is not needed."""
    rows = table(2000)
    made, free = Made("gaussian", schema_with(norm_bound=0.4)), Made("gaussian")
    looks = [one.open(rows).look(run=QUIET).to_grid() for one in (made, free)]
    assert np.array_equal(*looks)
    assert np.array_equal(made.round(rows).matrix, free.round(rows).matrix)


def test_a_formula_of_products_alone_still_looks_at_their_columns() -> None:
    made = Made(predictors="I(age**2) + age:ward", terms="I(age**2) + age:ward")
    rows = table(1000)
    opened = made.open(rows)
    assert {column.name for column in made.layout.columns} == {"age", "ward[B]", "ward[C]", "sick"}
    look = opened.look(run=QUIET)
    [age] = [place for place, column in enumerate(made.layout.columns) if column.name == "age"]
    assert look.to_grid()[age] == math.floor(np.sum(np.rint(scaled(rows)[:, 1] * 2**20)) / 16)
    assert opened.round(made.problem, made.point, run=QUIET).fingerprint == look.fingerprint


def test_counts_are_whole_numbers() -> None:
    """A half visit is one of the two whole numbers next to it, as a count between 2 and 3 is in one of the ranges."""
    made, rows = Made("poisson"), table(30)
    rows["visits"] = np.full(30, 2.9999)
    whole = {**rows, "visits": np.full(30, 3.0)}
    assert np.array_equal(made.round(rows).score, made.round(whole).score)
    assert made.open(rows).look(run=QUIET).to_grid()[-made.layout.ranges:].tolist() == [0, 0, 30 << 16, 0, 0]


# The fingerprint -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["a row more", "a predictor", "a response", "two responses exchanged", "an unused column"])
def test_other_rows_have_another_fingerprint(change: str) -> None:
    made, rows = Made(), table(1000)
    before = made.open(rows).look(run=QUIET).fingerprint
    after = {name: values.copy() for name, values in rows.items()}
    if change == "a row more":
        after = {name: np.append(values, values[-1:]) for name, values in rows.items()}
    elif change == "a predictor":
        after["pain"][500] += 0.01
    elif change == "a response":
        after["sick"][500] = "no" if rows["sick"][500] == "yes" else "yes"
    elif change == "an unused column":
        after["stay"][500] += 1
    else:
        one, other = np.flatnonzero(rows["sick"] == "yes")[0], np.flatnonzero(rows["sick"] == "no")[0]
        after["sick"][[one, other]] = rows["sick"][[other, one]]
    same = made.round(after).fingerprint == before
    assert same == (change == "an unused column")


def test_the_order_of_the_rows_does_not_matter() -> None:
    made, rows = Made(), table(1000)
    order = np.random.default_rng(1).permutation(1000)
    turned = {name: values[order] for name, values in rows.items()}
    assert made.round(turned).fingerprint == made.open(rows).look(run=QUIET).fingerprint


# Elsewhere -------------------------------------------------------------------------------------------------------------------


def test_a_worker_carries_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent to the machines of a cluster needs no table computed again, and gives the same sums."""
    made, rows = Made("gaussian"), table(2000)
    layout = ModelLayout.of(made.basis, made.layout)
    sent = pickle.dumps((layout, RoundTables.of(layout, made.problem, made.point)))
    assert len(sent) < 8 * 2**20
    monkeypatch.setattr(Nodes, "of", lambda *_: pytest.fail("tables are computed once"))
    layout, tables = pickle.loads(sent)
    workers = [_RoundWorker(layout, None, tables, None) for _ in range(2)]
    names = [*layout.plan.columns]
    for worker, part in zip(workers, (slice(0, 700), slice(700, None)), strict=True):
        worker.add(pa.RecordBatch.from_pydict({name: pa.array(rows[name][part]) for name in names}))
    monkeypatch.undo()
    assert workers[0].result().merge(workers[1].result()) == made.round(rows).exact


def test_a_missing_column_is_refused_before_a_row_is_read() -> None:
    rows = table(3)
    del rows["pain"]
    with pytest.raises(DataError, match="'pain'"):
        Made().open(rows)


def test_no_rows_are_sums_of_nothing() -> None:
    found = Made("gaussian").round(table(0), ALONE)
    assert found.rows == 0 and not np.any(found.matrix) and not np.any(found.score) and found.square == 0
