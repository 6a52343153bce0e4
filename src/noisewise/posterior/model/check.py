"""What the rounds of a model release say about a fit to them. `noisewise.results.kinds.model` shows it.

Holders.  Each holder's combined score r_h, averaged over the posterior's draws, against 0. Its covariance is Σ_h − A_h P A_hᵀ,
what is left after the fit: that of the score at the true coefficients, Σ_h, with its slope A_h and the posterior's covariance P.

Rounds.  An earlier round's score, carried to the last one, changes the combination of the two by d. All rounds have the same
rows, so d has the noise that the earlier round removes, what its clipping changes, and an allowance for the made-up rows.

Variance.  tr(V⁻¹ Σ s sᵀ) / k against 1, where V is what the family expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from noisewise.arrays import Array
from noisewise.posterior.model.problem import ModelProblem
from noisewise.releases.release import Release
from noisewise.results.check_moments import LEAST_SHARE, at_least, covariance_root, squared_lengths, whitening_root
from noisewise.results.fit_info import INTERCEPT
from noisewise.schema import Design
from noisewise.scores.estimate import Place
from noisewise.scores.likelihood import Likelihood, View, matrix_of

DRAWS: Final = 64
"""Number of evenly spaced draws to average over."""
LEAST_GAIN: Final = 1e-3
"""A round says something about a direction if it removes this share of the last one's variance there."""
KNOWN: Final = 0.25
"""The noise of a direction of the last matrix, relative to it, up to which the made-up rows must explain all rounds there."""
TOLERANCE: Final = 0.05
"""How far the made-up rows may get a variance wrong: a standard deviation. No smaller excess matters for intervals."""


class Distance(NamedTuple):
    """A squared length in units of its covariance, and its degrees of freedom."""

    value: float
    freedom: float


class Ratio(NamedTuple):
    """A variance ratio and its standard deviation, without `TOLERANCE`."""

    value: float
    sd: float


@dataclass(frozen=True, eq=False)
class HolderCheck:
    """One holder's statistics, per row of its table: Σ w ψ f for the centred terms f of the formula, less what is expected."""

    gaps: Array
    covariance: Array
    overall: Distance
    rounds: tuple[Distance, ...]
    """How far each round before the last is from it, as far as it says something."""
    variance: Ratio | None


@dataclass(frozen=True, eq=False)
class ModelCheck:
    """All holders' statistics, and whether the holders agree."""

    holders: tuple[HolderCheck, ...]
    agreement: Distance


def check_model(release: Release, design: Design, samples: Array, *, scaled: bool, robust: bool) -> ModelCheck:
    """Compare draws (draws, terms) with the rounds. With ``scaled`` the last term is the family's scale."""
    terms = len(design.terms)
    scales = samples[:, -1] if scaled else None
    likelihoods = ModelProblem.of(release, design, None, robust).likelihoods
    if scales is not None:
        likelihoods = tuple(one.with_scale(float(np.exp(np.mean(np.log(scales))))) for one in likelihoods)
    first = likelihoods[0]
    places = [Place.of(first, one) for one in likelihoods]
    apart = samples[:, :terms] - first.last.round.point.coefficients
    distances = np.asarray(np.linalg.solve(first.to_coefficients, apart.T), dtype=float)
    mean, chosen = distances.mean(axis=1), np.unique(np.linspace(0, distances.shape[1] - 1, DRAWS).astype(int))
    parts = [_Part.of(one, place, mean, distances[:, chosen]) for one, place in zip(likelihoods, places, strict=True)]
    fit = _fitted(parts, covariance_root(distances.T))
    holders = []
    for one, place, part in zip(likelihoods, places, parts, strict=True):
        own = place.distance(mean)
        left = part.covariance if len(parts) == 1 else _left_of(part, fit)
        turn = _to_terms(one, design, part.own_slope)
        holders.append(HolderCheck(
            gaps=turn @ part.gaps, covariance=turn @ left @ turn.T,
            overall=Distance(float(squared_lengths(left[None], part.gaps[None])[0]), float(terms)),
            rounds=_rounds(one, own, place.distance(distances[:, chosen])),
            variance=None if robust else variance_ratio(one, own, scales)))
    return ModelCheck(tuple(holders), _agreement(parts, fit))


@dataclass(frozen=True, eq=False)
class _Part:
    """A holder's combined score over the draws, and its covariance at the true coefficients.

    The slope is by the first holder's distance, the own slope by the holder's.
    """

    gaps: Array
    covariance: Array
    slope: Array
    own_slope: Array

    @classmethod
    def of(cls, one: Likelihood, place: Place, mean: Array, distances: Array) -> _Part:
        own, each = place.distance(mean), place.distance(distances)
        combined = one.combined(own)
        _, slope, expected = combined.left(own)
        left = combined.left_of_many(each)
        # If draws are so wide that the expected score bends between them, first order is not enough.
        bent = _spread(left + slope @ each)
        return cls(left.mean(axis=1), combined.covariance(own, expected) + bent, slope @ place.turn, slope)


def _fitted(parts: Sequence[_Part], root: Array) -> Array:
    """The posterior's covariance, at most the likelihood's own: wider draws explain no more than that."""
    information = sum(part.slope.T @ np.linalg.solve(part.covariance, part.slope) for part in parts)
    values, vectors = np.linalg.eigh(root.T @ information @ root)
    turned = root @ vectors
    found: Array = (turned * np.minimum(1.0, 1.0 / np.maximum(values, 1e-300))) @ turned.T
    return found


def _left_of(part: _Part, fit: Array) -> Array:
    """What the fit leaves of a holder's covariance."""
    left = part.covariance - part.slope @ fit @ part.slope.T
    found: Array = at_least(left[None], part.covariance[None], LEAST_SHARE)[0]
    return found


def _agreement(parts: Sequence[_Part], fit: Array) -> Distance:
    """The squared length of all holders' scores, without the directions that the fit has used up.

    In units where every holder's covariance is the identity, what the fit leaves is I − B P Bᵀ, with B = root⁻¹ A.
    """
    roots = [whitening_root(part.covariance[None])[0] for part in parts]
    values = np.concatenate([np.linalg.solve(root, part.gaps) for root, part in zip(roots, parts, strict=True)])
    sides = np.concatenate([np.linalg.solve(root, part.slope) for root, part in zip(roots, parts, strict=True)])
    span, triangle = np.linalg.qr(sides)
    used, vectors = np.linalg.eigh(triangle @ fit @ triangle.T)
    along = vectors.T @ (span.T @ values)
    kept = 1.0 - used > LEAST_SHARE
    outside = max(float(values @ values - along @ along), 0.0) if len(values) > len(along) else 0.0
    return Distance(outside + float(np.sum(along[kept] ** 2 / (1.0 - used[kept]))), float(len(values) - len(along) + kept.sum()))


def _to_terms(one: Likelihood, design: Design, slope: Array) -> Array:
    """From a score in the holder's coordinates to one in the terms of the formula, for one row.

    A row's terms are f = D⁻ᵀ u. They are centred where a shift of the response has no effect, so that it looks like no slope.
    """
    turn = np.asarray(np.linalg.inv(one.to_coefficients).T, dtype=float)
    if INTERCEPT in design.terms:
        place = design.terms.index(INTERCEPT)
        by_terms = turn @ slope @ turn.T
        others = np.arange(len(turn)) != place
        turn[others] -= np.outer(by_terms[others, place] / by_terms[place, place], turn[place])
    found: Array = turn / one.problem.rows
    return found


def _rounds(one: Likelihood, own: Array, distances: Array) -> tuple[Distance, ...]:
    last = replace(one, views=(one.last,))
    alone = last.combined(own)
    left, expected = alone.left_of_many(distances), alone.left(own)[2]
    values, vectors = np.linalg.eigh(one.matrix)
    known = vectors[:, one.last.round.noise.matrix * one.last.rate_unit < KNOWN * values].T
    if not len(known):
        return ()
    root = whitening_root((known @ alone.noise @ known.T)[None])[0]
    found = []
    for view in one.views[:-1]:
        pair = replace(one, views=(view, one.last)).combined(own)
        changes = pair.left_of_many(distances) - left
        change, gain = changes.mean(axis=1), alone.noise - pair.noise
        covariance = (gain + _clipped_apart(one, view, pair.pieces, own) + one.uncertain(pair.left(own)[2] - expected)
                      + _spread(changes))  # to first order it is the same for all draws
        shares, vectors = np.linalg.eigh(_whitened(root, known @ gain @ known.T))
        seen = vectors[:, shares > LEAST_GAIN]
        if seen.shape[1]:
            inside = seen.T @ _whitened(root, known @ covariance @ known.T) @ seen
            along = seen.T @ np.linalg.solve(root, known @ change)
            found.append(Distance(float(squared_lengths(inside[None], along[None])[0]), float(seen.shape[1])))
    return tuple(found)


def _spread(columns: Array) -> Array:
    """The covariance of columns."""
    away = columns - columns.mean(axis=1, keepdims=True)
    found: Array = away @ away.T / columns.shape[1]
    return found


def _whitened(root: Array, matrix: Array) -> Array:
    found: Array = np.linalg.solve(root, np.linalg.solve(root, matrix).T)
    return (found + found.T) / 2


def _clipped_apart(one: Likelihood, view: View, pieces: tuple[Array, ...], own: Array) -> Array:
    """The covariance over tables of Q w ψ u + (R − I) w' ψ' u', where Q and R are the pieces of a round and of the last one.

    It is 0 if both clip and weigh the rows alike.
    """
    last, eta = one.last, one.eta(own)
    mine = view.directions * (view.weight * view.factor)[:, None] @ pieces[0].T
    its = last.directions * (last.weight * last.factor)[:, None] @ (pieces[1] - np.eye(len(own))).T
    first, cross, second = clipped_covariances(view, last, eta, one.scale)
    shares = one.problem.rows * one.weights
    both = (mine * (shares * cross)[:, None]).T @ its
    return matrix_of(mine, shares * first) + both + both.T + matrix_of(its, shares * second)


def clipped_covariances(one: View, other: View, eta: Array, scale: float) -> tuple[Array, Array, Array]:
    """The variance of a response clipped as in one round, its covariance with that of another, and the other's variance.

    Both are sums of the response's parts between the limits. Where a higher part is not 0, a lower one is as long as it can be.
    """
    edges = np.sort(np.stack([one.low, one.high, other.low, other.high]), axis=0)
    lengths = np.diff(edges, axis=0)
    means, squares = np.zeros_like(lengths), np.zeros_like(lengths)
    for place, (low, high) in enumerate(pairwise(edges)):
        found = one.problem.family.moments(other.within(eta), low, high, scale)
        there = lengths[place] > 0.0
        means[place] = np.where(there, found.mean - low, 0.0)
        squares[place] = np.where(there, found.square - 2 * low * found.mean + low**2, 0.0)
    inside = [[(edges[:-1] >= view.low) & (edges[1:] <= view.high)] for view in (one, other)]
    mine, its = (np.asarray(places[0], dtype=float) for places in inside)
    total = [np.zeros(len(eta)) for _ in range(3)]
    for a in range(len(lengths)):
        for b in range(len(lengths)):
            low, high = min(a, b), max(a, b)
            product = squares[a] if a == b else lengths[low] * means[high]
            covariance = product - means[a] * means[b]
            for sum_, (left, right) in zip(total, ((mine, mine), (mine, its), (its, its)), strict=True):
                sum_ += left[a] * right[b] * covariance
    return total[0], total[1], total[2]


def variance_ratio(one: Likelihood, own: Array, scales: Array | None) -> Ratio | None:
    """How much the last round's residuals vary, relative to what the family expects; None if their squares were not released."""
    last = one.last
    released, noise = last.round.spread, last.round.noise.spread
    if released is None or noise is None:
        return None
    size, rows, eta = len(own), one.problem.rows, one.eta(own)
    found = last.moments(eta, one.scale)
    shift = last.factor * (found.mean - last.mean)
    around = released - matrix_of(last.directions, rows * one.weights * (last.weight * shift) ** 2)

    def at(scale: float) -> tuple[float, Array]:
        inverse = np.linalg.inv(replace(one, scale=scale, robust=False).rows_spread(own)) / size
        return float(np.sum(inverse * around)), inverse

    ratio, inverse = at(one.scale)
    square = last.factor**2 * np.maximum(found.square - found.mean**2, 0.0) + shift**2
    lengths = np.einsum("ri,ij,rj->r", last.directions, inverse, last.directions)
    # A bounded residual has at most this variance of its square.
    of_squares = np.maximum(last.bound**2 * square - square**2, 0.0)
    rows_variance = rows * float(one.weights @ (last.weight**4 * lengths**2 * of_squares))
    vectors, variances = one.correction[1]
    values = np.einsum("ik,ij,jk->k", vectors, one.matrix, vectors)
    variance = (noise**2 * float(np.sum(inverse**2)) + rows_variance + float(np.sum(np.diag(variances) / values**2)) / size**2
                + (one.problem.rows_noise / rows) ** 2)
    if scales is not None:
        step = float(np.exp(np.std(np.log(scales))))
        variance += ((at(one.scale * step)[0] - at(one.scale / step)[0]) / 2) ** 2
    return Ratio(ratio, float(np.sqrt(variance)))
