"""The families: the distribution of one row, clipped to its bounds, and a conjugate prior.

Every family has a grid from the lower to the upper bound: 0 and 1, counts, or 2048 steps for numbers (each grid point represents
the numbers nearest to it, which makes the variance too large by a twelfth of a squared step).

A parameter is transformed to an unbounded z: log odds, log rate, log mean, mean. The released sums of a normal column depend on
its mean and standard deviation after clipping (`clipped_normal`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.words import leave_out, option

STEPS: Final = 2048
MOST_COUNTS: Final = 2**13


@dataclass(frozen=True)
class Family(ABC):
    """One family for a column with these bounds, with the two numbers of its conjugate prior."""

    name: ClassVar[str]
    term: ClassVar[str]
    prior_words: ClassVar[str]
    whole: ClassVar[bool] = False
    """True if rows are whole numbers, so that the grid is exact."""
    lower: float
    upper: float
    prior: tuple[float, float]

    @property
    def steps(self) -> int:
        """The number of steps from the lower to the upper bound."""
        return STEPS

    @property
    def step(self) -> float:
        """The length of a step, in the units of the bounds."""
        return (self.upper - self.lower) / self.steps

    @property
    def values(self) -> Array:
        """The possible values of a row."""
        return np.linspace(self.lower, self.upper, self.steps + 1)

    def theta(self, z: Array) -> Array:
        """The parameter in the user's units: by default z is its logarithm."""
        return np.asarray(np.exp(z))

    @abstractmethod
    def reach(self) -> tuple[float, float]:
        """The range of z."""

    @abstractmethod
    def log_prior(self, z: Array) -> Array:
        """The log density of z, up to a constant."""

    @abstractmethod
    def below(self, theta: Array, ends: Array) -> Array:
        """P(row ≤ end), before clipping: (theta, ends)."""

    def pmf(self, theta: Array) -> Array:
        """The probabilities of ``values``: (theta, values). What lies outside the bounds counts at the bounds."""
        middle = (self.values[1:] + self.values[:-1]) / 2.0
        between = np.zeros((len(theta), self.steps + 2))
        between[:, -1] = 1.0
        between[:, 1:-1] = self.below(theta, middle)
        return np.asarray(np.diff(between, axis=1))


class Bernoulli(Family):
    """A proportion, with a Beta prior."""

    name = "bernoulli"
    term = "proportion"
    prior_words = "the two numbers of a Beta prior for the proportion, for example (1, 1)"
    whole = True

    @property
    def steps(self) -> int:
        """One step: a row is 0 or 1."""
        return 1

    def theta(self, z: Array) -> Array:
        """The proportion with log odds z."""
        return np.asarray(1.0 / (1.0 + np.exp(-z)))

    def reach(self) -> tuple[float, float]:
        """Log odds from −30 to 30."""
        return -30.0, 30.0

    def log_prior(self, z: Array) -> Array:
        """The log density of the log odds of a Beta variable."""
        a, b = self.prior
        return np.asarray(-a * np.logaddexp(0.0, -z) - b * np.logaddexp(0.0, z))

    def below(self, theta: Array, ends: Array) -> Array:
        """The probability of 0; ends must lie between 0 and 1."""
        return np.asarray(1.0 - theta[:, None] + 0.0 * ends)


class Poisson(Family):
    """A rate, with a Gamma prior: shape and rate."""

    name = "poisson"
    term = "rate"
    prior_words = "shape and rate of a Gamma prior for the rate, for example (0.5, 0.1)"
    whole = True

    @property
    def steps(self) -> int:
        """The largest count: rows are 0, 1, 2 and so on."""
        return int(self.upper)

    def reach(self) -> tuple[float, float]:
        """Log rates, as far up as the prior allows."""
        return float(np.log(self.upper) - 30.0), float(np.log((self.prior[0] + 50.0) / self.prior[1]))

    def log_prior(self, z: Array) -> Array:
        """The log density of the logarithm of a Gamma variable."""
        return np.asarray(self.prior[0] * z - self.prior[1] * np.exp(z))

    def below(self, theta: Array, ends: Array) -> Array:
        """The Poisson distribution function; ends are rounded down."""
        from scipy.special import gammaincc

        return np.asarray(gammaincc(np.floor(ends) + 1.0, theta[:, None]))


class Exponential(Family):
    """The mean of an exponential distribution; its inverse has a Gamma prior: shape and rate."""

    name = "exponential"
    term = "mean"
    prior_words = "shape and rate of a Gamma prior for one over the mean, for example (0.5, 0.1)"

    def reach(self) -> tuple[float, float]:
        """Log means within 20 of the logarithm of the upper bound."""
        middle = float(np.log(self.upper))
        return middle - 20.0, middle + 20.0

    def log_prior(self, z: Array) -> Array:
        """The log density of the logarithm of an inverse Gamma variable."""
        return np.asarray(-self.prior[0] * z - self.prior[1] * np.exp(-z))

    def below(self, theta: Array, ends: Array) -> Array:
        """The exponential distribution function at ends that are not negative."""
        return np.asarray(-np.expm1(-ends / theta[:, None]))


@dataclass(frozen=True)
class Normal(Family):
    """The mean of a normal distribution with known standard deviation; its prior is normal: mean and standard deviation."""

    name = "normal"
    term = "mean"
    prior_words = "mean and standard deviation of a normal prior for the mean"
    sigma: float

    def theta(self, z: Array) -> Array:
        """The mean: z itself."""
        return np.asarray(z)

    def reach(self) -> tuple[float, float]:
        """The prior's mean, give or take 12 of its standard deviations."""
        return self.prior[0] - 12.0 * self.prior[1], self.prior[0] + 12.0 * self.prior[1]

    def log_prior(self, z: Array) -> Array:
        """The log density of the normal prior."""
        return np.asarray(-0.5 * ((z - self.prior[0]) / self.prior[1]) ** 2)

    def below(self, theta: Array, ends: Array) -> Array:
        """The normal distribution function with standard deviation ``sigma``."""
        from scipy.special import ndtr

        return np.asarray(ndtr((ends - theta[:, None]) / self.sigma))


def clipped_normal(mean: Array, sd: Array | float, lower: float, upper: float) -> tuple[Array, Array]:
    """Mean and standard deviation of clip(X, lower, upper) for X ~ N(mean, sd²).

    >>> clipped = clipped_normal(np.array([0.0, 50.0]), 1.0, 0.0, 100.0)
    >>> np.round(clipped, 4).tolist()
    [[0.3989, 50.0], [0.5838, 1.0]]
    """
    from scipy.special import ndtr

    a, b = (lower - mean) / sd, (upper - mean) / sd
    at_lower, at_upper = ndtr(a), ndtr(-b)
    density_a, density_b = (np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi) for z in (a, b))
    inside = 1.0 - at_lower - at_upper
    # X and what clipping adds at the lower bound and takes away at the upper one
    centre = np.clip(mean + sd * (a * at_lower + density_a + b * at_upper - density_b), lower, upper)
    off = mean - centre
    variance = ((lower - centre) ** 2 * at_lower + (upper - centre) ** 2 * at_upper + (off**2 + sd**2) * inside
                + 2.0 * off * sd * (density_a - density_b) + sd**2 * (a * density_a - b * density_b))
    return np.asarray(centre), np.asarray(np.sqrt(np.maximum(variance, 0.0)))


FAMILIES: Final = ("bernoulli", "poisson", "exponential", "normal")


def family_for(name: str, bounds: tuple[float, float], *, categorical: bool, prior: Any = None,
               sigma: float | None = None) -> Family:
    """Return the family of a column with these bounds, or refuse it with a reason. The default priors are weak and depend on the
    bounds only."""
    lower, upper = bounds
    if name not in FAMILIES:
        raise FitError("unknown family of a sum", argument="family", found=repr(name), known=FAMILIES)
    if sigma is not None and name != "normal":
        raise FitError("only a normal column has a sigma", argument="sigma", found=f"family {name!r}", remedy=leave_out("sigma"))
    if categorical and name != "bernoulli":
        raise FitError("a column with levels requires family bernoulli", argument="family", found=f"family {name!r}",
                       remedy="give " + option("family", "bernoulli"))
    if name == "bernoulli":
        _require(bounds == (0.0, 1.0), "a proportion requires a level, or a column with bounds 0 and 1", bounds)
        return Bernoulli(lower, upper, prior_numbers(prior, (1.0, 1.0), Bernoulli))
    if name == "poisson":
        _require(lower == 0 and float(upper).is_integer() and upper <= MOST_COUNTS,
                 f"a count requires bounds from 0 to a whole number of at most {MOST_COUNTS}", bounds)
        return Poisson(lower, upper, prior_numbers(prior, (0.5, 1.0 / upper), Poisson))
    if name == "exponential":
        _require(lower == 0, "an exponential distribution requires bounds from 0", bounds)
        return Exponential(lower, upper, prior_numbers(prior, (0.5, 0.005 * upper), Exponential))
    if sigma is None or not (np.isfinite(sigma) and sigma > 0):
        raise FitError("sigma must be > 0", found=repr(sigma))
    return Normal(lower, upper, prior_numbers(prior, ((lower + upper) / 2.0, (upper - lower) / 2.0), Normal), sigma=float(sigma))


def _require(holds: bool, rule: str, bounds: tuple[float, float]) -> None:
    if not holds:
        raise FitError(rule, found=f"bounds [{bounds[0]:g}, {bounds[1]:g}]", remedy="choose another family")


def prior_numbers(given: Any, default: tuple[float, float], family: type[Family]) -> tuple[float, float]:
    """Return the two numbers of a family's prior: the given ones or the defaults."""
    if given is None:
        return default
    try:
        first, second = (float(number) for number in given)
    except (TypeError, ValueError):
        first = second = np.nan
    positive = second > 0 and (first > 0 or family is Normal)
    if not (np.isfinite([first, second]).all() and positive):
        raise FitError(f"the prior must be {family.prior_words}", found=repr(given))
    return first, second
