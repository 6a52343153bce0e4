"""The families: the law of one row as the release has it, clipped to its bounds, and a conjugate prior.

Every family lives on a grid from the lower to the upper bound: 0 and 1, counts, or 2048 steps for numbers (then each number
stands for those nearest to it, whose variance is too large by a twelfth of a squared step).

A parameter is handled as z, which is any number: log odds, log rate, log mean, mean.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError

Array = npt.NDArray[np.float64]

STEPS: Final = 2048
MOST_COUNTS: Final = 2**13


@dataclass(frozen=True)
class Family(ABC):
    """One family for a column with these bounds, with the two numbers of its conjugate prior."""

    name: ClassVar[str]
    term: ClassVar[str]
    prior_words: ClassVar[str]
    whole: ClassVar[bool] = False
    """Whether rows are whole numbers, so that the grid is theirs."""
    lower: float
    upper: float
    prior: tuple[float, float]

    @property
    def steps(self) -> int:
        return STEPS

    @property
    def step(self) -> float:
        return (self.upper - self.lower) / self.steps

    @property
    def values(self) -> Array:
        """What a row can be."""
        return np.linspace(self.lower, self.upper, self.steps + 1)

    @abstractmethod
    def theta(self, z: Array) -> Array:
        """The parameter in the user's units."""

    @abstractmethod
    def reach(self) -> tuple[float, float]:
        """Where z can be."""

    @abstractmethod
    def log_prior(self, z: Array) -> Array:
        """The log density of z, up to a constant."""

    @abstractmethod
    def below(self, theta: Array, ends: Array) -> Array:
        """P(row ≤ end), before clipping: (theta, ends)."""

    def pmf(self, theta: Array) -> Array:
        """The probabilities of ``values``: (theta, values). What lies outside the bounds is at the bounds."""
        middle = (self.values[1:] + self.values[:-1]) / 2.0
        between = np.zeros((len(theta), self.steps + 2))
        between[:, -1] = 1.0
        between[:, 1:-1] = self.below(theta, middle)
        return np.asarray(np.diff(between, axis=1))

    @abstractmethod
    def update(self, total: Array, rows: float, rng: np.random.Generator) -> Array:
        """The parameter given the sum of all rows: a draw from the conjugate posterior, where no row was clipped."""

    @abstractmethod
    def plain_moments(self, theta: Array) -> tuple[Array, Array]:
        """Mean and variance of a row that is not clipped."""

    @abstractmethod
    def possible(self, rows: float) -> tuple[float, float]:
        """The least and the largest sum of so many rows that the conjugate update can take."""


class Bernoulli(Family):
    """A proportion, with a Beta prior."""

    name = "bernoulli"
    term = "proportion"
    prior_words = "the two numbers of a Beta prior of the proportion, for example (1, 1)"
    whole = True

    @property
    def steps(self) -> int:
        return 1

    def theta(self, z: Array) -> Array:
        return np.asarray(1.0 / (1.0 + np.exp(-z)))

    def reach(self) -> tuple[float, float]:
        return -30.0, 30.0

    def log_prior(self, z: Array) -> Array:
        a, b = self.prior
        return np.asarray(-a * np.logaddexp(0.0, -z) - b * np.logaddexp(0.0, z))

    def below(self, theta: Array, ends: Array) -> Array:
        return np.asarray(1.0 - theta[:, None] + 0.0 * ends)

    def update(self, total: Array, rows: float, rng: np.random.Generator) -> Array:
        return rng.beta(self.prior[0] + total, self.prior[1] + rows - total)

    def plain_moments(self, theta: Array) -> tuple[Array, Array]:
        return theta, theta * (1.0 - theta)

    def possible(self, rows: float) -> tuple[float, float]:
        return 0.0, rows


class Poisson(Family):
    """A rate, with a Gamma prior: shape and rate."""

    name = "poisson"
    term = "rate"
    prior_words = "shape and rate of a Gamma prior of the rate, for example (0.5, 0.1)"
    whole = True

    @property
    def steps(self) -> int:
        return int(self.upper)

    def theta(self, z: Array) -> Array:
        return np.asarray(np.exp(z))

    def reach(self) -> tuple[float, float]:
        return float(np.log(self.upper) - 30.0), float(np.log((self.prior[0] + 50.0) / self.prior[1]))

    def log_prior(self, z: Array) -> Array:
        return np.asarray(self.prior[0] * z - self.prior[1] * np.exp(z))

    def below(self, theta: Array, ends: Array) -> Array:
        from scipy.special import gammaincc

        return np.asarray(gammaincc(np.floor(ends) + 1.0, theta[:, None]))

    def update(self, total: Array, rows: float, rng: np.random.Generator) -> Array:
        return rng.gamma(self.prior[0] + total) / (self.prior[1] + rows)

    def plain_moments(self, theta: Array) -> tuple[Array, Array]:
        return theta, theta

    def possible(self, rows: float) -> tuple[float, float]:
        return 0.0, np.inf


class Exponential(Family):
    """The mean of an exponential distribution; its inverse has a Gamma prior: shape and rate."""

    name = "exponential"
    term = "mean"
    prior_words = "shape and rate of a Gamma prior of one over the mean, for example (0.5, 0.1)"

    def theta(self, z: Array) -> Array:
        return np.asarray(np.exp(z))

    def reach(self) -> tuple[float, float]:
        middle = float(np.log(self.upper))
        return middle - 20.0, middle + 20.0

    def log_prior(self, z: Array) -> Array:
        return np.asarray(-self.prior[0] * z - self.prior[1] * np.exp(-z))

    def below(self, theta: Array, ends: Array) -> Array:
        return np.asarray(-np.expm1(-ends / theta[:, None]))

    def update(self, total: Array, rows: float, rng: np.random.Generator) -> Array:
        return np.asarray((self.prior[1] + total) / rng.gamma(self.prior[0] + rows, size=np.shape(total)))

    def plain_moments(self, theta: Array) -> tuple[Array, Array]:
        return theta, theta**2

    def possible(self, rows: float) -> tuple[float, float]:
        return 0.0, np.inf


@dataclass(frozen=True)
class Normal(Family):
    """The mean of a normal distribution with known standard deviation; its prior is normal: mean and standard deviation."""

    name = "normal"
    term = "mean"
    prior_words = "mean and standard deviation of a normal prior of the mean"
    sigma: float

    def theta(self, z: Array) -> Array:
        return np.asarray(z)

    def reach(self) -> tuple[float, float]:
        return self.prior[0] - 12.0 * self.prior[1], self.prior[0] + 12.0 * self.prior[1]

    def log_prior(self, z: Array) -> Array:
        return np.asarray(-0.5 * ((z - self.prior[0]) / self.prior[1]) ** 2)

    def below(self, theta: Array, ends: Array) -> Array:
        from scipy.special import ndtr

        return np.asarray(ndtr((ends - theta[:, None]) / self.sigma))

    def update(self, total: Array, rows: float, rng: np.random.Generator) -> Array:
        precision = rows / self.sigma**2 + 1.0 / self.prior[1] ** 2
        mean = (total / self.sigma**2 + self.prior[0] / self.prior[1] ** 2) / precision
        return np.asarray(mean + rng.normal(size=np.shape(total)) / np.sqrt(precision))

    def plain_moments(self, theta: Array) -> tuple[Array, Array]:
        return theta, np.full_like(theta, self.sigma**2)

    def possible(self, rows: float) -> tuple[float, float]:
        return -np.inf, np.inf


FAMILIES: Final = ("bernoulli", "poisson", "exponential", "normal")


def family_for(name: str, bounds: tuple[float, float], *, categorical: bool, prior: Any = None,
               sigma: float | None = None) -> Family:
    """The family of a column with these bounds, or words why it cannot have it. The default priors are weak, and depend on the
    bounds only."""
    lower, upper = bounds
    if name not in FAMILIES:
        raise FitError("the family of a sum is not known", found=repr(name), remedy="known are " + ", ".join(FAMILIES))
    if sigma is not None and name != "normal":
        raise FitError("only a normal column has a sigma", found=f"family {name!r}", remedy="leave sigma out")
    if categorical and name != "bernoulli":
        raise FitError("a column with levels has proportions", found=f"family {name!r}", remedy='give family="bernoulli"')
    if name == "bernoulli":
        _require(bounds == (0.0, 1.0), "a proportion is that of a level, or of a column with bounds 0 and 1", bounds)
        return Bernoulli(lower, upper, _prior(prior, (1.0, 1.0), Bernoulli))
    if name == "poisson":
        _require(lower == 0 and float(upper).is_integer() and upper <= MOST_COUNTS,
                 f"a count has bounds from 0 to a whole number of at most {MOST_COUNTS}", bounds)
        return Poisson(lower, upper, _prior(prior, (0.5, 1.0 / upper), Poisson))
    if name == "exponential":
        _require(lower == 0, "a column with an exponential distribution has bounds from 0", bounds)
        return Exponential(lower, upper, _prior(prior, (0.5, 0.005 * upper), Exponential))
    if sigma is None or not (np.isfinite(sigma) and sigma > 0):
        raise FitError("sigma is a positive number", found=repr(sigma))
    return Normal(lower, upper, _prior(prior, ((lower + upper) / 2.0, (upper - lower) / 2.0), Normal), sigma=float(sigma))


def _require(holds: bool, rule: str, bounds: tuple[float, float]) -> None:
    if not holds:
        raise FitError(rule, found=f"bounds [{bounds[0]:g}, {bounds[1]:g}]", remedy="choose another family")


def _prior(given: Any, default: tuple[float, float], family: type[Family]) -> tuple[float, float]:
    if given is None:
        return default
    try:
        first, second = (float(number) for number in given)
    except (TypeError, ValueError):
        first = second = np.nan
    positive = second > 0 and (first > 0 or family is Normal)
    if not (np.isfinite([first, second]).all() and positive):
        raise FitError(f"the prior is {family.prior_words}", found=repr(given))
    return first, second
