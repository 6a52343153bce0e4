"""What epsilon and delta mean, against the worst pair of distributions that they allow."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from noisewise.report.guarantee import detections, largest_belief, right_guesses

BUDGETS = [(0.1, 0.0), (1.0, 0.0), (1.0, 1e-6), (0.5, 0.1), (3.0, 0.01), (8.0, 1e-3)]


def worst_pair(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Of all pairs the easiest to tell apart (Kairouz, Oh and Viswanath 2015): with probability delta all is given away."""
    odds = math.exp(epsilon)
    one = np.array([delta, (1 - delta) * odds / (1 + odds), (1 - delta) / (1 + odds), 0.0])
    return one, one[::-1]


def most_powerful(one: np.ndarray, other: np.ndarray, false_alarms: float) -> float:
    """Neyman and Pearson: reject where the likelihood ratio is largest, at random on the last of these."""
    ratio = np.divide(other, one, out=np.full(4, np.inf), where=one > 0)
    power, left = 0.0, false_alarms
    for place in np.argsort(-ratio):
        share = 1.0 if one[place] <= left else left / one[place]
        power, left = power + share * other[place], left - share * one[place]
        if share < 1.0:
            break
    return float(power)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_worst_pair_is_private_and_reaches_both_chances(epsilon: float, delta: float) -> None:
    one, other = worst_pair(epsilon, delta)
    for event in itertools.product([False, True], repeat=4):
        chosen = list(event)
        assert one[chosen].sum() <= math.exp(epsilon) * other[chosen].sum() + delta + 1e-12
    assert right_guesses(epsilon, delta) == pytest.approx(np.maximum(one, other).sum() / 2)
    for false_alarms in (0.01, 0.05, 0.3):
        assert detections(epsilon, delta, false_alarms) == pytest.approx(most_powerful(one, other, false_alarms))


def test_a_belief_moves_by_the_odds() -> None:
    odds = largest_belief(1.0, 0.2) / (1 - largest_belief(1.0, 0.2))
    assert odds == pytest.approx(math.e * 0.25)
    assert largest_belief(1.0, 0.5) == pytest.approx(right_guesses(1.0, 0.0))


def test_no_epsilon_overflows() -> None:
    assert right_guesses(1e6, 0.0) == 1.0 and detections(1e6, 0.0) == 1.0 and largest_belief(1e6, 0.1) == 1.0
