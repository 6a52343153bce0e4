"""Tail probabilities of the predictive check where the privacy noise is not normal.

Laplace noise has an excess kurtosis of 3. A statistic sums the noise of many entries and residuals, so it is closer to normal,
but not in the tails that decide whether a holder is named. So match the fourth moments: if E Q² = k(k+2)(1 + r) for the squared
length Q of k whitened statistics, a multivariate t distribution with 4 + 2/r degrees of freedom has the same r. Normal noise has
r = 0 and gives the normal and chi-square probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisewise.arrays import Array
from noisewise.results.check_moments import Statistics, whitening_root

LAPLACE_EXCESS = 3.0
MOST = 1e6
"""Degrees of freedom beyond which a t distribution is treated as normal."""


@dataclass(frozen=True)
class Tails:
    """Excess fourth moments of each holder's statistics: E z⁴ − 3 for each, E Q² − k(k+2) for all fitted ones together."""

    single: Array
    together: Array

    @classmethod
    def of(cls, statistics: Statistics, laplace: NDArray[np.bool_], covariances: Array, fitted: NDArray[np.intp]) -> Tails:
        """Compute the moments at the average draw; ``laplace`` marks the holders with Laplace noise."""
        single = np.zeros(covariances.shape[:2])
        together = np.zeros(len(covariances))
        if laplace.any():
            effects, classes = _effects(statistics)
            for j in np.flatnonzero(laplace):
                variances, own = statistics.noise[j, classes], effects @ statistics.own[j].T
                single[j] = LAPLACE_EXCESS * (variances**2 @ own**4) / np.diag(covariances[j]) ** 2
                root = whitening_root(covariances[j][np.ix_(fitted, fitted)][None])[0]
                lengths = np.sum(np.linalg.solve(root, own[:, fitted].T) ** 2, axis=0)
                together[j] = LAPLACE_EXCESS * float(np.sum((variances * lengths) ** 2))
        return cls(single, together)

    def two_sided(self, z: Array) -> Array:
        """P(|Z| ≥ |z|) for standardised statistics."""
        from scipy.special import stdtr

        freedom = _freedom(self.single / 3.0)
        return np.asarray(2.0 * stdtr(freedom, -np.abs(z) * np.sqrt(freedom / (freedom - 2.0))))

    def beyond(self, distance: Array, size: int) -> Array:
        """P(Q ≥ distance) for the squared length of ``size`` whitened statistics."""
        from scipy.special import chdtrc, fdtrc

        freedom = _freedom(self.together / (size * (size + 2.0)))
        heavy = fdtrc(size, freedom, distance * freedom / (freedom - 2.0) / size)
        return np.asarray(np.where(freedom < MOST, heavy, chdtrc(size, distance)))

    def sum_beyond(self, total: float, free: float) -> float:
        """P(ΣQ ≥ total) for the squared length of all ``free`` statistics: a gamma distribution with the right variance."""
        from scipy.special import gammaincc

        if free <= 0.0:  # with a single holder, the fit has used up everything
            return 1.0
        variance = 2.0 * free + float(self.together.sum())
        return float(gammaincc(free**2 / variance, total * free / variance))


def two_sided(z: Array) -> Array:
    """P(|Z| ≥ |z|) for a normal Z."""
    from scipy.special import ndtr

    return np.asarray(2.0 * ndtr(-np.abs(z)))


def _freedom(ratio: Array) -> Array:
    return np.asarray(np.minimum(4.0 + 2.0 / np.maximum(ratio, 1e-12), MOST))


def _effects(statistics: Statistics) -> tuple[Array, NDArray[np.intp]]:
    """Effect on (DᵀEc, cᵀEc − σ²E₀₀) of one unit of noise in each entry of the upper triangle, and the class of each entry."""
    c, d = statistics.residuals.mean(axis=0), statistics.directions
    i, j = np.triu_indices(len(c))
    once = np.where(i == j, 0.5, 1.0)
    along = once[:, None] * (d[i] * c[j][:, None] + d[j] * c[i][:, None])
    squares = 2.0 * once * c[i] * c[j]
    squares[0] -= float(statistics.variances.mean())
    classes = np.where(i != j, 0, 1)
    classes[0] = 2
    return np.column_stack([along, squares]), classes.astype(np.intp)
