"""The noise that reaches a release has the distribution that the release states."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.noise.scale_tests import LEVEL, Distribution, assert_scale, assert_shape, has_scale, power

from noisewise.privacy.mechanisms.gram import SymmetricGaussian, SymmetricMechanism, choose_mechanism
from noisewise.privacy.noise import gaussian_integers, laplace_integers
from noisewise.privacy.sensitivity.gram import gram_sensitivity

DRAWS = 20_000
SIZE = 12
MATRICES = 1900
ADDERS = {"gaussian": gaussian_integers, "laplace": laplace_integers}


@pytest.mark.parametrize("scale", [300.0, 65536.0 * 7.3, 1e12])
@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
def test_integer_noise(distribution: Distribution, scale: float) -> None:
    values = np.arange(DRAWS, dtype=np.int64) * 1000 - 7_000_000
    noise = (ADDERS[distribution](values, scale) - values).astype(float)
    assert_scale(distribution, noise, scale)
    assert_shape(distribution, noise, scale)


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
def test_two_draws_differ(distribution: Distribution) -> None:
    values = np.zeros(20, dtype=np.int64)
    first, second = (ADDERS[distribution](values, 1e9) for _ in range(2))
    assert not np.array_equal(first, second)


def mechanism_for(distribution: Distribution, adjacency: str) -> SymmetricMechanism:
    sensitivity = gram_sensitivity(
        scalars=SIZE - 1, blocks=0, size=SIZE, radius=2.0, norm_clipped=True, adjacency=adjacency
    )
    return choose_mechanism(sensitivity, 1.0, 1e-6 if distribution == "gaussian" else None, None)


@cache
def noise_of(distribution: Distribution, adjacency: str) -> NDArray[np.float64]:
    mechanism = mechanism_for(distribution, adjacency)
    half = np.random.default_rng(3).integers(-(10**9), 10**9, (SIZE, SIZE))
    statistic = half + half.T
    noisy = np.array([mechanism.perturb(statistic) for _ in range(MATRICES)])
    return np.asarray(noisy - statistic * 2.0**-16, dtype=np.float64)


CASES = pytest.mark.parametrize(
    ("distribution", "adjacency"), list(product(["gaussian", "laplace"], ["replace-one", "add-remove"]))
)


def scales(mechanism: SymmetricMechanism) -> tuple[float, float]:
    """What `has_scale` means by the scales of a diagonal entry and of one off the diagonal."""
    diagonal, off_diagonal, _ = mechanism.entry_sd()
    unit = 1.0 if isinstance(mechanism, SymmetricGaussian) else math.sqrt(2)
    return diagonal / unit, off_diagonal / unit


@pytest.mark.outer(but=["gaussian-replace-one"])
@CASES
def test_noise_is_symmetric_and_on_the_grid(distribution: Distribution, adjacency: str) -> None:
    noise = noise_of(distribution, adjacency)
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    assert np.array_equal(noise * 2.0**16, np.round(noise * 2.0**16))


@pytest.mark.outer(but=["gaussian-replace-one", "laplace-add-remove"])
@CASES
def test_entries_have_the_stated_scales(distribution: Distribution, adjacency: str) -> None:
    mechanism, noise = mechanism_for(distribution, adjacency), noise_of(distribution, adjacency)
    diagonal_scale, off_diagonal_scale = scales(mechanism)
    diagonal = np.diagonal(noise, axis1=1, axis2=2)[:, 1:].ravel()
    rows, columns = np.triu_indices(SIZE, k=1)
    off_diagonal = noise[:, rows, columns].ravel()
    assert_scale(distribution, diagonal, diagonal_scale)
    assert_scale(distribution, off_diagonal, off_diagonal_scale)
    assert_shape(distribution, off_diagonal[:DRAWS], off_diagonal_scale)
    if distribution == "gaussian":  # not the same scale everywhere: Frobenius geometry
        assert off_diagonal_scale == pytest.approx(diagonal_scale / math.sqrt(2), rel=1e-12)
        assert not has_scale(distribution, off_diagonal, diagonal_scale)


@pytest.mark.outer(but=["laplace-replace-one"])
@CASES
def test_corner_is_exact_if_public_and_noisy_otherwise(distribution: Distribution, adjacency: str) -> None:
    mechanism, corner = mechanism_for(distribution, adjacency), noise_of(distribution, adjacency)[:, 0, 0]
    if adjacency == "replace-one":
        assert np.all(corner == 0)
        assert mechanism.entry_sd()[2] == 0.0
    else:
        assert mechanism.entry_sd()[2] == mechanism.entry_sd()[0]
        assert has_scale(distribution, corner, scales(mechanism)[0])
        assert not has_scale(distribution, corner, 2 * scales(mechanism)[0])


@CASES
def test_entries_are_independent(distribution: Distribution, adjacency: str) -> None:
    """No two entries of the upper triangle are correlated in sign or in size, at one level for all pairs together."""
    rows, columns = np.triu_indices(SIZE)
    entries = noise_of(distribution, adjacency)[:, rows, columns][:, 1:]  # the corner may be constant

    def largest_correlation(values: NDArray[np.float64]) -> float:
        return float(np.max(np.abs(np.triu(np.corrcoef(values, rowvar=False), k=1))))

    # Signs and ranks are bounded, so that the tail of a correlation is that of a normal, or thinner.
    pairs = entries.shape[1] * (entries.shape[1] - 1) / 2
    threshold = float(stats.norm.isf(LEVEL / pairs / 2)) / math.sqrt(MATRICES)
    assert largest_correlation(np.sign(entries)) < threshold
    assert largest_correlation(stats.rankdata(np.abs(entries), axis=0)) < threshold
    mixed = entries.copy()
    mixed[:, 5] = 0.7 * entries[:, 5] + 0.7 * entries[:, 17]  # a dependence that the test must see
    assert largest_correlation(np.sign(mixed)) > threshold
    assert largest_correlation(stats.rankdata(np.abs(mixed), axis=0)) > threshold


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_gaussian_noise_is_the_same_in_every_direction(adjacency: str) -> None:
    """cᵀEc has variance s²‖c‖⁴ (less s²c₀⁴ if the corner is exact) only if the entries are independent, with sd s on the
    diagonal and s/√2 off it."""
    draws = np.einsum("nij,i,j->n", noise_of("gaussian", adjacency), *[np.full(SIZE, SIZE**-0.5)] * 2)
    sd = mechanism_for("gaussian", adjacency).entry_sd()[0]
    if adjacency == "replace-one":
        sd *= math.sqrt(1 - SIZE**-2)
    assert has_scale("gaussian", draws, sd)
    for wrong in (math.sqrt(2), math.sqrt(1 / 2)):  # as if every entry had sd s, or every one were counted once
        assert power("gaussian", draws.size, wrong) > 1 - 1e-9
        assert not has_scale("gaussian", draws, sd * wrong)
