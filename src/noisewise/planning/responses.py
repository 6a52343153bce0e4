"""How a planned response depends on its linear predictor η: its moments as a table holds them, draws, and information.

A table holds a response within its bounds: a number is clipped, a count is cut off. Two levels are −1 and +1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.errors import DeclarationError
from noisewise.planning.assumptions import Shape, Shares, clipped_moments

Array: TypeAlias = npt.NDArray[np.float64]


class ResponseLaw(ABC):
    """The conditional distribution of a response."""

    @abstractmethod
    def moments(self, eta: Array) -> tuple[Array, Array]:
        """Mean and mean square of what the table holds."""

    @abstractmethod
    def draw(self, eta: Array, random: np.random.Generator) -> Array:
        """One response for each η, as the table holds it."""

    @abstractmethod
    def information(self, eta: Array) -> Array:
        """Fisher's information about η of one row that was not clipped."""

    @abstractmethod
    def mean(self, eta: Array) -> Array:
        """The mean of the response before it is clipped, coded as the family codes it."""

    @abstractmethod
    def clipped(self, eta: Array) -> Array:
        """The probability that a response lies beyond the bounds."""


@dataclass(frozen=True)
class NormalResponse(ResponseLaw):
    """A number with normal errors, clipped to its bounds."""

    sigma: float
    lower: float
    upper: float

    def moments(self, eta: Array) -> tuple[Array, Array]:
        return clipped_moments(eta, self.sigma, self.lower, self.upper)

    def draw(self, eta: Array, random: np.random.Generator) -> Array:
        return np.clip(eta + self.sigma * random.normal(size=eta.shape), self.lower, self.upper)

    def information(self, eta: Array) -> Array:
        return np.full_like(eta, self.sigma**-2)

    def mean(self, eta: Array) -> Array:
        return eta

    def clipped(self, eta: Array) -> Array:
        from scipy.special import ndtr

        return np.asarray(ndtr((self.lower - eta) / self.sigma) + ndtr((eta - self.upper) / self.sigma))


@dataclass(frozen=True)
class TwoLevels(ResponseLaw):
    """Two levels, by the logistic or the probit link."""

    link: str

    def mean(self, eta: Array) -> Array:
        from scipy.special import expit, ndtr

        return np.asarray(expit(eta) if self.link == "logistic" else ndtr(eta))

    def moments(self, eta: Array) -> tuple[Array, Array]:
        return 2 * self.mean(eta) - 1, np.ones_like(eta)

    def draw(self, eta: Array, random: np.random.Generator) -> Array:
        return np.where(random.random(eta.shape) < self.mean(eta), 1.0, -1.0)

    def information(self, eta: Array) -> Array:
        p = self.mean(eta)
        slope = p * (1 - p) if self.link == "logistic" else np.exp(-0.5 * eta**2) / np.sqrt(2 * np.pi)
        return np.asarray(slope**2 / (p * (1 - p)))

    def clipped(self, eta: Array) -> Array:
        return np.zeros_like(eta)


@dataclass(frozen=True)
class Count(ResponseLaw):
    """A Poisson count with mean exp(η), cut off at the largest declared one."""

    largest: float

    def mean(self, eta: Array) -> Array:
        return np.exp(eta)

    def moments(self, eta: Array) -> tuple[Array, Array]:
        """From E[Y; Y < K] = λ P(Y < K − 1) and E[Y(Y − 1); Y < K] = λ² P(Y < K − 2)."""
        from scipy.stats import poisson

        rate, most = np.exp(eta), self.largest
        beyond = poisson.sf(most - 1, rate)
        first = rate * poisson.cdf(most - 2, rate)
        return first + most * beyond, first + rate**2 * poisson.cdf(most - 3, rate) + most**2 * beyond

    def draw(self, eta: Array, random: np.random.Generator) -> Array:
        return np.minimum(random.poisson(np.exp(eta)), self.largest).astype(float)

    def information(self, eta: Array) -> Array:
        return np.exp(eta)

    def clipped(self, eta: Array) -> Array:
        from scipy.stats import poisson

        return np.asarray(poisson.sf(self.largest, np.exp(eta)))


def response_law(family: str, assumed: Shape | Shares, sigma: float | None) -> tuple[ResponseLaw, float]:
    """The law of the response, and its mean (the share of the second level) in all rows together."""
    if family != "gaussian" and sigma is not None:
        raise DeclarationError("only a linear regression has a residual standard deviation", found=f"sigma={sigma!r}",
                               remedy="leave sigma out")
    if isinstance(assumed, Shares):
        if family == "gaussian" or family == "poisson" or len(assumed.shares) != 2:
            raise DeclarationError(f"the response of a {family} regression is planned as a number",
                                   found=f"'{assumed.column.name}', a category",
                                   remedy='give family="logistic" for a response with two levels')
        return TwoLevels(family), assumed.shares[1]
    if family in ("logistic", "probit"):
        raise DeclarationError(f"the response of a {family} regression has two levels",
                               found=f"'{assumed.column.name}', a number")
    if family == "poisson":
        return Count(float(assumed.column.upper)), assumed.mean
    spread = assumed.sd if sigma is None else sigma
    if isinstance(spread, bool) or not isinstance(spread, (int, float)) or not 0 < spread < float("inf"):
        raise DeclarationError("sigma, the residual standard deviation, is a positive number", found=repr(sigma))
    return NormalResponse(float(spread), float(assumed.column.lower), float(assumed.column.upper)), assumed.mean
