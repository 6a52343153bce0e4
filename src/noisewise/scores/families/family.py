"""A family of regression: the law of the response, given the linear predictor η."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from noisewise.arrays import Array

Response: TypeAlias = Literal["number", "two levels", "count"]


class Moments(NamedTuple):
    """Of a clipped response: its mean, the derivative of the mean by η, and its mean square."""

    mean: Array
    slope: Array
    square: Array


Curve: TypeAlias = Callable[[Array], tuple[Array, Array]]
"""From η, one row for each pair of limits, to the mean of the clipped response and its derivative."""


class Family(ABC):
    """One family of regression.

    ``scale`` is what a response has beside its mean: the standard deviation of a residual, or a dispersion. Families without
    one ignore it.
    """

    name: ClassVar[str]
    response: ClassVar[Response]
    estimand: ClassVar[str]
    """What the coefficients describe, in words."""
    clipped: ClassVar[str] = ""
    """How clipping changes that, in words."""
    even: ClassVar[bool] = False
    """True if every row has the same information, whatever the coefficients."""
    scaled: ClassVar[bool] = False
    """True if the response has an unknown scale."""
    intercept_sd: ClassVar[float]
    slope_sd: ClassVar[float]
    """Prior standard deviations of the linear predictor at average predictors and of the effect of one standard deviation of one.

    If the response is a number, in units of half its declared range and of its standard deviation."""

    @abstractmethod
    def grid(self, bounds: tuple[float, float], scale: float) -> tuple[float, float, int]:
        """The first node of η, the step and the number of nodes, for a response with these declared bounds."""

    @abstractmethod
    def limits(self, eta: Array, bounds: tuple[float, float], scale: float) -> tuple[Array, Array]:
        """To where responses are clipped at each η: a residual far from its mean must not count without limit."""

    @abstractmethod
    def moments(self, eta: Array, low: Array, high: Array, scale: float) -> Moments:
        """The moments of a response at η that is clipped to [low, high]; arrays of one shape."""

    def curve(self, low: Array, high: Array, scale: float) -> Curve:
        """The mean of a response clipped to these limits as a function of η, for many values of η at once."""

        def direct(eta: Array) -> tuple[Array, Array]:
            ends = (low, high) if eta.ndim == 1 else (low[:, None], high[:, None])
            found = self.moments(eta, *ends, scale)
            return found.mean, found.slope

        return direct

    def factor(self, eta: Array, scale: float) -> Array:
        """What a clipped residual is multiplied by in the score: the derivative of the mean over the variance."""
        return np.ones_like(eta)

    @abstractmethod
    def first_eta(self, mean: float, variance: float) -> float:
        """A linear predictor to begin with, from the noisy mean and variance of the response."""

    def first_scale(self, bounds: tuple[float, float], mean: float, variance: float) -> float:
        """A scale to begin with, from the noisy mean and variance of the response."""
        return 1.0

    def unit(self, scale: float) -> float:
        """A change of η that bends the expected score a lot."""
        return 1.0

    def clipping(self, scale: float, unsure: float) -> float:
        """The scale to clip responses for, if linear predictors are still unsure by this much."""
        return scale

    def scale_prior(self, scales: Array, bounds: tuple[float, float]) -> Array:
        """The log prior density of the scale's logarithm, up to a constant."""
        return np.zeros_like(scales)

    def scales(self, bounds: tuple[float, float]) -> Array:
        """Values of the scale to choose from, in ascending order."""
        return np.ones(1)


class TwoLevels(Family):
    """A response with two levels, 0 and 1."""

    response: ClassVar[Response] = "two levels"
    REACH: ClassVar[float]
    """η beyond this counts as this."""
    SLOPE: ClassVar[float] = 1.0
    """About how much η changes with the log odds."""

    def first_eta(self, mean: float, variance: float) -> float:
        """From the log odds of the mean, kept away from the ends."""
        share = float(np.clip(mean, 0.02, 0.98))
        return float(np.log(share / (1 - share))) * self.SLOPE

    def grid(self, bounds: tuple[float, float], scale: float) -> tuple[float, float, int]:
        """Nodes from −REACH to REACH."""
        step = 2.0**-9
        return -self.REACH, step, 1 + round(2 * self.REACH / step)

    def limits(self, eta: Array, bounds: tuple[float, float], scale: float) -> tuple[Array, Array]:
        """No clipping."""
        return np.zeros_like(eta), np.ones_like(eta)
