"""The likelihood with S as an unknown: its density by independent algebra, its prior, and what it is good for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.unit.posterior.noisy_matrices import MadePart, Regression, gaussian, laplace, made_part, made_regression

from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.kernels.mode import jax_density
from noisewise.posterior.linear.conditional import ConditionalModel
from noisewise.posterior.linear.coordinates import RowBasis
from noisewise.posterior.linear.latent import DEVIATION_SCALE, MEAN_SCALE, LatentModel, _unknowns
from noisewise.posterior.linear.methods import needs_latent
from noisewise.posterior.prior import ResolvedPrior
from noisewise.releases.contents.gram import EntryNoise

SIZE, PREDICTORS, ROWS = 5, 3, 400
NOISES = {"exact rows": gaussian(9.0, False), "noisy rows": gaussian(9.0, True), "laplace": laplace(9.0, False),
          "laplace, noisy rows": laplace(9.0, True)}


def made(noise: EntryNoise, intercept: bool = True) -> tuple[LatentModel, Regression, MadePart]:
    generator = np.random.default_rng(5)
    regression = made_regression(generator, SIZE, PREDICTORS, intercept)
    # A prior that is as wide in every working direction, so that the plain formulas below keep their digits.
    working = np.linalg.inv(regression.coordinates.slope)
    prior = ResolvedPrior(working, working @ regression.coordinates.offset + 0.1, np.full(PREDICTORS, 2.0), 20.0)
    regression = replace(regression, prior=prior)
    part = made_part(generator, SIZE, ROWS, noise)
    return LatentModel.of([part], regression.coordinates, regression.prior), regression, part


def points(model: LatentModel, count: int) -> Any:
    generator = np.random.default_rng(6)
    start, _ = model.start(0.3)
    return start + 0.2 * generator.normal(size=(count, len(start)))


def plain_density(x: Any, model: LatentModel, regression: Regression, part: MadePart) -> float:
    """The same by brute force: (S, y, τ², n) from the parameters, then every density written out, noise in one dense matrix."""
    import jax.numpy as jnp

    basis = RowBasis.of(regression.coordinates)
    with double_precision():
        unknown = _unknowns(jnp.asarray(x), {key: jnp.asarray(value) for key, value in model.data.items()}, jnp)
    lower, tau2, rows = np.asarray(unknown.lower), float(unknown.tau2), float(unknown.rows)
    size = len(lower)
    covariance = basis.covariance_of(part.noise.variances(len(part.matrix)))
    matrix = basis.project(part)
    s = lower @ lower.T
    # Prior of y, and its conditional distribution given ẑ and the noise of Ŝ, by general formulas for normal vectors.
    theta_root, theta_mean = model.data["theta_root"], model.data["theta_mean"]
    prior_mean = lower.T @ theta_mean
    prior_cov = lower.T @ theta_root @ theta_root.T @ lower + tau2 * np.eye(size)
    i, j = np.triu_indices(size + 1)
    first = 0 if part.noise.corner else 1
    gram = np.flatnonzero(j < size)[first:]
    cross = np.flatnonzero((j == size) & (i < size))
    total = len(i) - 1
    released = matrix[i, j]
    gram_residual = released[gram] - s[np.triu_indices(size)][first:]
    gain = covariance[np.ix_(cross, gram)] @ np.linalg.inv(covariance[np.ix_(gram, gram)])
    cross_noise = covariance[np.ix_(cross, cross)] - gain @ covariance[np.ix_(gram, cross)]
    seen = released[cross] - gain @ gram_residual
    weight = lower.T @ np.linalg.inv(cross_noise)
    posterior_cov = np.linalg.inv(np.linalg.inv(prior_cov) + weight @ lower)
    posterior_mean = prior_mean + posterior_cov @ weight @ (seen - lower @ prior_mean)
    # y = mean + root ζ with any root: the one of the code is A B⁻ᵀ.
    a = np.linalg.cholesky(prior_cov)
    seen_root = np.linalg.cholesky(np.linalg.inv(cross_noise)).T @ lower @ a
    b = np.linalg.cholesky(np.eye(size) + seen_root.T @ seen_root)
    root = a @ np.linalg.inv(b).T
    assert np.allclose(root @ root.T, posterior_cov, rtol=1e-7, atol=1e-9 * np.abs(posterior_cov).max())
    y = posterior_mean + root @ np.asarray(unknown.zeta)
    expected = np.concatenate([s[np.triu_indices(size)][first:], lower @ y, [y @ y + (rows - size) * tau2]])
    used = np.concatenate([gram, cross, [total]])
    noise = covariance[np.ix_(used, used)].copy()
    noise[-1, -1] += 2 * rows * tau2**2
    log_density = multivariate_normal(expected, noise).logpdf(released[used])
    log_density += -0.5 * np.sum(np.linalg.solve(a, y - prior_mean) ** 2) - np.sum(np.log(np.diag(a)))
    log_density += np.linalg.slogdet(root)[1]
    covariance_x = np.asarray(s[1:, 1:] / rows - np.outer(s[0, 1:], s[0, 1:]) / rows**2)
    deviation = np.sqrt(np.diag(covariance_x))
    log_density += -0.5 * np.sum((s[0, 1:] / rows) ** 2) / MEAN_SCALE**2
    log_density += np.sum(np.log(deviation) - 0.5 * deviation**2 / DEVIATION_SCALE**2)
    correlation = covariance_x / np.outer(deviation, deviation)
    diagonal = np.diag(np.linalg.cholesky(correlation))
    log_density += 0.5 * (len(deviation) + 1) * np.sum(np.log(diagonal**2))
    log_density += -0.5 * x[size] ** 2 / model.data["prior_sigma2"]
    return float(log_density + (np.log(rows) if part.noise.corner else 0.0))


@pytest.mark.outer(but=["laplace, noisy rows-True"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", NOISES)
def test_the_density_is_that_of_the_model(kind: str, intercept: bool) -> None:
    model, regression, part = made(NOISES[kind], intercept)
    density = jax_density(model.log_density, model.data)
    found = np.array([density(x)[0] for x in points(model, 6)])
    plain = np.array([plain_density(x, model, regression, part) for x in points(model, 6)])
    assert np.ptp(plain) > 1.0
    assert np.allclose(found - found[0], plain - plain[0], rtol=1e-8, atol=1e-6)
    wrong = replace(model, data={**model.data, "rows_ratio": np.asarray(1.05)})
    other = np.array([jax_density(wrong.log_density, wrong.data)(x)[0] for x in points(model, 6)])
    assert not np.allclose(other - other[0], plain - plain[0], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("features", [2, 3, 4])
def test_all_correlation_matrices_are_equally_likely(features: int) -> None:
    """The density of the directions is the Jacobian of the map to the correlations, up to a constant."""
    generator = np.random.default_rng(7)
    below = np.tril_indices(features, -1)

    def correlations(w: Any) -> Any:
        direction = np.eye(features)
        direction[below] = w
        direction /= np.linalg.norm(direction, axis=1)[:, None]
        return (direction @ direction.T)[below]

    found = []
    for _ in range(4):
        w = generator.normal(size=len(below[0]))
        jacobian = np.array([(correlations(w + step) - correlations(w - step)) / 2e-5 for step in 1e-5 * np.eye(len(w))])
        direction = np.eye(features)
        direction[below] = w
        log_prior = -0.5 * (features + 1) * np.sum(np.log(np.sum(direction**2, axis=1)))
        found.append(np.linalg.slogdet(jacobian)[1] - log_prior)
    assert np.ptp(found) < 1e-6


@pytest.mark.outer
def test_coefficients_are_drawn_from_their_conditional_distribution() -> None:
    """Given S, y and τ² they are those of a Bayesian regression with the prior's mean and covariance."""
    import jax.numpy as jnp

    from noisewise.posterior.linear.latent import _response

    model, regression, _ = made(NOISES["exact rows"])
    x = points(model, 1)[0]
    draws = model.coefficients(np.repeat(x[None], 40_000, axis=0), seed=1)
    with double_precision():
        data = {key: jnp.asarray(value) for key, value in model.data.items()}
        unknown = _unknowns(jnp.asarray(x), data, jnp)
        y = np.asarray(_response(unknown, data, jnp)[0])
    basis = RowBasis.of(regression.coordinates)
    given = regression.prior.in_coordinates(regression.coordinates)
    design = np.asarray(unknown.lower).T @ basis.effects
    precision = given["prior_slope"].T @ given["prior_slope"] + design.T @ design / float(unknown.tau2)
    shift = -given["prior_slope"].T @ given["prior_offset"]
    shift += design.T @ (y - np.asarray(unknown.lower).T @ basis.effects_offset) / float(unknown.tau2)
    covariance = np.linalg.inv(precision)
    error = np.sqrt(np.diag(covariance) / len(draws))
    assert np.abs((draws[:, :-1].mean(axis=0) - covariance @ shift) / error).max() < 4.5
    assert np.allclose(np.cov(draws[:, :-1].T), covariance, rtol=0.06, atol=0.02 * np.abs(covariance).max())
    assert np.all(draws[:, -1] == x[model.data["gram"].shape[0]])


def test_noise_decides_which_form_the_default_takes() -> None:
    for sd, expected in ((0.5, False), (400.0, True)):
        _, regression, part = made(gaussian(sd, False))
        assert needs_latent(ConditionalModel.of([part], regression.coordinates, regression.prior)) is expected


def test_many_predictors_keep_the_flat_prior() -> None:
    generator = np.random.default_rng(8)
    regression = made_regression(generator, 16, 14)
    part = made_part(generator, 16, ROWS, gaussian(400.0, False))
    assert not needs_latent(ConditionalModel.of([part], regression.coordinates, regression.prior))
