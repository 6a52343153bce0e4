"""What epsilon and delta mean, against the worst pair of distributions that they allow."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from noisewise.reports.guarantee import Guarantee, chances, detections, largest_belief, of_several, protected, right_guesses
from noisewise.schema import Schema

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


def schema_of(adjacency: str) -> Schema:
    return Schema.from_dict({"adjacency": adjacency, "columns": {"stay": {"bounds": [0, 40]}}})


def largest_gap(epsilon: float, one: np.ndarray, other: np.ndarray) -> float:
    """The smallest delta at this epsilon."""
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum())


@pytest.mark.parametrize("steps", [2, 3, 5])
def test_several_steps_have_a_delta_that_grows_faster_than_their_number(steps: int) -> None:
    """A chain of distributions, each (ε, δ) close to the next, whose ends reach the bound exactly."""
    epsilon, delta = 0.7, 1e-3
    chances_of_event = [1e-3]  # the probability of an event goes from p to e^ε p + δ in each step
    for _ in range(steps):
        chances_of_event.append(math.exp(epsilon) * chances_of_event[-1] + delta)
    pairs = [np.array([p, 1 - p]) for p in chances_of_event]
    for before, after in itertools.pairwise(pairs):
        assert largest_gap(epsilon, after, before) <= delta + 1e-15 and largest_gap(epsilon, before, after) <= delta
    together, grown = of_several(epsilon, delta, steps)
    assert together == pytest.approx(steps * epsilon) and grown > steps * delta
    assert largest_gap(together, pairs[-1], pairs[0]) == pytest.approx(grown)


def test_several_steps_end_where_nothing_is_promised() -> None:
    assert of_several(1.0, 1e-6, 1) == (1.0, pytest.approx(1e-6)) and of_several(1.0, 0.0, 9) == (9.0, 0.0)
    assert of_several(1e6, 1e-6, 2) == (2e6, 1.0) and of_several(1e-9, 1e-6, 2)[1] == pytest.approx(2e-6)


def test_under_add_remove_every_bound_is_that_for_what_somebody_says() -> None:
    """Otherwise a page would name two different chances of the best possible attacker."""
    one = Guarantee("a", 1.0, 0.0, "s", steps=2)
    assert one.chance == pytest.approx(math.e**2 / (1 + math.e**2)) and one.detection == pytest.approx(0.05 * math.e**2)
    guess, test, belief = chances([one], schema_of("add-remove"))
    assert "at most 88.1 % of the time with it" in guess
    assert guess.endswith("in the table, and considers both equally likely, is right at most 73.2 % of the time.")
    assert "at most 37 % of the true ones" in test and "at most 13.6 % if they are only about being in the table" in test
    assert "at most e^2 ≈ 7.39." in belief and "one of 50 % at most 88.1 %" in belief
    assert "For whether somebody is in the table, the factor is at most e^1 ≈ 2.72." in belief
    (*_, with_delta) = chances([Guarantee("a", 1.0, 1e-6, "s", steps=2)], schema_of("add-remove"))
    assert "more than the factor e^1 ≈ 2.72, if the question is whether somebody is in the table" in with_delta
    assert "For what somebody's data say, the factor is e^2 ≈ 7.39 and δ about 3.718·10⁻⁶" in with_delta
    plain = " ".join(chances([Guarantee("a", 1.0, 0.0, "s")], schema_of("replace-one")))
    assert "73.2 %" in plain and "13.6 %" in plain and "88.1" not in plain and "in the table" not in plain


def test_each_bound_is_the_largest_of_any_holder() -> None:
    """With a large ε more guesses are right, with a large δ more of the true accusations are made."""
    steep, leaky = Guarantee("steep", 1.2, 0.0, "s"), Guarantee("leaky", 0.1, 0.4, "s")
    assert steep.chance > leaky.chance and leaky.detection > steep.detection
    where, guess, test, belief = chances([steep, leaky], schema_of("replace-one"))
    assert "for guesses at steep (ε = 1.2, δ = 0), for accusations at leaky (ε = 0.1, δ = 0.4)" in where
    assert "at most 76.9 % of the time" in guess and "at most 45.6 % of the true ones" in test
    assert "δ = 0.4, the largest of any data holder," in belief and "e^1.2" in belief


@pytest.mark.parametrize(("adjacency", "delta", "words"), [
    ("replace-one", 1e-6, "δ grows faster: for what 5 rows say ε is 5, and δ is about 8.579·10⁻⁵."),
    ("add-remove", 1e-6, "for what 5 rows say, each a removal and an addition, ε is 10, and δ is about 0.01282."),
    ("add-remove", 1e-3, "ε is 10, and δ reaches 1, which promises nothing."),
    ("replace-one", 0.0, "ε is multiplied by their number: for what 5 rows say it is 5."),
])
def test_what_is_left_for_several_rows_of_one_person(adjacency: str, delta: float, words: str) -> None:
    found = protected(schema_of(adjacency), [Guarantee("a", 1.0, delta, "s", 1 if adjacency == "replace-one" else 2)])
    assert words in found[0] and "add up" not in found[0]
