"""How numbers and two-level categories go together, as far as a round's noisy matrix tells.

The matrix is Σ w rate u uᵀ, where u is a linear function of the terms of the formula. Turned back, it has their weighted second
moments. Correlations are held closer to 0 the noisier they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.schema.basis import Basis
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Known, names_of
from noisewise.scores.reference import Reference
from noisewise.scores.rounds import Round

USUAL: Final = 0.3
"""A usual correlation."""
LEAST: Final = 0.005
"""The least eigenvalue of a matrix of correlations."""


def reference_for(basis: Basis, known: Known, problem: Problem, rounds: Sequence[Round]) -> Reference:
    """Made-up rows from the first look and a round: the first, where rows differ least in information, or the most precise."""
    if not rounds:
        return Reference.of(basis, known)
    told = min(rounds, key=lambda one: one.noise.matrix) if problem.family.even else rounds[0]
    return Reference.of(basis, known, correlations_of(problem, basis, told))


def correlations_of(problem: Problem, basis: Basis, one: Round) -> Array:
    """The correlations of the declared columns behind the predictors, in the order of `names_of`; 0 where nothing tells."""
    names = names_of(basis.columns[:-1])
    found = np.eye(len(names))
    constant, places = _plain_terms(problem, basis, names)
    if constant is None or len(places) < 2:
        return found
    # θ = θ_K + D e, so u = Dᵀ t.
    turn = np.linalg.pinv(np.linalg.lstsq(problem.features, one.point.coordinates.T, rcond=None)[0].T)
    moments, rows = turn @ one.matrix @ turn.T, np.linalg.norm(turn, axis=1)
    weight = moments[constant, constant]
    if not weight > 0:
        return found
    chosen = list(places.values())
    means = moments[constant, chosen] / weight
    covariance = moments[np.ix_(chosen, chosen)] / weight - np.outer(means, means)
    scatter = one.noise.matrix / weight * np.outer(rows[chosen], rows[chosen])
    sds = np.sqrt(np.maximum(np.diag(covariance), np.maximum(np.diag(scatter), 1e-300)))
    correlations, noise = covariance / np.outer(sds, sds), scatter / np.sqrt(2.0) / np.outer(sds, sds)
    held = np.clip(correlations * USUAL**2 / (USUAL**2 + noise**2), -0.995, 0.995)
    np.fill_diagonal(held, 1.0)
    values, vectors = np.linalg.eigh(held)
    held = (vectors * np.maximum(values, LEAST)) @ vectors.T
    scale = np.sqrt(np.diag(held))
    at = [names.index(name) for name in places]
    found[np.ix_(at, at)] = held / np.outer(scale, scale)
    return found


def _plain_terms(problem: Problem, basis: Basis, names: list[str]) -> tuple[int | None, dict[str, int]]:
    """The term that is the constant, and for each declared column the term that is a linear function of it alone."""
    constant: int | None = None
    places: dict[str, int] = {}
    for term, weights in enumerate(problem.features.T):
        used = [basis.columns[index].factors for index in np.flatnonzero(weights[1:]) + 1]
        if not used:
            constant = term
        elif len(used) == 1 and len(used[0]) == 1 and used[0][0].degree == 1 and used[0][0].level is None:
            places.setdefault(used[0][0].column, term)
    return constant, places
