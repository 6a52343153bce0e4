"""Mean and covariance of Σ y a given the columns' moments, against simulated tables; and the Taylor series of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.posterior.glm.made_laws import LAWS, Array, Law, direction, three_categories

from noisewise.posterior.glm.expectations import Expectations, response_moments
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.kernels.jax_setup import double_precision

LARGEST = 10
ROWS, TABLES = 150, 3000


def implied(name: str, law: Law, theta: Array) -> tuple[Array, Array]:
    import jax.numpy as jnp

    centre = half = LARGEST / 2 if name == "poisson" else 1.0
    data: dict[str, Any] = {**FAMILIES[name].constants(LARGEST), "response_half": half,
                            "response_centre": centre if name == "poisson" else 0.0, "copies": np.zeros(1), **law.cells()}
    with double_precision():
        data = {key: jnp.asarray(value, dtype=float) for key, value in data.items()}
        found = response_moments(FAMILIES[name], Expectations.of(jnp.asarray(theta), *map(jnp.asarray, law), jnp), data, jnp)
    return np.asarray(found[0]), np.asarray(found[1])


def responses(name: str, eta: Array, generator: np.random.Generator) -> Array:
    """In the units of a release: −1 … 1."""
    if name == "poisson":
        return np.asarray(np.minimum(generator.poisson(np.exp(np.minimum(eta, 20.0))), LARGEST) / (LARGEST / 2) - 1)
    return np.where(generator.uniform(size=eta.shape) < 1 / (1 + np.exp(-eta)), 1.0, -1.0)


def simulated(name: str, law: Law, theta: Array, seed: int) -> tuple[Array, Array]:
    """For many tables: Σ y a, and what Σ aaᵀ leaves open of it (residuals of the regression on all squares and products)."""
    generator = np.random.default_rng(seed)
    i, j = np.triu_indices(len(theta))
    a = law.rows(generator, TABLES * ROWS)
    cross = (responses(name, a @ theta, generator)[:, None] * a).reshape(TABLES, ROWS, -1).sum(axis=1)
    squares = (a[:, i] * a[:, j]).reshape(TABLES, ROWS, -1).sum(axis=1)
    regressors = np.column_stack([np.ones(TABLES), squares - squares.mean(axis=0)])
    return cross, cross - regressors @ np.linalg.lstsq(regressors, cross, rcond=1e-10)[0]


def relative(found: Array, truth: Array) -> Array:
    """Eigenvalues of one covariance in units of another."""
    root = np.linalg.inv(np.linalg.cholesky(truth))
    return np.asarray(np.linalg.eigvalsh(root @ found @ root.T))


@pytest.mark.outer(but=["mixed-2.0-logistic"])
@pytest.mark.parametrize("name", ["logistic", "poisson"])
@pytest.mark.parametrize(("law", "norm"), [("normal", 0.5), ("normal", 3.0), ("mixed", 0.5), ("mixed", 2.0)])
def test_mean_and_covariance_are_those_of_tables(name: str, law: str, norm: float) -> None:
    theta = direction(LAWS[law], norm)
    mean, covariance = implied(name, LAWS[law], theta)
    cross, rest = simulated(name, LAWS[law], theta, seed=1)
    z = (cross.mean(axis=0) - ROWS * mean) / (cross.std(axis=0) / np.sqrt(TABLES))
    assert np.abs(z).max() < 4.5
    # A sample covariance of 3000 tables has eigenvalues within 1 ± 2√(5/3000) = 1 ± 0.08 of the truth.
    ratio = relative(ROWS * covariance, np.cov(rest.T))
    assert 0.88 < ratio[0] and ratio[-1] < 1.12
    without = relative(np.cov(cross.T), np.cov(rest.T))
    assert without[-1] > 1.12 or norm < 1  # the moments matter: without them the covariance would be too large


@pytest.mark.outer
@pytest.mark.parametrize(("name", "norm"), [("logistic", 2.0), ("poisson", 0.5), ("poisson", 1.0)])
def test_with_three_categories_the_covariance_is_an_upper_bound(name: str, norm: float) -> None:
    law = three_categories()
    theta = direction(law, norm)
    ratio = relative(ROWS * implied(name, law, theta)[1], np.cov(simulated(name, law, theta, seed=1)[1].T))
    assert 0.88 < ratio[0] and ratio[-1] < 1.25


def test_a_response_without_predictors_is_binomial() -> None:
    law = Law(np.ones(1), np.ones((1, 1)), np.zeros((1, 1)))
    mean, covariance = implied("logistic", law, np.array([0.7]))
    p = 1 / (1 + np.exp(-0.7))
    assert mean[0] == pytest.approx(2 * p - 1, abs=1e-6)
    assert covariance[0, 0] == pytest.approx(4 * p * (1 - p), abs=1e-6)


@pytest.mark.outer
def test_a_binary_predictor_leaves_only_the_binomial_scatter() -> None:
    """Two values of η: any function of it is linear, so that the moments fix Σ f(η) a."""
    law = Law(np.array([0.3, 0.7]), np.array([[1.0, -1.0], [1.0, 1.0]]), np.zeros((2, 2)))
    theta = np.array([0.4, 1.1])
    eta = law.means @ theta
    v = law.probabilities / np.cosh(eta / 2) ** 2
    np.testing.assert_allclose(implied("logistic", law, theta)[1], (law.means.T * v) @ law.means, atol=1e-5)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_the_covariance_is_positive_definite(name: str) -> None:
    for law in LAWS.values():
        for norm in (1e-6, 0.5, 3.0, 10.0, 30.0):
            assert np.linalg.eigvalsh(implied(name, law, direction(law, norm))[1])[0] > 0


def taylor(sigma: Array, theta: Array) -> Array:
    """E[y x] of Kulkarni et al. (2021), section 3.2, with the sign corrected: tanh(η/2) ≈ η/2 − η³/24 for x ~ N(0, Σ)."""
    v = sigma @ theta
    tau2 = theta @ v
    result: Array = v / 2 - 3 * tau2 * v / 24  # E[η³ x] = 3 τ² v
    return result


@pytest.mark.parametrize(("norm", "near"), [(0.3, True), (3.0, False)])
def test_the_taylor_series_of_the_paper_holds_for_small_coefficients_only(norm: float, near: bool) -> None:
    sigma = LAWS["normal"].covariance[1:, 1:]
    law = Law(np.ones(1), np.array([[1.0, 0.0, 0.0, 0.0]]), LAWS["normal"].covariance)
    theta = direction(law, norm)
    theta[0] = 0.0
    ours, theirs = implied("logistic", law, theta)[0][1:], taylor(sigma, theta[1:])
    generator = np.random.default_rng(3)
    x = law.rows(generator, 400_000)
    each = np.tanh(x @ theta / 2)[:, None] * x[:, 1:]
    assert np.abs((each.mean(axis=0) - ours) / (each.std(axis=0) / np.sqrt(len(x)))).max() < 4.5
    error = np.linalg.norm(theirs - ours) / np.linalg.norm(ours)
    assert error < 2e-3 if near else error > 1.0  # at 3 the series has even the wrong sign
    assert near or theirs @ ours < 0
