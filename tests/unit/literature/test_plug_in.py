"""The paper's repairs of a noisy matrix: ridge, thresholds, and what they leave as it was."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm
from tests.refusals import about
from tests.unit.posterior.noisy_matrices import gaussian, laplace, noise_draws
from tests.unit.selection.made_moments import from_matrix, made_table, single_columns

from noisewise.errors import FitError
from noisewise.literature import plug_in
from noisewise.literature.noise_laws import Component, NoiseLaw, independent, nested, wishart
from noisewise.literature.plug_in import noise_percentiles, regularised, repaired, wishart_ridge
from noisewise.releases.contents.gram import EntryNoise
from noisewise.selection.moments import Moments, without_leading
from noisewise.selection.question import Units

Array = NDArray[np.float64]
SLOPES = np.array([0.5, 0.0, -0.3])
ROWS = 2000
DELTA = 1e-6


@dataclass(frozen=True)
class MadePart:
    matrix: Array
    rows: int | None
    noise: EntryNoise
    delta: float = 0.0


def noise_of(distribution: str, sd: float, size: int) -> NoiseLaw:
    if distribution == "wishart":
        return wishart(40, sd / math.sqrt(40.0), size, DELTA, public_corner=True)
    made = {"gaussian": gaussian, "laplace": laplace}[distribution](sd, corner=False)
    return independent(distribution, made.variances(size))


def released(noise: NoiseLaw, seed: int = 1, kept: int = 1) -> Moments:
    table = made_table(3, ROWS, SLOPES)
    matrix = table.T @ table + noise.draw(1, np.random.default_rng(seed))[0]
    return from_matrix(matrix, noise.variances, ROWS, kept)


def in_question(moments: Moments) -> Array:
    """The formula's matrix without what is kept."""
    both = np.column_stack([moments.features, moments.target])
    return without_leading(both.T @ moments.matrix @ both, moments.kept)


@pytest.mark.parametrize("distribution", ["gaussian", "laplace", "wishart"])
@pytest.mark.parametrize("kept", [0, 1, 2])
def test_the_ridge_is_added_after_the_kept_columns_were_partialled_out(distribution: str, kept: int) -> None:
    noise = noise_of(distribution, 5.0, 5)
    moments = released(noise, kept=kept)
    found = regularised(moments, noise, threshold=False)
    assert found.exact and found.rows == ROWS and found.kept == kept
    added = in_question(found) - in_question(moments)
    assert added[0, 0] > 0.0
    np.testing.assert_allclose(added, added[0, 0] * np.eye(5 - kept), atol=1e-9)
    np.testing.assert_allclose(found.matrix[:kept], moments.matrix[:kept])


def test_the_result_is_analysed_as_a_table_without_noise() -> None:
    noise = noise_of("gaussian", 5.0, 5)
    found = single_columns(regularised(released(noise), noise, threshold=True), "zellner-siow").all_models()
    assert found.shape == (8,) and np.isfinite(found).all() and found[5] == found.max()


@pytest.mark.parametrize("distribution", ["gaussian", "laplace", "wishart"])
def test_the_ridge_is_rarely_exceeded_and_its_sign_is_right(distribution: str) -> None:
    """With the paper's 99th percentile of λ_min itself, which is nearly 0 or below it, the check fails."""
    size = 8
    noise = noise_of(distribution, 1.0, size)
    columns = np.eye(size)
    ridge, _ = noise_percentiles(noise, columns, 1, np.zeros((1, size - 1)), 0.99)
    drawn = noise.draw(4000, np.random.default_rng(8))[:, 1:, 1:]
    least = np.linalg.eigvalsh(drawn)[:, 0]
    exceeded = float(np.mean(-least > ridge))
    assert exceeded <= 0.01 + 4 * math.sqrt(0.01 * 0.99 / 4000)
    assert exceeded > 0.002 or distribution == "wishart"  # Sheffet's bound is a bound
    assert np.mean(-least > np.quantile(least, 0.99)) > 0.95


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
def test_thresholds_are_the_percentiles_of_each_entrys_own_noise(distribution: str) -> None:
    variances = np.array([[0.0, 1.0, 1.0], [1.0, 2.0, 9.0], [1.0, 9.0, 4.0]])
    noise = independent(distribution, variances)
    _, limits = noise_percentiles(noise, np.eye(3), 1, np.zeros((1, 2)), 0.99)
    standard = norm.ppf(0.995) if distribution == "gaussian" else math.log(100.0) / math.sqrt(2.0)
    np.testing.assert_allclose(limits, standard * np.sqrt(variances[1:, 1:]), rtol=0.05)


def test_means_away_from_the_middle_bring_the_noise_of_the_sums_in() -> None:
    """Cov(C_ij) has Var(E_ij) + m_i² Var(E_0j) + m_j² Var(E_0i) for means m; here all means are 1 and the variances equal."""
    noise = independent("gaussian", np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]))
    _, limits = noise_percentiles(noise, np.eye(3), 1, np.ones((1, 2)), 0.99)
    assert limits[0, 1] == pytest.approx(norm.ppf(0.995) * math.sqrt(3.0), rel=0.05)
    assert limits[0, 0] == pytest.approx(norm.ppf(0.995) * math.sqrt(5.0), rel=0.05)


def test_small_entries_off_the_diagonal_are_set_to_zero_and_no_others() -> None:
    matrix = np.array([[5.0, 1.0, -3.0], [1.0, 0.5, 2.0], [-3.0, 2.0, 9.0]])
    limits = np.full((3, 3), 1.5)
    expected = np.array([[15.0, 0.0, -3.0], [0.0, 10.5, 2.0], [-3.0, 2.0, 19.0]])
    np.testing.assert_allclose(repaired(matrix, 10.0, limits), expected)
    np.testing.assert_allclose(repaired(matrix, 10.0, None), matrix + 10.0 * np.eye(3))


def test_three_times_the_least_eigenvalue_is_the_last_resort() -> None:
    found = repaired(np.diag([-4.0, 1.0]), 1.0, None)
    np.testing.assert_allclose(found, np.diag([8.0, 13.0]))
    np.testing.assert_allclose(repaired(np.diag([-4.0, 1.0]), 5.0, None), np.diag([1.0, 6.0]))


@pytest.mark.parametrize("threshold", [False, True])
def test_however_large_the_noise_the_result_is_positive_definite(threshold: bool) -> None:
    noise = noise_of("laplace", 3000.0, 5)
    for seed in range(20):
        found = regularised(released(noise, seed, kept=2), noise, threshold=threshold)
        assert np.linalg.eigvalsh(found.matrix)[0] > 0.0


def test_the_wishart_ridge_is_a_bound_that_davidson_and_szarek_proved() -> None:
    degrees, columns, scale = 60, 6, 2.5
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3000, degrees, columns))
    least = np.linalg.eigvalsh(scale * np.swapaxes(x, 1, 2) @ x)[:, 0] - degrees * scale
    for delta in (0.4, 4e-2, 4e-9):
        allowed = delta / 4.0
        exceeded = np.mean(-least > wishart_ridge(degrees, scale, columns, delta))
        assert exceeded <= allowed + 4 * math.sqrt(allowed / 3000)
    assert wishart_ridge(10, scale, 9, 1e-9) == 10 * scale  # a Wishart matrix has no negative eigenvalue


def test_simulations_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = noise_of("laplace", 7.0, 5)
    moments = released(noise)
    first = regularised(moments, noise, threshold=True)
    monkeypatch.setattr(plug_in, "DRAWS", 0)  # a second simulation would fail
    assert np.array_equal(regularised(moments, noise, threshold=True).matrix, first.matrix)


def test_noise_that_is_not_the_moments_own_is_refused() -> None:
    with pytest.raises(FitError, match="NoiseLaw"):
        regularised(released(noise_of("gaussian", 5.0, 5)), noise_of("gaussian", 6.0, 5), threshold=False)
    with pytest.raises(FitError, match="NoiseLaw"):
        regularised(released(noise_of("gaussian", 5.0, 5)), noise_of("gaussian", 5.0, 4), threshold=False)
    with pytest.raises(FitError, check=about("level")):
        regularised(released(noise_of("gaussian", 5.0, 5)), noise_of("gaussian", 5.0, 5), threshold=False, level=99.0)
    with pytest.raises(FitError, match="distribution"):
        independent("cauchy", np.eye(2))


def plain_units(size: int) -> Units:
    columns = np.eye(size)
    return Units(columns[:, :-1], columns[:, -1], 1, np.arange(size - 1), np.ones(size), np.zeros(size))


def made_part(noise: EntryNoise, rows: int, seed: int) -> MadePart:
    table = made_table(seed, rows, SLOPES)
    return MadePart(table.T @ table + noise_draws(np.random.default_rng(seed), noise, 5, 1)[0], rows, noise)


def test_holders_noise_adds_up_as_their_moments_do() -> None:
    parts = [made_part(laplace(5.0, False), 500, 1), made_part(laplace(9.0, False), 800, 2),
             made_part(gaussian(2.0, False), 900, 3), made_part(gaussian(3.0, False), 100, 4)]
    units = plain_units(5)
    noise = NoiseLaw.of(parts, units)
    assert [component.distribution for component in noise.components] == ["gaussian", "laplace", "laplace"]
    np.testing.assert_allclose(noise.variances, Moments.of(parts, units).variances)
    drawn = noise.draw(40_000, np.random.default_rng(6))
    np.testing.assert_allclose(drawn.var(axis=0), noise.variances, rtol=0.06)


def test_wishart_noise_of_one_scale_is_wishart_noise_with_all_degrees() -> None:
    one = wishart(20, 1.5, 4, 1e-6, public_corner=False).components[0]
    both = NoiseLaw.pooled([one, one]).components
    assert len(both) == 1 and both[0].degrees == 40 and both[0].scale == 1.5
    assert len(NoiseLaw.pooled([one, Component("wishart", nested(4 * one.variances), 20, 3.0, 1e-6)]).components) == 2
    drawn = both[0].draw(20_000, np.random.default_rng(1))
    np.testing.assert_allclose(drawn.mean(axis=0), np.zeros((4, 4)), atol=0.5)
    np.testing.assert_allclose(drawn.var(axis=0), both[0].variances, rtol=0.06)
    assert np.mean(drawn[:, 1, 1] ** 3) > 0.3 * both[0].variances[1, 1] ** 1.5  # χ² with 40 degrees: skewness 0.45
