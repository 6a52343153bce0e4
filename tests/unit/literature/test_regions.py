"""Draws from confidence regions: against trying until it fits, where that is possible, and where it is not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import ks_2samp, kstest, norm
from tests.refusals import about
from tests.unit.results import made_consortium
from tests.unit.selection.made_moments import from_matrix, made_table
from tests.unit.selection.made_releases import Table

import noisewise as nw
from noisewise.errors import FitError
from noisewise.literature import regions
from noisewise.literature.cone_sampler import ConeSampler, cut_laplace, loss
from noisewise.literature.histogram import histogram_estimate, implied_factors
from noisewise.literature.noise_laws import NoiseLaw, independent, wishart
from noisewise.literature.regions import Region, RegionOf, confidence_region, effective_draws, loss_percentile
from noisewise.selection.evidence import Evidence
from noisewise.selection.moments import Moments, exact_moments
from noisewise.selection.probabilities import log_prior_by_size, probabilities
from noisewise.synthetic.moment_posterior import cut_normal

Array = NDArray[np.float64]
SIZE = 3
RELEASED = np.array([[40.0, 9.0, -6.0], [9.0, 8.0, 7.0], [-6.0, 7.0, 5.0]])
"""Not positive definite."""


def symmetric_gaussian(sd: float, size: int, public_corner: bool = True) -> NoiseLaw:
    variances = np.full((size, size), sd**2 / 2.0) + np.eye(size) * sd**2 / 2.0
    variances[0, 0] *= not public_corner
    return independent("gaussian", variances)


def uneven_laplace(sd: float, size: int, public_corner: bool = True) -> NoiseLaw:
    variances = sd**2 * np.fromfunction(lambda i, j: 1.0 + 0.5 * (i + j), (size, size))
    variances[0, 0] *= not public_corner
    return independent("laplace", variances)


def together(*laws: NoiseLaw) -> NoiseLaw:
    return NoiseLaw.pooled([component for law in laws for component in law.components])


LAWS = {
    "gaussian": symmetric_gaussian(6.0, SIZE),
    "gaussian, noisy count": symmetric_gaussian(6.0, SIZE, public_corner=False),
    "laplace": uneven_laplace(4.0, SIZE),
    "wishart": wishart(9, 1.5, SIZE, 1e-6, public_corner=False),
    "wishart, public count": wishart(9, 1.5, SIZE, 1e-6, public_corner=True),
    "holders": together(uneven_laplace(2.0, SIZE), uneven_laplace(4.0, SIZE), symmetric_gaussian(2.0, SIZE)),
    "wishart and laplace": together(wishart(9, 1.0, SIZE, 1e-6, public_corner=True), uneven_laplace(2.0, SIZE)),
}


def by_trying(released: Array, columns: Array, noise: NoiseLaw, bound: float, tries: int, seed: int) -> Array:
    """Noise that leaves positive definite matrices and whose loss is within the bound."""
    rng = np.random.default_rng(seed)
    total, losses = np.zeros((tries, *released.shape)), np.zeros(tries)
    for component in noise.components:
        if component.distribution == "wishart":
            scatter = component.wishart_draw(tries, rng)
            drawn = scatter - component.degrees * component.scale * np.eye(len(released))
            total += np.where(component.variances > 0.0, drawn, 0.0)
            losses += loss(component, np.moveaxis(drawn, 0, -1), np.moveaxis(scatter, 0, -1))
        else:
            drawn = component.draw(tries, rng)
            total += drawn
            losses += loss(component, np.moveaxis(drawn, 0, -1))
    matrices = columns.T @ (released - total) @ columns
    return np.asarray(matrices[(np.linalg.eigvalsh(matrices)[:, 0] > 0.0) & (losses <= bound)])


def made(noise: NoiseLaw, columns: Array) -> Moments:
    return Moments(RELEASED, RELEASED, noise.variances, 40.0, columns[:, :-1], columns[:, -1], 1)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("combined", [False, True])
def test_draws_are_those_of_trying_until_it_fits(name: str, combined: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "CHAINS", 1000)
    noise = LAWS[name]
    columns = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 2.0]]) if combined else np.eye(SIZE)
    region = Region(made(noise, columns), noise, alpha=0.3)
    expected = by_trying(RELEASED, columns, noise, region.bound, 200_000, seed=1)
    drawn = region.draws(5000, seed=2)
    assert len(expected) > 3000 and len(drawn.matrices) == 5000
    assert drawn.effective > 3500
    assert drawn.accepted == 1.0 if "wishart" not in name else 0.3 < drawn.accepted < 1.0
    assert np.linalg.eigvalsh(drawn.matrices)[:, 0].min() > 0.0
    statistics = [lambda m: m[:, 1, 1], lambda m: m[:, 1, 2], lambda m: m[:, 0, 2], lambda m: np.linalg.slogdet(m)[1],
                  lambda m: m[:, 1, 2] / np.sqrt(m[:, 1, 1] * m[:, 2, 2])]
    for statistic in statistics:
        assert ks_2samp(statistic(drawn.matrices), statistic(expected)).pvalue > 1e-4


def test_the_comparison_sees_a_region_that_is_forgotten() -> None:
    noise = LAWS["laplace"]
    everything = by_trying(RELEASED, np.eye(SIZE), noise, np.inf, 100_000, seed=1)
    drawn = Region(made(noise, np.eye(SIZE)), noise, alpha=0.6).draws(1500, seed=2)
    assert ks_2samp(drawn.matrices[:, 1, 1], everything[:, 1, 1]).pvalue < 1e-4


def test_the_seed_decides() -> None:
    region = Region(made(LAWS["wishart"], np.eye(SIZE)), LAWS["wishart"])
    assert np.array_equal(region.draws(20, seed=4).matrices, region.draws(20, seed=4).matrices)
    assert not np.array_equal(region.draws(20, seed=4).matrices, region.draws(20, seed=5).matrices)


@pytest.mark.parametrize("name", LAWS)
def test_the_noise_lies_in_its_region_with_the_stated_probability(name: str) -> None:
    noise = LAWS[name]
    inside = len(by_trying(1e6 * np.eye(SIZE), np.eye(SIZE), noise, loss_percentile(noise, 0.8), 20_000, seed=5)) / 20_000
    assert inside == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / 20_000 + 0.16 / regions.LEVEL_DRAWS))


def test_many_columns_and_large_noise_where_trying_is_hopeless() -> None:
    """Nine predictors and Laplace noise so large that the release has several negative eigenvalues."""
    rng = np.random.default_rng(3)
    table = made_table(7, 5000, rng.normal(size=9) * 0.1)
    noise = independent("laplace", np.where(np.arange(121).reshape(11, 11) == 0, 0.0, 600.0**2))
    matrix = table.T @ table + noise.draw(1, rng)[0]
    moments = from_matrix(matrix, noise.variances, len(table))
    region = Region(moments, noise)
    assert np.sum(np.linalg.eigvalsh(matrix) < 0.0) >= 2
    assert len(by_trying(matrix, np.eye(11), noise, region.bound, 20_000, seed=1)) == 0
    drawn = region.draws(500, seed=4)
    assert drawn.effective > 200
    assert np.linalg.eigvalsh(drawn.matrices)[:, 0].min() > 0.0
    left = np.moveaxis(matrix - drawn.matrices, 0, -1)
    assert loss(noise.components[0], left).max() <= region.bound * (1 + 1e-9)
    other = region.draws(500, seed=5)
    difference = drawn.matrices.mean(axis=0) - other.matrices.mean(axis=0)
    error = np.hypot(drawn.matrices.std(axis=0), other.matrices.std(axis=0)) / math.sqrt(200)
    assert np.all(np.abs(difference) <= 4.5 * error)


@pytest.mark.parametrize(("alpha", "enough"), [(0.05, True), (0.999, False)])
def test_regions_of_functions_contain_what_the_table_itself_gives(alpha: float, enough: bool) -> None:
    """A tiny region is the counterexample."""
    def slope(matrix: Array) -> float:
        return float(np.linalg.solve(matrix[:2, :2], matrix[:2, 2])[1])

    table = made_table(1, 300, np.array([0.4]))
    exact, contained = table.T @ table, 0
    noise = symmetric_gaussian(30.0, SIZE)
    for seed in range(15):
        matrix = exact + noise.draw(1, np.random.default_rng(seed))[0]
        try:
            drawn = Region(from_matrix(matrix, noise.variances, 300), noise, alpha).draws(100, seed)
        except FitError:  # the region is empty
            continue
        low, high = drawn.region_of(slope).ends
        contained += bool(low <= slope(exact) <= high)
    assert (contained >= 14) == enough


def test_a_histogram_has_the_shares_of_the_draws() -> None:
    found = RegionOf(np.array([0.0, 0.1, 0.9, 1.0]))
    shares, edges = found.histogram(bins=2)
    assert shares.tolist() == [0.5, 0.5] and edges.tolist() == [0.0, 0.5, 1.0] and found.mean == 0.5 and found.ends == (0.0, 1.0)
    with pytest.raises(FitError, match="histogram"):
        RegionOf(np.zeros((5, 2))).histogram()


def test_the_histogram_estimate_averages_the_analyses_of_all_matrices() -> None:
    table = made_table(1, 500, np.array([0.2, 0.0]))
    noise = symmetric_gaussian(8.0, 4)
    moments = from_matrix(table.T @ table + noise.draw(1, np.random.default_rng(1))[0], noise.variances, 500)
    drawn = Region(moments, noise).draws(60, seed=3)
    log_prior, groups = log_prior_by_size("uniform", 2), [[0], [1]]
    found = histogram_estimate(moments, drawn.matrices, groups, "bic", log_prior, draws=3000, seed=1)

    def inclusion(matrix: Array) -> Array:
        evidence = Evidence(exact_moments(moments, matrix), groups, "bic")
        return np.asarray(probabilities(evidence.all_models(), found.members, log_prior) @ found.members)

    np.testing.assert_allclose(found.inclusion, drawn.region_of(inclusion).values)
    np.testing.assert_allclose(found.probabilities @ found.members, drawn.region_of(inclusion).mean)
    np.testing.assert_allclose(found.drawn.members.mean(axis=0), found.inclusion.mean(axis=0), atol=0.05)
    assert found.drawn.working.shape == (3000, 4) and found.probabilities.sum() == pytest.approx(1.0)


def test_bayes_factors_of_the_histogram_go_beyond_the_smallest_float() -> None:
    table = made_table(1, 20_000, np.array([1.0, 0.0]))
    moments = from_matrix(table.T @ table, symmetric_gaussian(1e-4, 4).variances, 20_000)
    log_prior, groups = log_prior_by_size("uniform", 2), [[0], [1]]
    found = histogram_estimate(moments, (table.T @ table)[None], groups, "bic", log_prior, draws=10, seed=1)
    expected = Evidence(exact_moments(moments, table.T @ table), groups, "bic").all_models()
    assert expected.max() > 1000.0
    np.testing.assert_allclose(implied_factors(found.log_probabilities, found.members, log_prior), expected)


def test_without_doubt_about_the_matrix_the_estimate_is_the_tables_own() -> None:
    table = made_table(1, 500, np.array([0.1, 0.0]))
    noise = symmetric_gaussian(1e-4, 4)
    moments = from_matrix(table.T @ table, noise.variances, 500)
    matrices = Region(moments, noise).draws(20, seed=3).matrices
    np.testing.assert_allclose(matrices, np.broadcast_to(table.T @ table, matrices.shape), atol=1e-3)


@pytest.mark.parametrize(("noise", "smooth"), [(symmetric_gaussian(30.0, SIZE), True), (uneven_laplace(20.0, SIZE), False)])
def test_a_region_is_called_empty_only_if_it_is(noise: NoiseLaw, smooth: bool) -> None:
    """Another algorithm finds the smallest loss of a positive definite matrix: 1.05 times is enough, 0.95 times is not.

    The loss of Laplace noise has kinks, at which that algorithm may stop too early.
    """
    table = made_table(1, 300, np.array([0.4]))
    for seed in (0, 4, 8, 16):
        matrix = table.T @ table + noise.draw(1, np.random.default_rng(seed))[0]
        if np.linalg.eigvalsh(matrix)[0] > 0.0:
            continue
        least = _smallest_loss(matrix, noise)
        ConeSampler(matrix, np.eye(SIZE), noise, 1.05 * least, chains=100, seed=1)
        if not smooth:
            continue
        with pytest.raises(FitError, match="no positive definite matrix"):
            ConeSampler(matrix, np.eye(SIZE), noise, 0.95 * least, chains=100, seed=1)


def _smallest_loss(matrix: Array, noise: NoiseLaw) -> float:
    def lost(entries: Array) -> float:
        root = np.zeros((SIZE, SIZE))
        root[0, 0] = math.sqrt(matrix[0, 0])
        root[[1, 1, 2, 2, 2], [0, 1, 0, 1, 2]] = entries
        return float(loss(noise.components[0], (matrix - root @ root.T)[..., None])[0])

    starts = np.random.default_rng(1).normal(scale=5.0, size=(6, 5))
    options = {"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-8, "fatol": 1e-10}
    return min(float(minimize(lost, start, method="Nelder-Mead", options=options).fun) for start in starts)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "wishart"])
@pytest.mark.parametrize("formula", ["stay ~ age + ward", "stay ~ ward + age - 1"])
def test_a_formulas_region_is_in_the_users_units(mechanism: str, formula: str) -> None:
    """The noise of a release has no seed: one run in a million or fewer is off by ten standard deviations."""
    rng, rows = np.random.default_rng(1), 30_000
    age, ward = rng.uniform(20.0, 90.0, rows), rng.choice(["A", "B"], rows)
    stay = 3.0 + 0.1 * age + 5.0 * (ward == "B") + rng.normal(size=rows)
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "unit": "row", "columns": {
        "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B"]}}})
    release = nw.release({"age": age, "ward": ward, "stay": stay}, schema, nw.Gram(mechanism=mechanism), epsilon=8.0, delta=1e-6)
    first = np.column_stack([np.ones(rows), age, ward == "B"] if "1" not in formula else [ward == "A", ward == "B", age])
    table = np.column_stack([first, stay])
    drawn = confidence_region(formula, [release], draws=100, seed=2)
    spread = drawn.matrices.std(axis=0)
    distance = np.abs(drawn.matrices.mean(axis=0) - table.T @ table)
    assert np.all(distance <= 10.0 * spread + 1e-6 * np.abs(table.T @ table))
    assert np.all(spread <= 0.02 * np.sqrt(np.outer(*[np.diag(table.T @ table)] * 2)))


def test_an_empty_region_and_other_nonsense_are_refused() -> None:
    noise = symmetric_gaussian(1.0, SIZE)
    hopeless = Moments(-50.0 * np.eye(SIZE) + 60.0 * np.eye(SIZE)[:, :1] * np.eye(SIZE)[0], RELEASED, noise.variances, 10.0,
                       np.eye(SIZE)[:, :-1], np.eye(SIZE)[-1], 1)
    with pytest.raises(FitError, match="no positive definite matrix"):
        Region(hopeless, noise).draws(10)
    with pytest.raises(FitError, check=about("alpha")):
        Region(hopeless, noise, alpha=0.0)
    with pytest.raises(FitError, match="NoiseLaw"):
        Region(hopeless, symmetric_gaussian(2.0, SIZE))
    with pytest.raises(FitError, match="kind gram only.*adassp"):
        confidence_region("stay ~ age", made_consortium.adassp("stay ~ age"))
    for wrong in ({"draws": 1}, {"seed": -1}):
        with pytest.raises(FitError, match="must be a whole number"):
            confidence_region("y ~ x1", Table.made(1, 50, (1.0,)).release(), **wrong)


@pytest.mark.parametrize(("low", "high"), [(-np.inf, np.inf), (-1.0, 0.5), (0.2, np.inf), (30.0, 31.0), (-40.0, -39.5),
                                            (-np.inf, -8.0)])
def test_cut_distributions(low: float, high: float) -> None:
    uniform = np.random.default_rng(1).uniform(size=4000)
    ends = np.full(4000, low), np.full(4000, high)
    for draw, log_tail in ((cut_normal, norm.logsf), (cut_laplace, _log_laplace_tail)):
        found = draw(*ends, uniform)
        assert np.all((found >= low) & (found <= high))
        sign, bottom, top = (-1.0, -high, -low) if high <= 0.0 else (1.0, low, high)  # in the upper tail

        def share(x: Array, tail=log_tail, sign=sign, bottom=bottom, top=top) -> Array:  # type: ignore[no-untyped-def]
            value = np.expm1(tail(x) - tail(bottom)) / np.expm1(tail(top) - tail(bottom))
            return np.asarray(value)

        assert kstest(sign * found, share).pvalue > 1e-3


def _log_laplace_tail(x: Array | float) -> Array:
    x = np.asarray(x, dtype=float)
    return np.where(x > 0, math.log(0.5) - x, np.log1p(-0.5 * np.exp(np.minimum(x, 0.0))))


def test_effective_draws_are_those_of_independent_ones_and_fewer_if_chains_stand_still() -> None:
    rng = np.random.default_rng(1)
    moving = rng.normal(size=(40, 200, 1))
    assert effective_draws(moving) == pytest.approx(8000, rel=0.35)
    standing = np.broadcast_to(moving[:1], moving.shape)
    assert effective_draws(standing) == pytest.approx(200, rel=0.05)
