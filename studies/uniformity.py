"""Are ranks uniform? Tests of simulation-based calibration.

Talts et al. 2018 (arXiv:1804.06788): where a posterior is right, the truth's rank among independent draws is uniform. Säilynoja,
Bürkner & Vehtari 2022 (arXiv:2103.10522): bands for the whole distribution of the ranks. Modrák et al. 2023 (arXiv:2211.02383):
the rank of the density itself finds errors that the ranks of the parameters hide.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.int64]

KEPT = 99
"""Draws kept of each chain, for 100 possible ranks, 0 to 99."""
BINS = 20
SIMULATIONS = 4000
"""Simulated null distributions of the band's statistic: its p-values are not smaller than 1 / 4001."""


def ranks_among(draws: Array, truth: Array) -> Ranks:
    """How many of ``KEPT`` evenly spaced draws are below the truth; draws (replicates, draws, ...), truth (replicates, ...)."""
    thin = draws.shape[1] // KEPT
    kept = draws[:, thin - 1 :: thin][:, :KEPT]
    result: Ranks = np.sum(kept < truth[:, None], axis=1)
    return result


def chi_square_p(ranks: Ranks) -> float:
    """Pearson's test that all of the ``BINS`` bins are equally likely."""
    from scipy.stats import chisquare

    counts = np.bincount(ranks * BINS // (KEPT + 1), minlength=BINS)
    return float(chisquare(counts).pvalue)


def band_p(ranks: Ranks) -> float:
    """The p-value of the distribution function's most surprising value, corrected for looking everywhere."""
    counts = np.bincount(ranks, minlength=KEPT + 1)
    null = _null_surprises(len(ranks))
    return float((1 + np.sum(null <= _surprise(counts[None], len(ranks))[0])) / (1 + len(null)))


def score_p(ranks: Ranks, parameters: int) -> tuple[float, float]:
    """Ranks of the density as chi-square scores: their mean (1 if the posterior is as wide as it should be), two-sided p-value.

    Where the posterior is nearly normal, the log density is −½ of a squared distance with ``parameters`` degrees of freedom. A
    posterior whose variances are too small by a factor f puts the truth at 1/f of this distance: all parameters count together.
    The sum of the scores is chi-square distributed with ``parameters`` times the number of replicates degrees of freedom
    whatever the posterior's shape, because only the ranks enter.
    """
    from scipy.stats import chi2

    scores = chi2.isf((ranks + 0.5) / (KEPT + 1), parameters)
    total, freedom = float(np.sum(scores)), parameters * len(ranks)
    p = 2 * min(chi2.sf(total, freedom), chi2.cdf(total, freedom))
    return total / freedom, min(1.0, float(p))


def _surprise(counts: npt.NDArray[Any], replicates: int) -> Array:
    """The smallest binomial tail probability of the cumulated counts; counts (samples, possible ranks)."""
    from scipy.stats import binom

    below = np.cumsum(counts, axis=1)[:, :-1]
    probability = np.arange(1, KEPT + 1) / (KEPT + 1)
    tails = np.minimum(binom.cdf(below, replicates, probability), binom.sf(below - 1, replicates, probability))
    result: Array = np.min(tails, axis=1)
    return result


@cache
def _null_surprises(replicates: int) -> Array:
    rng = np.random.default_rng(replicates)
    counts = rng.multinomial(replicates, np.full(KEPT + 1, 1 / (KEPT + 1)), size=SIMULATIONS)
    return _surprise(counts, replicates)


def band(replicates: int, level: float = 0.01) -> tuple[Array, Array, Array]:
    """Ranks as fractions, and the lower and upper limit of the distribution function minus its expectation there."""
    from scipy.stats import binom

    tail = float(np.quantile(_null_surprises(replicates), level))
    probability = np.arange(1, KEPT + 1) / (KEPT + 1)
    lower = binom.ppf(tail, replicates, probability) / replicates - probability
    upper = binom.isf(tail, replicates, probability) / replicates - probability
    return probability, lower, upper
