"""The written-out gradients against JAX's and against finite differences."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.posterior.noisy_matrices import gaussian, laplace, made_part, made_regression, numeric_gradient

from noisewise.posterior.kernels.mode import ValueAndGradient, jax_density
from noisewise.posterior.linear import densities
from noisewise.posterior.linear.conditional import FEW, ConditionalModel
from noisewise.posterior.prior import ResolvedPrior
from noisewise.releases.contents.gram import EntryNoise

Array = NDArray[np.float64]
MakeNoise = Callable[[float, bool], EntryNoise]
SIZES = [(2, 1), (6, 3), (16, 13), (17, FEW + 1)]


def made_model(make: MakeNoise, size: int, predictors: int, corner: bool, *, weighted: bool = False, round_prior: bool = False,
               sd: float = 9.0) -> ConditionalModel:
    """A weighted model has a dense matrix ``gram``, a round prior a diagonal ``prior_slope``."""
    generator = np.random.default_rng([size, predictors, corner, weighted])
    regression = made_regression(generator, size, predictors)
    prior = regression.prior
    if round_prior:
        slope = np.linalg.inv(regression.coordinates.slope)
        prior = ResolvedPrior(slope, slope @ regression.coordinates.offset + 0.2, np.full(predictors, 1.7), prior.sigma)
    parts = [made_part(generator, size, rows, make(sd, corner)) for rows in ((500, 800) if weighted else (500,))]
    return ConditionalModel.of(parts, regression.coordinates, prior, np.array([1.0, 0.3]) if weighted else None)


def points(model: ConditionalModel, count: int = 4) -> list[Array]:
    generator = np.random.default_rng(7)
    width = len(model.data["cross"])
    sigmas = generator.uniform(0.1, 0.8, count) * np.where(np.arange(count) % 2, -1.0, 1.0)
    return [np.append(generator.normal(size=width) * 0.7, sigma) for sigma in sigmas]


def distance_from_jax(model: ConditionalModel, density: ValueAndGradient) -> float:
    """The largest difference of value or gradient, relative to the largest entry."""
    by_jax = jax_density(model.log_density, model.data)
    worst = 0.0
    for point in points(model):
        value, gradient = density(point)
        jax_value, jax_gradient = by_jax(point)
        worst = max(worst, abs(value - jax_value) / abs(jax_value),
                    float(np.max(np.abs(gradient - jax_gradient)) / np.max(np.abs(jax_gradient))))
    return worst


@pytest.mark.outer(but=["gaussian-2-1-exact rows-one holder-any prior", "gaussian-6-3-noisy rows-weights-round prior",
                        "laplace-6-3-noisy rows-weights-round prior", "gaussian-17-14-exact rows-weights-round prior"])
@pytest.mark.parametrize("round_prior", [False, True], ids=["any prior", "round prior"])
@pytest.mark.parametrize("weighted", [False, True], ids=["one holder", "weights"])
@pytest.mark.parametrize("corner", [False, True], ids=["exact rows", "noisy rows"])
@pytest.mark.parametrize(("size", "predictors"), SIZES)
@pytest.mark.parametrize("make", [gaussian, laplace])
def test_the_gradient_is_that_of_jax(make: MakeNoise, size: int, predictors: int, corner: bool, weighted: bool, round_prior: bool
                                     ) -> None:
    model = made_model(make, size, predictors, corner, weighted=weighted, round_prior=round_prior)
    assert model.rotated == (make is gaussian) and model.data["jointly"] == (predictors <= FEW)
    if model.rotated and predictors > 1:
        assert model.data["gram"].ndim == 1 + weighted
        assert model.data["prior_slope"].ndim == 2 - round_prior
    assert distance_from_jax(model, model.density_with_gradient) < 1e-9


@pytest.mark.parametrize("sd", [1e-3, 300.0])
@pytest.mark.parametrize("make", [gaussian, laplace])
def test_the_gradient_is_that_of_jax_with_hardly_any_and_with_much_noise(make: MakeNoise, sd: float) -> None:
    model = made_model(make, 6, 3, True, sd=sd)
    assert distance_from_jax(model, model.density_with_gradient) < 1e-8


@pytest.mark.parametrize("corner", [False, True], ids=["exact rows", "noisy rows"])
@pytest.mark.parametrize(("size", "predictors"), [(6, 3), (17, FEW + 1)])
@pytest.mark.parametrize("make", [gaussian, laplace])
def test_the_gradient_is_that_of_finite_differences(make: MakeNoise, size: int, predictors: int, corner: bool) -> None:
    model = made_model(make, size, predictors, corner, weighted=True)
    for point in points(model):
        value, gradient = model.density_with_gradient(point)
        assert value == pytest.approx(float(model.log_density(point, model.data)), rel=1e-11)
        expected = numeric_gradient(lambda x: model.log_density(x, model.data), point, np.full(len(point), 1e-4))
        assert np.allclose(gradient, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


MISTAKES = [
    ("_rotated_with_gradient", "by_g = 2.0 * by_norm2 * g - by_c0 * w", "by_g = 2.0 * by_norm2 * g + by_c0 * w"),
    ("_rotated_with_gradient", "- jointly * corner * c0 * by_zeta_w", "+ jointly * corner * c0 * by_zeta_w"),
    ("_rotated_with_gradient", "+ inverse_z / k", "- inverse_z / k"),
    ("_dense_with_gradient", "- c[0] * by_corner", "+ c[0] * by_corner"),
    ("_dense_with_gradient", "- 2.0 * on_diagonal * c * by_spread", "+ 2.0 * on_diagonal * c * by_spread"),
    ("_dense_with_gradient", "by_c[0] -=", "by_c[0] +="),
    ("_whole_gradient", "+ alpha2 * data[\"rows\"]", "- alpha2 * data[\"rows\"]"),
    ("_whole_gradient", "+ alpha2 * (data[\"cross\"] + h)", "- alpha2 * (data[\"cross\"] + h)"),
]


@pytest.mark.parametrize(("function", "right", "wrong"), MISTAKES)
def test_a_term_of_the_wrong_sign_would_be_found(function: str, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = inspect.getsource(getattr(densities, function))
    assert source.count(right) == 1
    names: dict[str, Any] = dict(vars(densities))
    exec(source.replace(right, wrong), names)
    monkeypatch.setattr(densities, function, names[function])
    model = made_model(laplace if function.startswith("_dense") else gaussian, 6, 3, True)
    assert distance_from_jax(model, model.density_with_gradient) > 1e-4


def test_far_away_the_value_overflows_without_a_warning() -> None:
    for make in (gaussian, laplace):
        model = made_model(make, 6, 3, True)
        value, gradient = model.density_with_gradient(np.full(4, 1e200))
        assert not np.isfinite(value) and gradient.shape == (4,)
