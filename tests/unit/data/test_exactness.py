"""The statistic is an exact sum of rounded values, and the rounding is bounded."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.data import GramSum, gram_sum
from noisewise.data.statistics.gram import Accumulator
from noisewise.errors import DataError
from noisewise.run import ALONE
from noisewise.schema import Basis, Schema

LOWER, UPPER = -3.0, 7.0
ONE = 2**20

cells = st.floats(allow_nan=True, allow_infinity=True, width=64)
tables = st.lists(st.tuples(cells, cells), min_size=0, max_size=60)


def schema_of(**more: Any) -> Schema:
    return Schema.from_dict({"adjacency": "replace-one",
                             "columns": {"a": {"bounds": [LOWER, UPPER], "missing": 1.0}, "b": {"bounds": [-1e-3, 1e9]}}} | more)


def rounded(cell: float, lower: float, upper: float, fill: float) -> int:
    """A cell in units of 2**-20, by the rule of the documentation and in plain Python."""
    centre, half_width = lower + (upper - lower) / 2, (upper - lower) / 2
    value = fill if cell != cell else cell
    return round(min(max((value - centre) * (ONE / half_width), -ONE), ONE))


def by_hand(rows: list[tuple[float, float]]) -> list[list[int]]:
    total = [[0] * 3 for _ in range(3)]
    for a, b in rows:
        row = (ONE, rounded(a, LOWER, UPPER, 1.0), rounded(b, -1e-3, 1e9, -1e-3 + (1e9 + 1e-3) / 2))
        for i in range(3):
            for j in range(3):
                total[i][j] += row[i] * row[j]
    return total


def columns(rows: list[tuple[float, float]]) -> dict[str, Any]:
    return {"a": np.array([row[0] for row in rows], dtype=float), "b": np.array([row[1] for row in rows], dtype=float)}


def statistic(data: Any, schema: Schema | None = None, terms: str | None = None) -> GramSum:
    chosen = schema or schema_of()
    return gram_sum(data, chosen, Basis.of(chosen, terms), run=ALONE)


@given(tables)
def test_the_sum_is_that_of_whole_numbers_by_hand(rows: list[tuple[float, float]]) -> None:
    found = statistic(columns(rows))
    assert found.total.tolist() == by_hand(rows)
    assert found.rows == len(rows)


@given(tables)
def test_no_entry_exceeds_the_number_of_rows(rows: list[tuple[float, float]]) -> None:
    found = statistic(columns(rows), terms="a:b + I(a**3) + I(b**2):a")
    assert (np.abs(found.total) <= len(rows) * ONE * ONE).all()
    assert np.array_equal(found.total, found.total.T)


def test_large_sums_are_exact_and_near_the_unrounded_ones() -> None:
    """With values within 2**-21 of the unrounded u, |q q' - u u'| <= 2**-20 + 2**-42 for each row; doubles add 2**-45 at most."""
    generator = np.random.default_rng(1)
    data = {"a": generator.uniform(LOWER - 1, UPPER + 1, 30_000), "b": generator.uniform(-1e8, 1.1e9, 30_000)}
    found = statistic(data)
    exact = [[Fraction(0)] * 3 for _ in range(3)]
    for a, b in zip(data["a"].tolist(), data["b"].tolist(), strict=True):
        row = (Fraction(1), unrounded(a, LOWER, UPPER), unrounded(b, -1e-3, 1e9))
        for i in range(3):
            for j in range(i, 3):
                exact[i][j] += row[i] * row[j]
    bound = 30_000 * (Fraction(1, 2**20) + Fraction(1, 2**42) + Fraction(1, 2**45))
    for i in range(3):
        for j in range(i, 3):
            assert abs(Fraction(int(found.total[i, j]), 2**40) - exact[i][j]) <= bound
    assert found.total.tolist() == by_hand(list(zip(data["a"].tolist(), data["b"].tolist(), strict=True)))
    # The bound is not idle: summed rounding errors do appear.
    assert any(Fraction(int(found.total[i, j]), 2**40) != exact[i][j] for i, j in ((0, 1), (1, 1)))


def unrounded(cell: float, lower: float, upper: float) -> Fraction:
    low, high = Fraction(lower), Fraction(upper)
    return (min(max(Fraction(cell), low), high) - (low + high) / 2) / ((high - low) / 2)


def test_extreme_rows_stay_exact_beyond_the_range_of_a_double() -> None:
    """Every product is 2**40; 2**24 rows of them make 2**64, and one odd value more is still seen."""
    accumulator = Accumulator(2)
    full = np.full((2, 2), 2.0**53)
    for _ in range(2048):
        accumulator.add(full, 2**13)
    accumulator.add(np.array([[0.0, 1.0], [0.0, -1.0]]), 1)
    total = accumulator.sum(["1", "a"], np.arange(2)).total
    assert total.tolist() == [[2**64 + 2**40, 2**64 + 1], [2**64 + 1, 2**64 - 1]]


@given(tables, st.data())
def test_any_split_into_batches_gives_the_identical_sum(rows: list[tuple[float, float]], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=5)))
    table = pa.table(columns(rows))
    parts = [table.slice(start, stop - start) for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    whole = statistic(table)
    assert statistic(pa.concat_tables(parts)) == whole
    merged = GramSum.zero(whole.basis_names)
    for part in parts:
        merged = merged.merge(statistic(part))
    assert merged == whole and hash(merged) == hash(whole)


sums = st.builds(
    lambda high, low: GramSum.of(["1", "a"], np.array(high).reshape(2, 2), np.array(low).reshape(2, 2)),
    st.lists(st.integers(-(2**40), 2**40), min_size=4, max_size=4),
    st.lists(st.integers(-(2**61), 2**61), min_size=4, max_size=4),
)


@given(sums, sums, sums)
def test_merging_is_exact_associative_and_commutative(a: GramSum, b: GramSum, c: GramSum) -> None:
    assert a.merge(b).merge(c) == a.merge(b.merge(c))
    assert a.merge(b) == b.merge(a)
    assert (a.merge(b).total == a.total + b.total).all()


@given(sums)
def test_the_grid_is_reached_by_rounding_down(a: GramSum) -> None:
    assert (a.to_grid().astype(object) == a.total // 2**24).all()
    assert a.to_grid().dtype == np.int64


def test_sums_are_immutable_and_of_one_basis() -> None:
    a = GramSum.zero(["1", "a"])
    with pytest.raises(ValueError, match="read-only"):
        a.high[0, 0] = 1
    with pytest.raises(DataError, match="same columns"):
        a.merge(GramSum.zero(["1", "b"]))
    assert a != "another thing"


def test_products_and_polynomials_come_from_rounded_values() -> None:
    schema = schema_of()
    rows = [(0.3, 4e8), (6.9, -5.0), (float("nan"), float("inf"))]
    found = statistic(columns(rows), schema, "a:b + I(a**3)")
    names = found.basis_names
    sums = dict.fromkeys(names, 0)
    for a, b in rows:
        p, q = rounded(a, LOWER, UPPER, 1.0), rounded(b, -1e-3, 1e9, 1.0)
        u = Fraction(p, ONE)
        for name, value in (("a:b", Fraction(p * q, ONE)), ("T2(a)", (2 * u**2 - 1) * ONE), ("T3(a)", (4 * u**3 - 3 * u) * ONE)):
            sums[name] += round(value) * ONE
    assert {"a:b", "T2(a)", "T3(a)"} <= set(names)
    for name in ("a:b", "T2(a)", "T3(a)"):
        assert found.total[0, names.index(name)] == sums[name]


@pytest.mark.parametrize("size", [1, 5, 7, 8, 11, 16, 33, 130])
def test_both_ways_of_multiplying_agree_with_whole_numbers(size: int) -> None:
    """Few columns use the general product in panels, many the symmetric one."""
    generator = np.random.default_rng(size)
    names = [f"x{index}" for index in range(size)]
    schema = Schema.from_dict({"adjacency": "add-remove", "columns": {
        name: {"bounds": [-1, 1], "missing": "drop" if name == "x0" else 0.5} for name in names}})
    data = {name: generator.uniform(-1.2, 1.2, 9000) for name in names}
    data["x0"][::7] = np.nan
    values = np.array([np.rint(np.clip(data[name], -1, 1) * ONE) for name in names])
    kept = np.vstack([np.full(9000, ONE), values])[:, ~np.isnan(data["x0"])].astype(np.int64)
    halves = [half @ half.T for half in np.array_split(kept, 2, axis=1)]
    assert (statistic(data, schema).total == sum(half.astype(object) for half in halves)).all()
