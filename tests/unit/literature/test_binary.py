"""The proportion behind synthetic rows: against brute force, calibrated, and wrong if the rows are taken for real ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from studies.binary_coverage import simulated
from studies.uniformity import chi_square_p, ranks_among
from tests.refusals import about

import noisewise as nw
from noisewise.errors import FitError
from noisewise.literature.binary import ones_posterior
from noisewise.privacy.mechanisms.binary import smallest_alpha
from noisewise.releases.contents.binary import BinaryContribution

LEVEL = 1e-4
ALPHA = smallest_alpha(30, 3.0, 2)


def made(rows: int | None, counts: tuple[int, ...] = (12, 9), synthetic: int = 30, alpha: int = ALPHA,
         epsilon: float = 3.0) -> nw.Release:
    """Synthetic rows with these counts of ones."""
    adjacency = "add-remove" if rows is None else "replace-one"
    schema = nw.Schema.from_dict({"adjacency": adjacency, "columns": {"smoker": {"levels": ["no", "yes"]}}})
    contribution = BinaryContribution(
        column="smoker", levels=("no", "yes"), rows=rows, synthetic_rows=synthetic, counts=counts,
        alpha=alpha, epsilon=epsilon, delta=0.0, mechanism="beta-binomial",
        sensitivity=1.0, statement="made up", created="2026-01-01", library="tests")
    return nw.Release(nw.Binary("smoker", rows=synthetic, copies=len(counts)), schema, (contribution,))


MADE = made(60)


def test_the_posterior_is_the_sum_over_all_counts() -> None:
    p, x = np.linspace(0.0005, 0.9995, 1000), np.arange(61)
    given_x = np.prod([stats.betabinom.pmf(count, 30, ALPHA + x, ALPHA + 60 - x) for count in (12, 9)], axis=0)
    density = stats.beta.pdf(p, 2, 5) * (stats.binom.pmf(x, 60, p[:, None]) @ given_x)
    mean = np.average(p, weights=density)
    sd = np.sqrt(np.average((p - mean) ** 2, weights=density))
    found = nw.fit_binary(MADE, prior=(2, 5), draws=50_000, seed=1)
    assert abs(found.mean - mean) < 5 * sd / np.sqrt(200_000)
    assert abs(found.sd / sd - 1) < 0.01
    _, weights = ones_posterior(MADE.contents, 60, (2.0, 5.0))
    np.testing.assert_allclose(weights, [one / density.sum() for one in
                                         (stats.beta.pdf(p, 2, 5) @ (stats.binom.pmf(x, 60, p[:, None]) * given_x))], atol=1e-6)


def test_as_epsilon_grows_it_is_the_posterior_of_the_table() -> None:
    """Many copies of many rows, and an epsilon that allows one pseudo-row of each level: the table's proportion is known."""
    shares = np.random.default_rng(1).beta(151, 351, size=2000)
    counts = tuple(np.round(10**6 * shares).astype(int).tolist())
    table = made(500, counts, 10**6, 1, 1e5)
    found = nw.fit_binary(table, seed=1, draws=5000)
    low, high = stats.beta.ppf([0.025, 0.975], 151, 351)
    np.testing.assert_allclose(found.interval(), (low, high), atol=0.005)


def ranks(method: str, replicates: int, factor: float = 1.0) -> tuple[float, float]:
    """A p-value for uniform ranks, and the coverage of 95 % intervals; the analyst believes in ``factor`` times alpha."""
    truths, draws = [], []
    for seed in range(replicates):
        truth, release = simulated(rows=300, synthetic=100, copies=2, epsilon=2.0, seed=seed)
        one = release.contents
        believed = release.with_contributions((replace(one, alpha=round(one.alpha * factor)),))
        truths.append(truth)
        draws.append(nw.fit_binary(believed, method=method, prior=(2.0, 6.0), seed=seed, draws=99, chains=1).draws())
    found, truth_array = np.array(draws)[..., None], np.array(truths)[:, None]
    low, high = np.quantile(found[..., 0], (0.025, 0.975), axis=1, method="weibull")
    covered = np.mean((low <= truth_array[:, 0]) & (truth_array[:, 0] <= high))
    return chi_square_p(ranks_among(found, truth_array)[:, 0]), float(covered)


def test_ranks_are_uniform_and_those_of_wrong_analyses_are_not() -> None:
    right, coverage = ranks("exact", 600)
    assert right > LEVEL and coverage > 0.92  # of 600 intervals 552 or fewer hold: once in a thousand
    naive, naive_coverage = ranks("naive", 600)
    assert naive < LEVEL and naive_coverage < 0.8
    assert ranks("exact", 600, factor=0.3)[0] < LEVEL  # too few pseudo-rows believed in


def test_private_rows_must_be_given() -> None:
    private = made(None)
    with pytest.raises(FitError, check=about("rows")):
        nw.fit_binary(private)
    assert nw.fit_binary(private, rows=60, seed=1).mean == nw.fit_binary(MADE, seed=1).mean
    with pytest.raises(FitError, check=about("rows")):
        nw.fit_binary(MADE, rows=61)


def test_many_rows_are_no_burden() -> None:
    large = made(50_000_000)
    found = nw.fit_binary(large, seed=1)
    assert 0 < found.interval()[0] < found.interval()[1] < 1


@pytest.mark.parametrize("asked", [{"prior": (0, 1)}, {"prior": 2}, {"method": "magic"}, {"draws": 0}, {"seed": -1}])
def test_what_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(FitError):
        nw.fit_binary(MADE, **asked)  # type: ignore[arg-type]
