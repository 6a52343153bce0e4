"""The noise that mechanisms promise, as the law of one number: its quantiles, and the epsilon of a distance in its units."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from noisewise.audits.lower_bounds import largest
from noisewise.privacy.accounting import gaussian_epsilon


class Law(ABC):
    """Noise of one unit, symmetric by default, and the epsilon of a distance in that unit."""

    @property
    def clearest(self) -> float:
        """The distance between two tables at which errors are rare enough to be informative and frequent enough to count."""
        return 3.0

    @abstractmethod
    def isf(self, probability: float) -> float:
        """The value that the noise exceeds with this probability."""

    def ppf(self, probability: float) -> float:
        """The value that the noise falls below with this probability."""
        return -self.isf(probability)

    @abstractmethod
    def epsilon(self, distance: float, delta: float) -> float:
        """The epsilon, at this delta, of a mechanism whose neighbours can be this far apart."""


@dataclass(frozen=True)
class Gaussian(Law):
    """The unit is the standard deviation, so distances are the μ of Gaussian differential privacy."""

    def isf(self, probability: float) -> float:
        """The upper quantile of a standard normal variable."""
        from scipy.special import ndtri

        return -float(ndtri(probability))

    def epsilon(self, distance: float, delta: float) -> float:
        """The epsilon of the Gaussian mechanism, rounded up; 0 at distance 0."""
        return gaussian_epsilon(1 / distance, delta) if distance > 0 else 0.0


@dataclass(frozen=True)
class Laplace(Law):
    """The unit is the scale, so distances in the L1 norm are epsilons. Delta is not used."""

    def isf(self, probability: float) -> float:
        """The upper quantile of a Laplace variable of scale 1."""
        return -math.log(2 * probability) if probability < 0.5 else math.log(2 * (1 - probability))

    def epsilon(self, distance: float, delta: float) -> float:
        """The distance itself, whatever delta."""
        return distance


@dataclass(frozen=True)
class LaplaceSum(Laplace):
    """The sum of several independent Laplace variables; the unit is the scale of one of them.

    On each side it is a mixture of gamma variables of shape k − j with weight C(k − 1 + j, j)/2^(k + j), j = 0 … k − 1.
    """

    terms: int

    def isf(self, probability: float) -> float:
        """Bisect: the tail probability is decreasing."""
        if probability > 0.5:
            return -self.isf(1 - probability)
        low, high = 0.0, 1.0
        while self._beyond(high) > probability:
            low, high = high, 2 * high
        while low < (middle := (low + high) / 2) < high:
            low, high = (middle, high) if self._beyond(middle) > probability else (low, middle)
        return high

    def _beyond(self, value: float) -> float:
        import numpy as np
        from scipy.special import gammaincc, gammaln

        place = np.arange(self.terms)
        log_weights = gammaln(self.terms + place) - gammaln(self.terms) - gammaln(place + 1) - (self.terms + place) * math.log(2)
        return float(np.exp(log_weights) @ gammaincc(self.terms - place, value))


@dataclass(frozen=True)
class Wishart(Law):
    """xᵀ(N − E N)x of a Wishart matrix, for x of length 1. The unit is its scale; an added row moves it by at most one unit.

    Attributes:
        degrees: degrees of freedom of the Wishart matrix; the noise is a chi-square variable of these, minus its mean.
        size: columns of the matrix.
        replaced: True if neighbours differ by a replaced row. Then there is no simple law; epsilon is that of one number only.
        share: how far a replaced row can move such a number, as a share of the unit.
    """

    degrees: int
    size: int
    replaced: bool
    share: float = 1.0

    def ppf(self, probability: float) -> float:
        """The lower quantile of a centred chi-square variable."""
        from scipy.special import gammaincinv

        return float(2 * gammaincinv(self.degrees / 2, probability)) - self.degrees

    def isf(self, probability: float) -> float:
        """The upper quantile of a centred chi-square variable."""
        from scipy.special import gammainccinv

        return float(2 * gammainccinv(self.degrees / 2, probability)) - self.degrees

    @property
    def clearest(self) -> float:
        """Three standard deviations of the noise, in units of its scale."""
        return 3.0 * math.sqrt(2 * self.degrees)

    def epsilon(self, distance: float, delta: float) -> float:
        """Exact for an added row (V2 of wishart.md), a lower bound for a replaced one."""
        import numpy as np

        from noisewise.privacy.mechanisms.wishart import shifted_down, shifted_up

        shape = (self.degrees if self.replaced else self.degrees - self.size + 1) / 2
        shift = np.full(1, distance * self.share)

        def spent(epsilon: float) -> float:
            loss = np.full(1, epsilon)
            return float(max(shifted_up(loss, shift, shape)[0], shifted_down(loss, shift, shape)[0]))

        return largest(lambda epsilon: spent(epsilon) > delta, precision=1e-9) if distance > 0 else 0.0
