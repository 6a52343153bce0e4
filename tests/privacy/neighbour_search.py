"""A search for neighbours that change a Gram matrix as much as possible.

It knows nothing of the proofs: it starts many pairs at random, moves random subsets of their coordinates, keeps what
helps and shrinks its steps. It is vectorised over the pairs, so that one search takes a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """The rows that a pair of neighbours is made of.

    `before` and `after` rows are on the two sides. A row has `scalars` values in [-1, 1] and `blocks` blocks with two
    columns of which one is active. The row's non-constant part is scaled down to norm `radius` if that is given;
    without `box` its values are bounded by the norm only.
    """

    scalars: int
    blocks: int = 0
    before: int = 1
    after: int = 1
    constant: bool = True
    radius: float | None = None
    box: bool = True
    binary_blocks: bool = False

    @property
    def count(self) -> int:
        return self.before + self.after

    @property
    def width(self) -> int:
        return self.scalars + self.blocks

    def restrict(self, values: Array) -> Array:
        """Values (..., count, width) moved to where rows may be."""
        if self.box:
            values = np.clip(values, -1, 1)
        if self.binary_blocks:
            blocks = (values[..., self.scalars :] > 0).astype(float)
            values = np.concatenate([values[..., : self.scalars], blocks], axis=-1)
        if self.radius is not None:
            norm = np.linalg.norm(values, axis=-1, keepdims=True)
            values = values * np.minimum(1.0, self.radius / np.maximum(norm, 1e-300))
        return values

    def matrix(self, values: Array, active: NDArray[np.bool_]) -> Array:
        """Rows a, shape (..., count, size); `active` (..., count, blocks) says which of two columns is active."""
        blocks = values[..., self.scalars :]
        parts = [values[..., : self.scalars], np.where(active, blocks, 0.0), np.where(active, 0.0, blocks)]
        if self.constant:
            parts.insert(0, np.ones((*values.shape[:-1], 1)))
        return np.concatenate(parts, axis=-1)

    def change(self, values: Array, active: NDArray[np.bool_]) -> Array:
        """The difference of the two Gram matrices."""
        rows = self.matrix(values, active)
        signs = np.repeat([1.0, -1.0], [self.before, self.after])
        return np.einsum("...ri,...rj,r->...ij", rows, rows, signs, optimize=True)


def frobenius(change: Array) -> Array:
    return np.asarray(np.linalg.norm(change, axis=(-2, -1)))


def upper_l1(change: Array) -> Array:
    total = np.abs(change).sum(axis=(-2, -1))
    diagonal = np.abs(np.diagonal(change, axis1=-2, axis2=-1)).sum(axis=-1)
    return np.asarray((total + diagonal) / 2)


def largest_change(rows: Rows, norm: Callable[[Array], Array], *, steps: int = 240, pairs: int = 48) -> float:
    """The largest norm of a change that the search finds."""
    reach = rows.radius if rows.radius is not None and not rows.box else 1.0
    return climb(lambda values, active: norm(rows.change(values, active)), rows.restrict, (rows.count, rows.width), rows.blocks,
                 reach=reach, steps=steps, pairs=pairs, seed=20181)


def climb(size: Callable[[Array, NDArray[np.bool_]], Array], restrict: Callable[[Array], Array], shape: tuple[int, int],
          blocks: int = 0, *, reach: float, steps: int, pairs: int, seed: int) -> float:
    """The largest size that is found: random starts, random moves that are kept if they help, shrinking steps.

    Values have this shape for each of the pairs, and each row has so many blocks that are active or not.
    """
    random = np.random.default_rng(seed)
    everywhere = (pairs, *shape)
    values = restrict(random.uniform(-reach, reach, everywhere))
    active = random.integers(0, 2, (pairs, shape[0], blocks)).astype(bool)
    best = size(values, active)
    proposals, step = 12, 1.0
    everyone = np.arange(pairs)
    for _ in range(steps):
        moves = random.normal(0, step * reach, (proposals, *everywhere))
        moves *= random.random((proposals, *everywhere)) < random.choice([0.15, 0.5, 1.0], (proposals, pairs, 1, 1))
        tried = values + moves
        jump = random.random((proposals, *everywhere)) < 0.03
        tried = restrict(np.where(jump, reach * random.choice([-1.0, 0.0, 1.0], tried.shape), tried))
        flips = random.random((proposals, *active.shape)) < 0.05
        tried_active = active ^ flips
        found = size(tried, tried_active)
        winner = found.argmax(axis=0)
        better = found[winner, everyone] > best
        values = np.where(better[:, None, None], tried[winner, everyone], values)
        active = np.where(better[:, None, None], tried_active[winner, everyone], active)
        best = np.where(better, found[winner, everyone], best)
        step *= 0.98
    return float(best.max())
