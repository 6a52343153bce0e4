"""The default likelihood against its definition, its noise against simulation, its gradients against differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal
from studies.coverage import default_prior
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

from noisewise.posterior.contributions import holder_weights, rotation_invariant
from noisewise.posterior.kernels.mode import find_mode, jax_density
from noisewise.posterior.linear.conditional import FEW, ConditionalModel, log_density_dense, log_density_rotated, weighted_model
from noisewise.posterior.prior import ResolvedPrior
from noisewise.releases.contents.gram import EntryNoise

Array = NDArray[np.float64]
MakeNoise = Callable[[float, bool], EntryNoise]


def noise_map(directions: Array, c: Array, variance: float, noisy_corner: bool) -> Array:
    """The linear map from the upper triangle of E to (Qᵀ E c, cᵀ E c − σ² E₀₀), one column per entry; E₀₀ only if noisy."""
    size = len(c)
    columns = []
    for row, column in zip(*np.triu_indices(size), strict=True):
        entry = np.zeros((size, size))
        entry[row, column] = entry[column, row] = 1.0
        last = c @ entry @ c - (variance * entry[0, 0] if noisy_corner else 0.0)
        columns.append(np.append(directions.T @ entry @ c, last))
    return np.column_stack(columns)


def by_definition(parts: Sequence[MadePart], regression: Regression, beta: Array, sigma: float) -> float:
    """Normal log density of h for the sum of the parts, and the log prior, from the user's units."""
    size = len(regression.target)
    matrix = sum((part.matrix for part in parts), np.zeros((size, size)))
    variances = sum((part.noise.variances(size) for part in parts), np.zeros((size, size)))
    noisy_corner = parts[0].rows is None
    rows = float(sum(part.matrix[0, 0] for part in parts))
    directions = np.linalg.svd(regression.features / np.linalg.norm(regression.features, axis=0), full_matrices=False)[0]
    c = (regression.target - regression.features @ beta) / regression.half_width
    variance = (sigma / regression.half_width) ** 2

    h = np.append(directions.T @ matrix @ c, c @ matrix @ c - rows * variance)
    values, vectors = np.linalg.eigh(directions.T @ matrix @ directions)
    count = len(beta)
    covariance = np.zeros((count + 1, count + 1))
    covariance[:count, :count] = variance * (vectors * np.maximum(values, 0.0)) @ vectors.T
    covariance[count, count] = 2.0 * rows * variance**2
    linear = noise_map(directions, c, variance, noisy_corner)
    covariance += (linear * variances[np.triu_indices(size)]) @ linear.T
    if count > FEW:  # then the two parts of h are taken to be independent
        covariance[count, :count] = covariance[:count, count] = 0.0
    prior = regression.prior
    standard = (prior.functionals @ beta - prior.mean) / prior.sd
    density = float(multivariate_normal(np.zeros(count + 1), covariance).logpdf(h)) + 0.5 * (count + 1) * np.log(2 * np.pi)
    return float(density - 0.5 * standard @ standard - 0.5 * (sigma / prior.sigma) ** 2)


def users_points(regression: Regression, generator: np.random.Generator, count: int = 5) -> list[tuple[Array, float]]:
    """Coefficients and sigmas of a believable size."""
    coordinates = regression.coordinates
    width = len(coordinates.offset)
    working = np.column_stack([generator.normal(size=(count, width)) * 0.7, generator.uniform(0.1, 0.8, count)])
    return [(point[:-1], float(point[-1])) for point in coordinates.to_user(working)]


def working_point(model: ConditionalModel, beta: Array, sigma: float) -> Array:
    g = np.linalg.solve(model.coordinates.slope, beta - model.coordinates.offset)
    return np.append(g, sigma / model.coordinates.half_width)


@pytest.mark.parametrize("corner", [False, True], ids=["exact rows", "noisy rows"])
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "no intercept"])
@pytest.mark.parametrize(("size", "predictors"), [(2, 1), (4, 2), (6, 3), (12, 8), (16, 13), (16, 14)])
@pytest.mark.parametrize("make", [gaussian, laplace])
def test_the_density_is_the_normal_density_of_its_definition(
    make: MakeNoise, size: int, predictors: int, intercept: bool, corner: bool
) -> None:
    generator = np.random.default_rng([size, predictors, intercept, corner])
    regression = made_regression(generator, size, predictors, intercept)
    parts = [made_part(generator, size, 500, make(9.0, corner))]
    model = ConditionalModel.of(parts, regression.coordinates, regression.prior)
    assert model.rotated == (make is gaussian)
    for beta, sigma in users_points(regression, generator):
        expected = by_definition(parts, regression, beta, sigma)
        assert model.log_density(working_point(model, beta, sigma), model.data) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("corner", [False, True])
@pytest.mark.parametrize("size", [3, 7, 30])
def test_the_rotated_form_equals_the_dense_form(size: int, corner: bool) -> None:
    generator = np.random.default_rng([size, corner])
    regression = made_regression(generator, size, max(1, size - 3))
    part = made_part(generator, size, 2000, gaussian(20.0, corner))
    noise = part.noise
    # The same variances under a name for which nothing is known about rotations.
    same = MadePart(part.matrix, part.rows, EntryNoise("laplace", noise.diagonal, noise.off_diagonal, noise.corner))
    assert rotation_invariant(part.noise) and not rotation_invariant(same.noise)
    rotated = ConditionalModel.of([part], regression.coordinates, regression.prior)
    dense = ConditionalModel.of([same], regression.coordinates, regression.prior)
    assert (rotated.log_density, dense.log_density) == (log_density_rotated, log_density_dense)
    for beta, sigma in users_points(regression, generator):
        one = rotated.log_density(working_point(rotated, beta, sigma), rotated.data)
        two = dense.log_density(working_point(dense, beta, sigma), dense.data)
        assert one == pytest.approx(two, rel=1e-9)


@pytest.mark.parametrize("holders", [1, 3])
def test_diagonal_matrices_are_kept_as_their_diagonals(holders: int) -> None:
    generator = np.random.default_rng(holders)
    coordinates, prior = default_prior(6)
    parts = [made_part(generator, 8, 500, gaussian(9.0, False)) for _ in range(holders)]
    model = ConditionalModel.of(parts, coordinates, prior)
    assert (model.data["gram"].ndim, model.data["prior_slope"].ndim) == (1, 1)
    q = model.coordinates.directions
    full = prior.in_coordinates(model.coordinates)
    square = dict(model.data) | full | {"gram": q.T @ sum(part.matrix for part in parts) @ q}
    assert square["gram"].shape == square["prior_slope"].shape == (7, 7)
    for point in generator.normal(size=(5, 8)):
        assert model.log_density(point, model.data) == pytest.approx(model.log_density(point, square), rel=1e-9)


def test_what_is_not_diagonal_stays_a_matrix() -> None:
    """Weights for the holders leave the sum of their matrices as it is; a prior in other directions does so with the prior."""
    generator = np.random.default_rng(2)
    coordinates, prior = default_prior(6)
    parts = [made_part(generator, 8, 500, gaussian(sd, False)) for sd in (9.0, 90.0)]
    model = ConditionalModel.of(parts, coordinates, prior, np.array([1.0, 0.3]))
    assert (model.data["gram"].ndim, model.data["prior_slope"].ndim) == (2, 1)
    values, vectors = model.spectrum()
    np.testing.assert_allclose((vectors * values) @ vectors.T, model.data["gram"], atol=1e-9 * values[-1])
    uneven = ResolvedPrior(prior.functionals, prior.mean, prior.sd * np.arange(1, 8), prior.sigma)
    assert ConditionalModel.of(parts, coordinates, uneven).data["prior_slope"].ndim == 2


def test_the_spectrum_of_a_diagonal_is_in_ascending_order() -> None:
    generator = np.random.default_rng(3)
    model = ConditionalModel.of([made_part(generator, 8, 500, gaussian(9.0, False))], *default_prior(6))
    shuffled = replace(model, data={**model.data, "gram": model.data["gram"][::-1]})
    values, vectors = shuffled.spectrum()
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose((vectors * values) @ vectors.T, np.diag(shuffled.data["gram"]))


def test_the_sign_of_sigma_does_not_matter() -> None:
    generator = np.random.default_rng(4)
    regression = made_regression(generator, 5, 2)
    model = ConditionalModel.of([made_part(generator, 5, 500, gaussian(9.0, False))], regression.coordinates, regression.prior)
    point = np.array([0.3, -0.1, 0.4])
    assert model.log_density(point, model.data) == model.log_density(point * [1, 1, -1], model.data)


def implied_noise_covariance(model: ConditionalModel, point: Array) -> Array:
    """The covariance of h that the density uses, without the residuals' share: from its second differences in the data."""
    data: dict[str, Any] = dict(model.data) | {"rows2": np.array(0.0)}
    data["eigenvalues" if model.rotated else "eigenmatrix"] = 0.0 * model.data["eigenvalues" if model.rotated else "eigenmatrix"]
    count = len(point) - 1

    def density(moved: Array) -> float:
        changed = data | {"cross": data["cross"] + moved[:-1], "total": data["total"] + moved[-1]}
        return float(model.log_density(point, changed))

    steps = 100.0 * np.eye(count + 1)  # the density is exactly quadratic in the data: large steps cost nothing
    hessian = np.array([[density(one + two) - density(one - two) - density(two - one) + density(-one - two)
                         for two in steps] for one in steps]) / (4 * 100.0**2)
    to_h = np.eye(count + 1)  # h = cross − gram g; h₂ = total − 2 g·cross + ...
    to_h[-1, :-1] = -2.0 * point[:-1]
    return np.asarray(to_h @ np.linalg.inv(-hessian) @ to_h.T)


def covariance_z(draws: Array, covariance: Array) -> float:
    """The largest z of the differences between the draws' second moments and a covariance, for draws with mean 0."""
    products = draws[:, :, None] * draws[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(draws))
    return float(np.abs((products.mean(axis=0) - covariance) / error).max())


@pytest.mark.parametrize("corner", [False, True], ids=["exact rows", "noisy rows"])
@pytest.mark.parametrize("make", [gaussian, laplace])
def test_the_covariance_of_the_noise_agrees_with_simulation(make: MakeNoise, corner: bool) -> None:
    generator = np.random.default_rng([7, corner])
    size, predictors = 5, 2
    regression = made_regression(generator, size, predictors)
    part = made_part(generator, size, 500, make(9.0, corner))
    model = ConditionalModel.of([part], regression.coordinates, regression.prior)
    # The constant's share of c is near 1, so that the noise of the corner matters.
    point = np.append(0.5 * generator.normal(size=predictors) * (1 - model.coordinates.directions[0] ** 2)
                      - model.coordinates.directions[0], 0.6)
    c = model.coordinates.residual - model.coordinates.directions @ point[:-1]
    noise = noise_draws(generator, part.noise, size, 150_000)
    first = np.einsum("kp,nkl,l->np", model.coordinates.directions, noise, c)
    last = np.einsum("k,nkl,l->n", c, noise, c) - 0.36 * noise[:, 0, 0]
    draws = np.column_stack([first, last])
    # 9 correlated comparisons, two-sided: |z| > 5 happens once in 190 000 times, and the wrong answers below are far out.
    assert covariance_z(draws, implied_noise_covariance(model, point)) < 5.0

    wrong_corner = make(9.0, not corner)
    other = MadePart(part.matrix, None if wrong_corner.corner else 500, wrong_corner)
    unlike = ConditionalModel.of([other], regression.coordinates, regression.prior)
    assert covariance_z(draws, _in_the_same_directions(unlike, model, point)) > 10.0
    other = MadePart(part.matrix, part.rows, make(9.0 * 1.03, corner))
    unlike = ConditionalModel.of([other], regression.coordinates, regression.prior)
    assert covariance_z(draws, _in_the_same_directions(unlike, model, point)) > 5.0


def _in_the_same_directions(other: ConditionalModel, model: ConditionalModel, point: Array) -> Array:
    turn = other.coordinates.directions.T @ model.coordinates.directions
    covariance = implied_noise_covariance(other, np.append(turn @ point[:-1], point[-1]))
    both = np.eye(len(point))
    both[:-1, :-1] = turn
    return np.asarray(both.T @ covariance @ both)


@pytest.mark.parametrize("make", [gaussian, laplace])
def test_gradients_agree(make: MakeNoise) -> None:
    generator = np.random.default_rng(21)
    regression = made_regression(generator, 6, 3)
    model = ConditionalModel.of([made_part(generator, 6, 500, make(9.0, True))], regression.coordinates, regression.prior)
    by_jax = jax_density(model.log_density, model.data)
    for beta, sigma in users_points(regression, generator, 3):
        point = working_point(model, beta, sigma)
        value, gradient = model.density_with_gradient(point)
        expected = numeric_gradient(lambda x: model.log_density(x, model.data), point, np.full(len(point), 1e-4))
        assert np.allclose(gradient, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
        jax_value, jax_gradient = by_jax(point)
        assert jax_gradient.dtype == np.float64
        assert jax_value == pytest.approx(value, rel=1e-12)
        assert np.allclose(jax_gradient, gradient, rtol=1e-9, atol=1e-9 * np.abs(gradient).max())


def test_equal_holders_add_up() -> None:
    generator = np.random.default_rng(31)
    regression = made_regression(generator, 5, 3)
    parts = [made_part(generator, 5, 400, gaussian(9.0, False)) for _ in range(3)]
    together = MadePart(sum((part.matrix for part in parts), np.zeros((5, 5))), 1200, gaussian(9.0 * np.sqrt(3.0), False))
    several = weighted_model(parts, regression.coordinates, regression.prior)
    one = weighted_model([together], regression.coordinates, regression.prior)
    for beta, sigma in users_points(regression, generator, 3):
        assert several.log_density(working_point(several, beta, sigma), several.data) == pytest.approx(
            one.log_density(working_point(one, beta, sigma), one.data), rel=1e-9)
        assert several.log_density(working_point(several, beta, sigma), several.data) == pytest.approx(
            by_definition(parts, regression, beta, sigma), rel=1e-9)


@pytest.mark.parametrize("noises", [(3.0, 200.0), (200.0, 3.0), (3.0, 20.0, 200.0)])
def test_less_noise_weighs_more(noises: tuple[float, ...]) -> None:
    generator = np.random.default_rng(32)
    parts = [made_part(generator, 5, 1000, gaussian(sd, False)) for sd in noises]
    weights = holder_weights(parts, variance=0.1, norm2=1.5, spread=0.3)
    assert weights is not None
    assert list(np.argsort(-weights)) == list(np.argsort(noises))
    assert weights.max() == 1.0


def test_as_much_noise_per_row_weighs_the_same() -> None:
    generator = np.random.default_rng(33)
    parts = [made_part(generator, 5, 1000, gaussian(5.0, False)), made_part(generator, 5, 4000, gaussian(10.0, False))]
    assert holder_weights(parts, variance=0.1, norm2=1.5, spread=0.3) is None


def posterior_sd(model: ConditionalModel) -> Array:
    mode = find_mode(model.density_with_gradient, *model.start())
    assert mode.converged
    return np.asarray(np.linalg.norm(model.coordinates.slope @ mode.scale[:-1], axis=1))


@pytest.mark.parametrize("make", [gaussian, laplace])
def test_weighing_holders_by_their_noise_sharpens_the_posterior(make: MakeNoise) -> None:
    generator = np.random.default_rng(34)
    size = 5
    features, target = np.eye(size)[:, :-1], np.eye(size)[:, -1]
    regression = Regression(features, target, 1.0, made_regression(generator, size, size - 1).prior)
    prior = type(regression.prior)(np.eye(4), np.zeros(4), np.full(4, 2.5), 0.5)
    parts = [made_part(generator, size, 2000, make(3.0, False)), made_part(generator, size, 2000, make(150.0, False))]
    weighted = posterior_sd(weighted_model(parts, regression.coordinates, prior))
    equal = posterior_sd(ConditionalModel.of(parts, regression.coordinates, prior))
    backwards = posterior_sd(ConditionalModel.of(parts, regression.coordinates, prior, np.array([0.05, 1.0])))
    assert np.all(weighted < 0.6 * equal)
    assert np.all(backwards > 2.0 * weighted)


def test_a_matrix_that_is_not_positive_definite_has_a_posterior() -> None:
    generator = np.random.default_rng(35)
    regression = made_regression(generator, 6, 4)
    part = made_part(generator, 6, 100, gaussian(300.0, False))
    assert np.linalg.eigvalsh(part.matrix)[0] < -50.0
    model = ConditionalModel.of([part], regression.coordinates, regression.prior)
    mode = find_mode(model.density_with_gradient, *model.start())
    assert mode.converged
    assert np.isfinite(mode.scale).all() and np.isfinite(model.log_density(mode.point, model.data))
