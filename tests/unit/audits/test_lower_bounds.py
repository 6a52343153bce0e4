"""The bounds hold as often as they say, and are sharp enough to be of use. Everything is simulated with seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from noisewise.audits.laws import Gaussian, Laplace, Law, Wishart
from noisewise.audits.lower_bounds import (
    delta_of_group,
    epsilon_from_guesses,
    epsilon_of_one_run,
    one_run_probability,
    rate_at_least,
    rate_at_most,
    smallest_shift,
)

LEVEL = 0.01
REPEATS = 600


@pytest.mark.parametrize(("count", "trials"), [(0, 10), (3, 10), (10, 10), (57, 4000)])
def test_rates_are_those_of_clopper_and_pearson(count: int, trials: int) -> None:
    found = binomtest(count, trials).proportion_ci(1 - 2 * LEVEL, method="exact")
    assert rate_at_least(count, trials, LEVEL) == pytest.approx(found.low, abs=1e-12)
    assert rate_at_most(count, trials, LEVEL) == pytest.approx(found.high, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "delta", "group"), [(1.0, 0.0, 1), (0.2, 0.0, 8), (1.0, 0.01, 1), (0.25, 0.001, 4)])
def test_the_bound_of_any_mechanism_is_seldom_above_the_truth_and_near_it(epsilon: float, delta: float, group: int) -> None:
    """The mechanism that attains (epsilon, delta): it tells all now and then, and else says which table it was by a bent coin."""
    random = np.random.default_rng(1)
    draws, leak = 4000, delta_of_group(epsilon, delta, group)
    told = random.binomial(draws, leak, REPEATS)
    right = told + random.binomial(draws - told, 1 / (1 + math.exp(-group * epsilon)))
    counts, place = np.unique(right, return_inverse=True)
    found = np.array([epsilon_from_guesses(int(correct), draws - int(correct), draws, delta=delta, level=LEVEL, group=group)
                      for correct in counts])[place]
    assert np.mean(found > epsilon) <= LEVEL
    assert np.median(found) > 0.8 * epsilon
    without_leak = epsilon_from_guesses(int(np.median(right)), draws - int(np.median(right)), draws, delta=0.0, level=LEVEL,
                                        group=group)
    assert without_leak >= np.median(found)


@pytest.mark.parametrize("law", [Gaussian(), Laplace(), Wishart(30, 2, replaced=False)], ids=lambda law: type(law).__name__)
def test_the_smallest_shift_is_seldom_above_the_truth_and_near_it(law: Law) -> None:
    random = np.random.default_rng(2)
    draws, truth = 2000, law.clearest
    noise = np.array([law.ppf(p) for p in np.linspace(0.0005, 0.9995, 1000)])  # quantiles, for the rate of each error
    alarm, miss = (float(np.mean(errors)) for errors in (noise > truth / 2, noise + truth <= truth / 2))
    alarms, misses = random.binomial(draws, alarm, REPEATS), random.binomial(draws, miss, REPEATS)
    found = np.array([smallest_shift(law, int(a), draws, int(m), draws, LEVEL) for a, m in zip(alarms, misses, strict=True)])
    assert np.mean(found > truth) <= LEVEL
    assert np.median(found) > 0.85 * truth


def test_nothing_is_concluded_from_nothing() -> None:
    assert smallest_shift(Gaussian(), 0, 0, 0, 0, LEVEL) == 0.0
    assert smallest_shift(Gaussian(), 50, 100, 50, 100, LEVEL) == 0.0
    assert epsilon_from_guesses(0, 0, 100, delta=1e-6, level=LEVEL) == 0.0
    assert epsilon_from_guesses(50, 50, 100, delta=0.0, level=LEVEL) == 0.0
    assert epsilon_of_one_run(0, 0, 100, delta=1e-6, level=LEVEL) == 0.0


def test_the_delta_of_a_group_is_the_sum_of_its_steps() -> None:
    epsilon, delta = 0.7, 1e-5
    assert delta_of_group(epsilon, delta, 4) == pytest.approx(sum(delta * math.exp(step * epsilon) for step in range(4)))
    assert delta_of_group(0.0, delta, 4) == 4 * delta and delta_of_group(9.0, delta, 900) == 1.0


def test_the_probability_of_one_run_is_the_published_one() -> None:
    """Written out as in the appendix of Steinke, Nasr and Jagielski (2023)."""
    canaries, guesses, correct, epsilon, delta = 100, 60, 50, 0.8, 1e-4
    share = 1 / (1 + math.exp(-epsilon))
    total, worst = 0.0, 0.0
    for step in range(1, correct + 1):
        total += binom.pmf(correct - step, guesses, share)
        worst = max(worst, total / step)
    expected = binom.sf(correct - 1, guesses, share) + 2 * worst * delta * canaries
    assert one_run_probability(correct, guesses, canaries, epsilon, delta) == pytest.approx(expected)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_bound_of_one_run_is_seldom_above_the_truth_and_near_it(delta: float) -> None:
    random = np.random.default_rng(3)
    canaries, epsilon = 1000, 2.0
    told = random.binomial(canaries, delta, REPEATS)
    right = told + random.binomial(canaries - told, 1 / (1 + math.exp(-epsilon)))
    counts, place = np.unique(right, return_inverse=True)
    found = np.array([epsilon_of_one_run(int(correct), canaries, canaries, delta=delta, level=LEVEL)
                      for correct in counts])[place]
    assert np.mean(found > epsilon) <= LEVEL
    assert np.median(found) > 0.8 * epsilon
