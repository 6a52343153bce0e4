"""How likely coefficients make the noisy sums of all rounds.

Each round's score is predicted by the made-up rows: h(θ) = n Σ ω w u E_θ[ψ]. All rounds are carried to the coordinates of the
last, where e is the distance from its point: θ = θ_K + D e, and a row's linear predictor is η_K + u·e. What is left of them,

    r(e) = Q⁻¹ Σ_j Q_j C_j g_j − S Q⁻¹ Σ_j Q_j C_j h_j(e),    C_j = (∂h_K/∂e) (∂h_j/∂e)⁻¹,

is normal with mean 0 and covariance V + Q⁻¹ + what the matrix's own noise leaves uncertain. V is that of the rows, which all
rounds share; Q⁻¹ is that of the noise, since Q_j is the precision of a carried score; S corrects the made-up rows' matrix by the
noisy one, as far as it can be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.schema.basis import Basis
from noisewise.schema.design import Design
from noisewise.scores.families import Family
from noisewise.scores.families.family import Curve, Moments
from noisewise.scores.looks import response_bounds
from noisewise.scores.nodes import Nodes
from noisewise.scores.reference import Reference, Seen
from noisewise.scores.rounds import Look, Round

MISMATCH: Final = 0.2
"""How far entries of the true matrix may be from those of the made-up rows, whitened: a prior standard deviation."""
LEAST: Final = 0.05
"""The least eigenvalue of the corrected matrix, relative to that of the made-up rows."""
SQUARE_VARIANCE: Final = 0.05
"""About the variance of a clipped and scaled squared residual, for normal ones clipped at 2.3 standard deviations."""
BEND: Final = 0.25
"""How wrong a predicted score may be, as a share of it, if η is one of the family's units from the round's point or farther."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is public before the rounds: the family, the declared bounds of the response, and the formula.

    ``features`` turns a row of the predictors' released columns x into the terms of the formula: ``features.T @ x``.
    ``rows`` is their number, with the standard deviation of its noise, if any.
    """

    family: Family
    bounds: tuple[float, float]
    features: Array
    rows: float
    rows_noise: float

    @classmethod
    def of(cls, basis: Basis, design: Design, family: Family, look: Look) -> Problem:
        """The problem of a release whose columns are the constant, the predictors and, last, the response."""
        return cls(family, response_bounds(basis), design.features[:-1], max(look.rows, 1.0), look.rows_noise)

    @property
    def terms(self) -> int:
        """The number of coefficients."""
        return int(self.features.shape[1])


@dataclass(frozen=True, eq=False)
class View:
    """A round, as the made-up rows see it: u and what the row's node says, one entry for each row."""

    problem: Problem
    round: Round
    directions: Array
    low: Array
    high: Array
    mean: Array
    factor: Array
    bound: Array
    weight: Array
    slope: Array
    square: Array
    rate: Array
    rate_unit: float
    start: Array
    """The linear predictor, before it is rounded to a node."""
    _curves: dict[float, Curve] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem, one: Round, rows: Array) -> View:
        """Where the made-up rows stand in a round."""
        point = one.point
        nodes = Nodes.of(problem.family, problem.bounds, point.scale)
        eta = rows @ (problem.features @ point.coefficients)
        at = nodes.place(eta)
        directions = rows @ point.coordinates.T
        weight = 1.0 / np.maximum(1.0, np.sum(directions**2, axis=1) * nodes.bound[at] ** 2)
        return cls(problem, one, directions, nodes.low[at], nodes.high[at], nodes.mean[at], nodes.factor[at], nodes.bound[at],
                   weight, nodes.slope[at], nodes.square[at], nodes.rate[at], nodes.rate_unit, eta)

    @property
    def seen(self) -> Seen:
        """The matrix for one row of the table, for the weights of the made-up rows."""
        rows = max(self.problem.rows, 1.0)
        return Seen(self.round.matrix / rows, entry_variances(self.round.noise.matrix, len(self.round.matrix)) / rows**2,
                    self.directions, self.weight * self.rate)

    def within(self, eta: Array) -> Array:
        """η, clipped where the family's grid ends."""
        start, step, count = self.problem.family.grid(self.problem.bounds, self.round.point.scale)
        found: Array = np.clip(eta, start, start + step * (count - 1))
        return found

    def moments(self, eta: Array, scale: float) -> Moments:
        """Those of the clipped response at other linear predictors."""
        return self.problem.family.moments(self.within(eta), self.low, self.high, scale)

    def curve(self, scale: float) -> Curve:
        """The mean of each row's clipped response as a function of its linear predictor."""
        if scale not in self._curves:
            self._curves[scale] = self.problem.family.curve(self.low, self.high, scale)
        return self._curves[scale]

    def predicted(self, eta: Array, scale: float, weights: Array) -> tuple[Array, Array]:
        """The expected score for these linear predictors, and minus its derivative by a common coordinate, row by row."""
        mean, slope = self.curve(scale)(self.within(eta))
        shares = self.problem.rows * weights * self.weight * self.factor
        return (shares * (mean - self.mean)) @ self.directions, shares * slope

    def scores(self, eta: Array, scale: float, weights: Array) -> Array:
        """The expected scores for many sets of linear predictors, which are columns."""
        mean, _ = self.curve(scale)(self.within(eta))
        shares = self.problem.rows * weights * self.weight * self.factor
        found: Array = (self.directions * shares[:, None]).T @ (mean - self.mean[:, None])
        return found

    def spread(self, eta: Array, scale: float, weights: Array) -> Array:
        """The variance of the score over tables, given the predictors."""
        found = self.moments(eta, scale)
        variance = self.factor**2 * np.maximum(found.square - found.mean**2, 0.0)
        return matrix_of(self.directions, self.problem.rows * weights * self.weight**2 * variance)

    def expected_square(self, eta: Array, scale: float, weights: Array) -> float:
        """The expected sum of (ψ/bound)²."""
        found = self.moments(eta, scale)
        squares = found.square - 2 * self.mean * found.mean + self.mean**2
        return float(self.problem.rows * np.sum(weights * squares * (self.factor / self.bound) ** 2))


@dataclass(frozen=True, eq=False)
class Likelihood:
    """All rounds of one holder, and the made-up rows that explain their matrices."""

    problem: Problem
    views: tuple[View, ...]
    rows: Array
    weights: Array
    scale: float
    """The standard deviation of residuals, or the dispersion."""
    robust: bool = False

    @classmethod
    def of(cls, problem: Problem, rounds: Sequence[Round], reference: Reference, robust: bool = False) -> Likelihood:
        """Learn the weights of the made-up rows."""
        views = tuple(View.of(problem, one, reference.rows) for one in rounds)
        weights = reference.reweighted([view.seen for view in views]).weights
        return cls(problem, views, reference.rows, weights, rounds[-1].point.scale, robust)

    def with_scale(self, scale: float) -> Likelihood:
        """The same with another scale."""
        return replace(self, scale=scale)

    @property
    def reference(self) -> Reference:
        """The made-up rows with the weights that they have learnt."""
        return Reference(self.rows, self.weights)

    @property
    def last(self) -> View:
        """The last round, in whose coordinates everything is."""
        return self.views[-1]

    @cached_property
    def to_coefficients(self) -> Array:
        """D: θ = θ_K + D e."""
        solved = np.linalg.lstsq(self.problem.features, self.last.round.point.coordinates.T, rcond=None)[0]
        found: Array = np.asarray(solved, dtype=float)
        return found

    def eta(self, distance: Array) -> Array:
        """The linear predictor of each made-up row."""
        eta: Array = self.last.start + self.last.directions @ distance
        return eta

    @cached_property
    def matrix(self) -> Array:
        """J: minus the derivative of the last round's expected score at its own point, by the made-up rows."""
        last = self.last
        rates = self.problem.rows * self.weights * last.weight * last.slope
        return matrix_of(last.directions, rates) + _ridge(last.directions.shape[1])

    @cached_property
    def importance(self) -> Array:
        """Each made-up row's share of the information."""
        last = self.last
        leverage = np.einsum("ri,ij,rj->r", last.directions, np.linalg.inv(self.matrix), last.directions)
        found: Array = self.weights * last.weight * last.slope * leverage
        shares: Array = found / found.sum()
        return shares

    @cached_property
    def correction(self) -> tuple[Array, Array]:
        """S, and the variances of what remains uncertain of each entry, in the eigenvectors of J (the second's last rows)."""
        values, vectors = np.linalg.eigh(self.matrix)
        values = np.maximum(values, 1e-9 * values[-1])
        scale = np.sqrt(np.outer(values, values))
        noise = entry_variances(self.last.round.noise.matrix * self.last.rate_unit, len(values))
        apart = (vectors.T @ (self.last.round.matrix * self.last.rate_unit) @ vectors - np.diag(values)) / scale
        kept = MISMATCH**2 / (MISMATCH**2 + noise / scale**2)
        found, turned = np.linalg.eigh(np.eye(len(values)) + kept * apart)
        better = (turned * np.maximum(found, LEAST)) @ turned.T
        root = vectors * np.sqrt(values)
        ratio = root @ better @ np.linalg.inv(root)
        return ratio, np.stack([vectors, kept * noise])

    def uncertain(self, score: Array) -> Array:
        """The covariance that the matrix's own noise adds for coefficients with this expected score."""
        vectors, variances = self.correction[1]
        step = vectors.T @ np.linalg.solve(self.matrix, score)
        found: Array = vectors @ spread_of_product(variances, step) @ vectors.T
        return found

    def rows_spread(self, distance: Array) -> Array:
        """V: the variance of the last round's score over tables."""
        expected = self.last.spread(self.eta(distance), self.scale, self.weights)
        values, vectors = np.linalg.eigh(expected)
        root = vectors * np.sqrt(np.maximum(values, 1e-12 * values[-1]))
        if self.robust:
            return self._released_spread(root)
        left, singular, right = np.linalg.svd(self.correction[0])
        half = left @ np.diag(np.sqrt(singular)) @ right
        found: Array = half @ expected @ half.T
        return found

    def _released_spread(self, root: Array) -> Array:
        """The noisy Σ s sᵀ, held to the expected one as far as its noise requires."""
        last = self.last.round
        assert last.spread is not None and last.noise.spread is not None
        size = len(root)
        inverse = np.linalg.inv(root)
        apart = inverse @ last.spread @ inverse.T - np.eye(size)
        lengths = np.sqrt(np.sum(inverse**2, axis=1))
        noise = entry_variances(last.noise.spread, size) * np.outer(lengths, lengths) ** 2
        wide = (5 * MISMATCH) ** 2
        values, vectors = np.linalg.eigh(np.eye(size) + wide / (wide + noise) * apart)
        better = (vectors * np.maximum(values, LEAST)) @ vectors.T
        found: Array = root @ better @ root.T
        return found

    def combined(self, distance: Array) -> Combined:
        """The rounds' precision and how to carry each to the last, for coefficients near ``distance``."""
        eta = self.eta(distance)
        predictions = [view.predicted(eta, self.scale, self.weights) for view in self.views]
        across = self.last.directions
        slopes = [(view.directions * rate[:, None]).T @ across for view, (_, rate) in zip(self.views, predictions, strict=True)]
        size = self.problem.terms
        now = slopes[-1] + _ridge(size)
        carried, precisions = [], []
        for view, (score, _), slope in zip(self.views, predictions, slopes, strict=True):
            carry = np.eye(size) if view is self.last else _carry(now, slope)
            moved = float(np.sqrt(self.importance @ (eta - view.start) ** 2))
            change = carry @ score
            wrong = (BEND * min(1.0, moved / self.problem.family.unit(view.round.point.scale))) ** 2
            length = float(change @ np.linalg.solve(now, change))
            variance = view.round.noise.score**2 * carry @ carry.T \
                + wrong * (np.outer(change, change) + length * (now + now.T) / 2 / size)
            carried.append(carry)
            precisions.append(np.linalg.inv(variance))
        total = np.linalg.inv(np.sum(precisions, axis=0))
        return Combined(self, tuple(total @ precision @ carry for precision, carry in zip(precisions, carried, strict=True)),
                        (total + total.T) / 2)

    def weight_kept(self) -> float:
        """The share of all rows' weight that the last round's limit on their length leaves."""
        return float(self.weights @ self.last.weight)

    def moved(self, distance: Array) -> float:
        """How far the last round looked from here: the root mean square difference of linear predictors."""
        return float(np.sqrt(self.importance @ (self.last.directions @ distance) ** 2))

    def scale_logs(self, distance: Array) -> tuple[Array, Array]:
        """Scales, and the log of how likely the last round's squares make each."""
        scales = self.problem.family.scales(self.problem.bounds)
        view, noise = self.last, self.last.round.noise.square
        if view.round.square is None or noise is None:
            return np.array([self.scale]), np.zeros(1)
        eta = self.eta(distance)
        expected = np.array([view.expected_square(eta, scale, self.weights) for scale in scales])
        variance = noise**2 + self.problem.rows * SQUARE_VARIANCE
        return scales, -0.5 * (view.round.square - expected) ** 2 / variance


@dataclass(frozen=True, eq=False)
class Combined:
    """The rounds as one score: ``pieces`` turn each round's score into its part of it; ``noise`` is its covariance."""

    likelihood: Likelihood
    pieces: tuple[Array, ...]
    noise: Array

    def left(self, distance: Array) -> tuple[Array, Array, Array]:
        """r(e), minus its derivative, and the expected score that it subtracts."""
        one = self.likelihood
        eta, across, ratio = one.eta(distance), one.last.directions, one.correction[0]
        size = one.problem.terms
        observed, expected, slope = np.zeros(size), np.zeros(size), np.zeros((size, size))
        for view, piece in zip(one.views, self.pieces, strict=True):
            score, rates = view.predicted(eta, one.scale, one.weights)
            observed = observed + piece @ view.round.score
            expected = expected + piece @ score
            slope = slope + piece @ ((view.directions * rates[:, None]).T @ across)
        return observed - ratio @ expected, ratio @ slope, expected

    def left_of_many(self, distances: Array) -> Array:
        """r(e) for many distances, which are columns."""
        one = self.likelihood
        eta = one.last.start[:, None] + one.last.directions @ distances
        observed = np.zeros(one.problem.terms)
        expected = np.zeros(distances.shape)
        for view, piece in zip(one.views, self.pieces, strict=True):
            observed = observed + piece @ view.round.score
            expected = expected + piece @ view.scores(eta, one.scale, one.weights)
        found: Array = observed[:, None] - one.correction[0] @ expected
        return found

    def covariance(self, distance: Array, expected: Array) -> Array:
        """The covariance of r."""
        one = self.likelihood
        count = np.outer(expected, expected) * (one.problem.rows_noise / max(one.problem.rows, 1.0)) ** 2
        return one.rows_spread(distance) + self.noise + one.uncertain(expected) + count


def matrix_of(directions: Array, rates: Array) -> Array:
    """Σ rate u uᵀ."""
    found: Array = (directions * rates[:, None]).T @ directions
    return found


def entry_variances(noise: float, size: int) -> Array:
    """The variances of a symmetric matrix's noise, which is √½ as large off the diagonal."""
    found: Array = noise**2 * (1.0 + np.eye(size)) / 2.0
    return found


def spread_of_product(variances: Array, vector: Array) -> Array:
    """The covariance of N v for a symmetric N whose entries are independent with these variances."""
    crossed: Array = variances * np.outer(vector, vector)
    np.fill_diagonal(crossed, variances @ vector**2)
    return crossed


def _ridge(size: int) -> Array:
    """Keeps a matrix of nothing invertible."""
    return 1e-9 * np.eye(size)


def _carry(now: Array, slope: Array) -> Array:
    """now @ slope⁻¹, if the slope is nearly singular too."""
    found: Array = now @ np.linalg.pinv(slope, rcond=1e-6)
    # A direction that this round cannot see says nothing.
    return found + 1e-6 * np.eye(len(now))
