"""The sums of a moments release: exact, as plain NumPy finds them, whatever the source, the threads and the batches."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from noisewise.data import moments_sum
from noisewise.kinds.regression import regression_columns
from noisewise.run import QUIET, Run
from noisewise.schema import Basis, Schema
from noisewise.schema.moment_blocks import LARGEST_ORDER, MomentBlock

ROWS = 20_000
NAMES = [*("x" * k for k in range(1, LARGEST_ORDER + 1)), *("y" + "x" * k for k in range(LARGEST_ORDER))]
LOW = ["x", "xx", "y", "yx"]
UNIT = 2.0**-20
FORMULA = "visits ~ age + ward + pain"


def table(rows: int = ROWS) -> dict[str, NDArray[Any]]:
    random = np.random.default_rng(5)
    return {
        "age": random.uniform(10, 105, rows),
        "ward": random.choice(["A", "B", "C", "D"], rows),  # D is none of the levels
        "pain": random.uniform(0, 10, rows),
        "visits": random.integers(0, 14, rows).astype(float),
        "person": np.arange(rows) // 3,
    }


def schema_with(adjacency: str = "replace-one", missing: Any = None, **more: Any) -> Schema:
    fill = {} if missing is None else {"missing": missing}
    return Schema.from_dict({"adjacency": adjacency, **more, "columns": {
        "age": {"bounds": [18, 98], **fill}, "ward": {"levels": ["A", "B", "C"]}, "pain": {"bounds": [0, 10]},
        "visits": {"bounds": [0, 12]}}})


def basis_of(schema: Schema, terms: str | None = None, formula: str = FORMULA) -> Basis:
    return Basis(schema, regression_columns(schema, terms, formula))


def found(data: Any, schema: Schema, blocks: list[str] = NAMES, run: Run = QUIET) -> dict[str, NDArray[np.int64]]:
    return moments_sum(data, schema, basis_of(schema), blocks, run=run).to_blocks()


def scaled(rows: dict[str, NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Predictors and response as whole multiples of 2**-20, in plain NumPy."""
    age, pain = (np.clip((rows[name] - middle) / half, -1, 1) for name, middle, half in (("age", 58, 40), ("pain", 5, 5)))
    x = np.column_stack([age, rows["ward"] == "B", rows["ward"] == "C", pain]).astype(float)
    y = np.clip((rows["visits"] - 6) / 6, -1, 1)
    return np.rint(x / UNIT) * UNIT, np.rint(y / UNIT) * UNIT


def plain(x: NDArray[np.float64], y: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    factor = y if name.startswith("y") else np.ones(len(y))
    return np.array([np.sum(np.prod(x[:, list(chosen)], axis=1) * factor)
                     for chosen in combinations_with_replacement(range(x.shape[1]), name.count("x"))])


def test_orders_one_and_two_are_exact() -> None:
    """Sums of whole multiples of 2**-40, rounded down to 2**-16: NumPy's floats hold them for this many rows."""
    sums = found(table(), schema_with(), LOW)
    for name in LOW:
        assert np.array_equal(sums[name], np.floor(plain(*scaled(table()), name) * 2**16)), name


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LOW])
def test_higher_orders_are_within_the_rounding_that_the_sensitivity_allows(name: str) -> None:
    """2**-19 for each row and 2**-16 for the grid; in truth rounding errors nearly cancel."""
    sums, exact = found(table(), schema_with(), [name])[name] * 2.0**-16, plain(*scaled(table()), name)
    assert len(sums) == MomentBlock.named(name).size(4)
    np.testing.assert_allclose(sums, exact, rtol=0, atol=ROWS * 2.0**-19 + 2.0**-16)
    np.testing.assert_allclose(sums, exact, rtol=0, atol=1e-3)
    shifted = plain(*(value + 1e-4 for value in scaled(table())), name)
    assert not np.allclose(sums, shifted, rtol=0, atol=1e-3)


@pytest.mark.outer(but=["yx"])
@pytest.mark.parametrize("name", NAMES)
def test_one_row_is_off_by_less_than_the_allowance(name: str) -> None:
    """Row by row, before the grid: the error of a monomial is at most 2**-19, and none for orders one and two."""
    rows = {key: values[:300] for key, values in table().items()}
    x, y = scaled(rows)
    schema = schema_with()
    largest = 0.0
    for place in range(300):
        one = {key: values[place:place + 1] for key, values in rows.items()}
        exact = moments_sum(one, schema, basis_of(schema), [name], run=QUIET).exact
        value = exact.high[1:] + exact.low[1:] * 2.0**-40
        largest = max(largest, float(np.abs(value - plain(x[place:place + 1], y[place:place + 1], name)).max()))
    order = MomentBlock.named(name).order
    assert largest == 0.0 if order <= 2 else 0.0 < largest < 2.0**-19


def test_the_result_does_not_depend_on_source_threads_or_batches(tmp_path: Path) -> None:
    rows, schema = table(), schema_with()
    expected = found(rows, schema)
    arrow = pa.table(rows)
    pq.write_table(arrow, tmp_path / "rows.parquet", row_group_size=1237)
    import pandas as pd
    import polars as pl

    arrow_csv = tmp_path / "rows.csv"
    pd.DataFrame(rows).to_csv(arrow_csv, index=False)
    sources = {"arrow": arrow, "parquet": tmp_path / "rows.parquet", "csv": arrow_csv, "pandas": pd.DataFrame(rows),
               "polars": pl.DataFrame(rows), "chunks": pa.Table.from_batches(arrow.to_batches(max_chunksize=501))}
    for name, source in sources.items():
        for threads in (1, 3):
            other = found(source, schema, run=Run(threads, progress=False))
            assert all(np.array_equal(other[block], expected[block]) for block in NAMES), (name, threads)


def test_many_factors_are_summed_in_several_steps() -> None:
    """More rows than the workspace holds at a time change nothing."""
    from noisewise.data.statistics import moments

    expected = found(table(), schema_with())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moments, "WORKSPACE", 5000)
        other = found(table(), schema_with())
    assert all(np.array_equal(other[name], expected[name]) for name in NAMES)


def test_rows_are_dropped_under_add_remove_whatever_block_is_asked_for() -> None:
    rows, schema = table(), schema_with("add-remove", "drop")
    gone = np.arange(ROWS) % 7 == 0
    rows["age"] = np.where(gone, np.nan, rows["age"])
    kept = {name: values[~gone] for name, values in rows.items()}
    for blocks in (["n", *NAMES], ["n", "y"], ["yxx"]):
        dropped, expected = found(rows, schema, blocks), found(kept, schema, blocks)
        assert all(np.array_equal(dropped[name], expected[name]) for name in blocks)
    total = moments_sum(rows, schema, basis_of(schema), ["n", "y"], run=QUIET)
    assert total.rows == (~gone).sum() and total.to_blocks()["n"].tolist() == [(~gone).sum() << 16]


def test_only_the_first_rows_of_a_unit_are_used() -> None:
    rows = table(3000)
    schema = schema_with(unit={"column": "person", "max_rows": 2})
    kept = {name: values[np.arange(3000) % 3 < 2] for name, values in rows.items()}
    limited, expected = found(rows, schema, ["n", *NAMES]), found(kept, schema_with(), ["n", *NAMES])
    assert all(np.array_equal(limited[name], expected[name]) for name in ["n", *NAMES])
    assert limited["n"] == [2000 << 16]


@pytest.mark.parametrize("bound", [0.4, 1.0, 1.5])
def test_the_norm_of_the_predictors_is_clipped_and_the_response_is_not(bound: float) -> None:
    rows, schema = table(2000), schema_with(norm_bound=bound)
    sums = found(rows, schema, ["xx", "y", "yx"])
    assert np.array_equal(sums["y"], found(rows, schema_with(), ["y"])["y"])
    x, y = scaled(rows)
    length = np.linalg.norm(x, axis=1, keepdims=True)
    short = x * np.minimum(1, bound / np.maximum(length, 1e-9))
    np.testing.assert_allclose(sums["yx"] * 2.0**-16, plain(short, y, "yx"), atol=0.01)
    assert (length > bound).mean() > 0.05
    # Exactly: the squares of each row add up to at most the square of the bound.
    diagonal = [place for place, (one, other) in enumerate(combinations_with_replacement(range(4), 2)) if one == other]
    for place in range(200):
        one = {name: values[place:place + 1] for name, values in rows.items()}
        exact = moments_sum(one, schema, basis_of(schema), ["xx"], run=QUIET).exact.total[1:][diagonal]
        assert sum(exact) <= (Fraction(bound) * 2**20) ** 2


def test_a_norm_that_the_predictors_cannot_exceed_is_not_clipped() -> None:
    """Three scalars and groups of predictors: a norm of 1.8 would bind only with the response."""
    rows = table(2000)
    clipped, free = (found(rows, schema_with(**more), LOW) for more in ({"norm_bound": 1.8}, {}))
    assert all(np.array_equal(clipped[name], free[name]) for name in LOW)


def test_products_and_polynomials_are_predictors_like_others() -> None:
    schema, terms = schema_with(), "age:ward + I(age**2)"
    basis = basis_of(schema, terms, "visits ~ age*ward + I(age**2)")
    rows = table(500)
    sums = moments_sum(rows, schema, basis, ["x", "xx"], run=QUIET).to_blocks()
    ward = np.where(rows["ward"] == "D", "A", rows["ward"])
    values = basis.evaluate({**rows, "age": np.clip(rows["age"], 18, 98), "ward": ward})
    np.testing.assert_allclose(sums["x"] * 2.0**-16, values[:, 1:-1].sum(axis=0), atol=1e-2)
    upper = np.triu_indices(basis.size - 2)
    np.testing.assert_allclose(sums["xx"] * 2.0**-16, (values[:, 1:-1].T @ values[:, 1:-1])[upper], atol=1e-2)


def test_partial_sums_merge_exactly() -> None:
    rows, schema = table(9001), schema_with()
    basis = basis_of(schema)
    whole = moments_sum(rows, schema, basis, NAMES, run=QUIET).exact
    parts = [moments_sum({name: values[part] for name, values in rows.items()}, schema, basis, NAMES, run=QUIET).exact
             for part in (slice(0, 17), slice(17, 5000), slice(5000, None))]
    assert parts[0].merge(parts[2]).merge(parts[1]) == whole
    assert parts[0] != whole
