"""From the rounds of a model release to the quadratic log likelihood that its terms are weighed by.

The log likelihood is expanded at the posterior mode of the full model, under the usual prior of ``fit``, because a flat prior may
have its mode far away if the release says little. What the expansion says is the likelihood's alone: its score there, and its
precision. Several holders' precisions and scores add up.

The information of the rows, which the prior of the coefficients is made of, comes from the made-up rows: n i₀ Σ ω t tᵀ, with the
terms t of a row and the information i₀ that a row would have about its linear predictor if no term mattered, at the average
response. So the prior depends on how the predictors vary, as Zellner's does, and on the average response, but neither on effects
nor on the noise nor on which rows the rounds count less. For a linear regression i₀ is 1/σ², and the prior is Zellner's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.posterior.model.density import AT_ONCE
from noisewise.posterior.model.fit import Scales
from noisewise.posterior.model.problem import ModelProblem
from noisewise.scores.estimate import Estimate, scale_chances
from noisewise.scores.families.family import Family, Moments
from noisewise.selection.moments import without_leading
from noisewise.selection.quadratic import Quadratic
from noisewise.selection.weigher import Places

SCALES: Final = 1000
"""Equally likely values that stand for the distribution of the scale."""


@dataclass(frozen=True, eq=False)
class RoundsQuadratic:
    """The quadratic log likelihood in working units, and F, its precision without privacy noise.

    A coefficient in working units is ``units`` times that of the user; ``order`` has the formula's columns, kept ones first.
    """

    estimate: Estimate
    quadratic: Quadratic
    without_noise: Array
    order: Places
    units: Array

    @classmethod
    def of(cls, problem: ModelProblem, kept: Sequence[int]) -> RoundsQuadratic:
        """``kept``: the columns that are in every model."""
        estimate = Estimate.of(problem.likelihoods, problem.prior)
        reach = np.array([(upper - lower) / 2 for lower, upper in problem.design.term_bounds])
        information, rows = row_information(estimate, reach)
        precision, without_noise, score = expansion(estimate)
        size = len(information)
        order = np.array([*kept, *(place for place in range(size) if place not in kept)])
        units = np.sqrt(np.diagonal(information))[order]
        precision, without_noise, information = (
            matrix[np.ix_(order, order)] / np.outer(units, units) for matrix in (precision, without_noise, information))
        moments = without_leading(information, len(kept))
        score = score[order] / units
        beyond = Beyond.of(estimate, precision, score, order, units)
        quadratic = Quadratic(precision, score, moments, len(kept), rows, scales_of(estimate), beyond)
        return cls(estimate, quadratic, without_noise, order, units)

    def to_user(self, working: Array) -> Array:
        """(coefficients in the formula's order, scale) from draws of them in working units."""
        result = working.copy()
        result[:, self.order] = working[:, :len(self.units)] / self.units
        return result

    def rows_known(self) -> Array:
        """What the release knows about each independent direction of the terms in question, as a number of rows."""
        rest = without_leading(self.quadratic.precision, self.quadratic.kept)
        inverse = np.linalg.inv(np.linalg.cholesky(self.quadratic.prior_moments))
        return np.asarray(self.quadratic.rows * np.maximum(np.linalg.eigvalsh(inverse @ rest @ inverse.T), 0.0))


@dataclass(frozen=True, eq=False)
class Beyond:
    """By how much the log likelihood of coefficients in working units exceeds the quadratic; 0 where that is expanded."""

    estimate: Estimate
    precision: Array
    score: Array
    order: Places
    units: Array
    origin: float

    @classmethod
    def of(cls, estimate: Estimate, precision: Array, score: Array, order: Places, units: Array) -> Beyond:
        """Of this quadratic."""
        one = cls(estimate, precision, score, order, units, 0.0)
        return replace(one, origin=float(one((estimate.coefficients[order] * units)[None])[0]))

    def __call__(self, working: Array) -> Array:
        """For coefficients that are rows, the kept columns first."""
        user = np.empty_like(working)
        user[:, self.order] = working / self.units
        quadratic = working @ self.score - 0.5 * np.einsum("mi,ij,mj->m", working, self.precision, working)
        return np.asarray(log_likelihood(self.estimate, user) - quadratic - self.origin)


def log_likelihood(estimate: Estimate, coefficients: Array) -> Array:
    """The log likelihood of coefficients in the user's units, which are rows, up to a constant."""
    blocks = []
    for start in range(0, len(coefficients), AT_ONCE):
        away = (coefficients[start:start + AT_ONCE] - estimate.likelihood.last.round.point.coefficients).T
        distances = np.asarray(np.linalg.solve(estimate.likelihood.to_coefficients, away), dtype=np.float64)
        total: Array = np.zeros(distances.shape[1])
        for combined, precision, place in zip(estimate.combined, estimate.precisions, estimate.places, strict=True):
            left = combined.left_of_many(place.distance(distances))
            total = total - 0.5 * np.asarray(np.sum(left * (precision @ left), axis=0))
        blocks.append(total)
    return np.concatenate(blocks)


def expansion(estimate: Estimate) -> tuple[Array, Array, Array]:
    """The likelihood's precision H and that without privacy noise F, and b, for coefficients in the user's units."""
    size = estimate.likelihood.problem.terms
    precision, without, score = np.zeros((size, size)), np.zeros((size, size)), np.zeros(size)
    for one, combined, certain, place in zip(estimate.likelihoods, estimate.combined, estimate.precisions, estimate.places,
                                             strict=True):
        own = place.distance(estimate.distance)
        left, slope, _ = combined.left(own)
        slope = slope @ place.turn
        precision += slope.T @ certain @ slope
        score += slope.T @ certain @ left
        without += slope.T @ np.linalg.solve(one.rows_spread(own), slope)
    back = np.linalg.inv(estimate.likelihood.to_coefficients)
    precision, without = (back.T @ matrix @ back for matrix in ((precision + precision.T) / 2, (without + without.T) / 2))
    return precision, without, precision @ estimate.coefficients + back.T @ score


def row_information(estimate: Estimate, reach: Array) -> tuple[Array, float]:
    """The information of all holders' rows about the coefficients in the user's units, and the number of rows.

    Each term has one more row, where it alone is at the end of its ``reach``, in case it never varies, or only with others.
    """
    rows = np.array([one.problem.rows for one in estimate.likelihoods])
    products = np.diag(np.where(reach > 0.0, reach, 1.0) ** 2)
    for one, count in zip(estimate.likelihoods, rows, strict=True):
        terms = one.last.directions @ np.linalg.inv(one.to_coefficients)
        products += count * (terms * one.weights[:, None]).T @ terms
    weights = np.concatenate([one.weights * count for one, count in zip(estimate.likelihoods, rows, strict=True)])
    eta = np.concatenate([one.eta(place.distance(estimate.distance))
                          for one, place in zip(estimate.likelihoods, estimate.places, strict=True)])
    problem = estimate.likelihood.problem
    return products * null_information(problem.family, problem.bounds, estimate.likelihood.scale, eta, weights), float(rows.sum())


def null_information(family: Family, bounds: tuple[float, float], scale: float, eta: Array, weights: Array) -> float:
    """What a row says about its linear predictor where the mean is the average of rows with these linear predictors."""
    from scipy.optimize import brentq

    low, high = _widest(family, bounds)

    def moments(at: Array) -> Moments:
        return family.moments(at, np.full_like(at, low), np.full_like(at, high), scale)

    average = float(weights @ moments(eta).mean / weights.sum())
    ends = float(eta.min()), float(eta.max())
    below, above = (float(moments(np.array([end])).mean[0]) - average for end in ends)
    at = brentq(lambda one: float(moments(np.array([one])).mean[0]) - average, *ends) if below < 0.0 < above else ends[0]
    found = moments(np.array([at]))
    return float(found.slope[0] ** 2 / (found.square[0] - found.mean[0] ** 2))


def _widest(family: Family, bounds: tuple[float, float]) -> tuple[float, float]:
    """Limits beyond which no response counts: those that are declared, or for numbers far beyond them."""
    beyond = 10.0 * (bounds[1] - bounds[0]) if family.response == "number" else 0.0
    return bounds[0] - beyond, bounds[1] + beyond


def scales_of(estimate: Estimate) -> Array:
    """Equally likely values of the scale, as a column; no column if the family has none."""
    scales, chances = scale_chances(estimate.likelihoods, estimate.distance)
    if len(scales) == 1:
        return np.zeros((1, 0))
    return Scales.of(scales, chances).quantile((np.arange(SCALES) + 0.5) / SCALES)[:, None]
