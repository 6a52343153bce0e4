"""SIMEX and naive least squares on made-up rows; the thesis' special case by both samplers."""

from __future__ import annotations

import numpy as np
import pytest

from noisewise.literature.known_law import known_law_problem, sample_coefficients
from noisewise.literature.noisy_rows import LAMBDAS, Extrapolant, extrapolate, naive, simex
from noisewise.posterior.rows.problem import Answers, RowProblem
from noisewise.posterior.rows.sampler import sample_rows


def made(rows: int = 40_000, scale: float = 0.2, group: bool = False) -> RowProblem:
    """y = 0.1 + 0.5 x (+ 0.3 for the group) with sigma 0.2."""
    generator = np.random.default_rng(6)
    member = generator.random(rows) < 0.5
    x = 0.4 * generator.normal(size=rows)
    y = 0.1 + 0.5 * x + 0.15 * np.where(member, 1, -1) * group + 0.2 * generator.normal(size=rows)
    noisy = np.stack([x, y], axis=1)[None] + scale * generator.laplace(size=(1, rows, 2))
    told = np.where(generator.random(rows) < 0.85, member, ~member).astype(np.int64)[None]
    categories = (Answers(told, 0.85, np.array([[-1.0], [1.0]])),) if group else ()
    return RowProblem(noisy, np.full(2, scale), np.ones((1, rows)), categories)


def test_naive_least_squares_is_attenuated_as_theory_says() -> None:
    estimate = naive(made())
    reliability = 0.16 / (0.16 + 2 * 0.04)
    assert estimate.values[1] == pytest.approx(0.5 * reliability, abs=4 * np.sqrt(estimate.covariance[1, 1]))
    assert estimate.values[2] == pytest.approx(0.04 + 0.08 + 0.25 * 0.16 * (1 - reliability), rel=0.1)


@pytest.mark.parametrize("extrapolant", ["quadratic", "rational-linear"])
def test_simex_takes_most_of_the_attenuation_away(extrapolant: Extrapolant) -> None:
    """As far as an extrapolation of the true curve does: a parabola leaves a bias, the rational function is that curve."""
    at = np.array([0.0, *LAMBDAS])
    right = extrapolate(at, 0.5 * 0.16 / (0.16 + 0.08 * (1 + at)), extrapolant)
    assert (right == pytest.approx(0.5)) == (extrapolant == "rational-linear")
    estimate = simex(made(), seed=1, extrapolant=extrapolant, simulations=20)
    assert estimate.values[1] == pytest.approx(right, abs=0.02)
    assert abs(naive(made()).values[1] - 0.5) > 0.15
    assert 0 < estimate.covariance[1, 1] < 1e-3


def test_simex_answers_again() -> None:
    problem = made(scale=0.02, group=True)
    assert naive(problem).values[1] == pytest.approx(0.15 * 0.7, abs=0.005)
    assert simex(problem, seed=1, simulations=20).values[1] == pytest.approx(0.15, abs=0.01)


def test_a_pole_on_the_way_falls_back_to_the_parabola() -> None:
    at = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    values = 1.0 / (0.3 + at)
    assert extrapolate(at, values, "rational-linear") == extrapolate(at, values, "quadratic")


def test_draws_of_a_comparator_have_its_mean_and_spread() -> None:
    estimate = naive(made(rows=500))
    drawn = estimate.draws(4, 4000, seed=2)
    sd = np.sqrt(np.diag(estimate.covariance))[:-1]
    assert np.all(np.abs(drawn[..., :-1].mean(axis=(0, 1)) - estimate.values[:-1]) < 5 * sd / np.sqrt(16_000))
    assert drawn[..., :-1].std(axis=(0, 1)) == pytest.approx(sd, rel=0.05)


@pytest.mark.slow  # two samplers are compiled for it
def test_the_thesis_case_by_its_own_sampler_and_by_ours() -> None:
    """n = 500, beta (2, 2), sd 1, sigma 0.5 and its noise at epsilon = 5, two copies (thesis 001, section 4.1)."""
    generator = np.random.default_rng(3)
    scale = 2 * 3.92 * 1.5 / 5.0
    x = generator.normal(size=500)
    y = 2 + 2 * x + 0.5 * generator.normal(size=500)
    noisy = [z + scale * generator.laplace(size=(2, 500)) for z in (x, y)]
    problem = known_law_problem(noisy[0], noisy[1], scale, mean=0.0, sd=1.0, sigma=0.5)
    ours = sample_coefficients(problem, seed=1, chains=2, draws=2000)
    theirs = sample_coefficients(problem, seed=1, chains=2, draws=20_000, algorithm_6=True)
    batches = [found.reshape(20, -1, 2).mean(axis=1) for found in (ours, theirs)]
    errors = [np.std(found, axis=0, ddof=1) / np.sqrt(20) for found in batches]
    assert np.all(np.abs(batches[0].mean(axis=0) - batches[1].mean(axis=0)) < 4.5 * np.hypot(*errors))
    assert ours.std(axis=(0, 1)) == pytest.approx(theirs.std(axis=(0, 1)), rel=0.15)
    assert np.all(np.abs(ours.mean(axis=(0, 1)) - 2) < 4 * ours.std(axis=(0, 1)))


def test_an_exact_response_and_an_exact_column() -> None:
    """The response without noise, one perturbed predictor and one exact one; least squares on them would be attenuated."""
    generator = np.random.default_rng(4)
    exact, x = generator.uniform(-1, 1, 3000), np.zeros(3000)
    x = 0.3 * exact + 0.3 * generator.normal(size=3000)
    y = 0.1 + 0.4 * exact + 0.5 * x + 0.1 * generator.normal(size=3000)
    observed = np.stack([x + 0.3 * generator.laplace(size=3000), y], axis=1)[None]
    problem = RowProblem(observed, np.array([0.3, 0.0]), np.stack([np.ones(3000), exact]))
    found = sample_rows(problem, seed=1, chains=2, draws=500).working
    right = np.array([0.1, 0.4, 0.5, 0.1])
    assert np.all(np.abs(found.mean(axis=(0, 1)) - right) < 4 * found.std(axis=(0, 1)))
    assert abs(naive(problem).values[2] - 0.5) > 0.2
