"""`fit_sum` on releases: against conjugate posteriors, among its methods, several holders, private rows, and its refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from studies.simulated_release import simulated_release
from tests.refusals import about

import noisewise as nw
from noisewise.errors import FitError, NoisewiseError
from noisewise.posterior.sums import two
from noisewise.posterior.sums.exact import posterior
from noisewise.posterior.sums.families import family_for
from noisewise.posterior.sums.noisy_sum import Noise, noisy_sums
from noisewise.run import QUIET

COLUMNS: dict[str, Any] = {"visits": {"bounds": [0, 20]}, "smoker": {"levels": ["no", "yes"]}, "wait": {"bounds": [0, 60]},
                           "ward": {"levels": ["A", "B", "C"]}, "weight": {"bounds": [0, 200]}}
SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": COLUMNS})
ROWS = 400


def table(seed: int = 1, rows: int = ROWS) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"visits": rng.poisson(3.0, rows), "smoker": rng.choice(["no", "yes"], rows, p=[0.7, 0.3]),
            "wait": rng.exponential(4.0, rows), "ward": rng.choice(["A", "B", "C"], rows, p=[0.5, 0.2, 0.3]),
            "weight": rng.normal(75.0, 12.0, rows)}


def released(epsilon: float, delta: float | None = None, seed: int = 1, schema: nw.Schema = SCHEMA) -> nw.Release:
    return simulated_release(table(seed), schema, np.random.default_rng(seed), epsilon=epsilon, delta=delta)


def test_without_noise_it_is_the_conjugate_posterior() -> None:
    """As epsilon grows, what remains is the textbook's: Beta, Gamma, inverse Gamma, normal."""
    release, rows = released(1e7), table()
    cases = {
        ("visits", "poisson", None): stats.gamma(0.5 + rows["visits"].sum(), scale=1.0 / (ROWS + 1 / 20)),
        ("smoker", "bernoulli", None): stats.beta(1 + (rows["smoker"] == "yes").sum(), 1 + (rows["smoker"] == "no").sum()),
        ("ward[B]", "bernoulli", None): stats.beta(1 + (rows["ward"] == "B").sum(), 1 + (rows["ward"] != "B").sum()),
        ("wait", "exponential", None): stats.invgamma(0.5 + ROWS, scale=0.3 + rows["wait"].sum()),
        ("weight", "normal", 12.0): stats.norm((rows["weight"].sum() / 144 + 0.01) / (ROWS / 144 + 1e-4),
                                               1 / np.sqrt(ROWS / 144 + 1e-4)),
    }
    for (column, family, sigma), expected in cases.items():
        found = nw.fit_sum(column, release, family=family, sigma=sigma, seed=3, draws=5000)
        low, high = expected.ppf([0.025, 0.975])
        np.testing.assert_allclose(found.interval(), (low, high), atol=0.03 * (high - low), err_msg=column)


def test_mean_and_sigma_of_a_normal_column_without_noise() -> None:
    weight = table()["weight"]
    found = nw.fit_sum("weight", released(1e7), family="normal", seed=3, draws=5000)
    assert found.terms == ("mean", "sd", "mean before clipping", "sd before clipping")
    half = stats.t.ppf(0.975, ROWS - 1) * weight.std(ddof=1) / np.sqrt(ROWS)
    np.testing.assert_allclose(found.interval(), (weight.mean() - half, weight.mean() + half), atol=0.1 * half)
    spread = np.sqrt((ROWS - 1) * weight.var(ddof=1) / stats.chi2.ppf([0.975, 0.025], ROWS - 1))
    for name in ("mean", "sd"):  # no row is near a bound: clipping changes nothing
        np.testing.assert_allclose(found.draws(name), found.draws(f"{name} before clipping"), atol=1e-3)
    np.testing.assert_allclose(found.interval(term="sd"), spread, atol=0.1)


@pytest.mark.outer
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_the_sampler_of_the_literature_agrees_where_rows_are_not_clipped(delta: float | None) -> None:
    release = released(2.0, delta)
    for column, family, sigma in (("visits", "poisson", None), ("smoker", "bernoulli", None), ("weight", "normal", 12.0)):
        exact = nw.fit_sum(column, release, family=family, sigma=sigma, seed=1, draws=5000)
        gibbs = nw.fit_sum(column, release, family=family, sigma=sigma, seed=1, draws=2500, chains=20, method="gibbs")
        naive = nw.fit_sum(column, release, family=family, sigma=sigma, seed=1, method="naive")
        assert abs(gibbs.mean - exact.mean) < 0.15 * exact.sd, column
        assert 0.9 < gibbs.sd / exact.sd < 1.1, column
        assert naive.sd < 0.95 * exact.sd, column


def test_the_grid_posterior_is_the_integral_over_all_counts() -> None:
    """Brute force: every proportion, every count, Laplace noise."""
    seen = noisy_sums(released(0.5), "smoker")[0]
    family = family_for("bernoulli", (0.0, 1.0), categorical=True, prior=(2.0, 3.0))
    found = posterior(family, [seen])
    p, counts = np.linspace(1e-4, 1 - 1e-4, 2000), np.arange(ROWS + 1)
    likelihood = stats.binom.pmf(counts, ROWS, p[:, None]) @ np.exp(seen.user_noise.log_density(seen.total(ROWS) - counts))
    density = likelihood * stats.beta.pdf(p, 2, 3)
    mean = np.average(p, weights=density)
    theta = family.theta(found.z)
    assert np.trapezoid(found.density * theta, found.z) == pytest.approx(mean, abs=1e-5)
    variance = np.trapezoid(found.density * (theta - mean) ** 2, found.z)
    assert variance == pytest.approx(np.average((p - mean) ** 2, weights=density), rel=1e-3)


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_two_unknowns_against_brute_force(distribution: str) -> None:
    """Noisy Σu and Σu² of normal rows: the likelihood is also the mean, over simulated tables, of the noise's density."""
    release = released(2.0, 1e-6 if distribution == "gaussian" else None)
    seen = noisy_sums(release, "weight")[0]
    assert seen.squares is not None and seen.noise.distribution == distribution
    rng = np.random.default_rng(5)
    mu, sigma = np.array([-0.28, -0.24, -0.2]), 0.12
    found = two._log_column([seen], mu, sigma)
    direct = []
    for centre in mu:
        first = ROWS * centre + np.sqrt(ROWS) * sigma * rng.normal(size=400_000)
        second = first**2 / ROWS + sigma**2 * rng.chisquare(ROWS - 1, size=400_000)
        logs = seen.noise.log_density(seen.scaled - first) + seen.squares[1].log_density(seen.squares[0] - second)
        direct.append(np.log(np.mean(np.exp(logs))))
    np.testing.assert_allclose(found - found[0], np.array(direct) - direct[0], atol=0.03)


def test_holders_together_know_more_than_one() -> None:
    releases = [released(2.0, seed=seed) for seed in range(1, 5)]
    alone = nw.fit_sum("visits", releases[0], family="poisson", seed=1)
    together = nw.fit_sum("visits", releases, family="poisson", seed=1)
    assert together.info.holders == 4 and 0.4 < together.sd / alone.sd < 0.62


def test_private_rows_widen_the_posterior_and_the_sampler_refuses_them() -> None:
    private = nw.Schema.from_dict({"adjacency": "add-remove", "columns": {"visits": COLUMNS["visits"]}})
    public = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"visits": COLUMNS["visits"]}})
    rows = {"visits": table()["visits"]}
    noisy = simulated_release(rows, private, np.random.default_rng(1), epsilon=1.0, delta=1e-6)
    known = simulated_release(rows, public, np.random.default_rng(1), epsilon=1.0, delta=1e-6)
    part = replace(known.contents, matrix=np.array([[ROWS, noisy.contents.matrix[0, 1]], [noisy.contents.matrix[0, 1], 300.0]]),
                   noise=replace(noisy.contents.noise, corner=0.0))
    found = nw.fit_sum("visits", noisy, family="poisson", seed=1)
    if_known = nw.fit_sum("visits", replace(known, contributions=(part,)), family="poisson", seed=1)
    assert found.sd > if_known.sd and found.interval()[0] < 3 < found.interval()[1]
    with pytest.raises(FitError, check=about("method")):
        nw.fit_sum("visits", noisy, family="poisson", method="gibbs")


def test_a_dedicated_sum_by_a_moments_release() -> None:
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"visits": COLUMNS["visits"]}})
    rows = {"visits": table()["visits"]}
    alone, gram = (nw.release(rows, schema, kind, epsilon=30.0, delta=1e-6, run=QUIET)
                   for kind in (nw.Moments("visits ~ 1", blocks={"y": 1}), nw.Gram()))
    dedicated, shared = (noisy_sums(release, "visits")[0].noise.sd for release in (alone, gram))
    assert dedicated < shared
    # The noise on the mean has an sd of 0.011, and no seed: nine of them.
    assert nw.fit_sum("visits", alone, family="poisson").mean == pytest.approx(rows["visits"].mean(), abs=0.1)


def test_the_same_seed_gives_the_same_draws() -> None:
    first, second = (nw.fit_sum("visits", released(1.0), family="poisson", seed=4).draws() for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(("asked", "words"), [
    ({"column": "nothing", "family": "poisson"}, "not in the release"),
    ({"column": "visits", "family": "bernoulli"}, "bounds 0 and 1"),
    ({"column": "smoker", "family": "poisson"}, "family bernoulli"),
    ({"column": "visits", "family": "poisson", "method": "magic"}, "unknown method"),
    ({"column": "weight", "family": "normal", "method": "gibbs"}, "default method"),
    ({"column": "visits", "family": "poisson", "draws": 0}, "draws"),
])
def test_what_is_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(NoisewiseError, match=words):
        nw.fit_sum(release=released(1.0), **asked)


def test_shortened_rows_are_refused() -> None:
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "norm_bound": 0.5, "columns": COLUMNS})
    release = nw.release(table(), schema, epsilon=1.0, run=QUIET)
    with pytest.raises(FitError, match="norm"):
        nw.fit_sum("visits", release, family="poisson")
    with pytest.raises(FitError, match="norm"):
        nw.synthesize(release)


def test_the_noise_of_a_standard_deviation() -> None:
    """The scale of Laplace noise is its standard deviation over √2, and densities integrate to one."""
    x = np.linspace(-60, 60, 200_001)
    for noise in (Noise("laplace", 2.0), Noise("gaussian", 2.0)):
        density = np.exp(noise.log_density(x))
        assert np.trapezoid(density, x) == pytest.approx(1.0, abs=1e-6)
        assert np.trapezoid(density * x**2, x) == pytest.approx(4.0, rel=1e-4)
