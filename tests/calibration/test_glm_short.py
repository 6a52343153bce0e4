"""Calibration of logistic and Poisson regression on simulated releases, short; in full: ``python -m studies.glm_coverage``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom, kstest
from tests.unit.posterior.seeded_release import seeded_release

import noisewise as nw
from noisewise.releases.contents.gram import EntryNoise
from noisewise.run import QUIET

pytestmark = pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")
Array = npt.NDArray[np.float64]

SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
    "y": {"levels": ["no", "yes"]}, "c": {"bounds": [0, 10]}, "x": {"bounds": [-4, 4]}, "w": {"bounds": [-4, 4]}}})
FORMULAS = {"logistic": "y ~ x + w", "poisson": "c ~ x + w"}
FIXED = {"logistic": np.array([0.3, 1.0, -0.7]), "poisson": np.array([0.5, 0.4, -0.3])}
LEVEL = 1e-4


def made(family: str, truth: Array, seed: int, rows: int, epsilon: float) -> nw.Release:
    generator = np.random.default_rng(seed)
    x, w = generator.normal(size=(2, rows))
    eta = truth[0] + truth[1] * x + truth[2] * w
    count = generator.poisson(np.exp(np.minimum(eta, 20.0))) if family == "poisson" else np.zeros(rows)
    table: dict[str, Any] = {"x": x, "w": w, "c": np.minimum(count, 10).astype(float),
                             "y": np.where(generator.random(rows) < 1 / (1 + np.exp(-eta)), "yes", "no")}
    return seeded_release(table, SCHEMA, seed, epsilon=epsilon, delta=1e-6)


def without_noise(release: nw.Release) -> nw.Release:
    """As if the released sums were almost exact."""
    one = release.contents
    said = EntryNoise("gaussian", *(0.05 * sd for sd in (one.noise.diagonal, one.noise.off_diagonal, one.noise.corner)))
    return release.with_contributions((replace(one, noise=said),))


def ranks(family: str, releases: list[nw.Release], truths: Array, draws: int) -> Array:
    """The share of draws below the truth (releases, coefficients)."""
    found = nw.fit_many(FORMULAS[family], releases, family=family, draws=draws, chains=2, seed=1, run=QUIET)
    return np.array([(posterior.samples < truth).mean(axis=(0, 1)) for posterior, truth in zip(found, truths, strict=True)])


def overconfident(shares: Array) -> bool:
    """Whether 95 % intervals cover so rarely that a true coverage of 94 % has probability below ``LEVEL``."""
    inside = int(((shares > 0.025) & (shares < 0.975)).sum())
    return bool(binom.cdf(inside, shares.size, 0.94) < LEVEL)


def test_the_limit_rejects_four_fifths() -> None:
    assert overconfident(np.repeat([0.5, 0.0], [96, 24])) and not overconfident(np.repeat([0.5, 0.0], [112, 8]))


@pytest.mark.parametrize("family", ["logistic", pytest.param("poisson", marks=pytest.mark.slow)])
def test_intervals_cover_and_those_that_ignore_the_noise_do_not(family: str) -> None:
    """Releases that say enough: where a slope is half open the prior draws it outwards, and a fixed truth need not be covered."""
    releases = [made(family, FIXED[family], seed, 20_000, 1.0) for seed in range(40)]
    truths = np.tile(FIXED[family], (40, 1))
    shares = ranks(family, releases, truths, draws=100)
    assert not overconfident(shares)
    assert 0.2 < ((shares > 0.25) & (shares < 0.75)).mean() < 0.75  # nor are they as wide as the prior
    assert overconfident(ranks(family, [without_noise(release) for release in releases], truths, draws=100))


@pytest.mark.slow
@pytest.mark.parametrize("family", FORMULAS)
def test_truths_from_the_prior_have_uniform_ranks(family: str) -> None:
    """Predictors have standard deviation 1 and mean 0, so that the prior of effects is that of coefficients."""
    generator = np.random.default_rng(1)
    sd = {"logistic": (2.5, 2.5, 2.5), "poisson": (2.5, 1.5, 1.5)}[family]
    truths = generator.normal(size=(256, 3)) * sd
    releases = [made(family, truth, 1000 + seed, 20_000, 1.0) for seed, truth in enumerate(truths)]
    shares = ranks(family, releases, truths, draws=500)
    assert all(kstest(shares[:, index], "uniform").pvalue > LEVEL for index in range(3))
    wrong = ranks(family, [without_noise(release) for release in releases], truths, draws=500)
    assert any(kstest(wrong[:, index], "uniform").pvalue < LEVEL for index in range(3))
