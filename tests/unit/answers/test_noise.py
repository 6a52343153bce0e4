"""The noise as the analyst sees it: densities that integrate to one and belong to the draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest
from tests.unit.answers.simulated import asked_of

from noisewise.answers.asked import MeanNoise
from noisewise.answers.law import GridLaw, mean_law
from noisewise.schema.questions import BayesFactor

NOISES = [MeanNoise("gaussian", 0.3, 2), MeanNoise("k-norm", 0.3, 1), MeanNoise("k-norm", 0.1, 2), MeanNoise("k-norm", 0.02, 40)]


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("blur", [0.0, 0.004, 0.1, 1.0])
def test_densities_integrate_to_one_and_match_draws(noise: MeanNoise, blur: float) -> None:
    reach = 14.0 * (noise.sd + blur)
    points = np.linspace(-reach, reach, 20_001)
    density = noise.density(points, blur)
    step = points[1] - points[0]
    assert density.sum() * step == pytest.approx(1.0, abs=2e-3)
    assert np.sqrt((density * points**2).sum() * step) == pytest.approx(np.hypot(noise.sd, blur), rel=0.01)
    random = np.random.default_rng(1)
    drawn = noise.draws(40_000, random) + blur * random.normal(size=40_000)
    cumulative = np.cumsum(density) * step
    assert kstest(drawn, lambda at: np.interp(at, points + step / 2, cumulative)).pvalue > 1e-3


def test_one_number_has_laplace_noise() -> None:
    at = np.array([-2.0, 0.0, 0.5])
    np.testing.assert_allclose(MeanNoise("k-norm", 0.5, 1).density(at), np.exp(-np.abs(at) / 0.5), rtol=1e-12)


def test_far_tails_keep_their_digits() -> None:
    found = MeanNoise("k-norm", 0.01, 1).density(np.array([-3.0, 3.0]), 0.1)
    assert found[0] == found[1] > 0.0


@pytest.mark.parametrize("mechanism", ["k-norm", "gaussian"])
@pytest.mark.parametrize(("parts", "epsilon"), [(10, 0.5), (1000, 1.0), (50_000, 100.0)])
def test_the_mean_is_where_the_noise_leaves_it(mechanism: str, parts: int, epsilon: float) -> None:
    question = BayesFactor("x1", limits=(-4.0, 4.0))
    for value in (-3.0, 0.1234, 4.0):
        asked = asked_of((question,), [value], parts=parts, epsilon=epsilon, mechanism=mechanism)
        noise = MeanNoise.of(asked, asked.contents.numbers[0])
        law = mean_law(asked, asked.contents.numbers[0])
        low, middle, high = law.central(0.95)
        assert -4.0 <= low < middle < high <= 4.0
        if noise.sd < 0.5 and abs(value) < 4.0:  # the limits are far away
            draws = value - noise.draws(200_000, np.random.default_rng(1))
            np.testing.assert_allclose([low, middle, high], np.quantile(draws, [0.025, 0.5, 0.975]), atol=0.05 * noise.sd)


@pytest.mark.parametrize("mechanism", ["k-norm", "gaussian"])
@pytest.mark.parametrize("value", [-1e6, -30.0, 30.0, 1e6])
def test_a_mean_far_outside_its_limits_is_at_the_nearest(mechanism: str, value: float) -> None:
    asked = asked_of((BayesFactor("x1", limits=(-4.0, 4.0)),), [value], parts=1000, mechanism=mechanism)
    low, _, high = mean_law(asked, asked.contents.numbers[0]).central(0.95)
    assert -4.0 <= low <= high <= 4.0 and np.sign(low) == np.sign(high) == np.sign(value) and min(abs(low), abs(high)) > 3.9


@pytest.mark.outer(but=["0.0-10-gaussian", "1.0-1000-gaussian", "0.5-10-k-norm"])
@pytest.mark.parametrize("mechanism", ["k-norm", "gaussian"])
@pytest.mark.parametrize("parts", [10, 1000])
@pytest.mark.parametrize("inside", [0.0, 0.5, 1.0, 2.0])
def test_intervals_hold_a_mean_at_its_limit_or_just_inside(mechanism: str, parts: int, inside: float) -> None:
    """A strong effect clips all parts; an interval that never reaches the limit would miss it every time."""
    question, random = BayesFactor("x1", limits=(-4.0, 4.0)), np.random.default_rng(1)
    noise = MeanNoise.of(asked := asked_of((question,), [4.0], parts=parts, mechanism=mechanism), asked.contents.numbers[0])
    held = 0
    for error in noise.draws(300, random):
        truth = max(-4.0, 4.0 - inside * noise.sd)
        asked = asked_of((question,), [truth + float(error)], parts=parts, mechanism=mechanism)
        low, _, high = mean_law(asked, asked.contents.numbers[0]).central(0.95)
        held += low <= truth <= high
    assert held >= 270  # of 300 at 95 %: 269 or fewer once in ten thousand


def test_quantiles_and_draws_of_a_grid_law() -> None:
    points = np.linspace(-5.0, 5.0, 2001)
    law = GridLaw.of(points, np.exp(-0.5 * points**2))
    np.testing.assert_allclose(law.central(0.95), [-1.95996, 0.0, 1.95996], atol=1e-4)
    assert law.weights @ points == pytest.approx(0.0, abs=1e-12) and law.weights @ points**2 == pytest.approx(1.0, abs=1e-4)
    assert kstest(law.draws(20_000, np.random.default_rng(1)), "norm").pvalue > 1e-3
    nothing = GridLaw.of(points, np.zeros(2001))
    np.testing.assert_allclose(nothing.central(0.5), [-2.5, 0.0, 2.5], atol=0.01)
