"""The posterior of one parameter on a grid, and independent draws from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.posterior.sums.families import Family
from noisewise.posterior.sums.likelihood import exact_log_likelihood, normal_log_likelihood
from noisewise.posterior.sums.noisy_sum import NoisySum

Array = npt.NDArray[np.float64]

SEARCH_POINTS: Final = 401
POINTS: Final = 600
DEPTH: Final = 40.0
"""The grid reaches as far as the log density is this much below its largest value."""


@dataclass(frozen=True)
class GridPosterior:
    """A density of z, linear between the points of a grid."""

    z: Array
    density: Array

    @classmethod
    def of(cls, z: Array, log_density: Array) -> GridPosterior:
        density = np.exp(log_density - np.max(log_density))
        return cls(z, density / np.trapezoid(density, z))

    def draw(self, size: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Independent draws, by inverting the distribution function."""
        width = np.diff(self.z)
        below = np.concatenate([[0.0], np.cumsum(0.5 * (self.density[1:] + self.density[:-1]) * width)])
        u = rng.uniform(size=size) * below[-1]
        i = np.clip(np.searchsorted(below, u, side="right") - 1, 0, len(width) - 1)
        start, slope, left = self.density[i], (self.density[i + 1] - self.density[i]) / width[i], u - below[i]
        # start·x + slope·x²/2 = left, in the form that has no difference of nearly equal numbers
        x = 2.0 * left / (start + np.sqrt(np.maximum(start**2 + 2.0 * slope * left, 0.0)) + 1e-300)
        return np.asarray(self.z[i] + np.clip(x, 0.0, width[i]))

    def expect(self, function: Callable[[Array], Array]) -> float:
        return float(np.trapezoid(self.density * function(self.z), self.z))


def posterior(family: Family, sums: Sequence[NoisySum], points: int = POINTS) -> GridPosterior:
    """The posterior of z given the noisy sums of all holders."""
    def rough(z: Array) -> Array:
        return _log_density(family, sums, z, normal_log_likelihood)

    low, high = where(rough, *family.reach())
    z = np.linspace(low, high, points)
    return GridPosterior.of(z, _log_density(family, sums, z, exact_log_likelihood))


def where(log_density: Callable[[Array], Array], low: float, high: float) -> tuple[float, float]:
    """The part of a line on which a density with one mode is not nothing; widened a little."""
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
