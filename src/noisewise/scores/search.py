"""From the first look to the last round. Whoever has the rows, or made-up ones, gives the sums of a round when asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from noisewise.arrays import Array
from noisewise.schema.basis import Basis
from noisewise.scores.correlations import reference_for
from noisewise.scores.estimate import Estimate, NormalPrior
from noisewise.scores.likelihood import Likelihood, Problem
from noisewise.scores.looks import Known
from noisewise.scores.next_round import FINDING, is_found, point_at, point_from, says_little
from noisewise.scores.reference import Reference
from noisewise.scores.rounds import Noise, Point, Round

NoiseFor: TypeAlias = Callable[[float, bool], Noise]
"""The noise of a round with this share of the budget; with or without Σ s sᵀ."""
Measure: TypeAlias = Callable[[Point, Noise], Round]
"""The noisy sums of a round."""


@dataclass(frozen=True, eq=False)
class Search:
    """Everything public that the search begins with. ``left`` is the share of the budget for its rounds."""

    basis: Basis
    problem: Problem
    known: Known
    left: float
    noise_for: NoiseFor
    spread: bool
    """Whether the last round releases Σ s sᵀ."""

    @classmethod
    def of(cls, basis: Basis, problem: Problem, known: Known, left: float, noise_for: NoiseFor) -> Search:
        """Begin with what the first look says."""
        return cls(basis, problem, known, left, noise_for, problem.family.response != "two levels")

    def rounds(self, measure: Measure, *, most: int = len(FINDING), start: Point | None = None) -> tuple[Round, ...]:
        """Look where the coefficients seem to be, until looking on would not help; then spend what is left.

        ``most`` limits the rounds before the last. With a ``start`` the only round looks there.
        """
        if start is not None:
            noise = self.noise_for(self.left, self.spread)
            first = reference_for(self.basis, self.known, self.problem, ())
            return (measure(point_from(self.problem, first, start, spread=self.spread, noise=noise.score), noise),)
        found: list[Round] = []
        estimate: Estimate | None = None
        reference, left = reference_for(self.basis, self.known, self.problem, found), self.left
        coefficients, scale = self.first_guess(reference)
        for number in range(most + 1):
            all_left = self.noise_for(left, self.spread)
            last_point = point_at(self.problem, reference, coefficients, scale, spread=self.spread, noise=all_left.score)
            last = (number == most or (estimate is not None and is_found(estimate, all_left.score))
                    or says_little(self.problem, reference, last_point, all_left.score))
            if last:
                return (*found, measure(last_point, all_left))
            share = FINDING[min(number, len(FINDING) - 1)]
            noise = self.noise_for(share, False)
            point = point_at(self.problem, reference, coefficients, scale, spread=False, noise=noise.score)
            found.append(measure(point, noise))
            left -= share
            estimate = self.estimate(found)
            coefficients, scale = estimate.coefficients, estimate.clipping_scale()
            reference = estimate.likelihood.reference
        raise AssertionError("the loop ends with its last round")

    def estimate(self, rounds: Sequence[Round]) -> Estimate:
        """The coefficients that the rounds so far make most likely, with the usual prior."""
        reference = reference_for(self.basis, self.known, self.problem, rounds)
        likelihood = Likelihood.of(self.problem, rounds, reference)
        return Estimate.of([likelihood], NormalPrior.usual(self.problem, [likelihood.reference], self.known.response[1] ** 0.5))

    def first_guess(self, reference: Reference) -> tuple[Array, float]:
        """No effects, and the response's mean."""
        mean, variance = self.known.response
        family = self.problem.family
        eta = family.first_eta(mean, variance)
        # The made-up rows' linear predictors as near to a constant as the formula allows.
        rows = reference.rows @ self.problem.features
        coefficients = np.linalg.lstsq(rows, np.full(len(rows), eta), rcond=None)[0]
        return coefficients, family.first_scale(self.problem.bounds, mean, variance)
