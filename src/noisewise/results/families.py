"""Families as results see them: the response, the inverse link, and the name of exp(coefficient).

To add a family, add an entry here, a file in ``posterior/glm``, and a sentence in ``cli/fit/results.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import ResultError
from noisewise.results.fit_info import DISPERSION, SIGMA

LARGEST: Final = 300.0
"""Cap on the log of a rate. Far outside the data, exp would overflow."""


@dataclass(frozen=True)
class ResultFamily:
    """One family of regressions."""

    name: str
    response: Literal["number", "two levels", "count"]
    inverse_link: Callable[[Array], Array]
    """Maps the linear predictor to the mean response; for two levels, to the probability of the second."""
    ratio: str | None = None
    """The name of exp(coefficient), if it means something."""
    scale: str | None = None
    """The name of what a response has beside its mean: the residual standard deviation, or the dispersion of counts."""

    @property
    def default_prediction(self) -> Literal["response", "mean"]:
        """What to predict by default: a new response if it is a number, otherwise the mean (a probability or a rate)."""
        return "response" if self.response == "number" else "mean"


def _logistic(eta: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(eta))


def _probit(eta: Array) -> Array:
    from scipy.special import ndtr

    return np.asarray(ndtr(eta))


def _exp(eta: Array) -> Array:
    return np.asarray(np.exp(np.minimum(eta, LARGEST)))


GAUSSIAN: Final = ResultFamily("gaussian", "number", lambda eta: eta, scale=SIGMA)
RESULT_FAMILIES: Final = {family.name: family for family in (
    GAUSSIAN,
    ResultFamily("logistic", "two levels", _logistic, "odds ratio"),
    ResultFamily("probit", "two levels", _probit),
    ResultFamily("poisson", "count", _exp, "incidence-rate ratio"),
    ResultFamily("negative-binomial", "count", _exp, "incidence-rate ratio", DISPERSION),
)}


def family_of(name: str) -> ResultFamily:
    """Return the family of that name, or raise an error that lists the known ones."""
    if name not in RESULT_FAMILIES:
        raise ResultError("unknown family", argument="family", found=repr(name), known=RESULT_FAMILIES,
                          remedy="a newer noisewise may support it")
    return RESULT_FAMILIES[name]
