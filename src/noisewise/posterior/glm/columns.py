"""The distribution of the released columns: the one with the fewest assumptions, given the first two moments and the schema.

Among all distributions with given means and products of the columns, the one of largest entropy has a density exp(quadratic). For
numbers alone that is the normal distribution. Categories only take their declared levels; with categories b and numbers z it is

    P(b) ∝ exp(quadratic function of b) over the cells,      z | b ~ N(m + Bb, C).

It has as many parameters as moments, so the moments of a table determine it. docs/glm.md explains why the moments of one table's
own rows may replace those of the population.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from noisewise.arrays import Array, Namespace, Traced
from noisewise.schema import Basis, Categorical

MOST_CELLS: Final = 256


@dataclass(frozen=True)
class Layout:
    """Which released columns are categories, with their values in each cell. The others are numbers."""

    order: tuple[int, ...]
    """Positions in the basis: the constant, the categories' columns, the others."""
    cells: Array
    """Values of the categories' columns in each cell (cells, columns)."""
    basis: Array
    """Log probabilities of the cells are combinations of these columns, up to a constant."""

    @classmethod
    def of(cls, basis: Basis, used: Sequence[int], *, cells: bool = True) -> Layout:
        """Lay out the used columns; without ``cells``, all are treated as numbers."""
        categories = _categories(basis, used) if cells else ()
        discrete = [index for index in used if basis.columns[index].factors and
                    all(factor.column in {c.name for c in categories} for factor in basis.columns[index].factors)]
        numbers = [index for index in used if index not in discrete and index != 0]
        values = {column.name: np.array(levels, dtype=object) for column, levels in
                  zip(categories, zip(*itertools.product(*(column.levels for column in categories)), strict=True), strict=True)}
        found = basis.evaluate(values)[:, discrete] if discrete else np.zeros((1, 0))
        return cls((0, *discrete, *numbers), found, cell_basis(found))

    @property
    def kinds(self) -> int:
        """The number of columns that belong to categories."""
        return int(self.cells.shape[1])

    @property
    def numbers(self) -> int:
        """The number of columns treated as normal, without the constant."""
        return len(self.order) - 1 - self.kinds

    def data(self) -> dict[str, Array]:
        """The arrays that `distribution` needs from the layout."""
        return {"cells": self.cells, "cell_basis": self.basis}


def _categories(basis: Basis, used: Sequence[int]) -> tuple[Categorical, ...]:
    """Return the categories of the used columns, in the schema's order, unless they have too many cells."""
    names = {factor.column for index in used for factor in basis.columns[index].factors}
    chosen: list[Categorical] = []
    count = 1
    for column in basis.schema.columns:
        if column.name in names and isinstance(column, Categorical) and count * len(column.levels) <= MOST_CELLS:
            chosen.append(column)
            count *= len(column.levels)
    return tuple(chosen)


def cell_basis(cells: Array) -> Array:
    """Return an orthogonal basis, with mean square 1, of the linear and quadratic functions on the cells without the constant."""
    count = len(cells)
    functions = quadratic(cells)
    centred = functions - functions.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    result: Array = left[:, sizes > 1e-9 * np.sqrt(count)] * np.sqrt(count)
    return result


def quadratic(first: Array, second: Array | None = None) -> Array:
    """Return the columns, their squares and their products along the last axis; ``second`` replaces the squares and products."""
    products = first[..., :, None] * first[..., None, :] if second is None else second
    above = np.triu_indices(first.shape[-1])
    return np.concatenate([first, products[..., above[0], above[1]]], axis=-1)


class Distribution(NamedTuple):
    """A distribution of rows a = (1, b, z) at given parameters."""

    probabilities: Traced
    means: Traced
    covariance: Traced
    log_prior: Traced

    def second_moments(self) -> Traced:
        """E[aaᵀ]."""
        return (self.means.T * self.probabilities) @ self.means + self.covariance


CELL_SCALE: Final = 2.0
MEAN_SCALE: Final = 0.5
DEVIATION_CENTRE: Final = 0.3
DEVIATION_SPREAD: Final = 1.0


def distribution(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> tuple[Distribution, Traced]:
    """Read a distribution from the parameters: cells, m, B, log deviations, row directions of a correlation matrix's root.

    The priors, in units of the declared half widths: coefficients of the cells' log probabilities normal with scale 2; m and B
    normal with scale ½; logarithms of standard deviations normal around log 0.3 (a column that is uniform over its range has
    0.58) with scale 1, times exp(−½ variance), because a column within its bounds has at most 1; correlations LKJ. All are
    public.
    """
    cells, basis = data["cells"], data["cell_basis"]
    kinds, numbers = cells.shape[1], data["gram"].shape[0] - 1 - cells.shape[1]
    below = np.tril_indices(numbers, -1)
    sizes = [basis.shape[1], numbers, numbers * kinds, numbers, len(below[0])]
    ends = np.cumsum([0, *sizes])
    odds, m, slopes, log_deviation, angles = (x[start:stop] for start, stop in itertools.pairwise(ends))

    logits = basis @ odds
    logits = logits - xp.max(logits)
    weights = xp.exp(logits)
    direction = xp.eye(numbers).at[below].set(angles)
    length2 = xp.sum(direction**2, axis=1)
    root = direction * (xp.exp(log_deviation) / xp.sqrt(length2))[:, None]
    means = xp.concatenate([xp.ones((cells.shape[0], 1)), cells, m + cells @ slopes.reshape(kinds, numbers)], axis=1)
    first = 1 + kinds
    covariance = xp.zeros((first + numbers, first + numbers)).at[first:, first:].set(root @ root.T)

    log_prior = -0.5 * xp.sum(odds**2) / CELL_SCALE**2 - 0.5 * (xp.sum(m**2) + xp.sum(slopes**2)) / MEAN_SCALE**2
    log_prior += -0.5 * xp.sum(((log_deviation - np.log(DEVIATION_CENTRE)) / DEVIATION_SPREAD) ** 2 + xp.exp(2.0 * log_deviation))
    # LKJ(κ): row i of the root (from 0) is a point u of a sphere with density u_ii^(d − i + 2(κ − 1)) on its surface. With
    # u = (w, 1) / √(1 + |w|²) the surface element is (1 + |w|²)^(−(i + 1)/2) dw, and u_ii = (1 + |w|²)^(−1/2).
    log_prior += -0.5 * (numbers + 2.0 * data["lkj"] - 1.0) * xp.sum(xp.log(length2)) if numbers else 0.0
    return Distribution(weights / xp.sum(weights), means, covariance, log_prior), x[ends[-1]:]


def distribution_and_rows(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> tuple[Distribution, Traced, Traced]:
    """Also read the number of rows, whose logarithm is the last parameter if it is noisy. Return the log prior of both too."""
    columns, rest = distribution(x, data, xp)
    rows, log_prior = data["rows"], columns.log_prior
    if rest.shape[0]:
        rows = xp.exp(rest[0])
        log_prior = log_prior + rest[0] - 0.5 * (rows - data["count_rows"]) ** 2 / data["count_variance"]
    return columns, rows, log_prior


def start(layout: Layout, moments: Array, noise: float = 0.0) -> Array:
    """Return parameters with moments near the given E[aaᵀ], which noise (of this standard deviation) may have made invalid."""
    kinds, numbers = layout.cells.shape[1], layout.numbers
    first = 1 + kinds
    mean = np.clip(moments[0, 1:], -0.95, 0.95)
    odds = np.zeros(layout.basis.shape[1])
    if kinds:
        odds = _cell_start(layout, moments[:first, :first], noise)
    deviations = np.sqrt(np.clip(np.diag(moments)[first:] - mean[kinds:] ** 2, 0.01, 1.0))
    covariance = moments[first:, first:] - np.outer(mean[kinds:], mean[kinds:])
    correlation = covariance / np.outer(deviations, deviations)
    values, vectors = np.linalg.eigh((correlation + correlation.T) / 2) if numbers else (np.ones(0), np.ones((0, 0)))
    mended = (vectors * np.clip(values, 0.1, 10.0)) @ vectors.T
    root = np.linalg.cholesky(mended / np.sqrt(np.outer(np.diag(mended), np.diag(mended)))) if numbers else mended
    angles = (root / np.diag(root)[:, None])[np.tril_indices(numbers, -1)]
    return np.concatenate([odds, mean[kinds:], np.zeros(numbers * kinds), np.log(deviations), angles])


CELL_STEPS: Final = 25
"""Steps of Newton's method, of length at most 1, for the first guess of the cells' odds."""


def _cell_start(layout: Layout, moments: Array, noise: float) -> Array:
    """Return the odds of cells with the given moments, by a convex problem; a ridge of the size of the noise keeps them bounded.

    Assuming independent categories is not enough: a large table is then so unlikely that the search for a mode may fail.
    """
    functions, targets = quadratic(layout.cells), quadratic(moments[0, 1:], moments[1:, 1:])
    centre = functions.mean(axis=0)
    wanted = (targets - centre) @ np.linalg.pinv(functions - centre) @ layout.basis
    ridge = max(noise, 1e-4) * np.eye(len(wanted))
    odds = np.zeros(len(wanted))
    for _ in range(CELL_STEPS):
        weights = np.exp(layout.basis @ odds - np.max(layout.basis @ odds))
        weighted = layout.basis.T * (weights / weights.sum())
        mean = weighted.sum(axis=1)
        step = np.linalg.solve(weighted @ layout.basis - np.outer(mean, mean) + ridge, wanted - mean - ridge @ odds)
        odds = odds + step / max(1.0, np.max(np.abs(step)))
    return odds
