"""Coefficients as ratios: odds ratios of a logistic regression, incidence-rate ratios of a Poisson regression."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noisewise.errors import ResultError
from noisewise.results.families import LARGEST, RESULT_FAMILIES, ResultFamily
from noisewise.results.records import check_interval
from noisewise.results.summary import percent_label

if TYPE_CHECKING:
    import pandas

INTERCEPT = "Intercept"


def ratio_table(draws: NDArray[np.float64], terms: tuple[str, ...], family: ResultFamily, interval: float,
                per: Mapping[str, float] | None) -> pandas.DataFrame:
    """exp(coefficient × step) of every predictor: its median, interval and the probability that it is above 1."""
    import pandas

    tails = check_interval(interval)
    if family.ratio is None:
        known = ", ".join(f"{other.ratio}s ({other.name})" for other in RESULT_FAMILIES.values() if other.ratio)
        raise ResultError(f"exp(coefficient) of a {family.name} regression is no ratio of anything",
                          found=f"family {family.name!r}", remedy=f"there are {known}; for others see summary() and predict()")
    chosen = [term for term in terms if term != INTERCEPT]
    if not chosen:
        raise ResultError("a ratio compares two values of a predictor", found="a formula with no predictor")
    given = _steps(per, chosen)
    steps = np.array([given.get(term, 1.0) for term in chosen])
    logs = draws[:, [terms.index(term) for term in chosen]] * steps
    # The median and the ends of an interval stay what they are under exp; a mean would not.
    lower, middle, upper = np.exp(np.minimum(np.quantile(logs, [tails[0], 0.5, tails[1]], axis=0), LARGEST))
    columns = {"per": steps, family.ratio: middle, percent_label(tails[0]): lower, percent_label(tails[1]): upper,
               "P(>1)": (logs > 0).mean(axis=0)}
    return pandas.DataFrame(columns, index=pandas.Index(chosen, name="term"))


def _steps(per: Mapping[str, float] | None, terms: list[str]) -> dict[str, float]:
    if per is None:
        return {}
    if not isinstance(per, Mapping):
        raise ResultError("per gives a number for some of the terms", found=repr(per),
                          remedy=f"for example per={{{terms[0]!r}: 10}}")
    unknown = [str(term) for term in per if term not in terms]
    if unknown:
        raise ResultError("per names predictors: " + ", ".join(terms), found=", ".join(unknown))
    for term, step in per.items():
        if isinstance(step, bool) or not isinstance(step, numbers.Real) or not math.isfinite(step) or step == 0:
            raise ResultError("per is by how much a predictor changes: a finite number that is not 0", found=f"{term}: {step!r}")
    return {term: float(step) for term, step in per.items()}
