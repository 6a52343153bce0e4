"""Where the next round looks, and how much of the budget it spends: a public function of the noisy sums so far.

Rounds that find the coefficients are cheap; the last one, at the place they found, has all that is left. The noise of a round is
measured against the root mean square of ‖u‖ bound, which the coordinates make 1 or, if noise matters little, up to 3: then
fewer rows are held back by the limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.scores.estimate import Estimate
from noisewise.scores.likelihood import BEND, Problem, matrix_of
from noisewise.scores.nodes import Nodes
from noisewise.scores.reference import Reference
from noisewise.scores.rounds import Point

LOOK: Final = 0.04
"""The first look's share of the budget (of μ²)."""
FINDING: Final = (0.06, 0.08, 0.10, 0.10, 0.10, 0.10)
"""The shares of the rounds that find the coefficients, at most."""
CLOSE: Final = 0.3
"""Search on while the error that remains of a round's place is more than this share of the last round's own."""
LITTLE_SAID: Final = 0.3
"""A round says little if its noise leaves a typical linear predictor open to this share of the family's unit."""
SHRINKING: Final = 0.6
"""Search on while residuals turn out to be less than this share of what the last round clipped them for."""
WIDEST: Final = 3.0
LITTLE: Final = 0.1
"""Widen the limit while noise adds no more than this share to the variance."""


def point_at(problem: Problem, reference: Reference, coefficients: Array, scale: float, *, spread: bool, noise: float) -> Point:
    """A round's point: coordinates in which the information of the made-up rows is the identity, up to a factor.

    ``noise`` is the standard deviation of the score's noise.
    """
    nodes = Nodes.of(problem.family, problem.bounds, scale)
    terms, _ = np.linalg.qr(problem.features)
    rows = reference.rows @ terms
    at = nodes.place(reference.rows @ (problem.features @ coefficients))
    found = matrix_of(rows, reference.weights * nodes.slope[at])
    values, vectors = np.linalg.eigh(found)
    whiten = (vectors / np.sqrt(np.maximum(values, 1e-6 * values[-1]))).T
    limit = _limit(problem, reference, rows @ whiten.T, nodes.bound[at], noise)
    return Point(coefficients=coefficients, coordinates=whiten @ terms.T / limit, scale=scale, spread=spread)


def _limit(problem: Problem, reference: Reference, directions: Array, bound: Array, noise: float) -> float:
    """How long a row may be, in coordinates in which the information of the table is n times the identity."""
    limit = float(np.sqrt(reference.weights @ (np.sum(directions**2, axis=1) * bound**2)))
    # In these coordinates the rows' own variance is about 1/n, and the noise's (noise · limit)².
    ratio = (noise * limit) ** 2 / max(problem.rows, 1.0)
    return limit * float(np.clip(np.sqrt(LITTLE / max(ratio, 1e-12)), 1.0, WIDEST))


def point_from(problem: Problem, reference: Reference, start: Point, *, spread: bool, noise: float) -> Point:
    """The point of an earlier release, with coordinates as long as this table and this noise make best."""
    nodes = Nodes.of(problem.family, problem.bounds, start.scale)
    at = nodes.place(reference.rows @ (problem.features @ start.coefficients))
    across = reference.rows @ start.coordinates.T
    information = np.trace(matrix_of(across, reference.weights * nodes.slope[at])) / problem.terms
    unit = float(np.sqrt(max(information, 1e-300)))
    limit = _limit(problem, reference, across / unit, nodes.bound[at], noise)
    return replace(start, coordinates=start.coordinates / (unit * limit), spread=spread)


def says_little(problem: Problem, reference: Reference, point: Point, noise: float) -> bool:
    """Whether even a round here with this noise leaves linear predictors open: then all that is left goes into it."""
    nodes = Nodes.of(problem.family, problem.bounds, point.scale)
    across = reference.rows @ point.coordinates.T
    at = nodes.place(reference.rows @ (problem.features @ point.coefficients))
    lengths = np.sum(across**2, axis=1)
    rates = reference.weights * nodes.slope[at] / np.maximum(1.0, lengths * nodes.bound[at] ** 2)
    inverse = np.linalg.pinv(problem.rows * matrix_of(across, rates), rcond=1e-9)
    shares = rates * lengths / np.sum(rates * lengths)
    typical = noise * np.sqrt(shares @ np.sum((across @ inverse) ** 2, axis=1))
    return bool(typical > LITTLE_SAID * problem.family.unit(point.scale))


def is_found(estimate: Estimate, noise: float) -> bool:
    """Whether the next round should be the last: would more search change much? ``noise`` is that of the last score."""
    likelihood = estimate.likelihood
    if estimate.clipping_scale() < SHRINKING * likelihood.last.round.point.scale:
        return False
    now = estimate.typical(estimate.covariance)
    inverse = np.linalg.inv(likelihood.matrix)
    score = likelihood.rows_spread(estimate.distance) + noise**2 * np.eye(len(inverse))
    then = estimate.typical(inverse @ score @ inverse.T)
    unit = likelihood.problem.family.unit(estimate.clipping_scale())
    return BEND * now * min(1.0, now / unit) < CLOSE * then
