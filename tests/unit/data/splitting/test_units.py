"""At most k rows of each unit, whatever the others do."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.data import GramSum, gram_sum
from noisewise.data.splitting.units import UnitLimit
from noisewise.errors import DataError
from noisewise.run import ALONE, QUIET, Run
from noisewise.schema import Basis, Schema


def schema_of(max_rows: int) -> Schema:
    return Schema.from_dict({"adjacency": "add-remove", "unit": {"column": "person", "max_rows": max_rows},
                             "columns": {"x": {"bounds": [-1, 1]}}})


def statistic(data: Any, max_rows: int) -> GramSum:
    schema = schema_of(max_rows)
    return gram_sum(data, schema, Basis.of(schema), run=QUIET)


people = st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=40)


@given(people, st.integers(1, 3), st.integers(1, 7))
def test_the_first_rows_of_each_unit_are_kept(people: list[int | None], max_rows: int, batch: int) -> None:
    limit = UnitLimit(max_rows)
    kept = [keep for start in range(0, len(people), batch)
            for keep in limit.keep(pa.array(people[start : start + batch], pa.int64())).tolist()]
    seen: dict[int | None, int] = {}
    for person, keep in zip(people, kept, strict=True):
        assert keep == (seen.get(person, 0) < max_rows)
        seen[person] = seen.get(person, 0) + 1


@given(people, st.integers(1, 3), st.integers(0, 5))
def test_removing_a_unit_removes_at_most_its_rows_and_no_other(people: list[int | None], max_rows: int, gone: int) -> None:
    values = np.linspace(-1, 1, len(people))
    table = pa.table({"person": pa.array(people, pa.int64()), "x": values})
    without = table.filter(pa.array([person != gone for person in people], pa.bool_()))
    only = table.filter(pa.array([person == gone for person in people], pa.bool_()))
    assert statistic(only, max_rows).rows <= max_rows
    assert statistic(without, max_rows).merge(statistic(only, max_rows)) == statistic(table, max_rows)


@pytest.mark.parametrize("identifiers", [
    pa.array(["a", "b", "a", None, None, "a"]),
    pa.array(["a", "b", "a", None, None, "a"], pa.string_view()),
    pa.array(["a", "b", "a", None, None, "a"]).dictionary_encode(),
    pa.array([1.0, 2.0, 1.0, float("nan"), None, 1.0]),
    pa.array([0.0, 2.0, -0.0, float("nan"), None, -0.0]),
    pa.array([None if n is None else np.float16(n) for n in (0.0, 2.0, -0.0, float("nan"), None, -0.0)], pa.float16()),
    pa.array([True, False, True, None, None, True]),
    pa.array([decimal.Decimal(n) if n else None for n in (1, 2, 1, 0, 0, 1)], pa.decimal32(3, 0)),
    pa.array([decimal.Decimal(n) if n else None for n in (1, 2, 1, 0, 0, 1)], pa.decimal64(12, 2)),
    pa.array([decimal.Decimal(n) if n else None for n in (1, 2, 1, 0, 0, 1)], pa.decimal256(50, 2)),
    pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None, 2, 0]), pa.array(["a", "b", None], pa.string_view())),
    pa.array([datetime.date(2026, 1, day) if day else None for day in (1, 2, 1, 0, 0, 1)]),
    pa.array([datetime.datetime(2026, 1, day) if day else None for day in (1, 2, 1, 0, 0, 1)], pa.timestamp("ns", "UTC")),
    pa.array([decimal.Decimal(n) if n else None for n in (1, 2, 1, 0, 0, 1)], pa.decimal128(3, 0)),
    pa.array([b"aa", b"bb", b"aa", None, None, b"aa"], pa.binary(2)),
    pa.array([9223372036854775807, 1, 9223372036854775807, None, None, 9223372036854775807], pa.timestamp("ns")),
])
def test_every_kind_of_identifier(identifiers: pa.Array) -> None:
    table = pa.table({"person": identifiers, "x": [1.0, 1.0, 1.0, 1.0, 1.0, -1.0]})
    many_batches = pa.Table.from_batches(table.to_batches(max_chunksize=2))
    for data in (table, many_batches):
        found = statistic(data, 1)
        assert found.rows == 3 and found.total[0, 1] == 3 * 2**40
        assert statistic(data, 2).rows == 5


def test_many_units_over_many_batches_and_threads() -> None:
    generator = np.random.default_rng(0)
    people = generator.integers(0, 50_000, 400_000)
    schema = schema_of(2)
    data = {"person": people, "x": generator.normal(size=400_000)}
    counts = np.bincount(people)
    found = gram_sum(data, schema, Basis.of(schema), run=Run(threads=4, progress=False))
    assert found.rows == np.minimum(counts, 2).sum()
    assert found == gram_sum(data, schema, Basis.of(schema), run=ALONE)


def test_an_identifier_must_be_in_the_data_and_comparable() -> None:
    with pytest.raises(DataError, match="'person'"):
        statistic({"x": [1.0]}, 1)
    interval = pa.array([pa.MonthDayNano([1, 2, 3])], pa.month_day_nano_interval())
    with pytest.raises(DataError, match="identifier"):
        statistic(pa.table({"x": [1.0], "person": interval}), 1)
    with pytest.raises(DataError, match="identifier"):
        statistic(pa.table({"x": [1.0], "person": [[1]]}), 1)


LARGE = [2**53, 2**53 + 1, None, 2**53 + 2, None]


@pytest.mark.parametrize("people", [
    pd.Series(LARGE, dtype="Int64"), pd.array(LARGE, dtype="Int64"), pd.Series(LARGE, dtype="int64[pyarrow]"),
    pl.Series(LARGE, dtype=pl.Int64), pa.array(LARGE), pa.chunked_array([LARGE[:2], LARGE[2:]]), LARGE,
], ids=["pandas", "pandas array", "pandas with Arrow", "polars", "Arrow", "Arrow chunks", "list"])
def test_large_identifiers_with_gaps_stay_distinct_in_a_dictionary(people: Any) -> None:
    """As doubles 2**53 and 2**53 + 1 would be one person."""
    data = {"person": people, "x": [1.0] * 5}
    assert statistic(data, 1).rows == 4
    assert statistic(data, 2).rows == 5
