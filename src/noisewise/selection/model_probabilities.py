"""The models and their probabilities: all of them where they can be listed, else those that a walk finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.progress import Tick
from noisewise.selection.evidence import Evidence
from noisewise.selection.subsets import memberships

Array = npt.NDArray[np.float64]
Members = npt.NDArray[np.bool_]

MOST_NOISY: Final = 16
"""So many terms, and their 2¹⁶ models, are weighed one by one where the moments are noisy."""
MOST_EXACT: Final = 20
STEP: Final = 4096


@dataclass(frozen=True)
class Weighed:
    """Models (rows of yes and no), their log Bayes factors against the smallest one, their probabilities, and doubts."""

    members: Members
    log_bayes_factors: Array
    probabilities: Array
    doubts: tuple[str, ...] = ()
    complete: bool = True


def weigh(evidence: Evidence, log_prior: Array, seed: int, tick: Tick) -> Weighed:
    """``log_prior``: the log prior probability of one model with 0, 1, … terms."""
    count = len(evidence.groups)
    if count > (MOST_EXACT if evidence.moments.exact else MOST_NOISY):
        from noisewise.selection.walk import walk

        visited = walk(evidence, log_prior, seed, tick)
        factors = evidence.log_bayes_factors(visited.members)
        return Weighed(visited.members, factors, visited.probabilities, tuple(visited.doubts), complete=False)
    members = memberships(count)
    factors = evidence.all_models() if evidence.moments.exact else _in_steps(evidence, members, tick)
    return Weighed(members, factors, probabilities(factors, members, log_prior))


def probabilities(log_bayes_factors: Array, members: Members, log_prior: Array) -> Array:
    """Of these models, as if there were no others."""
    return np.exp(log_probabilities(log_bayes_factors, members, log_prior))


def log_probabilities(log_bayes_factors: Array, members: Members, log_prior: Array) -> Array:
    logs = log_bayes_factors + log_prior[members.sum(axis=1)]
    highest = logs.max()
    return np.asarray(logs - highest - np.log(np.sum(np.exp(logs - highest))))


def _in_steps(evidence: Evidence, members: Members, tick: Tick) -> Array:
    lots = []
    for start in range(0, len(members), STEP):
        lots.append(evidence.log_bayes_factors(members[start:start + STEP]))
        tick(min(start + STEP, len(members)), len(members))
    return np.concatenate(lots)
