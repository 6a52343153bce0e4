"""Random effects by site: each stage against an independent computation, and the whole on made-up sites."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from studies.coverage import default_prior
from studies.random_sites import Cell, simulated_sites
from studies.tables import truth_in_table
from tests.unit.posterior.noisy_matrices import gaussian, laplace, made_part, made_regression

import noisewise as nw
import noisewise.posterior.sites.moments as site_moments
from noisewise.errors import FitError
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.linear.conditional import ConditionalModel, log_density_dense
from noisewise.posterior.methods import METHODS
from noisewise.posterior.request import Request, Sampled
from noisewise.posterior.sites.information import (
    LOG_SIGMA_MEAN,
    LOG_SIGMA_SD,
    Reference,
    SiteInformation,
    SiteModels,
    likelihood_of,
    log_density_site,
)
from noisewise.posterior.sites.population import Population, log_density_population, mixing_matrix, random_sites
from noisewise.results.diagnostics import ess_bulk, ess_tail

Array = NDArray[np.float64]
TERMS = ("Intercept", "a", "b")


def normal_sites(count: int, seed: int, omega: float = 0.6) -> tuple[Array, Array]:
    """Estimates of one coefficient at so many sites and their variances; the population's coefficient is 0.4."""
    generator = np.random.default_rng(seed)
    variances = generator.uniform(0.05, 0.5, count)
    return 0.4 + omega * generator.normal(size=count) + np.sqrt(variances) * generator.normal(size=count), variances


def one_coefficient(estimates: Array, variances: Array) -> Population:
    """Sites that know one coefficient v so well, and log σ very well (all the same)."""
    precision = np.zeros((len(estimates), 2, 2))
    precision[:, 0, 0], precision[:, 1, 1] = 1.0 / variances, 1e4
    shift = np.column_stack([estimates / variances, np.zeros(len(estimates))])
    return Population(SiteInformation(precision, shift), np.array([[1.0], [0.0]]))


def by_grid(estimates: Array, variances: Array) -> tuple[Array, Array]:
    """Means and standard deviations of (v, ω) on a grid: estimate_j ~ N(v, V_j + ω²), v ~ N(0, 1), ω ~ |N(0, 1)|."""
    v, omega = np.meshgrid(np.linspace(-4, 4, 801), np.linspace(0.0025, 4, 800), indexing="ij")
    logs = -0.5 * v**2 - 0.5 * omega**2
    for estimate, variance in zip(estimates, variances, strict=True):
        total = variance + omega**2
        logs -= 0.5 * (estimate - v) ** 2 / total + 0.5 * np.log(total)
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    mean = np.array([np.sum(weight * v), np.sum(weight * omega)])
    return mean, np.sqrt([np.sum(weight * (v - mean[0]) ** 2), np.sum(weight * (omega - mean[1]) ** 2)])


@pytest.mark.outer
def test_the_population_is_that_of_an_integration_and_not_that_of_estimates_taken_for_exact() -> None:
    """3000 draws worth at least 1000 independent ones: five standard errors of a mean are 0.16 standard deviations."""
    estimates, variances = normal_sites(6, seed=3)
    result, mode = one_coefficient(estimates, variances).sample(seed=1, chains=2, draws=1500)
    assert mode.converged
    draws = result.draws.reshape(-1, 3)
    found = np.column_stack([draws[:, 0], np.exp(draws[:, 2])])
    mean, sd = by_grid(estimates, variances)
    assert np.all(np.abs(found.mean(axis=0) - mean) < 0.16 * sd)
    np.testing.assert_allclose(found.std(axis=0), sd, rtol=0.15)
    wrong, _ = by_grid(estimates, np.full_like(variances, 1e-3))
    assert abs(found[:, 1].mean() - wrong[1]) > 0.3 * sd[1]


def test_sites_are_drawn_from_their_conditional() -> None:
    """Given (v, ω) a site is N(ω² estimate + V v, ω² V) / (ω² + V): mean and variance of many draws at one (v, ω)."""
    estimates, variances = normal_sites(4, seed=5)
    v, omega, count = 0.2, 0.7, 20_000
    at = np.tile([v, 0.0, np.log(omega)], (count, 1))
    own = one_coefficient(estimates, variances).site_draws(at, seed=1)[..., 0]
    expected = (omega**2 * estimates + variances * v) / (omega**2 + variances)
    variance = omega**2 * variances / (omega**2 + variances)
    assert np.all(np.abs(own.mean(axis=1) - expected) < 5 * np.sqrt(variance / count))
    np.testing.assert_allclose(own.var(axis=1), variance, rtol=5 * np.sqrt(2 / count))
    unshrunk = np.abs(own.mean(axis=1) - estimates) > 5 * np.sqrt(variance / count)
    assert unshrunk.sum() >= 3  # the estimates themselves would not pass (one of them happens to lie near v)


def several_coefficients(size: int, sites: int) -> tuple[Array, Array, Array, Population]:
    """Estimates of several coefficients with correlations, their variances, M, and the same as a population."""
    generator = np.random.default_rng(2)
    roots = generator.normal(size=(sites, size, size))
    variances = roots @ np.transpose(roots, (0, 2, 1)) + 0.1 * np.eye(size)
    estimates, mixing = generator.normal(size=(sites, size)), generator.normal(size=(size, 3))
    precision = np.linalg.inv(variances)
    shift = np.einsum("jkl,jl->jk", precision, estimates)
    nothing = np.zeros((2, size, size)), np.zeros((2, size))  # two sites without information change nothing
    information = SiteInformation(np.concatenate([precision, nothing[0]]), np.concatenate([shift, nothing[1]]))
    return estimates, variances, mixing, Population(information, mixing)


def test_the_density_is_the_marginal_normal_of_the_estimates() -> None:
    """All estimates together given log σ and ω, by SciPy: N((0, t), V_j + MΩMᵀ), and 1 in common for each coefficient's prior."""
    import jax
    import jax.numpy as jnp
    from scipy.linalg import block_diag
    from scipy.stats import multivariate_normal

    size, sites = 4, 5
    estimates, variances, mixing, population = several_coefficients(size, sites)
    common = np.kron(np.ones((sites, sites)), np.diag([1.0] * (size - 1) + [0.0]))

    def expected(x: Array) -> float:
        omega = np.exp(x[1:])
        between = (mixing * omega**2) @ mixing.T
        mean, covariance = given_deviations(estimates, variances + between)
        sd = np.sqrt(covariance[-1, -1])  # x[0] is log σ, standardised with it: the density has it as a factor
        last = mean[-1] + sd * x[0]
        centre = np.tile(np.append(np.zeros(size - 1), last), sites)
        own = multivariate_normal(centre, block_diag(*(variances + between)) + common).logpdf(estimates.reshape(-1))
        log_sigma = LOG_SIGMA_SD * last + LOG_SIGMA_MEAN
        return float(own + log_sigma - 0.5 * np.exp(2 * log_sigma) + np.log(sd) + np.sum(x[1:] - 0.5 * omega**2))

    points = 0.5 * np.random.default_rng(3).normal(size=(6, 4))
    with double_precision():
        density = jax.jit(lambda x: log_density_population(x, population.data(), jnp))
        difference = [float(density(x)) - expected(x) for x in points]
    np.testing.assert_allclose(difference, difference[0], rtol=1e-9)


def given_deviations(estimates: Array, variances: Array) -> tuple[Array, Array]:
    """Mean and covariance of y given estimates with these variances and a standard normal prior."""
    weights = np.linalg.inv(variances)
    covariance = np.linalg.inv(weights.sum(axis=0) + np.eye(estimates.shape[1]))
    return covariance @ np.einsum("jkl,jl->k", weights, estimates), covariance


def test_the_populations_coefficients_are_drawn_from_their_conditional() -> None:
    """Given u and ω they are normal: the mean and covariance of many draws against those by conditioning on log σ."""
    size, sites, count = 4, 5, 40_000
    estimates, variances, mixing, population = several_coefficients(size, sites)
    at = np.array([0.8, -0.5, 0.2, -1.0])
    found = population.with_coefficients(np.tile(at, (count, 1)), seed=1)
    np.testing.assert_array_equal(found[:, size:], np.tile(at[1:], (count, 1)))
    mean, covariance = given_deviations(estimates, variances + (mixing * np.exp(2 * at[1:])) @ mixing.T)
    np.testing.assert_allclose(found[:, size - 1], mean[-1] + np.sqrt(covariance[-1, -1]) * at[0], rtol=1e-9)
    slope = covariance[:-1, -1] / np.sqrt(covariance[-1, -1])
    expected, left = mean[:-1] + slope * at[0], covariance[:-1, :-1] - np.outer(slope, slope)
    sd = np.sqrt(np.diag(left))
    assert np.all(np.abs(found[:, :size - 1].mean(axis=0) - expected) < 5 * sd / np.sqrt(count))
    np.testing.assert_allclose(np.cov(found[:, :size - 1].T) / np.outer(sd, sd), left / np.outer(sd, sd), atol=0.03)
    assert np.any(np.abs(found[:, :size - 1].mean(axis=0) - mean[:-1]) > 5 * sd / np.sqrt(count))  # log σ left out of account


def test_what_a_site_knows_of_its_intercept_if_only_that_varies() -> None:
    """A slope that the site knows nothing of is no reason to say that it knows nothing of its intercept."""
    precision = 100.0 * np.array([[[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]])  # the sum of the two coefficients
    information = SiteInformation(precision, np.zeros((1, 3)))
    assert np.all(information.own_sd(np.array([True, True])) > 0.7)
    assert information.own_sd(np.array([True, False])) == pytest.approx(101**-0.5)


@pytest.mark.slow
def test_three_sites_mix() -> None:
    """Three sites that each know their coefficient well: ω may be anything, and a coefficient sampled beside it lags (ESS 46)."""
    precision = np.tile(np.diag([1e5, 30.0]), (3, 1, 1))
    shift = np.einsum("jkl,jl->jk", precision, 0.02 * np.random.default_rng(7).normal(size=(3, 2)))
    result, _ = Population(SiteInformation(precision, shift), 0.5 * np.eye(2)).sample(seed=1, chains=4, draws=500)
    assert np.all(ess_bulk(result.draws) > 500) and np.all(ess_tail(result.draws) > 400)


def test_moments_divided_by_the_reference_are_the_likelihood_and_nothing_is_nothing() -> None:
    generator = np.random.default_rng(4)
    precision = np.array([[4.0, 1.0], [1.0, 2.0]])
    estimate = np.array([0.5, -0.3])
    reference = Reference.around(np.array([0.2, 0.1]), np.array([[1.0, 0.3], [0.3, 0.5]]))
    base = reference.root.T @ reference.root
    whole = np.linalg.inv(precision + base)
    mean = whole @ (precision @ estimate + base @ reference.centre)
    informed = generator.multivariate_normal(mean, whole, 400_000)
    empty = generator.multivariate_normal(reference.centre, np.linalg.inv(base), 400_000)
    found, shift = likelihood_of(np.stack([informed, empty]), np.stack([reference.root] * 2), np.stack([reference.shift] * 2))
    np.testing.assert_allclose(found[0], precision, atol=0.06)
    np.testing.assert_allclose(shift[0], precision @ estimate, atol=0.06)
    np.testing.assert_array_equal(found[1], 0.0)
    np.testing.assert_array_equal(shift[1], 0.0)


@pytest.mark.parametrize(("noise", "corner"), [(gaussian, False), (gaussian, True), (laplace, False), (laplace, True)])
def test_without_a_common_mean_a_site_has_the_conditional_likelihood(
    noise: Callable[[float, bool], Any], corner: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An infinite variance between the sites' moments is the flat prior, for which ``conditional`` has the likelihood."""
    generator = np.random.default_rng(6)
    regression = made_regression(generator, 5, 3)
    parts = [made_part(generator, 5, 400, noise(3.0, corner)) for _ in range(3)]
    monkeypatch.setattr(site_moments, "_common", lambda observed, noise: (observed.mean(axis=0), np.full(observed.shape[1], 1e9)))
    models = SiteModels.of(parts, regression.coordinates, regression.prior)
    away = {"reference_root": np.zeros((4, 4)), "reference_shift": np.zeros(4)}
    conditional = ConditionalModel.of([parts[1]], regression.coordinates, regression.prior)
    flat = {"prior_slope": np.zeros((3, 3)), "prior_offset": np.zeros(3), "prior_sigma2": np.array(1e300)}
    data = {key: values[1] for key, values in models.data.items()} | away
    difference = []
    for x in 0.3 * generator.normal(size=(5, 4)):
        own = float(log_density_site(x, data))
        if conditional.rotated:
            rotation = np.linalg.lstsq(conditional.coordinates.directions, regression.coordinates.directions, rcond=None)[0]
            point = np.append(rotation @ x[:-1], np.exp(x[-1]))
        else:
            point = np.append(x[:-1], np.exp(x[-1]))
        density = conditional.log_density if conditional.rotated else log_density_dense
        difference.append(own - float(density(point, {**conditional.data, **flat})))
    np.testing.assert_allclose(difference, difference[0], atol=2e-4)


def requested(parts: Any, draws: int) -> Request:
    coordinates, prior = default_prior(2)
    release: Any = SimpleNamespace(contributions=parts, kind=nw.Gram(), holders=len(parts), pooled=False)
    return Request(release, coordinates, prior, draws, 4, 1, lambda done, total: None)


def fitted(parts: Any, site: str = "random", draws: int = 800) -> Sampled:
    return random_sites(requested(parts, draws), TERMS, site)


def interval(draws: Array) -> tuple[float, float]:
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)


@pytest.mark.slow
def test_sites_that_are_alike_and_sites_that_differ() -> None:
    alike, apart = Cell(8, 0.0, 10_000, 10.0), Cell(8, 0.15, 10_000, 10.0)
    truth = truth_in_table(alike.setting)
    with double_precision():
        parts = {cell: simulated_sites(cell, 1, seed=11)[0] for cell in (alike, apart)}
    # With so many rows the normal approximation of the fit of all together is that fit, and nothing is compiled for it.
    pooled = {cell: METHODS["laplace"](requested(own, 500)).samples.reshape(-1, 4) for cell, own in parts.items()}
    same, different = fitted(parts[alike]), fitted(parts[apart])
    assert same.sites is not None and different.sites is not None and different.sites.count == 8
    assert not same.doubts and not different.doubts
    # Alike: the deviations are near 0, and the coefficients are those of the fit of all together.
    assert np.all(np.median(same.sites.between[..., 1:3], axis=(0, 1)) < 0.03)
    mean, sd = same.samples.reshape(-1, 4).mean(axis=0), same.samples.reshape(-1, 4).std(axis=0)
    assert np.all(np.abs(mean - pooled[alike].mean(axis=0))[:3] < 1.0 * sd[:3])
    # Apart: the deviations are about 0.15; the interval is so much wider, and that of the fit of all together misses the truth.
    for index in (1, 2):
        low, high = interval(different.sites.between[..., index])
        assert low < 0.15 < high and low > 0.03
        low, high = interval(different.samples[..., index])
        assert low < truth[index] < high
    low, high = interval(pooled[apart][:, 1])
    assert not low < truth[1] < high


@pytest.mark.slow
def test_only_the_intercept_varies_if_asked_for() -> None:
    with double_precision():
        parts = simulated_sites(Cell(8, 0.05, 10_000, 10.0), 1, seed=2)[0]
    found = fitted(parts, "random-intercept", draws=100)
    assert found.sites is not None and found.sites.varying == ("Intercept", "log sigma")
    slopes = found.sites.own[:, :, 1:3]
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-9)
    assert np.ptp(found.sites.own[:, :, 0].mean(axis=1)) > 0.01


@pytest.mark.slow
def test_hidden_predictors_raise_a_doubt() -> None:
    with double_precision():
        parts = simulated_sites(Cell(8, 0.05, 1_000, 1.0), 1, seed=2)[0]
    assert any("site=None" in doubt for doubt in fitted(parts, draws=100).doubts)


@pytest.mark.parametrize(("kind", "holders", "terms", "site", "message"), [
    (nw.Gram(), 2, TERMS, "random", "at least 3"),
    (nw.AdaSSP("a ~ b"), 5, TERMS, "random", "kind gram"),
    (nw.Gram(), 5, TERMS, "fixed", "unknown kind of differences"),
    (nw.Gram(), 5, ("a", "b", "c"), "random-intercept", "no intercept"),
])
def test_what_cannot_be_fitted_is_refused(kind: nw.Gram | nw.AdaSSP, holders: int, terms: tuple[str, ...], site: str,
                                          message: str) -> None:
    coordinates, prior = default_prior(2)
    release: Any = SimpleNamespace(contributions=(), kind=kind, holders=holders, pooled=False)
    with pytest.raises(FitError, match=message):
        random_sites(Request(release, coordinates, prior, 100, 4, 1, lambda done, total: None), terms, site)


def test_scales_of_the_deviations_are_half_of_the_priors() -> None:
    _, prior = default_prior(2)
    mixing, scales = mixing_matrix(prior)
    np.testing.assert_allclose(scales, [1.25, 1.25, 1.25, 0.25])
    np.testing.assert_allclose(mixing @ np.ones(4) * np.append(prior.sd, LOG_SIGMA_SD), scales)
