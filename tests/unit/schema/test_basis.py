"""The released columns: their names, their range, and how large a row of them can be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import DeclarationError, FormulaError
from noisewise.schema import Basis, Schema

COLUMNS = {
    "a": {"bounds": [0, 10]},
    "b": {"bounds": [-5, 3]},
    "s": {"levels": ["F", "M"]},
    "ward": {"levels": ["A", "B", "C"]},
    "site": {"levels": [1, 2, 3, 4]},
}


def schema(norm_bound: float | None = None) -> Schema:
    extra = {} if norm_bound is None else {"norm_bound": norm_bound}
    return Schema.from_dict({"adjacency": "replace-one", "columns": COLUMNS, **extra})


DECLARED = ("1", "a", "b", "s", "ward[B]", "ward[C]", "site[2]", "site[3]", "site[4]")


@pytest.mark.parametrize(
    ("terms", "added", "scalars", "blocks"),
    [
        (None, (), 3, 2),
        ("a + ward", (), 3, 2),
        ("1", (), 3, 2),
        ("I(a + 2*b - 1)", (), 3, 2),
        ("I(s**2)", (), 3, 2),
        ("I(a**2 - a**2)", (), 3, 2),
        ("I(a**2)", ("T2(a)",), 4, 2),
        ("I(a**3)", ("T2(a)", "T3(a)"), 5, 2),
        ("a:b", ("a:b",), 4, 2),
        ("b:a + a:b", ("a:b",), 4, 2),
        ("a:s", ("a:s",), 4, 2),
        ("a*b*s", ("a:b", "a:s", "b:s", "a:b:s"), 7, 2),
        ("a:ward", ("a:ward[B]", "a:ward[C]"), 3, 3),
        ("s:ward", ("s:ward[B]", "s:ward[C]"), 3, 3),
        ("ward:site", tuple(f"site[{j}]:ward[{i}]" for j in (2, 3, 4) for i in "BC"), 3, 3),
        ("I(a**2):ward", ("T2(a)", "a:ward[B]", "a:ward[C]", "T2(a):ward[B]", "T2(a):ward[C]"), 4, 4),
    ],
)
def test_the_columns_that_terms_add(terms: str | None, added: tuple[str, ...], scalars: int, blocks: int) -> None:
    basis = Basis.of(schema(), terms)
    assert basis.names[: len(DECLARED)] == DECLARED
    assert set(basis.names[len(DECLARED) :]) == set(added)
    assert basis.size == len(DECLARED) + len(added)
    assert (basis.scalars, basis.blocks) == (scalars, blocks)
    assert basis.radius_squared == scalars + blocks
    assert basis.radius == math.sqrt(scalars + blocks)
    assert not basis.norm_clipped
    assert all(basis.columns[index].factors == product for product, index in basis.position.items())


def test_the_order_of_terms_does_not_change_the_basis() -> None:
    assert Basis.of(schema(), "I(a**3) + a:b + s:ward") == Basis.of(schema(), "ward:s + b:a + I(a**3)")


@pytest.mark.parametrize(
    ("norm_bound", "clipped", "radius"),
    [(1.5, True, 1.5), (math.sqrt(5), False, math.sqrt(5)), (2.3, False, math.sqrt(5)), (2, True, 2.0)],
)
def test_a_declared_norm_counts_only_if_it_is_smaller(norm_bound: float, clipped: bool, radius: float) -> None:
    basis = Basis.of(schema(norm_bound))
    assert basis.norm_clipped is clipped
    assert basis.radius == pytest.approx(radius, rel=1e-15)
    assert basis.radius_squared == pytest.approx(radius**2, rel=1e-15)


@given(
    st.sampled_from(
        [None, "I(a**2)", "I(a**5) + a:b", "a*b*s*ward", "ward:site + I(b**3):s", "I((a + b)**3)*ward", "site:ward:s"]
    ),
    st.integers(0, 2**32 - 1),
)
def test_rows_within_the_bounds_stay_within_the_ranges_that_sensitivities_are_made_from(terms: str | None, seed: int) -> None:
    basis = Basis.of(schema(), terms)
    generator = np.random.default_rng(seed)
    size = 40
    share = np.where(generator.random((2, size)) < 0.4, generator.integers(0, 2, (2, size)), generator.random((2, size)))
    values = basis.evaluate(
        {
            "a": 10 * share[0],
            "b": -5 + 8 * share[1],
            "s": generator.choice(["F", "M"], size),
            "ward": generator.choice(["A", "B", "C"], size),
            "site": generator.choice([1, 2, 3, 4], size),
        }
    )
    assert np.all(values[:, 0] == 1)
    assert np.all(np.abs(values) <= 1 + 1e-12)
    for block in {column.block for column in basis.columns} - {None}:
        members = [index for index, column in enumerate(basis.columns) if column.block == block]
        assert np.all(np.count_nonzero(values[:, members], axis=1) <= 1)
    assert np.all(np.sum(values[:, 1:] ** 2, axis=1) <= basis.radius_squared + 1e-9)


def test_the_radius_is_reached_so_that_no_smaller_one_would_do() -> None:
    basis = Basis.of(schema(), "I(a**2) + a:b + s:ward")
    corner = basis.evaluate(
        {
            name: np.array([value], dtype=object if isinstance(value, str) else float)
            for name, value in {"a": 10, "b": 3, "s": "M", "ward": "B"}.items()
        }
        | {"site": np.array([2])}
    )
    assert np.sum(corner[0, 1:] ** 2) == pytest.approx(basis.radius_squared)


def test_values_that_were_not_given_are_not_made_up() -> None:
    values = Basis.of(schema(), "a:b").evaluate({"a": np.array([0.0, 5.0])})
    names = Basis.of(schema(), "a:b").names
    assert np.all(np.isfinite(values[:, [names.index("1"), names.index("a")]]))
    assert np.all(np.isnan(values[:, [names.index("b"), names.index("a:b")]]))


def test_predictions_extrapolate_beyond_the_bounds() -> None:
    assert Basis.of(schema()).evaluate({"a": np.array([15.0])})[0, 1] == 2.0


@pytest.mark.parametrize("name", ["1", "T2(a)", "a:b", "ward[B]"])
def test_a_column_may_not_have_the_name_of_a_made_one(name: str) -> None:
    declared = Schema.from_dict({"adjacency": "replace-one", "columns": {**COLUMNS, name: {"bounds": [0, 1]}}})
    with pytest.raises(DeclarationError, match="different names"):
        Basis.of(declared, "I(a**2) + a:b")


@pytest.mark.parametrize(
    ("terms", "message"),
    [("a ~ b", "terms have no response"), ("z", "not declared"), ("log(a)", "not evaluated"), ("", "a formula must be a string")],
)
def test_wrong_terms_are_refused(terms: str, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        Basis.of(schema(), terms)
