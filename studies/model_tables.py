"""Simulated releases of kind model, for studies: exact sums of made-up tables, and noise with a seed.

The sums are those of `noisewise.data`, in floating point; the search, the noise's scale and the fit are the library's own. A
release that protects anybody is made by ``noisewise.release``, whose noise cannot be seeded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.holder.model import plan_model
from noisewise.posterior.model.fit import fit_model
from noisewise.posterior.model.problem import ModelProblem
from noisewise.run import nobody
from noisewise.schema import Basis, Design
from noisewise.scores.families import FAMILIES
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Known, Layout, largest, range_starts
from noisewise.scores.next_round import LOOK
from noisewise.scores.nodes import Nodes
from noisewise.scores.rounds import Look, Noise, Point, Round
from noisewise.scores.search import Search

Array = npt.NDArray[np.float64]

BLOCK = 50_000
"""Rows that are summed at once."""


@dataclass(frozen=True)
class Fitted:
    """Draws of the coefficients (and of the scale, if the family has one), how many rounds there were, and any doubts."""

    draws: Array
    rounds: int
    doubts: tuple[str, ...]

    def interval(self) -> tuple[Array, Array]:
        low, high = np.quantile(self.draws, [0.025, 0.975], axis=0)
        return low, high


@dataclass(frozen=True)
class SimulatedModel:
    """One regression, planned for a budget. ``basis`` has the constant first and the response last."""

    basis: Basis
    design: Design
    family: str
    epsilon: float
    delta: float

    @classmethod
    def of(cls, design: Design, family: str, epsilon: float, delta: float) -> SimulatedModel:
        """Put the response of a design last, and leave out columns that the formula does not use."""
        response = int(np.flatnonzero(design.target)[-1])
        used = [0, *(int(one) for one in np.flatnonzero(np.any(design.features != 0.0, axis=1)) if one != 0), response]
        basis = Basis(design.basis.schema, tuple(design.basis.columns[one] for one in used))
        return cls(basis, Design.of(design.formula, basis, design.added_terms), family, epsilon, delta)

    def columns_of(self, names: Sequence[str]) -> list[int]:
        """The places of this basis' columns among columns of these names."""
        return [list(names).index(name) for name in self.basis.names]

    def release(self, table: Array, response: Array, rng: np.random.Generator) -> Any:
        """The first look and the rounds. ``table`` has the basis' columns, ``response`` is in the user's units."""
        family = FAMILIES[self.family]
        mechanism = plan_model(self.basis, self.design, family, self.epsilon, self.delta)
        rows = len(table)
        sd = mechanism.look_noise(LOOK)
        sums = self._look(table, response)
        look = Look(noise=sd, sums=sums + sd * rng.normal(size=len(sums)), rows=float(rows), rows_noise=0.0)
        known = Known.of(self.basis, family, look)
        problem = Problem.of(self.basis, self.design, family, look)

        def measure(point: Point, noise: Noise) -> Round:
            return noisy_round(problem, point, noise, table[:, :-1], response, rng)

        search = Search.of(self.basis, problem, known, 1.0 - LOOK, mechanism.noise_for)
        return SimpleNamespace(look=look, rounds=search.rounds(measure))

    def fit(self, released: Sequence[Any], *, draws: int = 500, seed: int = 1, robust: bool = False) -> Fitted:
        """The posterior, given what each holder released."""
        release: Any = SimpleNamespace(basis=self.basis, kind=SimpleNamespace(family=self.family), contributions=tuple(released))
        problem = ModelProblem.of(release, self.design, None, robust)
        found = fit_model(problem, draws, 4, seed, nobody)
        flat = found.sampled.samples.reshape(-1, found.sampled.samples.shape[-1])
        return Fitted(flat, len(released[0].rounds), found.sampled.doubts)

    def _look(self, table: Array, response: Array) -> Array:
        layout = Layout.of(self.basis, FAMILIES[self.family])
        places = [self.basis.position[one.factors] for one in layout.columns]
        sums, squares = np.zeros(len(places)), np.zeros(len(layout.squared))
        for rows in blocks(len(table)):
            columns = table[rows][:, places].astype(float)
            sums += columns.sum(axis=0)
            squares += (columns[:, list(layout.squared)] ** 2).sum(axis=0)
        counts = np.zeros(0)
        if layout.ranges:
            ranges = np.searchsorted(range_starts(largest(self.basis)), response, side="right") - 1
            counts = np.bincount(ranges, minlength=layout.ranges).astype(float)
        return np.concatenate([sums, squares, counts])


def blocks(rows: int) -> Iterator[slice]:
    """All rows, some at a time: tables may be as large as memory allows."""
    return (slice(first, first + BLOCK) for first in range(0, rows, BLOCK))


def noisy_round(problem: Problem, point: Point, noise: Noise, predictors: Array, response: Array, rng: np.random.Generator
                ) -> Round:
    """The sums of a round, as ``docs/format.md`` defines them, with noise."""
    nodes = Nodes.of(problem.family, problem.bounds, point.scale)
    features, terms = problem.features @ point.coefficients, len(point.coordinates)
    score, matrix, spread, square = np.zeros(terms), np.zeros((terms, terms)), np.zeros((terms, terms)), 0.0
    for rows in blocks(len(predictors)):
        x, y = predictors[rows].astype(float), response[rows]
        at = nodes.place(x @ features)
        u = x @ point.coordinates.T
        bound = nodes.bound[at]
        weight = 1.0 / np.maximum(1.0, np.sum(u**2, axis=1) * bound**2)
        psi = nodes.factor[at] * (np.clip(y, nodes.low[at], nodes.high[at]) - nodes.mean[at])
        scores = u * (weight * psi)[:, None]
        score += scores.sum(axis=0)
        matrix += (u * (weight * nodes.rate[at])[:, None]).T @ u
        square += float(np.sum((psi / bound) ** 2))
        if point.spread:
            spread += scores.T @ scores
    return Round(
        point=point, noise=noise, score=score + noise.score * rng.normal(size=terms),
        matrix=matrix + symmetric_noise(rng, noise.matrix, terms),
        square=None if noise.square is None else float(square + noise.square * rng.normal()),
        spread=None if noise.spread is None else spread + symmetric_noise(rng, noise.spread, terms))


def symmetric_noise(rng: np.random.Generator, sd: float, size: int) -> Array:
    upper = np.triu(rng.normal(size=(size, size)), 1) * sd / math.sqrt(2)
    return upper + upper.T + np.diag(sd * rng.normal(size=size))
