"""How a fit was made, and the priors it used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from noisewise.arrays import Array, Values
from noisewise.errors import ResultError

INTERCEPT = "Intercept"
SIGMA = "sigma"
DISPERSION = "dispersion"
SCALES = (SIGMA, DISPERSION)
"""The names of what a response has beside its mean: positive numbers."""
ROBUST = "-robust"
"""The end of the name of a method whose intervals are robust."""
TAKEN_FOR_NORMAL = "numeric predictors are taken for normal"
"""How a doubt about numeric predictors begins."""


@dataclass(frozen=True)
class FitInfo:
    """How the draws were made.

    >>> FitInfo("conditional", "gaussian", "stay ~ age", seed=1, chains=4, draws=1000).formula
    'stay ~ age'
    """

    method: str
    family: str
    formula: str
    seed: int | None
    chains: int
    draws: int
    divergences: int = 0
    holders: int = 1
    seconds: float = 0.0
    doubts: tuple[str, ...] = ()
    """Reasons not to trust the draws, found while fitting."""
    source: str = field(default="", repr=False)
    """Digest of the release (or of all releases together) that was fitted; empty if not recorded."""
    estimand: str = ""
    """What the coefficients describe, in words, if that is not the obvious thing."""

    @property
    def robust(self) -> bool:
        """True if the intervals hold although the family's variance is wrong."""
        return self.method.endswith(ROBUST)

    @property
    def taken_for_normal(self) -> bool:
        """True if there are doubts because numeric predictors are taken for normal."""
        return any(doubt.startswith(TAKEN_FOR_NORMAL) for doubt in self.doubts)


@dataclass(frozen=True)
class PriorSummary:
    """Independent priors in the user's units: normal for each term, half-normal for sigma if there is one.

    >>> prior = PriorSummary(mean={"age": 0.0}, sd={"age": 2.0}, sigma_scale=1.0)
    >>> [round(end, 2) for end in prior.interval("age", 0.95)]
    [-3.92, 3.92]
    """

    mean: Mapping[str, float]
    sd: Mapping[str, float]
    sigma_scale: float | None = None

    def __post_init__(self) -> None:
        scales = self.sd if self.sigma_scale is None else {**self.sd, SIGMA: self.sigma_scale}
        wrong = [name for name, scale in scales.items() if not (math.isfinite(scale) and scale > 0)]
        wrong += [name for name, mean in self.mean.items() if not math.isfinite(mean)]
        if wrong or set(self.mean) != set(self.sd):
            raise ResultError("a prior needs a finite mean and a positive finite scale for each term",
                              found=", ".join(wrong) or "different terms in mean and sd")

    def covers(self, term: str) -> bool:
        """True if there is a prior for the term."""
        return term in self.sd or (term == SIGMA and self.sigma_scale is not None)

    def interval(self, term: str, mass: float) -> tuple[float, float]:
        """The equal-tailed interval that contains `mass` of the prior."""
        from scipy.special import ndtri

        low, high = (1 - mass) / 2, (1 + mass) / 2
        centre, scale = self._normal(term)
        if term == SIGMA:  # |N(0, s)| has quantile s * ndtri((1 + p) / 2)
            return scale * float(ndtri((1 + low) / 2)), scale * float(ndtri((1 + high) / 2))
        half_width = scale * float(ndtri(high))
        return centre - half_width, centre + half_width

    def density(self, term: str, values: Array) -> Array:
        """The prior density of the term at the values."""
        centre, scale = self._normal(term)
        normal = np.exp(-0.5 * ((values - centre) / scale) ** 2) / (scale * math.sqrt(2 * math.pi))
        return np.asarray(np.where(values >= 0, 2 * normal, 0.0) if term == SIGMA else normal)

    def _normal(self, term: str) -> tuple[float, float]:
        """Mean and standard deviation of the normal prior; for sigma, of the normal whose upper half is the prior."""
        if not self.covers(term):
            raise ResultError("there is no prior for this term", found=term, known=self.sd)
        return (self.mean[term], self.sd[term]) if term in self.sd else (0.0, float(self.sigma_scale or 0.0))


def frozen(values: ArrayLike, kind: type = np.float64) -> Values:
    """Return the values as a read-only array, copying unless they already are one."""
    found: Values = np.asarray(values, dtype=kind, order="C")
    if found.flags.writeable:
        found = np.array(found)
        found.setflags(write=False)
    return found


def check_interval(interval: float) -> tuple[float, float]:
    """Return the two tail probabilities of an equal-tailed interval."""
    if isinstance(interval, bool) or not isinstance(interval, (int, float)) or not 0 < interval < 1:
        raise ResultError("interval must be between 0 and 1", argument="interval", found=repr(interval),
                          remedy="for example 0.95")
    return (1 - interval) / 2, (1 + interval) / 2
