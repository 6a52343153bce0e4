"""The search for a mode and NUTS, on densities whose answers are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import digamma, polygamma

from noisewise.posterior.kernels.mode import Mode, find_mode, jax_density
from noisewise.posterior.kernels.nuts import LOOSE, MANY, NutsDraws, sample_nuts, short_root, stretched
from noisewise.results.diagnostics import ess_bulk

Array = NDArray[np.float64]
SHAPE = np.array([1.5, 6.0])
COVARIANCE = np.array([[4.0, -1.7], [-1.7, 1.0]])
MEAN = np.array([30.0, -2.0])
LIMIT = 5.0
"""|z| of a chain's mean: with the dozen numbers compared here, passed by chance alone once in 100 000 runs or less."""


def known_density(x: Any, data: Mapping[str, Any], xp: Any = np) -> Any:
    """Two correlated normals, two log-gammas that are skewed to the left, and a wall where the first one is large."""
    away = x[:2] - data["mean"]
    skewed = x[2:]
    normal = -0.5 * away @ (data["precision"] @ away)
    return normal + xp.sum(data["shape"] * skewed - xp.exp(skewed)) - data["wall"] * xp.maximum(x[0] - 30.0, 0.0) ** 2


def data_with(wall: float = 0.0) -> dict[str, Array]:
    return {"mean": MEAN, "precision": np.linalg.inv(COVARIANCE), "shape": SHAPE, "wall": np.array(wall)}


KNOWN_MEAN = np.concatenate([MEAN, digamma(SHAPE)])
KNOWN_COVARIANCE = np.zeros((4, 4))
KNOWN_COVARIANCE[:2, :2] = COVARIANCE
KNOWN_COVARIANCE[2:, 2:] = np.diag(polygamma(1, SHAPE))


@pytest.fixture(scope="module")
def mode() -> Mode:
    start = np.array([25.0, 0.0, 1.0, -1.0])
    return find_mode(jax_density(known_density, data_with()), start, np.full(4, 0.5))


@pytest.fixture(scope="module")
def sampled(mode: Mode) -> NutsDraws:
    return sample_nuts(known_density, data_with(), mode, seed=20261115, chains=4, draws=2000)


def test_the_mode_and_its_curvature_are_found(mode: Mode) -> None:
    assert mode.converged
    assert np.allclose(mode.point, np.concatenate([MEAN, np.log(SHAPE)]), atol=1e-4)
    covariance = mode.scale @ mode.scale.T
    expected = np.zeros((4, 4))
    expected[:2, :2] = COVARIANCE
    expected[2:, 2:] = np.diag(1 / SHAPE)
    assert np.allclose(covariance, expected, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-3, 30.0])
def test_a_bad_first_guess_of_the_scale_does_no_harm(scale: float, mode: Mode) -> None:
    other = find_mode(jax_density(known_density, data_with()), np.array([25.0, 0.0, 1.0, -1.0]), np.full(4, scale))
    assert other.converged
    assert np.allclose(other.point, mode.point, atol=1e-3)


def test_a_density_without_a_mode_is_not_called_converged() -> None:
    def rising(x: Array) -> tuple[float, Array]:
        return float(x[0] - 0.5 * x[1] ** 2), np.array([1.0, -x[1]])

    assert not find_mode(rising, np.zeros(2), np.ones(2)).converged


def worst_z(values: Array, expected: Array) -> float:
    """The largest z of the means of (chains, draws, quantities), with errors from their effective sizes."""
    sd = values.reshape(-1, values.shape[2]).std(axis=0)
    error = sd / np.sqrt(ess_bulk(values))
    return float(np.abs((values.mean(axis=(0, 1)) - expected) / error).max())


def test_the_means_are_right(sampled: NutsDraws) -> None:
    assert sampled.draws.shape == (4, 2000, 4)
    assert worst_z(sampled.draws, KNOWN_MEAN) < LIMIT
    assert worst_z(sampled.draws, KNOWN_MEAN + 0.1 * np.sqrt(np.diag(KNOWN_COVARIANCE))) > LIMIT


def test_the_covariances_are_right(sampled: NutsDraws) -> None:
    i, j = np.triu_indices(4)
    away = sampled.draws - KNOWN_MEAN
    products = away[..., i] * away[..., j]
    assert worst_z(products, KNOWN_COVARIANCE[i, j]) < LIMIT
    assert worst_z(products, 1.15 * KNOWN_COVARIANCE[i, j]) > LIMIT


def test_the_skewness_is_right(sampled: NutsDraws) -> None:
    cubes = (sampled.draws[..., 2:] - KNOWN_MEAN[2:]) ** 3
    assert worst_z(cubes, polygamma(2, SHAPE)) < LIMIT
    assert worst_z(cubes, np.zeros(2)) > LIMIT


def test_nothing_diverges_on_smooth_densities(sampled: NutsDraws) -> None:
    assert not sampled.diverging.any()


def test_draws_are_reproducible_by_seed(mode: Mode) -> None:
    once, again, other = (
        sample_nuts(known_density, data_with(), mode, seed=seed, chains=4, draws=60).draws for seed in (5, 5, 6)
    )
    assert np.array_equal(once, again)
    assert once.shape == (4, 60, 4)
    assert not np.isclose(once, other).any()


def test_chains_differ(sampled: NutsDraws) -> None:
    assert len({chain.tobytes() for chain in sampled.draws}) == 4


def test_divergences_are_counted(mode: Mode) -> None:
    found = sample_nuts(known_density, data_with(wall=1e9), mode, seed=5, chains=4, draws=200)
    assert found.diverging.shape == found.draws.shape[:2] and found.diverging.any()


def test_progress_is_told(mode: Mode) -> None:
    told: list[tuple[int, int]] = []
    sample_nuts(known_density, data_with(), mode, seed=5, chains=4, draws=101, tick=lambda *progress: told.append(progress))
    assert told == [(100 * done, 500) for done in range(1, 6)]  # 300 steps of warm-up, 101 draws, by the hundred


@pytest.mark.outer
def test_divergences_of_many_parameters_belong_to_the_draws_that_are_kept() -> None:
    mode = Mode(np.zeros(MANY), np.eye(MANY), True)
    found = sample_nuts(walled_normals, {"wall": np.array(1e9)}, mode, seed=5, chains=2, draws=101)
    assert found.draws.shape == (2, 101, MANY)
    assert found.diverging.shape == (2, 101) and found.diverging.any()


def walled_normals(x: Any, data: Mapping[str, Any], xp: Any = np) -> Any:
    return -0.5 * x @ x - data["wall"] * xp.maximum(x[0] - 0.5, 0.0) ** 2


def correlated(size: int, correlation: float) -> Array:
    """A matrix with standard deviations 1, 2, 3, … of which the first two parameters are correlated."""
    matrix = np.eye(size)
    matrix[0, 1] = matrix[1, 0] = correlation
    deviations = np.arange(1.0, size + 1)
    return matrix * np.outer(deviations, deviations)


def test_many_parameters_that_are_hardly_correlated_are_whitened_by_their_deviations() -> None:
    covariance = correlated(MANY, 0.3)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(MANY, MANY)))[0]
    root = short_root(np.linalg.cholesky(covariance) @ rotation)
    assert root.shape == (MANY,)
    curvatures = np.linalg.eigvalsh(np.linalg.inv(covariance) * np.outer(root, root))
    assert 1 / LOOSE < curvatures[0] and curvatures[-1] < LOOSE
    np.testing.assert_allclose(root[2:], np.arange(3.0, MANY + 1))


@pytest.mark.parametrize(("size", "correlation"), [(MANY, 0.9), (MANY - 1, 0.3)], ids=["correlated", "few"])
def test_correlated_parameters_and_few_ones_are_whitened_by_the_matrix(size: int, correlation: float) -> None:
    scale = np.linalg.cholesky(correlated(size, correlation))
    assert short_root(scale) is scale


def test_a_batch_is_stretched_like_its_vectors() -> None:
    generator = np.random.default_rng(1)
    batch, scale = generator.normal(size=(2, 3, 4)), generator.normal(size=(4, 4))
    np.testing.assert_allclose(stretched(scale, batch)[1, 2], scale @ batch[1, 2])
    np.testing.assert_allclose(stretched(scale[0], batch)[1, 2], scale[0] * batch[1, 2])


def many_normals(x: Any, data: Mapping[str, Any], xp: Any = np) -> Any:
    return -0.5 * x @ (data["precision"] @ x)


@pytest.mark.outer
def test_many_parameters_have_the_right_moments() -> None:
    """Also those two of which the deviations do not know that they are correlated."""
    covariance = correlated(MANY, 0.3)
    mode = Mode(np.zeros(MANY), np.linalg.cholesky(covariance), True)
    draws = sample_nuts(many_normals, {"precision": np.linalg.inv(covariance)}, mode, seed=5, chains=2, draws=1000).draws
    assert draws.shape == (2, 1000, MANY)
    standard = draws.reshape(-1, MANY) / np.arange(1.0, MANY + 1)
    assert np.abs(standard.mean(axis=0)).max() < 0.15
    np.testing.assert_allclose(standard.std(axis=0), 1.0, atol=0.12)
    assert np.corrcoef(standard[:, 0], standard[:, 1])[0, 1] == pytest.approx(0.3, abs=0.12)
