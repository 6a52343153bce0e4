"""Values and refusals of the sensitivity of a model release. The search for neighbours is in tests/privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from noisewise.errors import NoisewiseError, PrivacyError
from noisewise.privacy.sensitivity.model import ModelSensitivity, model_sensitivity
from noisewise.schema.schema import ADJACENCIES
from noisewise.scores.change import Weights, changed_square

GRID = 2.0**-16
ENTRY = 2.0**-20 + 2.0**-40


def sensitivity(terms: int = 4, adjacency: str = "replace-one", **changes: Any) -> ModelSensitivity:
    arguments: dict[str, Any] = {"look_added": 5.0, "look_replaced": 12.0, "sums": 6, "terms": terms, "scaled": True,
                                 "adjacency": adjacency}
    return model_sensitivity(**{**arguments, **changes})


def slack(weights: Weights, terms: int, sides: int) -> float:
    matrices = weights.matrix + weights.spread
    row = math.sqrt(terms * ENTRY**2 * (1 + 4 * matrices) + weights.square * 2.0**-78)
    return sides * row + GRID * math.sqrt(terms + matrices * terms**2 + weights.square)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("terms", [1, 7, 400])
def test_a_round_by_hand(terms: int, scaled: bool) -> None:
    found, square = sensitivity(terms, scaled=scaled), 1.0 if scaled else 0.0
    finding, last = Weights(0.5, square), Weights(0.35, square, 0.15)
    assert found.finding == pytest.approx(math.sqrt(4.5) + slack(finding, terms, 2), rel=1e-11)
    assert found.last == pytest.approx(math.sqrt(4.35) + slack(last, terms, 2), rel=1e-11)
    private = sensitivity(terms, "add-remove", scaled=scaled)
    small = 0.06 if scaled else 0.0
    assert private.finding == pytest.approx(math.sqrt(1.2 + small) + slack(Weights(0.2, small), terms, 1), rel=1e-11)
    assert private.last == pytest.approx(math.sqrt(1.3 + small) + slack(Weights(0.2, small, 0.1), terms, 1), rel=1e-11)


def test_bounds_are_rounded_up() -> None:
    found = sensitivity(9)
    exact = Fraction(changed_square(Weights(0.5, 1.0), added=False))
    assert Fraction(found.finding) ** 2 > exact


@pytest.mark.parametrize(("adjacency", "unit", "square", "entries"), [
    ("replace-one", {}, 12.0, 6), ("add-remove", {}, 6.0, 7),
    ("replace-one", {"max_rows": 3, "unit_is_row": False}, 12.0, 7),
    ("add-remove", {"max_rows": 3, "unit_is_row": False}, 6.0, 7),
])
def test_a_first_look_by_hand(adjacency: str, unit: dict[str, Any], square: float, entries: int) -> None:
    """The number of rows is one more sum where it is not public."""
    found = sensitivity(adjacency=adjacency, **unit)
    assert found.look == pytest.approx(unit.get("max_rows", 1) * math.sqrt(square) + GRID * math.sqrt(entries), rel=1e-12)
    assert found.rows_are_public == (adjacency == "replace-one" and not unit)


def test_a_person_who_comes_may_change_more_than_one_who_is_replaced() -> None:
    """A first look whose sums hardly move if a row is replaced: then the number of rows decides."""
    row = sensitivity(look_added=0.5, look_replaced=0.25)
    person = sensitivity(look_added=0.5, look_replaced=0.25, unit_is_row=False, max_rows=2)
    assert row.look == pytest.approx(0.5, abs=1e-4) and person.look == pytest.approx(2 * math.sqrt(1.5), abs=1e-4)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_units_multiply(adjacency: str) -> None:
    one, three = (sensitivity(adjacency=adjacency, max_rows=rows, unit_is_row=False) for rows in (1, 3))
    assert three.finding == pytest.approx(3 * one.finding, rel=1e-4) and three.finding < 3 * one.finding  # the grid counts once
    assert three.last == pytest.approx(3 * one.last, rel=1e-4)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("spread", [False, True])
def test_no_weight_is_above_one_and_all_are_within_the_limits_of_the_proof(adjacency: Any, scaled: bool, spread: bool) -> None:
    weights = Weights.of(adjacency, scaled=scaled, spread=spread)
    assert 0 < weights.matrix <= 1 and 0 <= weights.square <= 1 and 0 <= weights.spread <= 1
    assert weights.matrix + weights.spread <= 0.5 and weights.square + weights.spread <= 2
    assert (weights.square > 0) == scaled and (weights.spread > 0) == spread


def test_larger_weights_lose_the_discount() -> None:
    assert changed_square(Weights(0.5, 1.0), added=False) == 4.5
    assert changed_square(Weights(0.51, 1.0), added=False) == pytest.approx(4 + 1.02 + 1)
    assert changed_square(Weights(0.1, 2.1), added=False) == pytest.approx(4 + 0.2 + 2.1)


@pytest.mark.parametrize("changes", [
    {"adjacency": "swap"}, {"max_rows": 0}, {"max_rows": 2}, {"terms": 0}, {"terms": 1001}, {"sums": 0}, {"look_added": 0.0},
    {"look_replaced": -1.0}, {"look_added": math.nan},
])
def test_wrong_declarations_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(NoisewiseError) as refused:
        sensitivity(**changes)
    assert refused.value.found
    assert isinstance(refused.value, PrivacyError) or "terms" in changes
