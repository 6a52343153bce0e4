"""What each part of a confidential table answers to each question: one number each, before it is clipped and scaled.

A part that cannot be fitted answers what says nothing: a probability of one half, a Bayes factor of 1, a criterion of 0, the
middle of the limits of a quantile.
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

    def location_and_scale(self, question: PosteriorQuantile) -> tuple[Array, Array, Flags]:
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
