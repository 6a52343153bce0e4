"""Search for the point of a round, and the rows there, that a model release hides worst. It makes no use of the proofs.

What a row adds to a round is written out once more here, in floats. Points are drawn at random: flat and steep linear predictors,
coordinates that shorten no row and such that shorten all, any scale of the family. Near the best of them the search goes on, in
turn for the point and for the pair of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.audits.canaries import Change, Pair, scaled, worst_neighbours
from noisewise.holder.model import ModelPlan
from noisewise.schema.basis import Basis
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Layout, largest, range_starts, response_bounds
from noisewise.scores.next_round import LOOK
from noisewise.scores.nodes import Nodes
from noisewise.scores.rounds import Noise, Point

Rounds: TypeAlias = Sequence[tuple[Point, Noise]]
"""Where each round looks, and its noise."""

POINTS: Final = 32
POOL: Final = 32
TURNS: Final = 8
"""For each of the random points, a short search for a pair of rows."""
KEPT: Final = 12
STEPS: Final = 150
"""Points that are tried near each of the best ones, with its pair."""
NEARBY: Final = 3
"""How often the search goes on near the best, for a point and for a pair."""


@dataclass(frozen=True)
class Added:
    """What rows add to a planned release. ``basis`` has its columns and those of the first look.

    The basis shortens no rows to a declared norm, as the release does not.
    """

    plan: ModelPlan
    problem: Problem
    basis: Basis
    predictors: npt.NDArray[np.intp]
    response: int
    look: Layout
    looked: npt.NDArray[np.intp]

    @classmethod
    def of(cls, plan: ModelPlan) -> Added:
        """For a planned release."""
        released = plan.design.basis
        look = Layout.of(released, plan.family)
        columns = tuple(dict.fromkeys([*released.columns, *look.columns]))
        return cls(plan, Problem.of(released, plan.design, plan.family, plan.blank.contents.look),
                   Basis(replace(released.schema, norm_bound=None), columns),
                   np.array([columns.index(one) for one in released.columns[:-1]], dtype=np.intp),
                   columns.index(released.columns[-1]), look,
                   np.array([columns.index(one) for one in look.columns], dtype=np.intp))

    def at_once(self, point: Point) -> Rounds:
        """One round with the budget of all."""
        spread = self.plan.family.response != "two levels"
        return [(replace(point, spread=spread), self.plan.mechanism.noise_for(1.0 - LOOK, spread))]

    def change(self, rounds: Rounds) -> Change:
        """The change of a release with these rounds, in units of its noise. Rows of zeros are absent."""

        def change(leaves: Array, comes: Array) -> Array:
            (one, first), (other, second) = (self._numbers(values, rounds) for values in (leaves, comes))
            shared = one @ other.T + sum((a @ b.T) ** 2 for a, b in zip(first, second, strict=True))
            gone, new = ((own**2).sum(axis=1) + sum((a**2).sum(axis=1) ** 2 for a in roots)
                         for own, roots in ((one, first), (other, second)))
            return np.asarray(np.sqrt(np.maximum(gone[:, None] + new[None, :] - 2 * shared, 0.0)))

        return change

    def _numbers(self, values: Array, rounds: Rounds) -> tuple[Array, list[Array]]:
        """Sums and, in place of each matrix, the vector whose square it is."""
        there = values[:, :1]
        x, y = values[:, self.predictors], self._responses(values)
        numbers, roots = [self._looked(values, y)], []
        for point, noise in rounds:
            nodes = Nodes.of(self.problem.family, self.problem.bounds, point.scale)
            at = nodes.place(x @ (self.problem.features @ point.coefficients))
            u, bound = x @ point.coordinates.T, nodes.bound[at]
            psi = nodes.factor[at] * (np.clip(y, nodes.low[at], nodes.high[at]) - nodes.mean[at])
            weight = 1.0 / np.maximum(1.0, (u**2).sum(axis=1) * bound**2)
            score, root = (weight * psi)[:, None] * u, np.sqrt(weight * nodes.rate[at])[:, None] * u
            numbers.append(score / noise.score)
            roots.append(root * there / np.sqrt(noise.matrix))
            if noise.square is not None:
                numbers.append(((psi / bound) ** 2 / noise.square)[:, None])
            if noise.spread is not None:
                roots.append(score * there / np.sqrt(noise.spread))
        return np.concatenate(numbers, axis=1) * there, roots

    def _responses(self, values: Array) -> Array:
        low, high = response_bounds(self.plan.design.basis)
        found = (low + high) / 2 + (high - low) / 2 * values[:, self.response]
        return np.asarray(np.rint(found) if self.problem.family.response == "count" else found)

    def _looked(self, values: Array, y: Array) -> Array:
        look, columns = self.plan.blank.contents.look, values[:, self.looked]
        numbers = [columns, columns[:, self.look.squared] ** 2]
        if self.look.ranges:
            starts = range_starts(largest(self.plan.design.basis))
            numbers.append(np.eye(len(starts))[np.searchsorted(starts, y, side="right") - 1])
        if look.rows_noise:
            numbers.append(values[:, :1])
        return np.asarray(np.concatenate(numbers, axis=1) / look.noise)


def worst_point(added: Added, start: Point | None) -> tuple[Point, Pair]:
    """The worst point and pair of rows, or the worst pair at ``start``. The seed is for the search; there is no privacy noise."""
    if start is not None:
        return start, worst_neighbours(added.basis, added.change(added.at_once(start)))
    random = np.random.default_rng(8)
    found = []
    for _ in range(POINTS):
        point = _any_point(added, random)
        found.append((point, worst_neighbours(added.basis, added.change(added.at_once(point)), pool=POOL, rounds=TURNS)))
    found = [_near(added, *one, random) for one in sorted(found, key=_size)[-KEPT:]]
    for _ in range(NEARBY):
        point, pair = _near(added, *max(found, key=_size), random)
        found = [(point, pair), (point, worst_neighbours(added.basis, added.change(added.at_once(point))))]
    return max(found, key=_size)


def _size(found: tuple[Point, Pair]) -> float:
    return found[1].size


def _any_point(added: Added, random: np.random.Generator) -> Point:
    family, bounds = added.problem.family, added.problem.bounds
    scale = float(random.choice(family.scales(bounds)))
    start, step, count = family.grid(bounds, scale)
    reach = step * (count - 1)
    wanted = random.normal(size=len(added.predictors)) * reach * 10 ** random.uniform(-2, 0)
    wanted[0] += start + reach * random.random()
    coefficients = np.linalg.pinv(added.problem.features) @ wanted
    usual = float(np.median(Nodes.of(family, bounds, scale).bound))
    coordinates = random.normal(size=(added.problem.terms, len(added.predictors))) * 10 ** random.uniform(-1.5, 1.0) / usual
    return Point(coefficients=coefficients, coordinates=coordinates, scale=scale, spread=False)


def _near(added: Added, point: Point, pair: Pair, random: np.random.Generator) -> tuple[Point, Pair]:
    """A point near this one, where the same pair is further apart."""
    leaves = scaled(added.basis, pair.leaves)
    comes = np.zeros_like(leaves) if pair.comes is None else scaled(added.basis, pair.comes)
    size = pair.size
    for turn in range(STEPS):
        step = 0.98**turn
        if turn % 2:
            tried = replace(point, coefficients=_moved(point.coefficients, step, random))
        else:
            tried = replace(point, coordinates=_moved(point.coordinates, step, random))
        found = float(added.change(added.at_once(tried))(leaves, comes)[0, 0])
        if found > size:
            point, size = tried, found
    return point, replace(pair, size=size)


def _moved(values: Array, step: float, random: np.random.Generator) -> Array:
    """Numbers near these: all a little longer or shorter, and some moved by as much as the largest is long."""
    kept = random.random(values.shape) < random.random()
    moved = step * np.max(np.abs(values)) * random.normal(size=values.shape) / 2
    return np.asarray((values + np.where(kept, 0.0, moved)) * np.exp(step * random.normal() / 2))
