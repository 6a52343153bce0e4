"""Negative binomial regression: a count with mean e^η and variance μ + α μ²; the scale is the dispersion α."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from noisewise.arrays import Array
from noisewise.scores.families.family import Moments
from noisewise.scores.families.poisson import Counts


class NegativeBinomial(Counts):
    """A count with more variance than Poisson's."""

    name: ClassVar[str] = "negative-binomial"
    estimand: ClassVar[str] = "log rate of events"
    scaled: ClassVar[bool] = True

    def variance(self, mean: Array, scale: float) -> Array:
        """μ + α μ²."""
        return mean + scale * mean**2

    def factor(self, eta: Array, scale: float) -> Array:
        """1 / (1 + α μ)."""
        return 1.0 / (1.0 + scale * np.exp(eta))

    def capped(self, eta: Array, cap: Array, scale: float) -> Moments:
        """The moments of min(Y, h): E[Y; Y < h] = μ P(Y⁺ ≤ h−2) with one more success in Y⁺, and so on.

        By μ, the mean of min(Y, h) = Σ_{t<h} 1(Y > t) grows at the rate Σ_{t<h} P(Y⁺ = t) = P(Y⁺ ≤ h−1).
        """
        from scipy.special import betainc

        size = 1.0 / scale
        mu = np.exp(np.minimum(eta, 50.0))
        chance = size / (size + mu)

        def at_most(lag: float, more: float) -> Array:
            return np.where(cap >= lag, betainc(size + more, np.maximum(cap - lag, 0.0) + 1.0, chance), 0.0)

        above = cap * (1.0 - at_most(1.0, 0.0))
        first = mu * at_most(2.0, 1.0)
        second = mu**2 * (1.0 + scale) * at_most(3.0, 2.0)
        # d P(Y > t)/dμ = P(Y⁺ = t), so the slope by η is μ P(Y⁺ ≤ h−1).
        return Moments(first + above, mu * at_most(1.0, 1.0), second + first + cap * above)

    def first_scale(self, bounds: tuple[float, float], mean: float, variance: float) -> float:
        """Half of the excess variance, as if predictors explained the rest."""
        mean = max(mean, 0.1)
        return float(np.clip(0.5 * (variance - mean) / mean**2, 0.05, 2.0))

    def scale_prior(self, scales: Array, bounds: tuple[float, float]) -> Array:
        """Half-normal with scale 1.5."""
        return np.log(scales) - 0.5 * (scales / 1.5) ** 2

    def scales(self, bounds: tuple[float, float]) -> Array:
        """From almost none to that of few events in few rows."""
        return np.geomspace(0.01, 8.0, 41)


FAMILY = NegativeBinomial()
