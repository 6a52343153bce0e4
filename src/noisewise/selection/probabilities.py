"""Prior and posterior probabilities of models: of all if they can be listed, otherwise of those that a walk finds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise.arrays import Array, Flags
from noisewise.errors import FitError
from noisewise.progress import Tick
from noisewise.selection.subsets import memberships
from noisewise.selection.weigher import Weigher

MODEL_PRIORS: Final = ("beta-binomial", "uniform", "bernoulli(p)")


def log_prior_by_size(name: str, count: int) -> Array:
    """The log prior probability of one model with 0, 1, …, K terms.

    ``beta-binomial``: every number of terms is equally likely, and so are all models of one size (Scott and Berger 2010, the
    hierarchical uniform prior). ``uniform``: every model is equally likely. ``bernoulli(p)``: each term is included independently
    with probability p.

    >>> np.exp(log_prior_by_size("beta-binomial", 2))
    array([0.33333333, 0.16666667, 0.33333333])
    """
    k = np.arange(count + 1)
    if name == "uniform":
        return np.full(count + 1, -count * math.log(2.0))
    if name == "beta-binomial":
        return np.array([-math.log(count + 1) - math.log(math.comb(count, int(size))) for size in k])
    share = _bernoulli(name)
    return np.asarray(k * math.log(share) + (count - k) * math.log1p(-share))


def _bernoulli(name: str) -> float:
    if isinstance(name, str) and name.startswith("bernoulli(") and name.endswith(")"):
        try:
            share = float(name[len("bernoulli("):-1])
        except ValueError:
            share = math.nan
        if 0.0 < share < 1.0:
            return share
        raise FitError("a term's prior probability must lie between 0 and 1", found=name, remedy='for example "bernoulli(0.2)"')
    raise FitError("unknown prior of models", argument="model_prior", found=repr(name), known=MODEL_PRIORS)


@dataclass(frozen=True)
class Weighed:
    """Models (rows of flags), their log Bayes factors against the smallest one, their probabilities, and doubts."""

    members: Flags
    log_bayes_factors: Array
    probabilities: Array
    doubts: tuple[str, ...] = ()
    complete: bool = True


MOST_NOISY: Final = 16
"""Up to this many terms, all models (2¹⁶) are weighed one by one if there is noise."""
MOST_EXACT: Final = 20
STEP: Final = 4096


def weigh(evidence: Weigher, log_prior: Array, seed: int, tick: Tick) -> Weighed:
    """Weigh all models, or those that a walk finds; ``log_prior`` is that of one model with 0, 1, … terms."""
    count = len(evidence.groups)
    if count > min(MOST_EXACT if evidence.exact else MOST_NOISY, evidence.most_listed):
        from noisewise.selection.walk import walk

        visited = walk(evidence, log_prior, seed, tick)
        factors = evidence.log_bayes_factors(visited.members)
        return Weighed(visited.members, factors, visited.probabilities, tuple(visited.doubts), complete=False)
    members = memberships(count)
    factors = evidence.all_models() if evidence.exact else _in_steps(evidence, members, tick)
    return Weighed(members, factors, probabilities(factors, members, log_prior))


def probabilities(log_bayes_factors: Array, members: Flags, log_prior: Array) -> Array:
    """Probabilities of these models, as if there were no others."""
    return np.exp(log_probabilities(log_bayes_factors, members, log_prior))


def log_probabilities(log_bayes_factors: Array, members: Flags, log_prior: Array) -> Array:
    """Logarithms of `probabilities`, which do not underflow."""
    logs = log_bayes_factors + log_prior[members.sum(axis=1)]
    highest = logs.max()
    return np.asarray(logs - highest - np.log(np.sum(np.exp(logs - highest))))


def _in_steps(evidence: Weigher, members: Flags, tick: Tick) -> Array:
    lots = []
    for start in range(0, len(members), STEP):
        lots.append(evidence.log_bayes_factors(members[start:start + STEP]))
        tick(min(start + STEP, len(members)), len(members))
    return np.concatenate(lots)
