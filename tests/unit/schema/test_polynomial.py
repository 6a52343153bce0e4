"""Chebyshev arithmetic against NumPy's and against plain evaluation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.schema import Categorical, Factor, Numeric
from noisewise.schema.polynomial import ONE, Polynomial, add, indicator, multiply, variable

NONE: frozenset[str] = frozenset()
coefficients = st.lists(st.floats(-10, 10, allow_nan=False), min_size=1, max_size=6)
scaled = st.floats(-1, 1, allow_nan=False)


def series(weights: list[float], column: str = "a") -> Polynomial:
    """Chebyshev weights of one column as a polynomial of ours."""
    return {(Factor(column, degree),) if degree else ONE: weight for degree, weight in enumerate(weights)}


def value(polynomial: Polynomial, at: dict[str, float], levels: dict[str, str] | None = None) -> float:
    """Evaluation straight from the definition T_k(u) = cos(k arccos u)."""
    total = 0.0
    for product, weight in polynomial.items():
        for factor in product:
            if factor.level is None:
                weight *= math.cos(factor.degree * math.acos(at[factor.column]))
            else:
                weight *= float((levels or {})[factor.column] == factor.level)
        total += weight
    return total


@given(coefficients, coefficients)
def test_a_product_is_the_one_numpy_computes(left: list[float], right: list[float]) -> None:
    expected = np.polynomial.chebyshev.chebmul(left, right)
    found = multiply(series(left), series(right), NONE)
    by_degree = np.zeros(max(len(expected), len(left) + len(right)))
    for product, weight in found.items():
        by_degree[product[0].degree if product else 0] += weight
    expected = np.pad(expected, (0, len(by_degree) - len(expected)))
    np.testing.assert_allclose(by_degree, expected, atol=1e-9)


@given(coefficients, coefficients, coefficients, scaled, scaled)
def test_sums_and_products_of_two_columns_evaluate_as_they_should(
    one: list[float], two: list[float], three: list[float], a: float, b: float
) -> None:
    left = add(series(one), series(two, "b"))
    right = multiply(series(three, "b"), left, NONE)
    at = {"a": a, "b": b}
    first = value(series(one), at) + value(series(two, "b"), at)
    assert value(left, at) == pytest.approx(first, abs=1e-9)
    assert value(right, at) == pytest.approx(first * value(series(three, "b"), at), abs=1e-6)


def test_the_order_of_multiplication_does_not_matter() -> None:
    left, right = add(variable(Numeric("a", 0, 3)), variable(Numeric("c", -1, 5))), variable(Numeric("b", 2, 4))
    assert multiply(left, right, NONE) == multiply(right, left, NONE)


def test_a_square_uses_the_double_angle() -> None:
    u: Polynomial = {(Factor("a"),): 1.0}
    assert multiply(u, u, NONE) == {ONE: 0.5, (Factor("a", 2),): 0.5}


def test_a_column_that_is_minus_one_or_one_squares_to_one() -> None:
    s: Polynomial = {(Factor("s"),): 1.0}
    assert multiply(s, s, frozenset({"s"})) == {ONE: 1.0}
    assert multiply(s, s, NONE) != {ONE: 1.0}


def test_indicators_exclude_one_another() -> None:
    ward = Categorical("ward", ("A", "B", "C"))
    first, second, third = (indicator(ward, level) for level in ward.levels)
    assert multiply(second, third, NONE) == {}
    assert multiply(first, second, NONE) == {}
    assert multiply(second, second, NONE) == second
    assert multiply(first, first, NONE) == first
    assert add(add(first, second), third) == {ONE: 1.0}


@pytest.mark.parametrize("levels", [("A", "B"), ("A", "B", "C"), (1, 2, 3, 4)])
def test_an_indicator_is_one_at_its_level_and_zero_elsewhere(levels: tuple[str, ...]) -> None:
    column = Categorical("ward", levels)
    for level in levels:
        for actual in levels:
            at = {"ward": 1.0 if actual == levels[1] else -1.0}
            assert value(indicator(column, level), at, {"ward": actual}) == float(level == actual)


def test_a_variable_is_its_own_value_at_the_ends_and_the_middle() -> None:
    polynomial = variable(Numeric("a", 10, 30))
    assert [value(polynomial, {"a": u}) for u in (-1.0, 0.0, 1.0)] == pytest.approx([10, 20, 30])


def test_what_cancels_leaves_nothing() -> None:
    polynomial = series([0.0, 1.0, 2.0])
    assert add(polynomial, multiply(polynomial, {ONE: -1.0}, NONE)) == {}
