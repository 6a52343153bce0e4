"""`fast` and `fixed-s`: against their definitions, against sums over a grid, and in the limit of no noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.literature.made_problems import by_quadrature, made_problem, made_request, with_statistics, worst_z

from noisewise.literature.fixed_moments import (
    FIXED_S,
    fast,
    fast_posterior,
    fixed_s,
    fixed_s_arrays,
    projected,
    rough_sigma,
)
from noisewise.literature.kernels.metropolis import chain, sample_chains
from noisewise.literature.statistics import InverseGamma, LinearProblem
from noisewise.posterior.kernels.jax_setup import double_precision

Array = NDArray[np.float64]
LIMIT = 4.5
"""|z| of a mean: with the dozen numbers compared here, passed by chance alone once in 10 000 runs or less."""


def nearest(gram: Array) -> Array:
    values, vectors = projected(gram)
    return np.asarray((vectors * values[:, None, :]) @ np.swapaxes(vectors, 1, 2))


def closed_form(problem: LinearProblem, sigma: float) -> tuple[Array, Array]:
    """Algorithm 3 as it is printed, in terms of θ."""
    inverse = np.linalg.inv(problem.effects)
    prior_mean = problem.effects @ problem.prior_mean + problem.offset
    precision = inverse.T @ problem.prior_precision @ inverse
    linear = precision @ prior_mean
    for gram, cross, noise in zip(nearest(problem.statistics.gram), problem.statistics.cross, problem.statistics.cross_variance,
                                  strict=True):
        weight = gram @ np.linalg.inv(sigma**2 * gram + noise * np.eye(len(gram)))
        precision, linear = precision + weight @ gram, linear + weight @ cross
    covariance = np.linalg.inv(precision)
    return covariance @ linear, covariance


def test_the_projection_is_the_nearest_matrix() -> None:
    matrix = np.array([[[1.0, 2.0], [2.0, 1.0]]])  # eigenvalues 3 and −1
    assert np.allclose(nearest(matrix), 1.5)


def test_fast_is_algorithm_3() -> None:
    problem = made_problem(1, (400, 700), 3, 150.0)
    assert np.linalg.eigvalsh(problem.statistics.gram).min() < 0  # the projection has something to do
    mean, covariance = fast_posterior(problem, 0.5)
    theta_mean, theta_covariance = closed_form(problem, 0.5)
    assert np.allclose(problem.effects @ mean + problem.offset, theta_mean, rtol=1e-9)
    assert np.allclose(problem.effects @ covariance @ problem.effects.T, theta_covariance, rtol=1e-9)
    as_variance = fast_posterior(problem, np.sqrt(0.5))[1]  # what the authors' code does
    assert not np.allclose(as_variance, covariance, rtol=0.01)


def test_fast_draws_its_closed_form_in_the_users_units() -> None:
    request, _, _ = made_request(1.0, draws=2000)
    found = fast(request)
    assert found.samples.shape == (2, 2000, 4) and found.doubts == () and found.diverging is None
    problem = LinearProblem.of(request)
    mean, covariance = fast_posterior(problem, rough_sigma(problem))
    beta = request.coordinates.slope @ mean + request.coordinates.offset
    assert worst_z(found.samples[..., :-1], beta) < LIMIT
    sd = np.sqrt(np.diag(request.coordinates.slope @ covariance @ request.coordinates.slope.T))
    assert np.allclose(found.samples[..., :-1].std(axis=(0, 1)), sd, rtol=0.08)  # 4000 draws: 5 standard errors
    assert np.allclose(found.samples[..., -1], 30.0 / 3)  # a third of the response's half width


@pytest.mark.parametrize("constant", [False, True])
def test_fixed_s_agrees_with_a_sum_over_a_grid(constant: bool) -> None:
    problem = made_problem(2, (200, 300), 2, 4.0, constant)
    draws = sample_chains(FIXED_S, fixed_s_arrays(problem), seed=5, chains=4, draws=5000, warmup=1000)
    grams = nearest(problem.statistics.gram)
    mean, sd = by_quadrature(problem, grams)
    assert worst_z(draws, mean) < LIMIT
    assert worst_z((draws - mean) ** 2, sd**2) < LIMIT
    assert worst_z(draws, by_quadrature(problem, grams + np.eye(grams.shape[1]) * 10)[0]) > LIMIT
    assert worst_z(draws, by_quadrature(problem, grams, wrong_variance=2.0)[0]) > LIMIT


def test_an_inverse_gamma_prior_of_the_variance() -> None:
    """Without data the draws of σ² are the prior's: its reciprocal is a gamma variable."""
    problem = replace(made_problem(2, (200,), 2, 12.0), sigma_prior=InverseGamma(6.0, 0.5))
    problem = with_statistics(problem, cross_variance=np.array([1e12]))
    draws = sample_chains(FIXED_S, fixed_s_arrays(problem), seed=6, chains=4, draws=5000, warmup=1000)
    precision = 1.0 / draws[..., -1:] ** 2
    assert worst_z(precision, np.array([12.0])) < LIMIT
    assert worst_z(precision, np.array([13.0])) > LIMIT  # the prior of σ taken for that of σ²: shape 6.5
    assert worst_z((precision - 12.0) ** 2, np.array([24.0])) < LIMIT


def test_without_noise_they_are_the_posterior_without_privacy() -> None:
    """Given S and z, which is all that these methods use."""
    exact = made_problem(3, (500,), 2, 0.0)
    problem = with_statistics(made_problem(3, (500,), 2, 1e-4), gram=exact.statistics.gram, cross=exact.statistics.cross)
    limit = with_statistics(problem, cross_variance=np.array([0.0]))
    gram = exact.statistics.gram[0]
    mean, covariance = fast_posterior(problem, 0.4)
    precision = problem.effects.T @ gram @ problem.effects / 0.16 + problem.prior_precision
    rest = exact.statistics.cross[0] - gram @ problem.offset
    known = np.linalg.solve(precision, problem.effects.T @ rest / 0.16 + problem.prior_precision @ problem.prior_mean)
    assert np.allclose(mean, known, rtol=1e-6)
    assert np.allclose(np.linalg.inv(covariance), precision, rtol=1e-6)
    draws = sample_chains(FIXED_S, fixed_s_arrays(problem), seed=7, chains=4, draws=5000, warmup=1000)
    exact_mean, exact_sd = by_quadrature(limit, exact.statistics.gram)
    assert worst_z(draws, exact_mean) < LIMIT
    assert worst_z(draws, exact_mean + 0.2 * exact_sd) > LIMIT


@pytest.mark.inner
def test_a_fit_with_almost_no_noise_finds_the_coefficients() -> None:
    request, x, y = made_request(1e6, draws=800)
    known = np.linalg.lstsq(x, y, rcond=None)[0]
    for method in (fast, fixed_s):
        samples = method(request).samples
        assert samples.shape == (2, 800, 4)
        sd = samples[..., :-1].std(axis=(0, 1))
        assert (np.abs(samples[..., :-1].mean(axis=(0, 1)) - known) < 0.5 * sd).all()


def test_progress_is_told_and_draws_follow_the_seed() -> None:
    told: list[tuple[int, int]] = []
    request, _, _ = made_request(1.0, draws=300)
    request = replace(request, tick=lambda *progress: told.append(progress))
    once, again = fixed_s(request).samples, fixed_s(request).samples
    assert told[:4] == [(250 * done, 1000) for done in range(1, 5)]  # 300 steps of warm-up and 300 draws, in steps of 250
    assert np.array_equal(once, again)
    assert not np.isclose(once, fixed_s(replace(request, seed=12)).samples).any()


def test_replicates_can_be_mapped() -> None:
    import jax

    problems = [made_problem(seed, (200, 300), 2, 12.0) for seed in (2, 8)]
    with double_precision():
        stacked = jax.tree.map(lambda *parts: np.stack(parts), *[fixed_s_arrays(problem) for problem in problems])
        keys = jax.random.split(jax.random.key(1), 2)
        draws = np.asarray(jax.jit(jax.vmap(lambda key, data: chain(FIXED_S, key, data, 1000, 4000)))(keys, stacked))
    for problem, found in zip(problems, draws, strict=True):
        assert worst_z(found[None], by_quadrature(problem, nearest(problem.statistics.gram))[0]) < LIMIT
