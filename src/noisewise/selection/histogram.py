"""The estimates hLM and hWM of Peña and Barrientos: the analysis of every matrix drawn from a confidence region, averaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisewise.progress import Tick
from noisewise.selection.averaged import AveragedDraws, averaged_draws
from noisewise.selection.evidence import Evidence
from noisewise.selection.model_probabilities import log_probabilities
from noisewise.selection.moments import Moments
from noisewise.selection.plug_in import exact_moments
from noisewise.selection.subsets import memberships

Array = npt.NDArray[np.float64]
Members = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class HistogramEstimate:
    """All models with their mean probabilities, the terms' probabilities of being in for each matrix, and averaged draws.

    The mean probabilities' logarithms are exact also where they are too small for a float.
    """

    members: Members
    log_probabilities: Array
    inclusion: Array
    drawn: AveragedDraws

    @property
    def probabilities(self) -> Array:
        return np.exp(self.log_probabilities)


def histogram_estimate(moments: Moments, matrices: Array, groups: Sequence[Sequence[int]], prior: str, log_prior: Array,
                       *, draws: int, seed: int, tick: Tick | None = None) -> HistogramEstimate:
    """``matrices``: draws from a region, in the formula's columns. ``log_prior``: of one model with 0, 1, … terms.

    Each matrix is analysed as if it were the table's own; ``draws`` coefficients are drawn in all, equally many for each.
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
        if tick is not None:
            tick(number, len(matrices))
    order = rng.permutation(each * len(matrices))[:draws]
    together = AveragedDraws(np.concatenate([one.members for one in drawn])[order],
                             np.concatenate([one.working for one in drawn])[order])
    return HistogramEstimate(members, logs - np.log(len(matrices)), np.array(inclusion), together)
