"""The sensitivity of a model release against a search for worse neighbours, and against rows as they are really summed.

The search must never find a change above the bound; and where model.md calls a bound tight, it must find one above 99 % of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.privacy.model_search import BOUNDS, RoundPair, random_pair
from tests.privacy.neighbour_search import Array, climb

from noisewise.data import ModelRows
from noisewise.kinds import Model
from noisewise.privacy.sensitivity.model import ModelSensitivity, model_sensitivity
from noisewise.run import ALONE
from noisewise.schema import Design, Schema
from noisewise.scores.change import Weights, changed_square
from noisewise.scores.families import FAMILIES
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Layout
from noisewise.scores.rounds import Look, Point

TIGHT = 0.99
ROUNDING = 1 + 1e-9
ROWS_OF = {"add-remove": 1, "replace-one": 2}
SPREADS = [False, True]


def weights_for(family: str, adjacency: Any, spread: bool) -> Weights:
    return Weights.of(adjacency, scaled=FAMILIES[family].scaled, spread=spread)


def bound(weights: Weights, adjacency: str) -> float:
    return math.sqrt(changed_square(weights, added=adjacency == "add-remove"))


def largest(pair: RoundPair, rows: int, seed: int = 1) -> float:
    columns = pair.coordinates.shape[1]
    return climb(lambda values, _: pair.change(values), lambda values: np.clip(values, -1, 1), (rows, columns), reach=1.0,
                 steps=50, pairs=12, seed=seed)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("adjacency", ROWS_OF)
@pytest.mark.parametrize("family", BOUNDS)
def test_no_pair_is_worse_at_random_points(family: str, adjacency: str, spread: bool) -> None:
    random, weights = np.random.default_rng(7), weights_for(family, adjacency, spread)
    found = [largest(random_pair(random, family, weights), ROWS_OF[adjacency], seed) for seed in range(8)]
    assert 0.8 * bound(weights, adjacency) < max(found) <= bound(weights, adjacency) * ROUNDING


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("adjacency", ROWS_OF)
def test_the_bounds_are_tight(adjacency: str, spread: bool) -> None:
    """Logistic: η is 16 at one end of the column and 0 at the other, where the coordinate is −1/B or 1/B."""
    weights = weights_for("logistic", adjacency, spread)
    coordinates = np.array([[0.5, 1.5]])  # 2 = 1/B at x = 1, where η = 0 and B = ½; −1 = −1/B at x = −1, where η = 16
    pair = RoundPair("logistic", np.array([8.0, -8.0]), coordinates, 1.0, weights)
    found, limit = largest(pair, ROWS_OF[adjacency]), bound(weights, adjacency)
    assert TIGHT * limit < found <= limit * ROUNDING


def test_a_matrix_of_more_weight_would_break_the_bound_for_small_ones() -> None:
    """With weights above ½ two rows at right angles, which change both matrices, are worse than 4 + c: the fallback is needed."""
    heavy = Weights(3.0)
    pair = RoundPair("logistic", np.zeros(3), np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]), 1.0, heavy)
    found = largest(pair, 2)
    assert math.sqrt(4 + heavy.matrix) < found <= bound(heavy, "replace-one")


PIECES = st.tuples(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))


@given(PIECES, PIECES, st.floats(-1, 1), st.floats(0, 0.5), st.floats(0, 1), st.floats(0, 1))
def test_no_values_of_the_pieces_exceed_the_bound(
    one: Any, other: Any, t: float, matrices: float, split: float, square: float
) -> None:
    """D4 for any a² ≤ q ≤ 1, b and angle, whether or not a row can have them; for weights up to the limits."""
    matrix, spread = matrices * split, matrices * (1 - split)
    weights = Weights(matrix, square * (2 - spread), spread)
    (a, b, more), (c, d, further) = one, other
    q, p = a * a + more * (1 - a * a), c * c + further * (1 - c * c)
    added = a * a + weights.matrix * b * b + weights.spread * a**4 + weights.square * q * q
    assert added <= changed_square(weights, added=True) * ROUNDING
    found = a * a + c * c - 2 * a * c * t + weights.matrix * (b * b + d * d - 2 * b * d * t * t)
    found += weights.spread * (a**4 + c**4 - 2 * a * a * c * c * t * t) + weights.square * (q - p) ** 2
    assert found <= changed_square(weights, added=False) * ROUNDING


# Rows as they are summed ----------------------------------------------------------------------------------------------------


def sensitivity_for(family: str, adjacency: str, terms: int, **unit: Any) -> ModelSensitivity:
    scaled = FAMILIES[family].scaled
    return model_sensitivity(look_added=3, look_replaced=8, sums=3, terms=terms, scaled=scaled, adjacency=adjacency, **unit)


def summed(family: str, rows: Array, point: Point) -> tuple[Array, Any]:
    """The exact weighted pieces of rows (x₁, x₂, y) with y in [−1, 1], as the data room sums them, before the grid."""
    low, high = BOUNDS[family]
    two = FAMILIES[family].response == "two levels"
    columns = {"a": {"bounds": [-1, 1]}, "b": {"bounds": [-1, 1]}, "y": {"levels": [0, 1]} if two else {"bounds": [low, high]}}
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": columns})
    kind = Model("y ~ a + b", family=family)
    basis = kind.settled(schema)
    layout = Layout.of(basis, FAMILIES[family])
    look = Look(noise=0.0, sums=np.zeros(layout.size), rows=1.0, rows_noise=0.0)
    problem = Problem.of(basis, Design.of(kind.formula, basis, None), FAMILIES[family], look)
    y = low + (high - low) * (rows[:, 2] + 1) / 2
    table = {"a": rows[:, 0], "b": rows[:, 1], "y": np.rint(y).astype(int) if two else y}
    found = ModelRows.open(table, basis, layout).round(problem, point, run=ALONE)
    terms = found.terms
    numbers = found.exact.high[found.layout.head:] + found.exact.low[found.layout.head:] * 2.0**-40
    score, square, matrix = numbers[:terms], numbers[terms], numbers[terms + 1:][: terms * (terms + 1) // 2]
    spread = numbers[terms + 1 + terms * (terms + 1) // 2:]
    twice = np.where(np.equal(*np.triu_indices(terms)), 1.0, math.sqrt(2))
    weights = weights_for(family, "replace-one", point.spread)
    pieces = [score, math.sqrt(weights.matrix) * twice * matrix, [math.sqrt(weights.square) * square]]
    return np.concatenate([*pieces, math.sqrt(weights.spread) * twice * spread] if point.spread else pieces), found


@pytest.mark.parametrize("family", BOUNDS)
def test_rows_as_they_are_summed_stay_within_the_bound(family: str) -> None:
    """At points that shorten many rows to length 1, where a wrong rounding would show."""
    random = np.random.default_rng(3)
    for size in (1e-3, 1.0, 1e3):
        scale = {"gaussian": 0.7, "negative-binomial": 0.4}.get(family, 1.0)
        coefficients, coordinates = random.normal(size=3) * 2, random.normal(size=(3, 3)) * size
        point = Point(coefficients=coefficients, coordinates=coordinates, scale=scale, spread=True)
        limit = sensitivity_for(family, "replace-one", 3).last
        rows = [summed(family, np.array([row]), point)[0] for row in random.choice([-1.0, -0.3, 1.0], (20, 3))]
        for one in rows:
            assert np.linalg.norm(one[:3]) <= 1.0
            assert max(np.linalg.norm(one - other) for other in rows) <= limit


def test_what_is_computed_is_as_close_to_the_formulas_as_the_allowance_says() -> None:
    """D5: each entry of a row's s within 2**-20 and a bit, in the direction of zero."""
    random = np.random.default_rng(5)
    point = Point(coefficients=np.array([0.3, 1.0, -0.7]), coordinates=random.normal(size=(3, 3)), scale=1.0, spread=False)
    for row in random.uniform(-1, 1, (40, 3)):
        x = np.rint(row[:2] * 2**20) / 2**20
        numbers, found = summed("logistic", np.array([[*x, row[2]]]), point)
        pair = RoundPair("logistic", np.array([0.3, 1.0, -0.7]), found.point.coordinates, 1.0, Weights(0.5))
        exact = pair.features(np.array([*x, row[2]]))[:3]
        assert np.all(np.abs(numbers[:3]) <= np.abs(exact) * (1 + 1e-12))
        assert np.all(np.abs(numbers[:3] - exact) <= 2.0**-20 + 2.0**-39)


def test_units_count_as_often_as_they_have_rows() -> None:
    random = np.random.default_rng(11)
    point = Point(coefficients=np.array([0.0, 4.0, 0.0]), coordinates=np.array([[0.0, 2.0, 0.0]]), scale=1.0, spread=False)
    rows = [summed("logistic", np.array([row]), point)[0] for row in random.choice([-1.0, 0.0, 1.0], (30, 3))]
    replaced = max(np.linalg.norm(one - other) for one in rows for other in rows)
    added = max(np.linalg.norm(one) for one in rows)
    for most in (1, 3):
        unit = {"max_rows": most, "unit_is_row": False}
        limit = sensitivity_for("logistic", "replace-one", 1, **unit).finding
        assert most * max(replaced, added) <= limit


# The first look -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adjacency", ROWS_OF)
def test_the_first_look_is_never_exceeded_and_tight(adjacency: str) -> None:
    """Numbers, two and three levels, and ranges of a count: over all corners and many rows between them."""
    columns = {"a": {"bounds": [-1, 1]}, "b": {"bounds": [-1, 1]}, "s": {"levels": [0, 1]}, "w": {"levels": ["A", "B", "C"]},
               "y": {"bounds": [0, 9]}}
    schema = Schema.from_dict({"adjacency": adjacency, "columns": columns})
    basis = Model("y ~ a + b + s + w", family="poisson").settled(schema)
    layout = Layout.of(basis, FAMILIES["poisson"])
    random = np.random.default_rng(2)

    def looked(index: int) -> Array:
        corner = index < 60
        numbers = random.choice([-1.0, 1.0], 2) if corner else random.uniform(-1, 1, 2)
        table = {"a": numbers[:1], "b": numbers[1:], "s": random.integers(0, 2, 1), "w": random.choice(["A", "B", "C"], 1),
                 "y": random.integers(0, 10, 1).astype(float)}
        return ModelRows.open(table, basis, layout).look(run=ALONE).to_grid() / 2**16

    rows = [looked(index) for index in range(120)]
    found = max(np.linalg.norm(one) for one in rows) if adjacency == "add-remove" else max(
        np.linalg.norm(one - other) for one in rows for other in rows)
    limit = math.sqrt(layout.squares(schema, adjacency == "add-remove"))
    assert TIGHT * limit < found <= limit + 1e-4
