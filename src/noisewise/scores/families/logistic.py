"""Logistic regression: P(second level) = 1 / (1 + e^−η)."""

from __future__ import annotations

from typing import ClassVar

from noisewise.arrays import Array
from noisewise.scores.families.family import Moments, TwoLevels


class Logistic(TwoLevels):
    """Two levels, logistic link."""

    name: ClassVar[str] = "logistic"
    estimand: ClassVar[str] = "log odds of the second level"
    intercept_sd: ClassVar[float] = 2.5
    slope_sd: ClassVar[float] = 2.5
    REACH: ClassVar[float] = 16.0

    def moments(self, eta: Array, low: Array, high: Array, scale: float) -> Moments:
        """Mean m = 1/(1 + e^−η), slope m (1 − m)."""
        from scipy.special import expit

        mean = expit(eta)
        return Moments(mean, mean * expit(-eta), mean)


FAMILY = Logistic()
