"""Mean and standard deviation of a normal column, both unknown, from its noisy sum and its noisy sum of squares.

The sums S₁ = Σu and S₂ = Σu² of n clipped normal rows are treated as jointly normal, with the mean and covariance of clipped
rows. Gaussian noise adds to the covariance. With Laplace noise, S₁ is integrated over numerically and S₂ given S₁ by the
closed form of a normal variable plus Laplace noise.

μ ~ N(centre of the bounds, half their distance), σ half-normal with half their distance; in scaled units N(0, 1) and |N(0, 1)|.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.posterior.sums.exact import log_normal_laplace, over_rows
from noisewise.posterior.sums.families import Normal, clipped_normal
from noisewise.posterior.sums.noisy_sum import LAPLACE, NoisySum
from noisewise.words import option

COARSE: Final = 31
FINE: Final = 121
DEPTH: Final = 16.0
STARTS: Final = 60
FIRST: Final = 0.05
"""Half the width of the first grid, in scaled units and in log σ."""
LOG_SIGMA: Final = (float(np.log(1e-4)), float(np.log(8.0)))
NODES: Final = np.linspace(-7.0, 7.0, 141)
SHARP: Final = 0.3
"""Below this many standard deviations of the sum, Laplace noise may be replaced by normal noise; nodes would miss its peak."""


@dataclass(frozen=True)
class Grid:
    """A grid over the posterior: points of log σ, and of μ relative to a line through ``mode`` along which μ moves with log σ.

    If many rows are at a bound, μ and σ are known jointly far better than separately. The line follows that ridge.
    """

    mode: tuple[float, float]
    slope: float
    beside: Array
    log_sigma: Array

    def mu(self, beside: Array, log_sigma: Array) -> Array:
        """μ at points beside the line."""
        return np.asarray(self.mode[0] + self.slope * (log_sigma - self.mode[1]) + beside)

    def log_posterior(self, sums: Sequence[NoisySum]) -> Array:
        """Return the log posterior on the grid, (beside, log_sigma)."""
        return np.stack([_log_posterior(sums, self.mu(self.beside, value), float(value)) for value in self.log_sigma], axis=1)


def draws(sums: Sequence[NoisySum], size: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Return independent draws of (mean, sigma), both before clipping, in the user's units."""
    if any(seen.squares is None for seen in sums):
        raise FitError("an unknown sigma requires the sum of squares, which this release does not contain",
                       argument="sigma", remedy="give " + option("sigma") + ", if it is known")
    grid = _grid(sums)
    logs = grid.log_posterior(sums)
    weights = np.exp(logs - logs.max())
    chosen = rng.choice(weights.size, size=size, p=weights.ravel() / weights.sum())
    row, column = np.unravel_index(chosen, weights.shape)
    jitter = rng.uniform(-0.5, 0.5, size=(2, *size))
    beside = grid.beside[row] + jitter[0] * (grid.beside[1] - grid.beside[0])
    log_sigma = grid.log_sigma[column] + jitter[1] * (grid.log_sigma[1] - grid.log_sigma[0])
    u = grid.mu(beside, log_sigma)
    return np.stack([sums[0].centre + sums[0].half_width * u, sums[0].half_width * np.exp(log_sigma)], axis=-1)


def _mode(sums: Sequence[NoisySum]) -> tuple[float, float]:
    """Find the most probable μ and log σ, starting from the best pair for which clipped values have the noisy mean.

    From elsewhere, the search may end in a lower mode that explains everything as noise.
    """
    from scipy.optimize import minimize

    rows = sum(seen.rows[int(np.argmax(seen.weights))] for seen in sums)
    mean = sum(seen.scaled for seen in sums) / rows
    mu = np.linspace(-8.0, 8.0, 3201)
    pairs = [np.array([np.interp(mean, clipped_normal(mu, float(np.exp(value)), -1.0, 1.0)[0], mu), value])
             for value in np.linspace(*LOG_SIGMA, STARTS)]
    start = max(pairs, key=lambda pair: float(_log_posterior(sums, pair[:1], float(pair[1]))[0]))

    def depth(at: Array) -> float:
        value = float(np.clip(at[1], *LOG_SIGMA))
        return float(abs(at[1] - value) - _log_posterior(sums, at[:1], value)[0])

    step = (LOG_SIGMA[1] - LOG_SIGMA[0]) / STARTS
    simplex = start + np.array([[0.0, 0.0], [step * np.exp(start[1]), 0.0], [0.0, step]])
    found = minimize(depth, start, method="Nelder-Mead", options={"initial_simplex": simplex, "xatol": 1e-5, "fatol": 1e-4})
    return float(found.x[0]), float(np.clip(found.x[1], *LOG_SIGMA))


def _grid(sums: Sequence[NoisySum]) -> Grid:
    """Return a grid that covers the posterior: it starts small around the mode, and grows or shrinks until it fits."""
    mode = _mode(sums)
    low, high, slope = np.full(2, -FIRST), np.full(2, FIRST), 0.0
    for _ in range(40):
        stop = LOG_SIGMA[0] - mode[1], LOG_SIGMA[1] - mode[1]
        low[1], high[1] = max(low[1], stop[0]), min(high[1], stop[1])
        axes = [np.linspace(a, b, COARSE) for a, b in zip(low, high, strict=True)]
        logs = Grid(mode, slope, axes[0], axes[1] + mode[1]).log_posterior(sums)
        inside = logs > logs.max() - DEPTH
        settled = True
        for axis, other in ((0, 1), (1, 0)):
            seen = np.flatnonzero(inside.any(axis=other))
            first, last, width = int(seen[0]), int(seen[-1]), high[axis] - low[axis]
            settled &= last - first > COARSE // 3
            free = (True, True) if axis == 0 else (low[1] > stop[0], high[1] < stop[1])
            settled &= not (first == 0 and free[0]) and not (last == COARSE - 1 and free[1])
            low[axis] = axes[axis][first - 1] if first > 0 else low[axis] - width
            high[axis] = axes[axis][last + 1] if last < COARSE - 1 else high[axis] + width
        if settled:
            break
        slope += _slope(axes[0], axes[1], np.exp(logs - logs.max()))
    low[1], high[1] = max(low[1], stop[0]), min(high[1], stop[1])
    return Grid(mode, slope, np.linspace(low[0], high[0], FINE), np.linspace(low[1], high[1], FINE) + mode[1])


def _slope(beside: Array, log_sigma: Array, weights: Array) -> float:
    """Return the slope of the first in a regression on the second with these weights."""
    weights = weights / weights.sum()
    first, second = beside - weights.sum(axis=1) @ beside, log_sigma - weights.sum(axis=0) @ log_sigma
    return float(first @ weights @ second / (weights.sum(axis=0) @ second**2 + 1e-300))


def _log_posterior(sums: Sequence[NoisySum], mu: Array, log_sigma: float) -> Array:
    sigma = float(np.exp(log_sigma))
    return _log_column(sums, mu, sigma) - 0.5 * mu**2 - 0.5 * sigma**2 + log_sigma


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
        total = total + over_rows(seen, partial(_given_rows, seen, m1=m1, m2=m2, v1=v1, v2=v2, c=c))
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
