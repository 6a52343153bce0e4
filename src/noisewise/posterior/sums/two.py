"""Mean and standard deviation of a normal column, both unknown, from its noisy sum and its noisy sum of squares.

The sums S₁ = Σu and S₂ = Σu² of n clipped normal rows are taken to be normal together, with the mean and covariance that clipped
rows have. Gaussian noise adds to the covariance. With Laplace noise, S₁ is integrated over numerically and S₂ given S₁ by the
closed form of a normal variable plus Laplace noise.

μ ~ N(centre of the bounds, half their distance), σ half-normal with half their distance; in scaled units N(0, 1) and |N(0, 1)|.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError
from noisewise.posterior.sums.families import Normal
from noisewise.posterior.sums.likelihood import log_normal_laplace
from noisewise.posterior.sums.noisy_sum import LAPLACE, NoisySum

Array = npt.NDArray[np.float64]

COARSE: Final = 61
FINE: Final = 121
DEPTH: Final = 16.0
NODES: Final = np.linspace(-7.0, 7.0, 141)
SHARP: Final = 0.3
"""Laplace noise of less than so many standard deviations of the sum is as good as normal noise, and nodes would miss its peak."""


def draws(sums: Sequence[NoisySum], size: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Independent draws of (mean, sigma), in the user's units."""
    if any(seen.squares is None for seen in sums):
        raise FitError("sigma is found from the sum of squares, which is not in this release",
                       remedy="give sigma, if it is known")
    mu, log_sigma, weights = _grid(sums)
    chosen = rng.choice(weights.size, size=size, p=weights.ravel())
    row, column = np.unravel_index(chosen, weights.shape)
    jitter = rng.uniform(-0.5, 0.5, size=(2, *size))
    u = mu[row] + jitter[0] * (mu[1] - mu[0])
    spread = np.exp(log_sigma[column] + jitter[1] * (log_sigma[1] - log_sigma[0]))
    return np.stack([sums[0].centre + sums[0].half_width * u, sums[0].half_width * spread], axis=-1)


def _grid(sums: Sequence[NoisySum]) -> tuple[Array, Array, Array]:
    """Where the posterior is, and its weights there."""
    low, high = np.array([-8.0, np.log(1e-4)]), np.array([8.0, np.log(8.0)])
    for _ in range(12):
        logs = _log_posterior(sums, *(axes := [np.linspace(a, b, COARSE) for a, b in zip(low, high, strict=True)]))
        inside = logs > logs.max() - DEPTH
        narrow = []
        for axis, other in ((0, 1), (1, 0)):
            seen = np.flatnonzero(inside.any(axis=other))
            start, stop = max(int(seen[0]) - 1, 0), min(int(seen[-1]) + 1, COARSE - 1)
            low[axis], high[axis] = axes[axis][start], axes[axis][stop]
            narrow.append(stop - start < COARSE // 2)
        if not any(narrow):
            break
    mu, log_sigma = (np.linspace(a, b, FINE) for a, b in zip(low, high, strict=True))
    logs = _log_posterior(sums, mu, log_sigma)
    weights = np.exp(logs - logs.max())
    return mu, log_sigma, weights / weights.sum()


def _log_posterior(sums: Sequence[NoisySum], mu: Array, log_sigma: Array) -> Array:
    columns = [_log_column(sums, mu, float(np.exp(value))) for value in log_sigma]
    sigma = np.exp(log_sigma)
    return np.stack(columns, axis=1) - 0.5 * mu[:, None] ** 2 - 0.5 * sigma**2 + log_sigma


def _log_column(sums: Sequence[NoisySum], mu: Array, sigma: float) -> Array:
    family = Normal(-1.0, 1.0, (0.0, 1.0), sigma=sigma)
    pmf = family.pmf(mu)
    u = family.values
    powers = [pmf @ u**k for k in (1, 2, 3, 4)]
    rounding = family.step**2 / 12.0  # what the grid adds to the mean square
    m1, m2 = powers[0], powers[1] - rounding
    v1, v2, c = m2 - m1**2, powers[3] - powers[1] ** 2, powers[2] - powers[0] * powers[1]
    v1, v2 = np.maximum(v1, 1e-14), np.maximum(v2, 1e-14)
    c = np.clip(c, -0.999999 * np.sqrt(v1 * v2), 0.999999 * np.sqrt(v1 * v2))
    total = np.zeros_like(mu)
    for seen in sums:
        logs = [np.log(w) + _given_rows(seen, n, m1, m2, v1, v2, c)
                for n, w in zip(seen.rows, seen.weights, strict=True) if w > 0]
        total = total + np.logaddexp.reduce(logs, axis=0)
    return total


def _given_rows(seen: NoisySum, n: int, m1: Array, m2: Array, v1: Array, v2: Array, c: Array) -> Array:
    assert seen.squares is not None
    x1, x2 = seen.scaled - n * m1, seen.squares[0] - n * m2
    s1, s2 = seen.noise, seen.squares[1]
    if s1.distribution != LAPLACE:
        a, b, d = n * v1 + s1.sd**2, n * v2 + s2.sd**2, n * c
        determinant = a * b - d**2
        return np.asarray(-0.5 * ((b * x1**2 - 2.0 * d * x1 * x2 + a * x2**2) / determinant + np.log(determinant)))
    sd, rest = np.sqrt(n * v1), n * (v2 - c**2 / v1)
    total = sd**2 + s1.sd**2
    sharp = (s1.scale < SHARP * sd)[:, None]
    centre, width = (x1 * sd**2 / total)[:, None], (sd * s1.sd / np.sqrt(total))[:, None]  # S₁ given y₁, if the noise were normal
    at = np.where(sharp, centre + width * NODES, sd[:, None] * NODES)
    log_first = -0.5 * NODES**2 + np.where(sharp, -0.5 * (x1**2 / total + np.log(2.0 * np.pi * total))[:, None],
                                           s1.log_density(x1[:, None] - at))
    log_second = log_normal_laplace(x2[:, None] - (c / v1)[:, None] * at, rest[:, None], s2.scale)
    return np.asarray(np.logaddexp.reduce(log_first + log_second, axis=1)
                      + np.log(NODES[1] - NODES[0]) - 0.5 * np.log(2.0 * np.pi))
