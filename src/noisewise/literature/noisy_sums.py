"""One column's noisy sum: treated as exact (``naive``), or with the sampler of Bernstein and Sheldon (2018) (``gibbs``).

The sampler draws θ given the sum, the sum given θ and the noisy sum, and the variance of the noise.

The sum of n rows is modelled as normal with the mean and variance of unclipped rows. Laplace noise of scale b is normal with a
variance v that is exponential with mean 2b²; given the noise e, 1/v is inverse Gaussian with mean 1/(b|e|) and shape 1/b². All
chains run side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.posterior.sums.families import Bernoulli, Family, Normal, Poisson
from noisewise.posterior.sums.noisy_sum import LAPLACE, NoisySum
from noisewise.words import option

WARM_UP: Final = 500
LEAST: Final = 1e-9


def gibbs(family: Family, sums: Sequence[NoisySum], chains: int, draws: int, rng: np.random.Generator) -> Array:
    """Sample (chains, draws); every step of a chain is a draw."""
    if not all(seen.exact_rows for seen in sums):
        raise FitError("method gibbs needs the number of rows, which is private here", argument="method",
                       found="add-remove", remedy="use " + option("method", "exact"))
    rows = np.array([seen.rows[0] for seen in sums], dtype=float)
    seen = np.array([one.total(one.rows[0]) for one in sums])
    laplace = np.array([one.noise.distribution == LAPLACE for one in sums])
    scale = np.array([one.user_noise.scale for one in sums])
    sd = np.array([one.user_noise.sd for one in sums])
    limits = np.array([possible(family, n) for n in rows])
    variance = np.broadcast_to(sd**2, (chains, len(sums))).copy()
    total = np.clip(seen + sd * rng.normal(size=(chains, len(sums))), limits[:, 0], limits[:, 1])
    result = np.empty((chains, draws))
    for step in range(-WARM_UP, draws):
        theta = updated(family, total.sum(axis=1), float(rows.sum()), rng)
        mean, spread = (moment[:, None] * rows for moment in plain_moments(family, theta))
        precision = 1.0 / np.maximum(spread, LEAST) + 1.0 / variance
        centre = (mean / np.maximum(spread, LEAST) + seen / variance) / precision
        total = _between(centre, 1.0 / np.sqrt(precision), limits[:, 0], limits[:, 1], rng)
        if laplace.any():
            gap = np.maximum(np.abs(seen - total), LEAST * scale)
            drawn = 1.0 / np.maximum(rng.wald(1.0 / (scale * gap), 1.0 / scale**2 * np.ones_like(gap)), 1e-300)
            variance = np.where(laplace, drawn, variance)
        if step >= 0:
            result[:, step] = theta
    return result


def _between(mean: Array, sd: Array, low: Array, high: Array, rng: np.random.Generator) -> Array:
    """Draw from a normal distribution truncated to possible sums."""
    from scipy.special import ndtr, ndtri

    start, stop = ndtr((low - mean) / sd), ndtr((high - mean) / sd)
    u = start + (stop - start) * rng.uniform(size=mean.shape)
    return np.asarray(np.clip(mean + sd * ndtri(np.clip(u, 1e-300, 1.0 - 1e-16)), low, high))


def naive(family: Family, sums: Sequence[NoisySum], chains: int, draws: int, rng: np.random.Generator) -> Array:
    """Draw from the conjugate posterior as if the noisy sum were exact."""
    rows = float(sum(seen.rows[int(np.argmax(seen.weights))] for seen in sums))
    total = sum(seen.total(seen.rows[int(np.argmax(seen.weights))]) for seen in sums)
    low, high = possible(family, rows)
    return updated(family, np.full((chains, draws), np.clip(total, low, high)), rows, rng)


def updated(family: Family, total: Array, rows: float, rng: np.random.Generator) -> Array:
    """Draw the parameter given the sum of all rows, from the conjugate posterior for unclipped rows."""
    first, second = family.prior
    if isinstance(family, Bernoulli):
        return rng.beta(first + total, second + rows - total)
    if isinstance(family, Poisson):
        return rng.gamma(first + total) / (second + rows)
    if isinstance(family, Normal):
        precision = rows / family.sigma**2 + 1.0 / second**2
        mean = (total / family.sigma**2 + first / second**2) / precision
        return np.asarray(mean + rng.normal(size=np.shape(total)) / np.sqrt(precision))
    return np.asarray((second + total) / rng.gamma(first + rows, size=np.shape(total)))


def plain_moments(family: Family, theta: Array) -> tuple[Array, Array]:
    """Return the mean and variance of an unclipped row."""
    if isinstance(family, Bernoulli):
        return theta, theta * (1.0 - theta)
    if isinstance(family, Normal):
        return theta, np.full_like(theta, family.sigma**2)
    return theta, theta if isinstance(family, Poisson) else theta**2


def possible(family: Family, rows: float) -> tuple[float, float]:
    """Return the smallest and largest sum of ``rows`` rows that the conjugate update accepts."""
    if isinstance(family, Normal):
        return -np.inf, np.inf
    return 0.0, rows if isinstance(family, Bernoulli) else np.inf
