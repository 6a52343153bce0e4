"""Poisson regression: a count with mean e^η. Other counts with a log link share its grid."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from noisewise.arrays import Array
from noisewise.scores.families.curves import Curves
from noisewise.scores.families.family import Curve, Family, Moments, Response

LOWEST = -8.0
"""η below this counts as this: one event in 3000 rows."""
ABOVE = 1.5
"""η counts up to this far above the log of the largest declared count."""
REACH = 2.5
"""Counts are clipped this many standard deviations from their mean, and one."""


class Counts(Family):
    """A count with a log link."""

    response: ClassVar[Response] = "count"
    clipped: ClassVar[str] = "; counts far from their mean count as nearer ones"
    intercept_sd: ClassVar[float] = 2.5
    slope_sd: ClassVar[float] = 1.5

    def first_eta(self, mean: float, variance: float) -> float:
        """The middle of linear predictors that vary as much as the counts' variance says."""
        excess = min(max(variance - mean, 0.1 * mean**2), 10.0 * mean**2)
        return float(np.log(mean) - 0.5 * np.log1p(excess / mean**2))

    def variance(self, mean: Array, scale: float) -> Array:
        """The variance of a count with this mean."""
        return mean

    def grid(self, bounds: tuple[float, float], scale: float) -> tuple[float, float, int]:
        """Nodes up to a mean above the largest count."""
        step = 2.0**-9
        return LOWEST, step, 1 + math.ceil((math.log(bounds[1]) + ABOVE - LOWEST) / step)

    def limits(self, eta: Array, bounds: tuple[float, float], scale: float) -> tuple[Array, Array]:
        """Whole numbers about `REACH` standard deviations from the mean, within the declared bounds."""
        mean = np.exp(eta)
        reach = REACH * np.sqrt(self.variance(mean, scale)) + 1.0
        low = np.clip(np.floor(mean - reach), 0.0, max(bounds[1] - 1.0, 0.0))
        return low, np.clip(np.ceil(mean + reach), low + 1.0, bounds[1])

    def moments(self, eta: Array, low: Array, high: Array, scale: float) -> Moments:
        """From those of min(Y, h) at both limits: max(Y, l) = Y + l − min(Y, l)."""
        upper, lower = self.capped(eta, high, scale), self.capped(eta, low, scale)
        return Moments(upper.mean - lower.mean + low, upper.slope - lower.slope, upper.square - lower.square + low**2)

    def curve(self, low: Array, high: Array, scale: float) -> Curve:
        """Interpolated by cubic polynomials that match mean and slope at nodes: few limits differ, and counts are slow."""
        caps, places = np.unique(np.stack([low, high]), return_inverse=True)
        below, above = places.reshape(2, -1)
        step = min(1.0 / 16.0, 0.25 / math.sqrt(max(float(caps[-1]), 1.0)))
        nodes = np.arange(LOWEST, math.log(max(float(caps[-1]), 1.0)) + ABOVE + 1.0 + step, step)
        found = self.capped(np.broadcast_to(nodes, (len(caps), len(nodes))), caps[:, None], scale)
        # max(Y, low) = Y + low − min(Y, low), clipped above too.
        pairs, which = np.unique(np.stack([below, above]), axis=1, return_inverse=True)
        lower, upper = pairs
        curves = Curves(LOWEST, step, found.mean[upper] - found.mean[lower] + caps[lower, None],
                        found.slope[upper] - found.slope[lower])
        which = which.reshape(-1)
        return lambda eta: curves.at(which, eta)

    @abstractmethod
    def capped(self, eta: Array, cap: Array, scale: float) -> Moments:
        """The moments of min(Y, cap)."""


class Poisson(Counts):
    """A count whose variance is its mean."""

    name: ClassVar[str] = "poisson"
    estimand: ClassVar[str] = "log rate of events"

    def capped(self, eta: Array, cap: Array, scale: float) -> Moments:
        """From the moments below the cap: E[Y; Y < h] = μ P(Y ≤ h−2), E[Y(Y−1); Y < h] = μ² P(Y ≤ h−3)."""
        from scipy.special import pdtr

        mu = np.exp(np.minimum(eta, 50.0))
        one, two, three = (np.where(cap >= lag, pdtr(np.maximum(cap - lag, 0.0), mu), 0.0) for lag in (1.0, 2.0, 3.0))
        above = cap * (1.0 - one)
        return Moments(mu * two + above, mu * one, mu**2 * three + mu * two + cap * above)


FAMILY = Poisson()
