"""The most likely coefficients, given the rounds so far, and a normal approximation of what is known about them.

Several holders have rounds of their own. Everything is in the coordinates of the first holder's last round: e is the distance
from its point, and another holder's distance is a linear function of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.scores.likelihood import Combined, Likelihood, Problem
from noisewise.scores.reference import Reference

AT_FULL_WIDTH: Final = 2.0
"""With more effects than this, the whole linear predictor is expected to be as wide as with so many."""
STEPS: Final = 60
UPDATES: Final = 4
"""How often the scale, the rounds' weights and their uncertainty are brought up to date."""
HALVINGS: Final = 12


@dataclass(frozen=True, eq=False)
class NormalPrior:
    """Normal priors of linear functions of the coefficients: ``(functionals @ θ − centre)`` is standard normal."""

    functionals: Array
    centre: Array

    @classmethod
    def usual(cls, problem: Problem, references: Sequence[Reference], response_sd: float) -> NormalPrior:
        """The family's own: for the response at the average of all rows, and for an effect of one standard deviation.

        A number is expected within its declared bounds there; other responses within the family's width of 0.
        """
        terms = np.concatenate([one.rows for one in references]) @ problem.features
        weights = np.concatenate([one.weights for one in references]) / len(references)
        average = weights @ terms
        spread = np.sqrt(np.maximum(weights @ (terms - average) ** 2, 0.0))
        largest = np.max(np.abs(terms), axis=0)
        unit = response_sd if problem.family.response == "number" else 1.0
        constant = spread <= 1e-9 * largest
        # A term that hardly varies says little: its effect is that of a hundredth of its largest value.
        width = problem.family.slope_sd * unit * min(1.0, np.sqrt(AT_FULL_WIDTH / max(1, np.sum(~constant))))
        functionals, centre = np.diag(np.maximum(spread, 0.01 * largest) / width), np.zeros(problem.terms)
        if np.any(constant):
            low, high = problem.bounds if problem.family.response == "number" else (-1.0, 1.0)
            place, half = int(np.flatnonzero(constant)[0]), (high - low) / 2 * problem.family.intercept_sd
            functionals[place], centre[place] = average / half, (low + high) / 2 / half
        return cls(functionals, centre)

    @property
    def precision(self) -> Array:
        """The precision of the coefficients."""
        found: Array = self.functionals.T @ self.functionals
        return found

    def apart(self, coefficients: Array) -> Array:
        """How far coefficients are from the prior's centre, in standard deviations. Coefficients may be columns."""
        centre = self.centre if coefficients.ndim == 1 else self.centre[:, None]
        found: Array = self.functionals @ coefficients - centre
        return found


@dataclass(frozen=True, eq=False)
class Place:
    """A holder's distance from its own last point, as a linear function of the first holder's."""

    offset: Array
    turn: Array

    @classmethod
    def of(cls, first: Likelihood, other: Likelihood) -> Place:
        """Both are distances from the points of last rounds."""
        if other is first:
            size = first.problem.terms
            return cls(np.zeros(size), np.eye(size))
        moved = first.last.round.point.coefficients - other.last.round.point.coefficients
        own = other.to_coefficients
        return cls(np.asarray(np.linalg.solve(own, moved), dtype=float),
                   np.asarray(np.linalg.solve(own, first.to_coefficients), dtype=float))

    def distance(self, distance: Array) -> Array:
        """The holder's own distance. Distances may be columns."""
        found: Array = self.turn @ distance + (self.offset if distance.ndim == 1 else self.offset[:, None])
        return found


@dataclass(frozen=True, eq=False)
class Estimate:
    """The mode in the first holder's last coordinates, and the covariance there.

    ``combined`` and ``precisions`` are each holder's rounds as one score and how certain it is, as the search for the mode ended.
    """

    likelihoods: tuple[Likelihood, ...]
    prior: NormalPrior
    combined: tuple[Combined, ...]
    precisions: tuple[Array, ...]
    distance: Array
    covariance: Array
    converged: bool

    @classmethod
    def of(cls, likelihoods: Sequence[Likelihood], prior: NormalPrior, *, scale: float | None = None) -> Estimate:
        """Gauss-Newton steps, with the scale (unless given) and the rounds' weights brought up to date in between."""
        all_of = tuple(likelihoods if scale is None else (one.with_scale(scale) for one in likelihoods))
        distance = np.zeros(all_of[0].problem.terms)
        for _ in range(UPDATES):
            places = [Place.of(all_of[0], one) for one in all_of]
            combined, precisions = [], []
            for one, place in zip(all_of, places, strict=True):
                own = place.distance(distance)
                combined.append(one.combined(own))
                precisions.append(inverse_of(combined[-1].covariance(own, combined[-1].left(own)[2])))
            distance, covariance, converged = _mode(combined, precisions, places, prior, distance)
            if scale is None:
                scales, chances = scale_chances(all_of, distance)
                best = float(np.exp(chances @ np.log(scales)))
                all_of = tuple(one.with_scale(best) for one in all_of)
        return cls(all_of, prior, tuple(combined), tuple(precisions), distance, covariance, converged)

    @property
    def likelihood(self) -> Likelihood:
        """The first holder's likelihood, in whose coordinates everything is."""
        return self.likelihoods[0]

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Each holder's distance as a function of the first one's."""
        return tuple(Place.of(self.likelihood, one) for one in self.likelihoods)

    @property
    def coefficients(self) -> Array:
        """The mode, in the user's units."""
        return self.to_user(self.distance)

    def to_user(self, distance: Array) -> Array:
        """Coefficients in the user's units. Distances may be columns."""
        origin = self.likelihood.last.round.point.coefficients
        found: Array = (origin if distance.ndim == 1 else origin[:, None]) + self.likelihood.to_coefficients @ distance
        return found

    @property
    def coefficient_covariance(self) -> Array:
        """The covariance, in the user's units."""
        turn = self.likelihood.to_coefficients
        found: Array = turn @ self.covariance @ turn.T
        return found

    def typical(self, covariance: Array) -> float:
        """The root mean square standard deviation of a row's linear predictor, over the rows that have the information."""
        across = self.likelihood.last.directions
        return float(np.sqrt(max(0.0, self.likelihood.importance @ np.einsum("ri,ij,rj->r", across, covariance, across))))

    def clipping_scale(self) -> float:
        """The scale that a round at the mode should clip responses for."""
        family = self.likelihood.problem.family
        return family.clipping(self.likelihood.scale, self.typical(self.covariance))

    def moved(self) -> float:
        """How far the last rounds looked from the mode: the largest root mean square difference of linear predictors."""
        return max(one.moved(place.distance(self.distance)) for one, place in zip(self.likelihoods, self.places, strict=True))


def scale_chances(likelihoods: Sequence[Likelihood], distance: Array) -> tuple[Array, Array]:
    """Scales, and how likely the holders' squares and the family's prior make each."""
    found = [one.scale_logs(Place.of(likelihoods[0], one).distance(distance)) for one in likelihoods]
    problem = likelihoods[0].problem
    logs = np.sum([logs for _, logs in found], axis=0) + problem.family.scale_prior(found[0][0], problem.bounds)
    chances = np.exp(logs - logs.max())
    return found[0][0], chances / chances.sum()


def _mode(combined: Sequence[Combined], precisions: Sequence[Array], places: Sequence[Place], prior: NormalPrior, start: Array
          ) -> tuple[Array, Array, bool]:
    """The nearest mode, with the rounds combined and as certain as they are at the start."""
    first = combined[0].likelihood
    turn, origin = first.to_coefficients, first.last.round.point.coefficients
    functionals = prior.functionals @ turn

    def parts(distance: Array) -> tuple[float, Array, Array]:
        apart = prior.apart(origin + turn @ distance)
        cost, gradient, curvature = 0.5 * float(apart @ apart), -functionals.T @ apart, functionals.T @ functionals
        for one, place, precision in zip(combined, places, precisions, strict=True):
            left, slope, _ = one.left(place.distance(distance))
            slope = slope @ place.turn
            cost += 0.5 * float(left @ precision @ left)
            gradient = gradient + slope.T @ precision @ left
            curvature = curvature + slope.T @ precision @ slope
        return cost, gradient, curvature

    distance, converged = start, False
    cost, gradient, curvature = parts(distance)
    for _ in range(STEPS):
        step = inverse_of(curvature) @ gradient
        if float(step @ gradient) < 1e-6:
            converged = True
            break
        for _ in range(HALVINGS):
            found = parts(distance + step)
            if found[0] <= cost:
                break
            step = step / 2
        else:
            break
        distance, (cost, gradient, curvature) = distance + step, found
    return distance, inverse_of(curvature), converged


def inverse_of(matrix: Array) -> Array:
    """The inverse of a positive definite matrix, also where rounding has made it slightly indefinite."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2 * np.outer(scale, scale))
    root = vectors / np.sqrt(np.maximum(values, 1e-12))
    found: Array = (root @ root.T) * np.outer(scale, scale)
    return found
