"""What a result needs to know of a family: what its response is, its inverse link, and what exp(coefficient) is called.

A further family is an entry here, a file in ``posterior/glm``, and a sentence in ``cli/fit/results.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import ResultError

LARGEST: Final = 300.0
"""The log of the largest rate that is told apart: far outside of everything that was seen, exp would overflow."""


@dataclass(frozen=True)
class ResultFamily:
    """One family of regressions, as its results see it."""

    name: str
    response: Literal["number", "two levels", "count"]
    inverse_link: Callable[[Array], Array]
    """From the linear predictor to the mean response: of two levels the probability of the second."""
    ratio: str | None = None
    """What exp(coefficient) is called, where it means something."""

    @property
    def default_prediction(self) -> Literal["response", "mean"]:
        """A new response has a useful interval where it is a number; of two levels, and of a rate, the mean is asked for."""
        return "response" if self.response == "number" else "mean"


def _logistic(eta: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(eta))


def _probit(eta: Array) -> Array:
    from scipy.special import ndtr

    return np.asarray(ndtr(eta))


def _exp(eta: Array) -> Array:
    return np.asarray(np.exp(np.minimum(eta, LARGEST)))


GAUSSIAN: Final = ResultFamily("gaussian", "number", lambda eta: eta)
RESULT_FAMILIES: Final = {family.name: family for family in (
    GAUSSIAN,
    ResultFamily("logistic", "two levels", _logistic, "odds ratio"),
    ResultFamily("probit", "two levels", _probit),
    ResultFamily("poisson", "count", _exp, "incidence-rate ratio"),
)}


def family_of(name: str) -> ResultFamily:
    """The family of a fit, or an error that says which are known."""
    if name not in RESULT_FAMILIES:
        raise ResultError("the family of a fit is not known", argument="family", found=repr(name), known=RESULT_FAMILIES,
                          remedy="a newer noisewise may know it")
    return RESULT_FAMILIES[name]
