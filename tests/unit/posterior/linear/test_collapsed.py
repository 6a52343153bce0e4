"""The likelihood with normal predictors: what its parameters mean, and its two forms against each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import wishart
from tests.unit.posterior import noisy_matrices as made

from noisewise.posterior.kernels.clt_density import clt_log_density
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.kernels.mode import find_mode, jax_density
from noisewise.posterior.kernels.nuts import sample_nuts
from noisewise.posterior.linear.collapsed import CollapsedModel, unknowns
from noisewise.posterior.linear.coordinates import RowBasis
from noisewise.releases.contents.gram import EntryNoise
from noisewise.results.diagnostics import ess_bulk

Array = NDArray[np.float64]
SIZE = 5
CASES = [pytest.param(True, True, id="intercept, noisy rows"),
         pytest.param(False, False, id="no intercept, exact rows"),
         # Compiled anew for what the others do in other combinations.
         pytest.param(True, False, id="intercept, exact rows", marks=pytest.mark.slow),
         pytest.param(False, True, id="no intercept, noisy rows", marks=pytest.mark.slow)]


def made_model(seed: int, noises: Sequence[EntryNoise], intercept: bool = True) -> tuple[CollapsedModel, made.Regression]:
    generator = np.random.default_rng(seed)
    regression = made.made_regression(generator, SIZE, 3, intercept)
    parts = [made.made_part(generator, SIZE, 400 + 100 * number, noise) for number, noise in enumerate(noises)]
    return CollapsedModel.of(parts, regression.coordinates, regression.prior), regression


def points(model: CollapsedModel, seed: int, count: int) -> Array:
    generator = np.random.default_rng(seed)
    start, _ = model.start()
    return np.asarray(start + 0.1 * generator.normal(size=(count, len(start))))


@pytest.mark.outer(but=["True"])
@pytest.mark.parametrize("intercept", [True, False])
def test_parameters_mean_what_they_say(intercept: bool) -> None:
    """In the moments A, the residual has no correlation with any predictor, and its mean square is sigma²."""
    import jax.numpy as jnp

    model, regression = made_model(41, [made.gaussian(9.0, False)], intercept)
    coordinates = regression.coordinates
    basis = RowBasis.of(coordinates).matrix
    features = basis.shape[1] - 2
    assert features == (2 if intercept else 3)
    assert np.allclose(basis.T @ basis, np.eye(features + 2), atol=1e-12)
    point = points(model, 42, 1)[0]
    with double_precision():
        found = unknowns(jnp.asarray(point), model.data, jnp)
    released = basis @ np.asarray(found.moments) @ basis.T
    c = coordinates.residual - coordinates.directions @ np.asarray(found.g)
    assert np.allclose(basis @ (basis.T @ c), c, atol=1e-10)  # the basis holds all that the formula uses
    assert np.allclose(coordinates.directions.T @ released @ c, 0.0, atol=1e-10)
    assert c @ released @ c == pytest.approx(float(found.variance), rel=1e-10)
    mean = np.asarray(found.mean)
    assert np.asarray(found.moments)[0, 0] == 1.0
    assert np.allclose(np.asarray(found.moments)[0, 1:], mean)
    assert np.allclose(np.asarray(found.moments)[1:, 1:], np.asarray(found.covariance) + np.outer(mean, mean))
    assert list(found.rows) == [400.0]
    assert np.allclose(model.coefficients(point), np.append(found.g, np.sqrt(found.variance)))


def plain_density(model: CollapsedModel, g: Array, sigma: float, m: Array, c: Array, rows: Array) -> float:
    """Log posterior density of (g, σ, m, C, rows) itself, up to a constant, written without any of the model's coordinates."""
    data = model.data
    theta = data["effects"] @ g + data["effects_offset"]
    inner = np.block([[np.ones((1, 1)), m[None]], [m[:, None], c + np.outer(m, m)]])
    cross = inner @ theta
    corner = theta @ cross + sigma**2 / data["residual_norm2"]
    moments = np.block([[inner, cross[:, None]], [cross[None], np.array([[corner]])]])
    standard = data["prior_slope"] @ g + data["prior_offset"]
    total = -0.5 * np.sum(standard**2) - 0.5 * sigma**2 / data["prior_sigma2"] - 0.5 * np.sum(m**2)
    total += wishart(len(m) + 1, np.eye(len(m)) / (3 * (len(m) + 1))).logpdf(c)
    for count, noise, matrix in zip(rows, data["noise"], data["matrices"], strict=True):
        total += float(clt_log_density()(moments, count, noise, matrix))
    return float(total)


@pytest.mark.outer
@pytest.mark.parametrize(("intercept", "corner"), CASES)
def test_the_density_is_that_of_coefficients_and_moments_times_the_jacobian(intercept: bool, corner: bool) -> None:
    import jax
    import jax.numpy as jnp

    model, _ = made_model(45, [made.gaussian(30.0, corner), made.gaussian(50.0, corner)], intercept)

    def plain(x: object) -> object:
        found = unknowns(x, model.data, jnp)
        upper = np.triu_indices(len(found.mean) - 1)
        counts = found.rows if corner else jnp.zeros(0)
        return jnp.concatenate([found.g, jnp.sqrt(found.variance)[None], found.mean[:-1],
                                found.covariance[:-1, :-1][upper], counts])

    differences = []
    with double_precision():
        for point in points(model, 46, 4):
            x = jnp.asarray(point)
            jacobian = np.asarray(jax.jacfwd(plain)(x))
            assert jacobian.shape[0] == jacobian.shape[1]
            found = unknowns(x, model.data, jnp)
            value = plain_density(model, np.asarray(found.g), float(np.sqrt(found.variance)), np.asarray(found.mean)[:-1],
                                  np.asarray(found.covariance)[:-1, :-1], np.asarray(found.rows))
            expected = value + np.linalg.slogdet(jacobian)[1]
            differences.append(float(model.log_density(x, model.data, jnp)) - expected)
    assert np.ptp(differences) < 1e-7


@pytest.mark.outer
@pytest.mark.parametrize("sd", [pytest.param(5.0, marks=pytest.mark.slow), 20.0], ids=["clear", "noisy"])
def test_the_posterior_is_that_of_another_sampler(sd: float) -> None:
    """Draws of the coefficients and sigma against those of NUTS, whitened by a matrix at the mode."""
    model, _ = made_model(51, [made.gaussian(sd, False)])
    ours = model.sample(seed=1, chains=2, draws=800)
    mode = find_mode(jax_density(model.log_density, model.data), *model.start())
    theirs = model.coefficients(sample_nuts(model.log_density, model.data, mode, seed=2, chains=2, draws=800).draws)
    spread = theirs.std(axis=(0, 1))
    error = spread * np.sqrt(1.0 / ess_bulk(ours.draws) + 1.0 / ess_bulk(theirs))
    assert np.all(np.abs(ours.draws.mean(axis=(0, 1)) - theirs.mean(axis=(0, 1))) < 4.0 * error)
    assert np.all(np.abs(np.log(ours.draws.std(axis=(0, 1)) / spread)) < 0.15)
    assert ours.diverging.mean() < 0.01


@pytest.mark.slow
def test_the_guessed_scales_are_those_of_the_posterior() -> None:
    """Where the noise is clear of the moments; so that no matrix over the parameters is needed."""
    import jax
    import jax.numpy as jnp

    generator = np.random.default_rng(52)
    regression = made.made_regression(generator, 8, 6)
    part = made.made_part(generator, 8, 20_000, made.gaussian(60.0, False))
    model = CollapsedModel.of([part], regression.coordinates, regression.prior)
    point, scale = model.start()
    with double_precision():
        curvature = jax.hessian(lambda z: -model.log_density(point + scale * z, model.data, jnp))(np.zeros(len(point)))
    values = np.linalg.eigvalsh(np.asarray(curvature))
    assert 0.2 < values[0] and values[-1] < 2.0


@pytest.mark.outer
@pytest.mark.parametrize(("intercept", "corner"), CASES)
def test_the_dense_form_equals_the_rotated_form(intercept: bool, corner: bool) -> None:
    noises = [made.gaussian(9.0, corner), made.gaussian(15.0, corner)]
    same = [EntryNoise("laplace", noise.diagonal, noise.off_diagonal, noise.corner) for noise in noises]
    rotated, _ = made_model(45, noises, intercept)
    generator = np.random.default_rng(45)  # the same matrices: only the name of the noise differs
    regression = made.made_regression(generator, SIZE, 3, intercept)
    parts = [made.made_part(generator, SIZE, 400 + 100 * number, noise) for number, noise in enumerate(noises)]
    renamed = [made.MadePart(part.matrix, part.rows, noise) for part, noise in zip(parts, same, strict=True)]
    dense = CollapsedModel.of(renamed, regression.coordinates, regression.prior)
    assert rotated.rotated and not dense.rotated
    assert len(dense.start()[0]) == (9 if intercept else 13) + (2 if corner else 0)
    fast, slow = (jax_density(model.log_density, model.data) for model in (rotated, dense))
    values = [(fast(point), slow(point)) for point in points(rotated, 46, 3)]
    for (value, gradient), (other_value, other_gradient) in values[1:]:
        # Constants are dropped, and not the same ones: differences count.
        assert value - values[0][0][0] == pytest.approx(other_value - values[0][1][0], rel=1e-9)
        assert np.allclose(gradient, other_gradient, rtol=1e-7, atol=1e-9 * np.abs(gradient).max())
    point = points(rotated, 47, 1)[0]
    expected = made.numeric_gradient(lambda x: fast(x)[0], point, np.full(len(point), 1e-4))
    assert np.allclose(fast(point)[1], expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("make", [made.gaussian, made.laplace])
def test_projected_noise_agrees_with_simulation(make: object) -> None:
    assert callable(make)
    generator = np.random.default_rng(48)
    noise = make(2.0, False)
    basis = np.linalg.qr(generator.normal(size=(SIZE, 3)))[0]
    known = RowBasis(basis, np.zeros((2, 1)), np.zeros(2), 1.0).covariance_of(noise.variances(SIZE))
    draws = basis.T @ made.noise_draws(generator, noise, SIZE, 100_000) @ basis
    entries = draws[:, *np.triu_indices(3)]
    products = entries[:, :, None] * entries[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(entries))
    assert np.abs((products.mean(axis=0) - known) / error).max() < 5.0  # 21 comparisons
    assert np.abs((products.mean(axis=0) - 1.05 * known) / error).max() > 5.0


def test_a_formula_with_only_an_intercept_has_a_start() -> None:
    generator = np.random.default_rng(49)
    prior = type(made.made_regression(generator, 2, 1).prior)(np.eye(1), np.zeros(1), np.ones(1), 0.5)
    regression = made.Regression(np.eye(3)[:, :1], np.eye(3)[:, 2], 1.0, prior)
    part = made.made_part(generator, 3, 500, made.gaussian(2.0, False))
    model = CollapsedModel.of([part], regression.coordinates, prior)
    point, scale = model.start()
    assert point.shape == scale.shape == (2,)
    value, gradient = jax_density(model.log_density, model.data)(point)
    assert np.isfinite(value) and np.isfinite(gradient).all()
