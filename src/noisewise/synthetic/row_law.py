"""A law for rows with given moments: categories one after the other, then numbers.

Each category is drawn given those before it, with probabilities that are linear in their 0/1 columns. The numbers are drawn
jointly from a normal distribution whose mean is linear in the same columns. Each of these regressions reproduces the means and
covariances that it was computed from, so the rows have those of the whole matrix. A negative linear probability (possible from
the third category on) is set to 0. Numbers outside their bounds are moved to the bounds. Both change the moments a little.

The coefficients are drawn from their posterior given the table's moments W: with a = (1, columns before) and n rows

    coefficients ~ N(W_aa⁻¹ W_at, W_aa⁻¹ ⊗ Σ),      numbers: Σ ~ inverse Wishart(n − dim a, rest),   categories: Σ = rest / n,

where rest is W_tt − W_ta W_aa⁻¹ W_at. So a law is a draw from the posterior of the distribution behind the table's rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.schema import Categorical, Numeric
from noisewise.synthetic.structure import Structure


@dataclass(frozen=True)
class RowLaw:
    """Coefficients on the preceding columns, for every category and then for all numbers together."""

    structure: Structure
    categories: tuple[Array, ...]
    numbers: Array
    root: Array
    """A root of the numbers' covariance given the categories."""

    @classmethod
    def drawn(cls, moments: Array, structure: Structure, rng: np.random.Generator) -> RowLaw:
        """Draw a law given a table's moments."""
        before, found = [0], []
        for _, places in structure.categories:
            coefficients, rest, inverse_root = _regression(moments, before, list(places))
            spread = _root(rest / moments[0, 0])
            found.append(coefficients + inverse_root @ rng.normal(size=coefficients.shape) @ spread.T)
            before += places
        numbers = list(structure.numbers)
        if not numbers:
            return cls(structure, tuple(found), np.zeros((len(before), 0)), np.zeros((0, 0)))
        coefficients, rest, inverse_root = _regression(moments, before, numbers)
        root = _inverse_wishart_root(_root(rest), max(moments[0, 0] - len(before), len(numbers) + 2.0), rng)
        drawn = coefficients + inverse_root @ rng.normal(size=coefficients.shape) @ root.T
        return cls(structure, tuple(found), drawn, root)

    def scaled_rows(self, count: int, rng: np.random.Generator) -> tuple[dict[str, npt.NDArray[np.int64]], dict[str, Array]]:
        """Level indices of each category, and numbers in units of their bounds, not yet clipped to them."""
        known = np.ones((count, 1))
        levels: dict[str, npt.NDArray[np.int64]] = {}
        for (column, _), coefficients in zip(self.structure.categories, self.categories, strict=True):
            share = probabilities(column, known @ coefficients)
            code = np.sum(rng.uniform(size=(count, 1)) > np.cumsum(share, axis=1)[:, :-1], axis=1)
            levels[column.name] = code
            own = 2.0 * code[:, None] - 1.0 if column.two_level else code[:, None] == np.arange(1, len(column.levels))
            known = np.column_stack([known, own])
        values = known @ self.numbers + rng.normal(size=(count, len(self.root))) @ self.root.T
        names = [column.name for column in self.structure.columns if isinstance(column, Numeric)]
        return levels, dict(zip(names, values.T, strict=True))


def probabilities(column: Categorical, coded: Array) -> Array:
    """Probabilities (rows, levels) from expected columns: negative ones become 0, and the rest add up to 1.

    >>> probabilities(Categorical("ward", ("A", "B", "C")), np.array([[0.7, 0.5]])).round(3)
    array([[0.   , 0.583, 0.417]])
    """
    if column.two_level:
        second = (1.0 + coded[:, 0]) / 2.0
        share = np.column_stack([1.0 - second, second])
    else:
        share = np.column_stack([1.0 - coded.sum(axis=1), coded])
    share = np.maximum(share, 0.0)
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def _regression(moments: Array, before: list[int], own: list[int]) -> tuple[Array, Array, Array]:
    """Coefficients, the unexplained moments, and a root of the inverse of the preceding columns' moments."""
    first = moments[np.ix_(before, before)]
    across = moments[np.ix_(before, own)]
    coefficients: Array = np.linalg.solve(first, across).astype(np.float64)
    rest = moments[np.ix_(own, own)] - across.T @ coefficients
    inverse_root = np.linalg.inv(np.linalg.cholesky(first)).T
    return coefficients, (rest + rest.T) / 2.0, inverse_root


def _root(matrix: Array) -> Array:
    """A square root, even of a matrix that rounding has made slightly indefinite."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _inverse_wishart_root(root: Array, degrees: float, rng: np.random.Generator) -> Array:
    """R with RRᵀ ~ inverse Wishart with these degrees of freedom and scale root · rootᵀ (Bartlett)."""
    size = len(root)
    triangle = np.tril(rng.normal(size=(size, size)), -1)
    np.fill_diagonal(triangle, np.sqrt(rng.chisquare(degrees - np.arange(size))))
    return np.asarray(root @ np.linalg.inv(triangle).T)
