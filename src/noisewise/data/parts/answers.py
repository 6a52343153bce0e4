"""The answers of each part of a confidential table to each question, before they are clipped and scaled.

A part that cannot be fitted gives a neutral answer: a probability of one half, a Bayes factor of 1, a criterion of 0, the middle
of the limits of a quantile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from noisewise.arrays import Array, Flags
from noisewise.data.parts.fits import PartFits, fit_parts, unexplained_shares
from noisewise.schema.design import Design
from noisewise.schema.partition import PartPrior, contrast_row, hypothesis_matrix, hypothesis_statistic, transformed
from noisewise.schema.questions import BayesFactor, Criterion, Limits, PosteriorProbability, PosteriorQuantile, Question

FLAT: Final = PartPrior("flat")


class PartAnswers:
    """The answers of all parts of one table, before clipping. Fits are made when first needed."""

    def __init__(self, counts: Array, products: Array, shift: Array, design: Design, prior: PartPrior) -> None:
        self._moments = counts, products, shift
        self._design, self._prior = design, prior
        self._fits: dict[tuple[PartPrior, float], PartFits] = {}

    def fits(self, prior: PartPrior, weight: float = 1.0) -> PartFits:
        """The regressions of all parts, cached."""
        key = prior, weight
        if key not in self._fits:
            self._fits[key] = fit_parts(*self._moments, self._design.terms, prior, weight=weight)
        return self._fits[key]

    def probabilities(self, question: PosteriorProbability) -> Array:
        """The probability of being at most each b; shape (points, parts)."""
        from scipy.special import stdtr

        fits = self.fits(self._prior)
        location, scale = fits.combination(contrast_row(self._design, question.of))
        scale = np.where(scale > 0.0, scale, 1.0)
        known = fits.usable & np.isfinite(location)
        found = [np.where(known, stdtr(fits.degrees, (point - location) / scale), 0.5) for point in question.at]
        return np.array(found)

    def location_and_scale(self, question: PosteriorQuantile) -> tuple[Array, Array, Flags]:
        """Location and scale of each part's posterior, its likelihood raised to the number of parts; flags of usable parts."""
        fits = self.fits(self._prior, float(len(self._moments[0])))
        location, scale = fits.combination(contrast_row(self._design, question.of))
        return location, scale, fits.usable & np.isfinite(location)

    def unexplained(self, question: BayesFactor | Criterion) -> Array:
        """1 − R² of each part for a hypothesis, with a flat prior."""
        return unexplained_shares(self.fits(FLAT), hypothesis_matrix(self._design, question))

    def answers(self, question: Question, found: Mapping[str, Limits]) -> Array:
        """The answers to a question; shape (numbers, parts). ``found`` has the limits that were paid for, by number."""
        if isinstance(question, PosteriorProbability):
            return transformed(self.probabilities(question), question)
        if isinstance(question, PosteriorQuantile):
            location, scale, usable = self.location_and_scale(question)
            values = np.array([location, scale])
            middles = [[sum(found[name]) / 2.0] for name, _ in question.numbers()]
            return np.where(usable & np.isfinite(values), values, np.array(middles))
        return hypothesis_statistic(question, self.unexplained(question), self._moments[0], len(self._design.terms))
