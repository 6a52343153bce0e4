"""From the parts' averaged probabilities to the posterior probability of the whole table, with its uncertainty.

Let Z = Φ⁻¹(p(b)) be the whole table's normal score. A random part has a score x = Z/√M + e. The e of all parts have variance
1 − 1/M and sum to zero, because the whole table's estimate is the mean of the parts'. The release averages t(x): the probability
itself, its normal score within limits, or −2 log p within limits. Its mean is

    m(Z) = E t(Z/√M + √(1 − 1/M) e),   e standard normal,

which is Φ(Z/√(2M − 1)) for probabilities. Around it, given Z, the average scatters with variance (Var t − Cov(t, e)²)/M, because
the part that is linear in e cancels. (For few parts the higher powers of e matter too: with the Hermite coefficients h_k of t and
the correlation r = −1/(M − 1) of two errors, the variance is (Var t + (M − 1) Σ h_k² r^k)/M.) The noise comes on top. The
posterior of Z is proportional to the density of the released mean. Z has a uniform prior between −10 and 10, which matches a flat
prior of the coefficient.

The estimates do not quite agree, because every part spends rows on all its coefficients. With k coefficients and b rows in a
part, the parts together know 1 − k/b of what the whole table knows (their combined score has this squared correlation with Z).
With the loss l = k/b the score of a part is √(1 − l) Z/√M + e, the variance of e is 1 − (1 − l)/M, and r = −(1 − l)/(M − 1 + l).
Tails heavier than normal cost more: with kurtosis K of a predictor and of the errors (3 if normal), k becomes k + (K − 3)/2.
Nobody knows K; intervals allow for K = 7. If the number of rows is not public, l is taken to be 0.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.polynomial.hermite_e import hermeval

from noisewise.answers.asked import Asked, MeanNoise
from noisewise.answers.law import GridLaw
from noisewise.arrays import Array
from noisewise.schema.partition import transformed
from noisewise.schema.questions import PosteriorProbability

if TYPE_CHECKING:
    from noisewise.releases.contents.partition import Number

LARGEST_SCORE, POINTS = 10.0, 1001
FARTHEST, NODES = 8.0, 401
LARGEST_LOSS: Final = 0.9
TAILS: Final = 2.0
"""Additional coefficients that allow for heavy tails: see above."""
REACH: Final = 4.0
POWERS: Final = 8
"""Powers of the errors in the scatter of the mean."""


def score_law(asked: Asked, question: PosteriorProbability, number: Number) -> GridLaw:
    """The posterior of Z, the normal score of p(b)."""
    scores, mean, scatter = expected_mean(question, asked.parts, information_loss(asked.coefficients + TAILS, asked.part_rows))
    noise = MeanNoise.of(asked, number)
    found = number.mean(asked.parts)
    reach = REACH * (noise.sd + scatter.max())  # further out, doubles cannot tell which score is nearest
    found = np.clip(found, mean.min() - reach, mean.max() + reach)
    return GridLaw.of(scores, noise.density(found - mean, scatter))


def expected_mean(question: PosteriorProbability, parts: int, loss: float = 0.0) -> tuple[Array, Array, Array]:
    """Z on a grid, the expected average, and its standard deviation over random splits; ``loss``: l above."""
    return _expected(question.combine, question.limit, parts, loss)


def information_loss(coefficients: float, part_rows: float | None) -> float:
    """l above: the share of the whole table's information that its parts together lose."""
    return 0.0 if part_rows is None else min(coefficients / max(part_rows, 1.0), LARGEST_LOSS)


@lru_cache(maxsize=64)
def _expected(combine: str, limit: float | None, parts: int, loss: float) -> tuple[Array, Array, Array]:
    from scipy.special import ndtr

    question = PosteriorProbability((("b", 1.0),), (0.0,), combine, limit)
    scores = np.linspace(-LARGEST_SCORE, LARGEST_SCORE, POINTS)
    error = np.linspace(-FARTHEST, FARTHEST, NODES)
    weight = np.exp(-0.5 * error**2)
    weight /= weight.sum()
    spread = np.sqrt(1.0 - (1.0 - loss) / parts)
    values = transformed(ndtr(scores[:, None] * np.sqrt((1.0 - loss) / parts) + spread * error), question)
    values = np.clip(values, *question.limits)
    mean = values @ weight
    centred = values - mean[:, None]
    correlation = -(1.0 - loss) / (parts - 1.0 + loss)
    variance = centred**2 @ weight
    for power in range(1, POWERS + 1):
        hermite = hermeval(error, [0.0] * power + [1.0]) / np.sqrt(factorial(power))
        variance = variance + (parts - 1) * correlation**power * (centred @ (weight * hermite)) ** 2
    return scores, mean, np.sqrt(np.maximum(variance, 0.0) / parts)
