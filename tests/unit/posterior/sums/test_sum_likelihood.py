"""The density of a noisy sum against brute force: all sums, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from scipy.integrate import quad

from noisewise.posterior.sums.exact import exact_log_likelihood, log_normal_laplace, normal_log_likelihood
from noisewise.posterior.sums.families import Exponential, Family, Poisson, family_for
from noisewise.posterior.sums.noisy_sum import Noise, NoisySum

Array = npt.NDArray[np.float64]


def seen_sum(total: float, rows: int, noise: Noise, lower: float, upper: float) -> NoisySum:
    """A noisy sum in the user's units as a release has it."""
    half_width = (upper - lower) / 2.0
    centre = lower + half_width
    return NoisySum((total - rows * centre) / half_width, noise.times(1.0 / half_width), (rows,), (1.0,), centre, half_width)


def sum_of_rows(pmf: Array, rows: int) -> Array:
    """The distribution of the sum of so many rows, by convolution."""
    result = np.array([1.0])
    for _ in range(rows):
        result = np.convolve(result, pmf)
    return result


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize(("rows", "sd"), [(5, 0.4), (20, 1.0), (200, 7.0), (30, 60.0)])
def test_proportions_agree_with_the_sum_over_all_counts(rows: int, sd: float, distribution: str) -> None:
    family, noise = family_for("bernoulli", (0.0, 1.0), categorical=True), Noise(distribution, sd)
    total, p = 0.3 * rows + 0.37, np.linspace(0.1, 0.6, 11)
    counts = np.arange(rows + 1)
    direct = [np.log(stats.binom.pmf(counts, rows, one) @ np.exp(noise.log_density(total - counts))) for one in p]
    found = exact_log_likelihood(family, family.pmf(p), seen_sum(total, rows, noise, 0.0, 1.0))
    np.testing.assert_allclose(found, direct, atol=2e-4 if sd > rows else 1e-6)


@pytest.mark.parametrize(("upper", "sd"), [(3, 2.0), (4, 10.0), (30, 3.0)])
def test_clipped_counts_agree_with_convolutions_and_counts_without_clipping_do_not(upper: int, sd: float) -> None:
    rows, noise = 40, Noise("laplace", sd)
    family = family_for("poisson", (0.0, float(upper)), categorical=False)
    rate = np.linspace(1.5, 4.0, 6)
    plain = stats.poisson.pmf(np.arange(upper + 1), rate[:, None])
    plain[:, -1] = 1.0 - plain[:, :-1].sum(axis=1)
    np.testing.assert_allclose(family.pmf(rate), plain, atol=1e-12)
    total = 2.4 * rows + 0.2
    sums = np.arange(rows * upper + 1)
    direct = np.log([sum_of_rows(one, rows) @ np.exp(noise.log_density(total - sums)) for one in plain])
    found = exact_log_likelihood(family, family.pmf(rate), seen_sum(total, rows, noise, 0.0, float(upper)))
    np.testing.assert_allclose(found, direct, atol=1e-6)
    if upper == 3:
        counts = np.arange(400)
        ignoring = np.log([stats.poisson.pmf(counts, rows * one) @ np.exp(noise.log_density(total - counts)) for one in rate])
        assert np.abs(found - ignoring).max() > 1.0


def test_waiting_times_agree_with_the_gamma_distribution_of_their_sum() -> None:
    rows, noise, mean = 12, Noise("laplace", 4.0), np.array([2.0, 3.0, 4.0])
    family = family_for("exponential", (0.0, 120.0), categorical=False)
    direct = [np.log(quad(lambda s, m=m: stats.gamma.pdf(s, rows, scale=m) * np.exp(noise.log_density(np.array(40.0 - s))),
                          0, 400, points=[40.0], limit=200)[0]) for m in mean]
    found = exact_log_likelihood(family, family.pmf(mean), seen_sum(40.0, rows, noise, 0.0, 120.0))
    np.testing.assert_allclose(found, direct, atol=2e-3)  # the grid's step is a twentieth of the mean's standard error
    normal = normal_log_likelihood(family, family.pmf(mean), seen_sum(40.0, rows, noise, 0.0, 120.0))
    assert np.abs(normal - direct).max() > 0.02


def test_a_normal_sum_with_normal_noise_is_normal() -> None:
    family = family_for("normal", (-50.0, 50.0), categorical=False, sigma=2.0)
    mean = np.linspace(-1.0, 1.0, 5)
    found = exact_log_likelihood(family, family.pmf(mean), seen_sum(7.0, 100, Noise("gaussian", 15.0), -50.0, 50.0))
    variance = 4.0 + family.step**2 / 12.0  # what the grid adds
    np.testing.assert_allclose(found, stats.norm.logpdf(7.0, 100 * mean, np.sqrt(100 * variance + 15.0**2)), atol=1e-6)


def test_a_private_number_of_rows_is_averaged_over() -> None:
    family, noise = family_for("bernoulli", (0.0, 1.0), categorical=True), Noise("gaussian", 5.0)
    p = np.linspace(0.2, 0.4, 5)
    several = NoisySum(-40.0, noise, (90, 100, 110), (0.25, 0.5, 0.25), 0.5, 0.5)
    alone = [exact_log_likelihood(family, family.pmf(p), NoisySum(-40.0, noise, (rows,), (1.0,), 0.5, 0.5))
             for rows in several.rows]
    expected = np.log(np.einsum("k,kp->p", several.weights, np.exp(alone)))
    np.testing.assert_allclose(exact_log_likelihood(family, family.pmf(p), several), expected, atol=1e-10)


def test_normal_plus_laplace_is_their_convolution() -> None:
    for x, variance, scale in ((0.3, 2.0, 1.5), (-4.0, 0.5, 0.2), (10.0, 1.0, 3.0)):
        direct = quad(lambda s, x=x, v=variance, b=scale: stats.norm.pdf(s, 0, np.sqrt(v)) * stats.laplace.pdf(x - s, 0, b),
                      -60, 60, points=[0.0, x], limit=400)[0]
        found = log_normal_laplace(np.array([x]), np.array([variance]), scale)[0]
        assert found == pytest.approx(np.log(direct), abs=1e-7)


@pytest.mark.parametrize("family", [Poisson(0.0, 6.0, (0.5, 0.2)), Exponential(0.0, 6.0, (0.5, 0.1))])
def test_probabilities_of_rows_add_up(family: Family) -> None:
    pmf = family.pmf(np.array([0.01, 1.0, 50.0]))
    assert pmf.shape == (3, family.steps + 1) and (pmf >= -1e-15).all()
    np.testing.assert_allclose(pmf.sum(axis=1), 1.0)


@pytest.mark.parametrize(("name", "bounds", "more", "words"), [
    ("gamma", (0.0, 1.0), {}, "unknown family"),
    ("bernoulli", (0.0, 2.0), {}, "bounds 0 and 1"),
    ("poisson", (1.0, 9.0), {}, "from 0"),
    ("poisson", (0.0, 8.5), {}, "whole number"),
    ("exponential", (-1.0, 9.0), {}, "from 0"),
    ("normal", (0.0, 9.0), {"sigma": -1.0}, "sigma must be > 0"),
    ("poisson", (0.0, 9.0), {"sigma": 1.0}, "only a normal"),
    ("poisson", (0.0, 9.0), {"prior": (0.0, 1.0)}, "shape and rate"),
    ("poisson", (0.0, 9.0), {"prior": 3}, "shape and rate"),
    ("poisson", (0.0, 1.0), {"categorical": True}, "family bernoulli"),
])
def test_what_a_family_refuses(name: str, bounds: tuple[float, float], more: dict[str, Any], words: str) -> None:
    from noisewise.errors import FitError

    with pytest.raises(FitError, match=words):
        family_for(name, bounds, **{"categorical": False, **more})
