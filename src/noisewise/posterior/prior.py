"""Priors in the user's units that depend on public declarations only.

The default for a coefficient is a normal with mean 0 and standard deviation 2.5 · (half width of the response) / (half width
of the predictor): moving the predictor from the middle of its declared range to its end changes the response by about its
declared half width, give or take a factor of 2.5. The intercept's prior (without an intercept, that of each category's mean) is
a prior for the response's value in the middle of all predictors' ranges. Sigma has a half-normal prior whose scale is half the
response's half width (the standard deviation of anything that stays within its bounds is at most the half width).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.results.fit_info import PriorSummary
from noisewise.schema import Design
from noisewise.words import leave_out, option

COEFFICIENT_SCALE = 2.5
SIGMA_SCALE = 0.5


@dataclass(frozen=True)
class Prior:
    """Independent normal priors for coefficients and a half-normal one for sigma. Terms not named keep their defaults.

    For generalised linear models only: ``largest_norm=s`` is a prior that is uniform in direction, with coefficients (of
    predictors in units of their declared half widths) whose norm is at most s; ``correlation`` is the shape of the LKJ prior for
    the predictors' correlations (default 1: all correlation matrices equally likely; larger values favour small correlations).

    >>> Prior(sd={"age": 0.5}, mean={"age": 0.1}).sd["age"]
    0.5
    """

    mean: Mapping[str, float] = field(default_factory=dict)
    sd: Mapping[str, float] = field(default_factory=dict)
    sigma: float | None = None
    largest_norm: float | None = None
    correlation: float | None = None

    def __post_init__(self) -> None:
        for part in (self.mean, self.sd):
            if not isinstance(part, Mapping):
                raise FitError("a prior's means and standard deviations must be given by term", found=repr(part),
                               remedy='for example sd={"age": 0.5}')
        for name, value in [*self.sd.items(), *([] if self.sigma is None else [("sigma", self.sigma)])]:
            if not _is_finite(value) or value <= 0:
                raise FitError("a prior's standard deviation must be a positive finite number", found=f"{name}: {value}")
        for name in ("largest_norm", "correlation"):
            value = getattr(self, name)
            if value is not None and (not _is_finite(value) or value <= 0):
                raise FitError(f"a prior's {name} must be a positive finite number", found=repr(value))
        for name, value in self.mean.items():
            if not _is_finite(value):
                raise FitError("a prior's mean must be a finite number", found=f"{name}: {value}")


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) and math.isfinite(value)


def given_prior(design: Design, prior: Prior | None) -> Prior:
    """Return the user's prior or the default, after checking that the formula has every term that it names."""
    given = Prior() if prior is None else prior
    if not isinstance(given, Prior):
        raise FitError("prior must be a Prior, or None for the default", found=type(given).__name__,
                       remedy="write noisewise.Prior(mean={...}, sd={...})")
    unknown = (set(given.mean) | set(given.sd)) - set(design.terms)
    if unknown:
        raise FitError("a prior names a term that is not in the formula", argument="prior",
                       found=", ".join(sorted(unknown)), known=design.terms)
    return given


@dataclass(frozen=True)
class ResolvedPrior:
    """A prior for one design: ``(functionals @ beta − mean) / sd`` is standard normal, sigma is half-normal."""

    functionals: Array
    mean: Array
    sd: Array
    sigma: float

    def in_coordinates(self, coordinates: Coordinates) -> dict[str, Array]:
        """Return arrays for a density: ``prior_slope @ g + prior_offset`` and σ / √``prior_sigma2`` are standard normal."""
        return {
            "prior_slope": (self.functionals @ coordinates.slope) / self.sd[:, None],
            "prior_offset": (self.functionals @ coordinates.offset - self.mean) / self.sd,
            "prior_sigma2": np.array((self.sigma / coordinates.half_width) ** 2),
        }

    @classmethod
    def of(cls, design: Design, prior: Prior | None) -> ResolvedPrior:
        """Fill in the defaults; refuse unknown terms, and options that only generalised linear models have."""
        given = given_prior(design, prior)
        for name in ("largest_norm", "correlation"):
            if getattr(given, name) is not None:
                raise FitError(f"{name} is a prior for generalised linear models", found=option("family", "gaussian"),
                               remedy=leave_out(name))
        lower, upper = design.response_bounds
        half_width = (upper - lower) / 2
        constant = _shares_of_constant(design)
        functionals = np.eye(len(design.terms))
        mean, sd = np.zeros((2, len(design.terms)))
        for index, (name, (low, high)) in enumerate(zip(design.terms, design.term_bounds, strict=True)):
            if constant[index] == 0:
                sd[index] = COEFFICIENT_SCALE * half_width / ((high - low) / 2)
            else:  # a level of the response: the intercept, or one mean per category; in the middle of the other ranges
                sd[index] = COEFFICIENT_SCALE * half_width * abs(constant[index])
                if name not in given.sd and name not in given.mean:
                    centres = np.array(design.term_bounds).mean(axis=1)
                    functionals[index] += np.where(constant == 0, centres, 0.0)
                    mean[index] = (lower + upper) / 2 * constant[index]
            sd[index] = given.sd.get(name, sd[index])
            mean[index] = given.mean.get(name, mean[index])
        return cls(functionals, mean, sd, given.sigma or SIGMA_SCALE * half_width)

    def summary(self, terms: Sequence[str]) -> PriorSummary:
        """Return the prior in the form that results show."""
        mean, sd = (dict(zip(terms, map(float, values), strict=True)) for values in self.marginals())
        return PriorSummary(mean, sd, self.sigma)

    def marginals(self) -> tuple[Array, Array]:
        """Return the prior mean and standard deviation of each coefficient, for display."""
        inverse = np.linalg.inv(self.functionals)
        return inverse @ self.mean, np.sqrt((inverse**2) @ self.sd**2)


def _shares_of_constant(design: Design) -> Array:
    """Return weights with which the formula's columns add up to the constant 1, or zeros if they cannot.

    ``y ~ ward`` has the intercept; ``y ~ 0 + ward`` is the same model with one mean for each ward, and must get the same prior.
    """
    if "Intercept" in design.terms:
        return np.array([float(name == "Intercept") for name in design.terms])
    one = np.eye(design.basis.size)[0]
    weights, *_ = np.linalg.lstsq(design.features, one, rcond=None)
    weights[np.abs(weights) < 1e-9] = 0.0
    spanned = np.allclose(design.features @ weights, one, rtol=0, atol=1e-9)
    return weights if spanned else np.zeros(len(design.terms))
