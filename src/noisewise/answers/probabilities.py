"""From the parts' averaged probabilities to the posterior probability of the whole table, with its uncertainty.

Let Z = Φ⁻¹(p(b)) be the whole table's normal score. A random part has a score x = Z/√M + e; the e of all parts have variance
1 − 1/M and sum to zero, because the whole table's estimate is the mean of the parts'. What is averaged is t(x) (the probability
itself, its normal score within limits, or −2 log p within limits), with the mean

    m(Z) = E t(Z/√M + √(1 − 1/M) e),   e standard normal,

for probabilities Φ(Z/√(2M − 1)), and around it, given Z, the scatter (Var t − Cov(t, e)²)/M: what is linear in e cancels. The
noise is added to that. The posterior of Z is proportional to the density of the released mean; Z is taken to be anywhere between
−10 and 10 with equal plausibility, as a coefficient is anywhere under a flat prior.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.answers.law import GridLaw
from noisewise.answers.noise import MeanNoise
from noisewise.parts.statistics import transformed
from noisewise.release.partition import Number, PartitionRelease
from noisewise.schema.questions import PosteriorProbability

Array = npt.NDArray[np.float64]

LARGEST_SCORE: Final = 10.0
POINTS: Final = 2001
NODES: Final = 401
FARTHEST: Final = 8.0


def score_law(release: PartitionRelease, question: PosteriorProbability, number: Number) -> GridLaw:
    """The posterior of Z, the normal score of p(b)."""
    scores, mean, scatter = expected_mean(question, release.parts)
    noise = MeanNoise.of(release, number)
    found = number.mean(release.parts)
    reach = np.clip(found, mean.min(), mean.max())  # beyond what can be, the nearest that can be
    distance = found - mean if noise.density(np.array([found - reach]))[0] > 0.0 else reach - mean
    return GridLaw.of(scores, noise.density(distance, scatter))


def expected_mean(question: PosteriorProbability, parts: int) -> tuple[Array, Array, Array]:
    """Z on a grid, the mean of what is averaged, and its standard deviation over random splits."""
    return _expected(question.combine, question.limit, parts)


@lru_cache(maxsize=64)
def _expected(combine: str, limit: float | None, parts: int) -> tuple[Array, Array, Array]:
    from scipy.special import ndtr

    question = PosteriorProbability((("b", 1.0),), (0.0,), combine, limit)
    scores = np.linspace(-LARGEST_SCORE, LARGEST_SCORE, POINTS)
    error = np.linspace(-FARTHEST, FARTHEST, NODES)
    weight = np.exp(-0.5 * error**2)
    weight /= weight.sum()
    spread = np.sqrt(1.0 - 1.0 / parts)
    values = transformed(ndtr(scores[:, None] / np.sqrt(parts) + spread * error), question)
    values = np.clip(values, *question.limits)
    mean = values @ weight
    centred = values - mean[:, None]
    variance = centred**2 @ weight - (centred @ (weight * error)) ** 2
    return scores, mean, np.sqrt(np.maximum(variance, 0.0) / parts)
