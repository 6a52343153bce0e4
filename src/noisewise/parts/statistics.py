"""What each part answers to each question: one number each, clipped to its limits and scaled to 0 and 1.

A part that cannot be fitted answers what says nothing: a probability of one half, a Bayes factor of 1, a criterion of 0, the
middle of the limits of a quantile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.parts.fits import PartFits, fit_parts, unexplained_shares
from noisewise.schema.design import Design
from noisewise.schema.partition import PartPrior, contrast_row, hypothesis_matrix
from noisewise.schema.questions import BayesFactor, Criterion, Limits, PosteriorProbability, PosteriorQuantile, Question
from noisewise.selection.exact import exact_log_bayes_factors

Array = npt.NDArray[np.float64]

SMALLEST_PROBABILITY: Final = 1e-300
FLAT: Final = PartPrior("flat")
PARTS_AT_ONCE: Final = 4096
"""Of more than twice as many, `exact_log_bayes_factors` interpolates between values that depend on all of them."""


class PartAnswers:
    """The answers of all parts of one table, before clipping; fits are made when they are needed first."""

    def __init__(self, counts: Array, products: Array, shift: Array, design: Design, prior: PartPrior) -> None:
        self._moments = counts, products, shift
        self._design, self._prior = design, prior
        self._fits: dict[tuple[PartPrior, float], PartFits] = {}

    def fits(self, prior: PartPrior, weight: float = 1.0) -> PartFits:
        key = prior, weight
        if key not in self._fits:
            self._fits[key] = fit_parts(*self._moments, self._design.terms, prior, weight=weight)
        return self._fits[key]

    def probabilities(self, question: PosteriorProbability) -> Array:
        """(points, parts): of being at most each b."""
        from scipy.special import stdtr

        fits = self.fits(self._prior)
        location, scale = fits.combination(contrast_row(self._design, question.of))
        scale = np.where(scale > 0.0, scale, 1.0)
        known = fits.usable & np.isfinite(location)
        found = [np.where(known, stdtr(fits.degrees, (point - location) / scale), 0.5) for point in question.at]
        return np.array(found)

    def location_and_scale(self, question: PosteriorQuantile) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        """Of each part's posterior with its likelihood raised to the number of parts; and which parts are usable."""
        fits = self.fits(self._prior, float(len(self._moments[0])))
        location, scale = fits.combination(contrast_row(self._design, question.of))
        return location, scale, fits.usable & np.isfinite(location)

    def unexplained(self, question: BayesFactor | Criterion) -> Array:
        return unexplained_shares(self.fits(FLAT), hypothesis_matrix(self._design, question))

    def answers(self, question: Question, found: Mapping[str, Limits]) -> Array:
        """(numbers, parts) of a question; ``found`` are limits that were paid for, by the name of the number."""
        if isinstance(question, PosteriorProbability):
            return transformed(self.probabilities(question), question)
        if isinstance(question, PosteriorQuantile):
            location, scale, usable = self.location_and_scale(question)
            values = np.array([location, scale])
            middles = [[sum(found[name]) / 2.0] for name, _ in question.numbers()]
            return np.where(usable & np.isfinite(values), values, np.array(middles))
        return hypothesis_statistic(question, self.unexplained(question), self._moments[0], len(self._design.terms))


def transformed(probabilities: Array, question: PosteriorProbability) -> Array:
    """The probabilities of the parts as they are averaged."""
    from scipy.special import ndtri

    if question.combine == "rescaled-normal":
        return probabilities
    if question.combine == "fisher":
        return np.asarray(-2.0 * np.log(np.maximum(probabilities, SMALLEST_PROBABILITY)))
    return np.asarray(ndtri(np.clip(probabilities, SMALLEST_PROBABILITY, 1.0 - 2.0**-53)))


def hypothesis_statistic(question: BayesFactor | Criterion, unexplained: Array, rows: Array, coefficients: int) -> Array:
    """(1, parts): the log Bayes factor, or the criterion, of each part from 1 − R² and its number of rows."""
    tested = len(question.of)
    if isinstance(question, BayesFactor):
        found = log_bayes_factors(unexplained, rows, tested, coefficients - tested, question.prior)
    else:
        size = np.maximum(rows, 1.0)
        found = -size * np.log(unexplained) - _penalty(question.name, tested, size)
    return np.nan_to_num(found, nan=0.0)[None, :]


def _penalty(criterion: str, tested: int, rows: Array) -> Array:
    per_coefficient = {"likelihood-ratio": np.zeros_like(rows), "aic": np.full_like(rows, 2.0), "bic": np.log(rows)}[criterion]
    return tested * per_coefficient


def log_bayes_factors(unexplained: Array, rows: Array, tested: int, kept: int, prior: str) -> Array:
    """Of each part, with g = its number of rows; 0 for parts without enough rows.

    All values are computed for each size that occurs, so that no part's number depends on how large the others are.
    """
    result = np.zeros(len(unexplained))
    sizes = [size for size in np.unique(rows) if size > tested + kept]
    for start in range(0, len(unexplained), PARTS_AT_ONCE):
        some = slice(start, start + PARTS_AT_ONCE)
        columns = np.full(len(unexplained[some]), tested)
        for size in sizes:
            found = exact_log_bayes_factors(unexplained[some], columns, size - kept, size, prior)
            result[some] = np.where(rows[some] == size, found, result[some])
    return result


def on_scale(values: Array, limits: Limits, steps: int) -> npt.NDArray[np.int64]:
    """Values clipped to their limits, as whole numbers from 0 to ``steps``."""
    lower, upper = limits
    inside = np.clip(np.nan_to_num(values, nan=(lower + upper) / 2.0, posinf=upper, neginf=lower), lower, upper)
    return np.clip(np.rint((inside - lower) / (upper - lower) * steps), 0, steps).astype(np.int64)
