"""The posterior of one parameter given noisy sums, on a grid, from the sum's own distribution, and independent draws from it.

On the grid of its family a row is lower + step · j with j = 0, 1, …; let φ(t) = E e^{itj}. The sum of n rows is on it too, and

    p(y) = Σ_s P(s) f(y − s) = 1/(2π) ∫_{−π}^{π} φ(t)ⁿ N(t) dt,      N(t) = Σ_s f(y − s) e^{−its},

where f is the density of the noise and everything is in steps. For Laplace noise N is a geometric series. The integrand is smooth
and periodic, so sums over equal steps converge faster than any power of the step. Clipping is part of φ and costs nothing.

If the noise is so much larger than the spread of the sum that the integral would need many points, the sum's own shape does not
matter. Then, and where p is too small to compute in double precision, the sum is treated as normal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.posterior.sums.families import Family
from noisewise.posterior.sums.noisy_sum import LAPLACE, Noise, NoisySum

MOST_POINTS: Final = 2000
"""The integral needs more points only if the noise is more than about twenty times the sum's own spread."""
FLOOR: Final = 1e-10
"""A result below this share of the sum of absolute values is rounding error."""
SMALL_NOISE: Final = 2.0
"""Gaussian noise below this many steps is summed term by term."""


def log_normal_laplace(x: Array, variance: Array, scale: float) -> Array:
    """The log density at x of the sum of a centred normal variable and Laplace noise.

    >>> float(np.round(np.exp(log_normal_laplace(np.array([0.0]), np.array([1e-12]), 1.0))[0], 6))
    0.5
    """
    from scipy.special import log_ndtr

    sd = np.sqrt(np.maximum(variance, 1e-300))
    half = variance / (2.0 * scale**2)
    left = half - x / scale + log_ndtr(x / sd - sd / scale)
    right = half + x / scale + log_ndtr(-x / sd - sd / scale)
    return np.asarray(np.logaddexp(left, right) - np.log(2.0 * scale))


def log_with_normal_sum(x: Array, variance: Array, noise: Noise) -> Array:
    """The log density at x of the sum of a centred normal variable and noise."""
    if noise.distribution == LAPLACE:
        return log_normal_laplace(x, variance, noise.scale)
    total = variance + noise.sd**2
    return np.asarray(-0.5 * (x**2 / total + np.log(2.0 * np.pi * total)))


def row_moments(family: Family, pmf: Array) -> tuple[Array, Array]:
    """Mean and variance of a row after clipping, as in the release."""
    mean = pmf @ family.values
    return mean, np.maximum(pmf @ family.values**2 - mean**2, 0.0)


def normal_log_likelihood(family: Family, pmf: Array, seen: NoisySum) -> Array:
    """The log likelihood if sums were normal, with the exact mean and variance of clipped rows."""
    mean, variance = row_moments(family, pmf)
    return over_rows(seen, lambda rows: log_with_normal_sum(seen.total(rows) - rows * mean, rows * variance, seen.user_noise))


def exact_log_likelihood(family: Family, pmf: Array, seen: NoisySum) -> Array:
    """The log likelihood of a noisy sum for every row of ``pmf``."""
    return over_rows(seen, lambda rows: _given_rows(family, pmf, seen, rows))


def over_rows(seen: NoisySum, given_rows: Callable[[int], Array]) -> Array:
    """The log likelihood, averaged over the possible numbers of rows."""
    logs = [np.log(weight) + given_rows(rows) for rows, weight in zip(seen.rows, seen.weights, strict=True) if weight > 0]
    return np.asarray(np.logaddexp.reduce(logs, axis=0))


def _given_rows(family: Family, pmf: Array, seen: NoisySum, rows: int) -> Array:
    mean, variance = row_moments(family, pmf)
    approximate = log_with_normal_sum(seen.total(rows) - rows * mean, rows * variance, seen.user_noise)
    noise = seen.user_noise.times(1.0 / family.step)
    if not family.whole:  # the grid is our approximation: noise smaller than its step would resolve it
        noise = Noise(noise.distribution, max(noise.sd, SMALL_NOISE))
    y = (seen.total(rows) - rows * family.lower) / family.step
    middle, sd = rows * (mean - family.lower) / family.step, np.sqrt(rows * variance) / family.step
    tail = 40.0 * noise.scale if noise.distribution == LAPLACE else 10.0 * noise.sd
    reach = 2.0 * np.max(np.abs(y - middle)) + 24.0 * np.max(sd) + 2.0 * tail + 8.0
    end = min(np.pi, 12.0 / max(float(np.min(sd)), 1e-300))  # e^(−72) is negligible, even with some excess kurtosis
    points = int(np.ceil(end * reach / (2.0 * np.pi))) + 1
    if points > MOST_POINTS:
        return approximate
    t = np.linspace(0.0, end, points + 1)
    weights = np.full(points + 1, t[1] / np.pi)
    weights[0] /= 2.0
    weights[-1] /= 2.0  # the integrand's period ends at π; an earlier end is where it has vanished
    phi = pmf @ np.exp(1j * np.outer(np.arange(family.steps + 1), t))
    with np.errstate(divide="ignore"):
        power = np.exp(rows * np.log(phi))
    side = weights * noise_transform(y, noise, t)
    density = np.real(power @ side) / family.step
    trusted = density > FLOOR * (np.abs(power) @ np.abs(side)) / family.step
    return np.where(trusted, np.log(np.where(trusted, density, 1.0)), approximate)


def noise_transform(y: float, noise: Noise, t: Array) -> npt.NDArray[np.complex128]:
    """N(t) = Σ_s f(y − s) e^{−its} over all whole numbers s."""
    if noise.distribution == LAPLACE:
        b = noise.scale
        floor = np.floor(y)
        r = y - floor
        ratio = np.exp(-1.0 / b + 1j * t)
        down = np.exp(-r / b) / (1.0 - ratio)
        up = np.exp((r - 1.0) / b - 1j * t) / (1.0 - np.conj(ratio))
        return np.asarray(np.exp(-1j * t * floor) * (down + up) / (2.0 * b))
    if noise.sd >= SMALL_NOISE:
        return np.asarray(np.exp(-1j * t * y - 0.5 * (noise.sd * t) ** 2))
    s = np.arange(np.floor(y - 10.0 * noise.sd) - 1.0, np.ceil(y + 10.0 * noise.sd) + 2.0)
    return np.asarray(np.exp(-1j * np.outer(t, s)) @ np.exp(noise.log_density(y - s)))


@dataclass(frozen=True)
class GridPosterior:
    """A density of z, linear between the points of a grid."""

    z: Array
    density: Array

    @classmethod
    def of(cls, z: Array, log_density: Array) -> GridPosterior:
        """Normalise a density given by its logarithm up to a constant."""
        density = np.exp(log_density - np.max(log_density))
        return cls(z, density / np.trapezoid(density, z))

    def draw(self, size: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Independent draws, by inverting the distribution function."""
        width = np.diff(self.z)
        below = np.concatenate([[0.0], np.cumsum(0.5 * (self.density[1:] + self.density[:-1]) * width)])
        u = rng.uniform(size=size) * below[-1]
        i = np.clip(np.searchsorted(below, u, side="right") - 1, 0, len(width) - 1)
        start, slope, left = self.density[i], (self.density[i + 1] - self.density[i]) / width[i], u - below[i]
        # solve start·x + slope·x²/2 = left without subtracting nearly equal numbers
        x = 2.0 * left / (start + np.sqrt(np.maximum(start**2 + 2.0 * slope * left, 0.0)) + 1e-300)
        return np.asarray(self.z[i] + np.clip(x, 0.0, width[i]))


SEARCH_POINTS: Final = 401
POINTS: Final = 600
DEPTH: Final = 40.0
"""The grid ends where the log density is this far below its maximum."""


def posterior(family: Family, sums: Sequence[NoisySum], points: int = POINTS) -> GridPosterior:
    """The posterior of z given the noisy sums of all holders."""
    def rough(z: Array) -> Array:
        return _log_density(family, sums, z, normal_log_likelihood)

    low, high = where(rough, *family.reach())
    z = np.linspace(low, high, points)
    return GridPosterior.of(z, _log_density(family, sums, z, exact_log_likelihood))


def where(log_density: Callable[[Array], Array], low: float, high: float) -> tuple[float, float]:
    """Return the interval, slightly widened, on which a density with one mode is not negligible."""
    first, last = low, high
    for _ in range(30):
        z = np.linspace(low, high, SEARCH_POINTS)
        logs = log_density(z)
        seen = np.flatnonzero(logs > np.max(logs) - DEPTH)
        start, stop = max(int(seen[0]) - 1, 0), min(int(seen[-1]) + 1, len(z) - 1)
        low, high = float(z[start]), float(z[stop])
        if stop - start > SEARCH_POINTS // 3:
            break
    margin = 0.1 * (high - low)
    return max(low - margin, first), min(high + margin, last)


def _log_density(family: Family, sums: Sequence[NoisySum], z: Array,
                 likelihood: Callable[[Family, Array, NoisySum], Array]) -> Array:
    """Prior times likelihood."""
    pmf = family.pmf(family.theta(z))
    return np.asarray(family.log_prior(z) + sum(likelihood(family, pmf, seen) for seen in sums))
