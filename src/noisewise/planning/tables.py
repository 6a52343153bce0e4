"""Sums of a model release over hypothetical tables: the first look and the rounds, before noise.

As in `noisewise.planning.population`, a table of n rows is simulated from m = min(n, `MOST_DRAWN`) of them: the sums of a round
are n·E + √(n/m)·(S − m·E), with the sums S of the m rows and what the population expects of one row, E. All rounds of a release
see the same rows, so their errors go together as those of a real table do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from noisewise.arrays import Array
from noisewise.planning.population import MOST_DRAWN, Population
from noisewise.schema import Basis, Numeric
from noisewise.scores.families import Family
from noisewise.scores.likelihood import Problem, View, matrix_of
from noisewise.scores.looks import Layout, range_starts, response_bounds
from noisewise.scores.rounds import Noise, Point, Round

Sums: TypeAlias = tuple[Array, Array, float, Array]
"""Of s, r rᵀ, (ψ/bound)² and s sᵀ."""


@dataclass(frozen=True, eq=False)
class Regression:
    """A population whose rows have the columns of a model release, and the family that its response has."""

    population: Population
    family: Family

    @cached_property
    def basis(self) -> Basis:
        """The constant, the predictors' columns and, last, the response."""
        one = self.population
        columns = one.design.basis.columns
        return Basis(one.design.basis.schema, (*(columns[index] for index in one.used), columns[one.position]))

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The declared bounds of the response; 0 and 1 for two levels."""
        return response_bounds(self.basis)

    def problem(self, rows: float, rows_noise: float) -> Problem:
        """What is public before the rounds."""
        features = self.population.design.features[list(self.population.used)]
        return Problem(self.family, self.bounds, features, max(rows, 1.0), rows_noise)

    @cached_property
    def pool(self) -> Array:
        """Rows of the released columns of the predictors. As many as a table draws are enough to know what one row adds."""
        return self.population.rows[:MOST_DRAWN]

    @cached_property
    def eta(self) -> Array:
        """The true linear predictors of the pool."""
        return self.population.eta[:MOST_DRAWN]

    def table(self, rows: int, random: np.random.Generator) -> Table:
        """One hypothetical table."""
        chosen = random.integers(0, len(self.pool), min(rows, MOST_DRAWN))
        responses = self.population.law.draw(self.eta[chosen], random)
        if self.family.response == "two levels":
            responses = (responses + 1.0) / 2.0
        return Table(self, rows, chosen, responses)

    @cached_property
    def looked_at(self) -> tuple[Layout, Array]:
        """The sums of the first look, and its predictors' columns in the pool; zeros for the response."""
        layout = Layout.of(self.basis, self.family)
        values = {name: column[:MOST_DRAWN] for name, column in self.population.values.items()}
        found = np.zeros((len(self.pool), len(layout.columns)))
        mine = [place for place, column in enumerate(layout.columns) if column.factors[0].column in values]
        if mine:
            found[:, mine] = Basis(self.basis.schema, tuple(layout.columns[place] for place in mine)).evaluate(values)
        return layout, found


class Table(NamedTuple):
    """One hypothetical table: places in the pool, and responses in the user's units."""

    regression: Regression
    rows: int
    chosen: np.ndarray
    responses: Array

    def look(self) -> Array:
        """The sums of the first look, without the number of rows. Only the place to start depends on them."""
        layout, columns = self.regression.looked_at
        found, bounds = columns[self.chosen], self.regression.bounds
        declared = self.regression.basis.schema.column(self.regression.basis.columns[-1].factors[0].column)
        for place, column in enumerate(layout.columns):
            if column.factors[0].column == declared.name:
                found[:, place] = 2.0 * (self.responses - bounds[0]) / (bounds[1] - bounds[0]) - 1.0
        ranges = np.zeros(0)
        if layout.ranges:
            assert isinstance(declared, Numeric)
            at = np.searchsorted(range_starts(bounds[1]), self.responses, side="right") - 1
            ranges = np.bincount(at, minlength=layout.ranges).astype(float)
        sums = np.concatenate([found.sum(axis=0), np.sum(found[:, list(layout.squared)] ** 2, axis=0), ranges])
        return np.asarray(sums * (self.rows / len(self.chosen)))

    def round(self, problem: Problem, point: Point, noise: Noise) -> Round:
        """The sums of a round at a point, before the noise that it states."""
        one, drawn = self.regression, len(self.chosen)
        size = problem.terms
        view = View.of(problem, Round(point=point, noise=noise, score=np.zeros(size), matrix=np.zeros((size, size))), one.pool)
        within = np.clip(self.responses, view.low[self.chosen], view.high[self.chosen])
        residuals = view.factor[self.chosen] * (within - view.mean[self.chosen])
        sums = _sums(view, self.chosen, residuals, residuals**2)
        if self.rows > drawn:
            every = np.arange(len(one.pool))
            sums = _grown(sums, _sums(view, every, *self._expected(view)), drawn, self.rows)
        score, matrix, square, spread = sums
        return Round(point=point, noise=noise, score=score, matrix=_symmetric(matrix),
                     square=None if noise.square is None else square, spread=None if noise.spread is None else _symmetric(spread))

    def _expected(self, view: View) -> tuple[Array, Array]:
        """Mean and mean square of ψ for each row of the pool, with responses that are clipped to their bounds first."""
        one, (lower, upper) = self.regression, self.regression.bounds
        low, high = np.clip(view.low, lower, upper), np.clip(view.high, lower, upper)
        found = one.family.moments(one.eta, low, high, one.population.law.scale)
        mean, square = np.clip(found.mean, view.low, view.high), found.square
        square = np.where((view.low > upper) | (view.high < lower), mean**2, square)
        return (view.factor * (mean - view.mean),
                view.factor**2 * np.maximum(square - 2 * view.mean * mean + view.mean**2, 0.0))


def _sums(view: View, places: np.ndarray, residuals: Array, squares: Array) -> Sums:
    directions, weight = view.directions[places], view.weight[places]
    return ((weight * residuals) @ directions, matrix_of(directions, weight * view.rate[places]),
            float(np.sum(squares / view.bound[places] ** 2)), matrix_of(directions, weight**2 * squares))


def _grown(sums: Sums, pool: Sums, drawn: int, rows: int) -> Sums:
    """Sums of so many rows, from those of the rows drawn and of the whole pool."""
    def grown(part: Array, every: Array) -> Array:
        mean = np.asarray(every) / MOST_DRAWN
        return np.asarray(rows * mean + np.sqrt(rows / drawn) * (part - drawn * mean))

    return (grown(sums[0], pool[0]), grown(sums[1], pool[1]), float(grown(np.array(sums[2]), np.array(pool[2]))),
            grown(sums[3], pool[3]))


def _symmetric(matrix: Array) -> Array:
    """Without the last digits, in which an entry and its mirror image may differ."""
    return np.asarray((matrix + matrix.T) / 2)
