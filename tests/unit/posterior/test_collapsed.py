"""The likelihood with normal predictors: what its parameters mean, and its two forms against each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import wishart
from tests.unit.posterior.noisy_matrices import (
    MadePart,
    Regression,
    gaussian,
    laplace,
    made_part,
    made_regression,
    noise_draws,
    numeric_gradient,
)

from noisewise.posterior.collapsed import CollapsedModel, _second_moments
from noisewise.posterior.kernels.gradients import jax_density
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.row_basis import RowBasis
from noisewise.release.model import EntryNoise

Array = NDArray[np.float64]
SIZE = 5


def made_model(seed: int, noises: Sequence[EntryNoise], intercept: bool = True) -> tuple[CollapsedModel, Regression]:
    generator = np.random.default_rng(seed)
    regression = made_regression(generator, SIZE, 3, intercept)
    parts = [made_part(generator, SIZE, 400 + 100 * number, noise) for number, noise in enumerate(noises)]
    return CollapsedModel.of(parts, regression.coordinates, regression.prior), regression


def points(model: CollapsedModel, seed: int, count: int) -> Array:
    generator = np.random.default_rng(seed)
    start, _ = model.start(np.zeros(3), 0.5)
    return np.asarray(start + 0.1 * generator.normal(size=(count, len(start))))


@pytest.mark.parametrize("intercept", [True, False])
def test_parameters_mean_what_they_say(intercept: bool) -> None:
    """In the moments A, the residual has no correlation with any predictor, and its mean square is sigma²."""
    import jax.numpy as jnp

    model, regression = made_model(41, [gaussian(9.0, False)], intercept)
    coordinates = regression.coordinates
    basis = RowBasis.of(coordinates).matrix
    features = basis.shape[1] - 2
    assert features == (2 if intercept else 3)
    assert np.allclose(basis.T @ basis, np.eye(features + 2), atol=1e-12)
    point = points(model, 42, 1)[0]
    with double_precision():
        a, rows, _ = _second_moments(jnp.asarray(point), model.data, jnp)
    released = basis @ np.asarray(a) @ basis.T
    c = coordinates.residual - coordinates.directions @ point[:3]
    assert np.allclose(basis @ (basis.T @ c), c, atol=1e-10)  # the basis holds all that the formula uses
    assert np.allclose(coordinates.directions.T @ released @ c, 0.0, atol=1e-10)
    assert c @ released @ c == pytest.approx(point[3] ** 2, rel=1e-10)
    mean = point[4:4 + features]
    assert np.asarray(a)[0, 0] == 1.0
    assert np.allclose(np.asarray(a)[0, 1:-1], mean)
    lower = np.diag(np.exp(point[4 + features:4 + 2 * features]))
    lower[np.tril_indices(features, -1)] = point[4 + 2 * features:]
    assert np.allclose(np.asarray(a)[1:-1, 1:-1], lower @ lower.T + np.outer(mean, mean))
    assert list(rows) == [400.0]


def test_the_prior_of_the_predictors_covariance_is_a_wishart() -> None:
    import jax.numpy as jnp

    model, _ = made_model(43, [gaussian(9.0, False)], intercept=False)
    d = 3
    one, two = points(model, 44, 2)
    two[:4 + d] = one[:4 + d]  # only the factor of the covariance differs

    def expected(point: Array) -> float:
        lower = np.diag(np.exp(point[4 + d:4 + 2 * d]))
        lower[np.tril_indices(d, -1)] = point[4 + 2 * d:]
        # Jacobian of L -> LLᵀ: 2ᵈ Π L_ii^(d−i), i from 0; one more power for the logarithm of the diagonal.
        jacobian = np.sum((d - np.arange(d) + 1) * np.log(np.diag(lower)))
        return float(wishart(d + 1, np.eye(d) / (3 * (d + 1))).logpdf(lower @ lower.T) + jacobian)

    with double_precision():
        prior = [float(_second_moments(jnp.asarray(point), model.data, jnp)[2]) for point in (one, two)]
    assert prior[1] - prior[0] == pytest.approx(expected(two) - expected(one), rel=1e-9)


@pytest.mark.parametrize("corner", [False, True], ids=["exact rows", "noisy rows"])
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "no intercept"])
def test_the_dense_form_equals_the_rotated_form(intercept: bool, corner: bool) -> None:
    noises = [gaussian(9.0, corner), gaussian(15.0, corner)]
    same = [EntryNoise("laplace", noise.diagonal, noise.off_diagonal, noise.corner) for noise in noises]
    rotated, _ = made_model(45, noises, intercept)
    generator = np.random.default_rng(45)  # the same matrices: only the name of the noise differs
    regression = made_regression(generator, SIZE, 3, intercept)
    parts = [made_part(generator, SIZE, 400 + 100 * number, noise) for number, noise in enumerate(noises)]
    renamed = [MadePart(part.matrix, part.rows, noise) for part, noise in zip(parts, same, strict=True)]
    dense = CollapsedModel.of(renamed, regression.coordinates, regression.prior)
    assert rotated.rotated and not dense.rotated
    assert len(dense.start(np.zeros(3), 0.5)[0]) == (9 if intercept else 13) + (2 if corner else 0)
    fast, slow = (jax_density(model.log_density, model.data) for model in (rotated, dense))
    values = [(fast(point), slow(point)) for point in points(rotated, 46, 3)]
    for (value, gradient), (other_value, other_gradient) in values[1:]:
        # Constants are dropped, and not the same ones: differences count.
        assert value - values[0][0][0] == pytest.approx(other_value - values[0][1][0], rel=1e-9)
        assert np.allclose(gradient, other_gradient, rtol=1e-7, atol=1e-9 * np.abs(gradient).max())
    point = points(rotated, 47, 1)[0]
    expected = numeric_gradient(lambda x: fast(x)[0], point, np.full(len(point), 1e-4))
    assert np.allclose(fast(point)[1], expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("make", [gaussian, laplace])
def test_projected_noise_agrees_with_simulation(make: object) -> None:
    assert callable(make)
    generator = np.random.default_rng(48)
    noise = make(2.0, False)
    basis = np.linalg.qr(generator.normal(size=(SIZE, 3)))[0]
    known = RowBasis(basis, np.zeros((2, 1)), np.zeros(2), 1.0).noise_covariance(MadePart(np.eye(SIZE), 1, noise))
    draws = basis.T @ noise_draws(generator, noise, SIZE, 100_000) @ basis
    entries = draws[:, *np.triu_indices(3)]
    products = entries[:, :, None] * entries[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(entries))
    assert np.abs((products.mean(axis=0) - known) / error).max() < 5.0  # 21 comparisons
    assert np.abs((products.mean(axis=0) - 1.05 * known) / error).max() > 5.0


def test_a_formula_with_only_an_intercept_has_a_start() -> None:
    generator = np.random.default_rng(49)
    prior = type(made_regression(generator, 2, 1).prior)(np.eye(1), np.zeros(1), np.ones(1), 0.5)
    regression = Regression(np.eye(3)[:, :1], np.eye(3)[:, 2], 1.0, prior)
    part = made_part(generator, 3, 500, gaussian(2.0, False))
    model = CollapsedModel.of([part], regression.coordinates, prior)
    point, scale = model.start(np.zeros(1), 0.5)
    assert point.shape == scale.shape == (2,)
    value, gradient = jax_density(model.log_density, model.data)(point)
    assert np.isfinite(value) and np.isfinite(gradient).all()
