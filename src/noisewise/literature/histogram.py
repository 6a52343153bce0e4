"""The estimates hLM and hWM of Peña and Barrientos: analyse each matrix drawn from a confidence region, and average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisewise.arrays import Array, Flags
from noisewise.errors import FitError
from noisewise.literature.noise_laws import NoiseLaw
from noisewise.literature.regions import Region
from noisewise.progress import Tick
from noisewise.run import nobody
from noisewise.selection.averaged import AveragedDraws, averaged_draws
from noisewise.selection.bands import affordable_draws
from noisewise.selection.evidence import Evidence
from noisewise.selection.methods import WEIGHED, Asked, Found, percent
from noisewise.selection.moments import Moments, exact_moments
from noisewise.selection.probabilities import MOST_EXACT, Weighed, log_probabilities
from noisewise.selection.subsets import memberships
from noisewise.words import option


def histogram(asked: Asked) -> Found:
    """Average over matrices from a confidence region."""
    terms = len(asked.groups)
    if terms > MOST_EXACT:
        raise FitError(f"method histogram lists all models and is limited to {MOST_EXACT} terms",
                       argument="method", found=f"{terms} terms",
                       remedy="use " + option("method", "noise-aware") + ", or keep some terms in every model")
    count = max(2, affordable_draws(2**terms, asked.draws))
    region = Region(asked.moments, NoiseLaw.of(asked.contributions, asked.units))
    matrices = region.draws(count, asked.seeds[0], percent(asked.tick, 0, WEIGHED)).matrices
    found = histogram_estimate(asked.moments, matrices, asked.groups, asked.prior, asked.log_prior, draws=asked.draws,
                               seed=asked.seeds[1], tick=percent(asked.tick, WEIGHED, 100))
    factors = implied_factors(found.log_probabilities, found.members, asked.log_prior)
    return Found(Weighed(found.members, factors, found.probabilities), found.drawn, found.inclusion)


def implied_factors(log_probabilities: Array, members: Flags, log_prior: Array) -> Array:
    """Return the log Bayes factors that would give these probabilities, smallest model first."""
    logs = log_probabilities - log_prior[members.sum(axis=1)]
    return np.asarray(logs - logs[0])


@dataclass(frozen=True)
class HistogramEstimate:
    """All models with their mean probabilities, the inclusion probabilities for each matrix, and averaged draws.

    The logarithms stay exact where the mean probabilities are too small for a float.
    """

    members: Flags
    log_probabilities: Array
    inclusion: Array
    drawn: AveragedDraws

    @property
    def probabilities(self) -> Array:
        """Mean probability of each model."""
        return np.exp(self.log_probabilities)


def histogram_estimate(moments: Moments, matrices: Array, groups: Sequence[Sequence[int]], prior: str, log_prior: Array,
                       *, draws: int, seed: int, tick: Tick = nobody) -> HistogramEstimate:
    """Analyse each matrix as if it were the table's own, and average.

    ``matrices`` are draws from a region, in the formula's columns. ``log_prior`` is that of one model with 0, 1, … terms.
    ``draws`` is the total number of coefficient draws, divided equally among the matrices.
    """
    members = memberships(len(groups))
    rng = np.random.default_rng(seed)
    each = -(-draws // len(matrices))
    logs, inclusion, drawn = np.full(len(members), -np.inf), [], []
    for number, matrix in enumerate(matrices, start=1):
        evidence = Evidence(exact_moments(moments, matrix), groups, prior)
        each_log = log_probabilities(evidence.all_models(), members, log_prior)
        weights = np.exp(each_log)
        logs = np.logaddexp(logs, each_log)
        inclusion.append(weights @ members)
        drawn.append(averaged_draws(evidence, members, weights, each, int(rng.integers(2**63))))
        tick(number, len(matrices))
    order = rng.permutation(each * len(matrices))[:draws]
    together = AveragedDraws(np.concatenate([one.members for one in drawn])[order],
                             np.concatenate([one.working for one in drawn])[order])
    return HistogramEstimate(members, logs - np.log(len(matrices)), np.array(inclusion), together)
