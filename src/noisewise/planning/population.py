"""Sums of products of hypothetical tables, from assumptions about the columns, for any number of rows.

Predictors are drawn from a fixed pool of well-spread rows (quasi-random normal variables, put through each column's shape).
Their responses are random. The Gram matrix of a table of n rows is simulated from m = min(n, `MOST_DRAWN`) of them as
n·M + √(n/m)·(G − m·M), where G is the matrix of the m rows and M the population's mean. It has the mean and the covariance of
n rows. Up to `MOST_DRAWN` rows it is exact; above, it cannot be told from an exact one, because both are close to normal. It
costs the same for ten million rows as for ten thousand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from noisewise.arrays import Array, Values
from noisewise.checks import is_number
from noisewise.errors import DeclarationError
from noisewise.planning.assumptions import Declared, Shape, Shares, assumed, clipped_moments, correlation_root, origin
from noisewise.schema import Basis, Design
from noisewise.scores.families import FAMILIES as SCORE_FAMILIES
from noisewise.words import leave_out, option

POOL, MOST_DRAWN = 2**14, 4096
INTERCEPT: Final = "Intercept"
CLIPPED_SHARE: Final = 0.01
DISPERSION: Final = 0.5
"""Default dispersion of a negative binomial count."""
COUNTS: Final = ("poisson", "negative-binomial")


class NormalResponse(NamedTuple):
    """A numeric response with normal errors, clipped to its bounds."""

    sigma: float
    lower: float
    upper: float

    @property
    def scale(self) -> float:
        """The standard deviation of the errors."""
        return self.sigma

    def moments(self, eta: Array) -> tuple[Array, Array]:
        """Mean and mean square after clipping."""
        return clipped_moments(eta, self.sigma, self.lower, self.upper)

    def draw(self, eta: Array, random: np.random.Generator) -> Array:
        """Draw a clipped response for each η."""
        return np.clip(eta + self.sigma * random.normal(size=eta.shape), self.lower, self.upper)

    def information(self, eta: Array) -> Array:
        """1/σ², whatever η."""
        return np.full_like(eta, self.sigma**-2)

    def mean(self, eta: Array) -> Array:
        """The mean before clipping: η itself."""
        return eta

    def clipped(self, eta: Array) -> Array:
        """The probability that a response lies beyond either bound."""
        from scipy.special import ndtr

        return np.asarray(ndtr((self.lower - eta) / self.sigma) + ndtr((eta - self.upper) / self.sigma))


class TwoLevels(NamedTuple):
    """A response with two levels, by the logistic or the probit link."""

    link: str

    @property
    def scale(self) -> float:
        """None: 1."""
        return 1.0

    def mean(self, eta: Array) -> Array:
        """The probability of the second level."""
        from scipy.special import expit, ndtr

        return np.asarray(expit(eta) if self.link == "logistic" else ndtr(eta))

    def moments(self, eta: Array) -> tuple[Array, Array]:
        """Mean and mean square of the −1/+1 code; the mean square is 1."""
        return 2 * self.mean(eta) - 1, np.ones_like(eta)

    def draw(self, eta: Array, random: np.random.Generator) -> Array:
        """Draw −1 or +1 for each η."""
        return np.where(random.random(eta.shape) < self.mean(eta), 1.0, -1.0)

    def information(self, eta: Array) -> Array:
        """Squared slope of the link over the variance p(1 − p)."""
        p = self.mean(eta)
        slope = p * (1 - p) if self.link == "logistic" else np.exp(-0.5 * eta**2) / np.sqrt(2 * np.pi)
        return np.asarray(slope**2 / (p * (1 - p)))

    def clipped(self, eta: Array) -> Array:
        """Zeros: a level cannot lie beyond bounds."""
        return np.zeros_like(eta)


class Count(NamedTuple):
    """A Poisson count with mean exp(η), cut off at the largest declared count."""

    largest: float

    @property
    def scale(self) -> float:
        """None: 1."""
        return 1.0

    def mean(self, eta: Array) -> Array:
        """The mean before the cut-off: exp(η)."""
        return np.exp(eta)

    def moments(self, eta: Array) -> tuple[Array, Array]:
        """From E[Y; Y < K] = λ P(Y < K − 1) and E[Y(Y − 1); Y < K] = λ² P(Y < K − 2)."""
        from scipy.stats import poisson

        rate, most = np.exp(eta), self.largest
        beyond = poisson.sf(most - 1, rate)
        first = rate * poisson.cdf(most - 2, rate)
        return first + most * beyond, first + rate**2 * poisson.cdf(most - 3, rate) + most**2 * beyond

    def draw(self, eta: Array, random: np.random.Generator) -> Array:
        """Draw a count for each η, cut off at the largest."""
        return np.minimum(random.poisson(np.exp(eta)), self.largest).astype(float)

    def information(self, eta: Array) -> Array:
        """The Poisson rate exp(η), before the cut-off."""
        return np.exp(eta)

    def clipped(self, eta: Array) -> Array:
        """The probability of a count above the largest."""
        from scipy.stats import poisson

        return np.asarray(poisson.sf(self.largest, np.exp(eta)))


class OverdispersedCount(NamedTuple):
    """A negative binomial count with mean exp(η) and variance μ + dispersion μ², cut off at the largest declared count."""

    largest: float
    dispersion: float

    @property
    def scale(self) -> float:
        """The dispersion."""
        return self.dispersion

    def mean(self, eta: Array) -> Array:
        """The mean before the cut-off: exp(η)."""
        return np.exp(eta)

    def moments(self, eta: Array) -> tuple[Array, Array]:
        """Mean and mean square after the cut-off."""
        found = SCORE_FAMILIES["negative-binomial"].moments(eta, np.zeros_like(eta), np.full_like(eta, self.largest), self.scale)
        return found.mean, found.square

    def draw(self, eta: Array, random: np.random.Generator) -> Array:
        """Draw a count for each η, cut off at the largest: a Poisson count whose mean has a gamma distribution."""
        means = np.exp(eta) * random.gamma(1 / self.dispersion, self.dispersion, eta.shape)
        return np.minimum(random.poisson(means), self.largest).astype(float)

    def information(self, eta: Array) -> Array:
        """μ / (1 + dispersion μ), before the cut-off."""
        mean = np.exp(eta)
        return np.asarray(mean / (1 + self.dispersion * mean))

    def clipped(self, eta: Array) -> Array:
        """The probability of a count above the largest."""
        from scipy.stats import nbinom

        size = 1 / self.dispersion
        return np.asarray(nbinom.sf(self.largest, size, size / (size + np.exp(eta))))


ResponseLaw: TypeAlias = NormalResponse | TwoLevels | Count | OverdispersedCount
"""How a response depends on its linear predictor η.

A table holds the response within its bounds: a number is clipped, a count is cut off, and two levels are −1 and +1. ``mean`` is
the mean before clipping, coded as the family codes it. ``moments`` are mean and mean square of the value in the table, and
``draw`` draws such a value for each η. ``scale`` is what a response has beside its mean. ``information`` is Fisher's information
about η in a row that was not clipped.
``clipped`` is the probability that a response lies beyond the bounds."""


def response_law(family: str, assumed: Shape | Shares, sigma: float | None, dispersion: float | None = None
                 ) -> tuple[ResponseLaw, float]:
    """The law of the response, and its mean (the share of the second level) over all rows."""
    if family != "gaussian" and sigma is not None:
        raise DeclarationError("only a linear regression has a residual standard deviation", argument="sigma",
                               found=option("sigma", sigma), remedy=leave_out("sigma"))
    if family != "negative-binomial" and dispersion is not None:
        raise DeclarationError("only a negative binomial regression has a dispersion", argument="dispersion",
                               found=option("dispersion", dispersion), remedy=leave_out("dispersion"))
    if isinstance(assumed, Shares):
        if family not in ("logistic", "probit") or len(assumed.shares) != 2:
            raise DeclarationError(f"the response of a {family} regression must be a number", argument="family",
                                   found=f"'{assumed.column.name}', a category",
                                   remedy="give " + option("family", "logistic") + " for a response with two levels")
        return TwoLevels(family), assumed.shares[1]
    if family in ("logistic", "probit"):
        raise DeclarationError(f"the response of a {family} regression must have two levels",
                               found=f"'{assumed.column.name}', a number")
    if family == "poisson":
        return Count(float(assumed.column.upper)), assumed.mean
    if family == "negative-binomial":
        spread = DISPERSION if dispersion is None else dispersion
        return OverdispersedCount(float(assumed.column.upper), _positive("dispersion", spread)), assumed.mean
    spread = _positive("sigma, the residual standard deviation,", assumed.sd if sigma is None else sigma)
    return NormalResponse(spread, float(assumed.column.lower), float(assumed.column.upper)), assumed.mean


def _positive(what: str, value: object) -> float:
    if not is_number(value) or not 0 < value < float("inf"):
        raise DeclarationError(f"{what} must be positive and finite", found=repr(value))
    return float(value)


@dataclass(frozen=True)
class Population:
    """Hypothetical rows in scaled units, and the law of their responses."""

    design: Design
    law: ResponseLaw
    columns: tuple[Shape | Shares, ...]
    response: Shape | Shares
    effects: Mapping[str, float]
    """The coefficient of every term, including the intercept, in the user's units."""
    values: Mapping[str, Values]
    """The pool's predictors, in the user's units."""
    rows: Array
    """The pool, shaped (rows, used columns except the response), with the constant first."""
    eta: Array
    used: tuple[int, ...]
    position: int
    """The index of the response among the released columns."""

    @classmethod
    def of(cls, formula: str, basis: Basis, terms: str | None, family: str, effects: Mapping[str, float], sigma: float | None,
           declared: Declared, correlations: Mapping[tuple[str, str], float], dispersion: float | None = None) -> Population:
        """Build the pool and the response's law; refuse a schema with norm_bound, and effects of terms not in the formula."""
        design = Design.of(formula, basis, terms)
        if basis.norm_clipped:
            raise DeclarationError("a plan cannot simulate a bound on the norm of a row",
                                   found=f"norm_bound {basis.schema.norm_bound}", remedy="plan with a schema without norm_bound")
        *columns, response = assumed(design, declared, count=family in COUNTS)
        law, centre = response_law(family, response, sigma, dispersion)
        root = correlation_root(design.columns_needed, correlations)
        values = {column.column.name: column.values(normal)
                  for column, normal in zip(columns, root @ _normal_points(len(columns)), strict=True)}
        features = design.matrix({name: values[name] for name in design.columns_needed} if values else {"any": np.zeros(POOL)})
        found = _with_intercept(design, effects, features, law, centre)
        eta = features @ np.array(list(found.values()))
        used = (0, *(int(index) for index in np.flatnonzero(np.any(design.features != 0.0, axis=1)) if index))
        rows = basis.evaluate(values)[:, used] if values else np.ones((POOL, 1))
        (position,) = (int(index) for index in np.flatnonzero(design.target) if index)
        return cls(design, law, tuple(columns), response, found, values, rows, eta, used, position)

    @cached_property
    def mean(self) -> Array:
        """E aaᵀ over the pool and the response, for all released columns; 0 for columns the formula does not use."""
        first, second = self.law.moments(self.eta)
        centre, half = self._scaling
        scaled = (first - centre) / half
        square = (second - 2 * centre * first + centre**2) / half**2
        return self._full(self.rows.T @ self.rows / POOL, self.rows.T @ scaled / POOL, float(square.mean()))

    def _full(self, gram: Array, cross: Array, total: float) -> Array:
        """Expand the matrix of the used columns to all released columns."""
        size = self.design.basis.size
        matrix = np.zeros((size, size))
        matrix[np.ix_(self.used, self.used)] = gram
        matrix[self.position, list(self.used)] = matrix[list(self.used), self.position] = cross
        matrix[self.position, self.position] = total
        return matrix

    @property
    def _scaling(self) -> tuple[float, float]:
        """Middle and half width of the response; two levels are −1 and +1 already."""
        return (self.response.column.centre, self.response.column.half_width) if isinstance(self.response, Shape) else (0.0, 1.0)

    def gram(self, rows: int, random: np.random.Generator) -> Array:
        """The Gram matrix of one simulated table."""
        drawn = min(rows, MOST_DRAWN)
        chosen = random.integers(0, POOL, drawn)
        a = self.rows[chosen]
        centre, half = self._scaling
        y = (self.law.draw(self.eta[chosen], random) - centre) / half
        matrix = self._full(a.T @ a, a.T @ y, float(y @ y))
        if rows > drawn:
            matrix = rows * self.mean + np.sqrt(rows / drawn) * (matrix - drawn * self.mean)
            matrix[0, 0] = rows
        return (matrix + matrix.T) / 2

    def standard_errors(self, rows: int) -> Array:
        """Standard errors of the coefficients without privacy, from Fisher's information in rows that are not clipped."""
        features = self.rows @ self.design.features[list(self.used)]
        information = features.T @ (features * self.law.information(self.eta)[:, None]) * (rows / POOL)
        return np.sqrt(np.diag(np.linalg.inv(information)))

    def words(self, *, scale_declared: bool, level_declared: bool) -> tuple[str, ...]:
        """All assumptions about the columns, one line each. ``scale_declared``: sigma, or the dispersion, was given.

        ``level_declared``: the intercept was given.
        """
        lines = [str(column) for column in self.columns]
        response, name = self.response, self.design.response
        mean, sure = float(self.law.mean(self.eta).mean()), level_declared or response.declared
        if isinstance(response, Shares):
            lines.append(f"{name}: {response.column.levels[1]} in {mean:.3g} of the rows" + origin(sure))
        elif isinstance(self.law, NormalResponse):
            lines.append(f"{name}: mean {mean:.4g}{origin(sure)}, residual sd {self.law.sigma:.4g}"
                         + origin(scale_declared or response.declared))
        elif isinstance(self.law, OverdispersedCount):
            lines.append(f"{name}: negative binomial, mean {mean:.4g}{origin(sure)}, dispersion {self.law.dispersion:.4g}"
                         + origin(scale_declared))
        else:
            lines.append(f"{name}: Poisson, mean {mean:.4g}" + origin(sure))
        return tuple(lines)

    @property
    def clipped_share(self) -> float:
        """The share of responses beyond the declared bounds."""
        return float(self.law.clipped(self.eta).mean())


def _normal_points(count: int) -> Array:
    """Well-spread standard normal variables, one row for each column of the table."""
    from scipy.stats import norm, qmc

    if not count:
        return np.zeros((0, POOL))
    generator = np.random.default_rng(0)
    try:
        points = qmc.Sobol(count, rng=generator)
    except TypeError:  # SciPy before 1.15
        points = qmc.Sobol(count, seed=generator)
    return np.asarray(norm.ppf(np.clip(points.random(POOL), 1e-9, 1 - 1e-9))).T


def _with_intercept(design: Design, effects: Mapping[str, float], features: Array, law: ResponseLaw,
                    centre: float) -> dict[str, float]:
    """The coefficients of all terms; an intercept not given is chosen to give the response its assumed mean."""
    from scipy.optimize import brentq

    for name, value in effects.items():
        if name not in design.terms:
            raise DeclarationError("effects must be coefficients of terms of the formula", argument="effects", found=repr(name),
                                   known=design.terms)
        if not is_number(value) or not np.isfinite(value):
            raise DeclarationError(f"the effect of {name} must be a finite number", found=repr(value))
    found = {term: float(effects.get(term, 0.0)) for term in design.terms}
    if INTERCEPT not in found or INTERCEPT in effects:
        return found
    rest = features @ np.array(list(found.values()))

    def excess(level: float) -> float:
        return float(law.mean(level + rest).mean()) - centre

    reach = 1.0
    while excess(-reach) > 0 or excess(reach) < 0:
        reach *= 2
    found[INTERCEPT] = float(brentq(excess, -reach, reach, xtol=1e-12 * max(1.0, reach)))
    return found
