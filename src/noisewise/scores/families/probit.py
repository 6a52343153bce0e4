"""Probit regression: P(second level) = Φ(η)."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from noisewise.arrays import Array
from noisewise.scores.families.family import Moments, TwoLevels


class Probit(TwoLevels):
    """Two levels, probit link."""

    name: ClassVar[str] = "probit"
    estimand: ClassVar[str] = "normal quantile of the probability of the second level"
    intercept_sd: ClassVar[float] = 1.5
    slope_sd: ClassVar[float] = 1.5
    REACH: ClassVar[float] = 6.0
    SLOPE: ClassVar[float] = 0.6

    def moments(self, eta: Array, low: Array, high: Array, scale: float) -> Moments:
        """Mean Φ(η), slope φ(η)."""
        from scipy.special import ndtr

        mean = ndtr(eta)
        return Moments(mean, np.exp(-(eta**2) / 2) / math.sqrt(2 * math.pi), mean)

    def factor(self, eta: Array, scale: float) -> Array:
        """φ / (Φ (1 − Φ))."""
        from scipy.special import ndtr

        density = np.exp(-(eta**2) / 2) / math.sqrt(2 * math.pi)
        return density / np.maximum(ndtr(eta) * ndtr(-eta), 1e-300)


FAMILY = Probit()
