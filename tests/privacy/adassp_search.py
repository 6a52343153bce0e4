"""A search for neighbours that change the sums, or the smallest eigenvalue, of an adassp release as much as possible.

Like `neighbour_search` it knows nothing of the proofs. For the eigenvalue it also chooses the rows that both tables share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tests.privacy.neighbour_search import Array, climb


@dataclass(frozen=True)
class Pair:
    """The rows that two tables do not share: `before` in one, `after` in the other; and `shared` rows, each `weight` times.

    A row has `scalars` predictors and then the response, all in [-1, 1] (without `box`: predictors in the ball of norm
    `radius`). With `clip` predictors and response together are shortened to that norm.
    """

    scalars: int
    before: int = 1
    after: int = 1
    shared: int = 0
    weight: float = 1e4
    constant: bool = True
    box: bool = True
    radius: float | None = None
    clip: float | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.before + self.after + self.shared, self.scalars + 1

    def restrict(self, values: Array) -> Array:
        if self.box:
            values = np.clip(values, -1, 1)
        else:
            assert self.radius is not None
            predictors = _shorten(values[..., :-1], self.radius)
            values = np.concatenate([predictors, np.clip(values[..., -1:], -1, 1)], axis=-1)
        return values if self.clip is None else _shorten(values, self.clip)

    def predictors(self, values: Array) -> Array:
        rows = values[..., :-1]
        return np.concatenate([np.ones((*rows.shape[:-1], 1)), rows], axis=-1) if self.constant else rows

    def sums_change(self, values: Array) -> Array:
        """The norm of the change of (S, z): that of S squared and twice that of z squared."""
        a, y = self.predictors(values), values[..., -1]
        signs = np.repeat([1.0, -1.0, 0.0], [self.before, self.after, self.shared])
        matrix = np.einsum("...ri,...rj,r->...ij", a, a, signs, optimize=True)
        sums = np.einsum("...ri,...r,r->...i", a, y, signs, optimize=True)
        return np.asarray(np.sqrt((matrix**2).sum(axis=(-2, -1)) + 2 * (sums**2).sum(axis=-1)))

    def eigenvalue_change(self, values: Array) -> Array:
        a = self.predictors(values)
        one, other, shared = np.split(a, [self.before, self.before + self.after], axis=-2)
        both = self.weight * np.einsum("...ri,...rj->...ij", shared, shared)
        smallest = [np.linalg.eigvalsh(both + np.einsum("...ri,...rj->...ij", rows, rows))[..., 0] for rows in (one, other)]
        return np.asarray(np.abs(smallest[0] - smallest[1]))


def _shorten(values: Array, norm: float) -> Array:
    length = np.linalg.norm(values, axis=-1, keepdims=True)
    return np.asarray(values * np.minimum(1.0, norm / np.maximum(length, 1e-300)))


def largest(pair: Pair, change: Callable[[Array], Array], *, steps: int = 240, pairs: int = 48, seed: int = 20182) -> float:
    """The largest change that the search finds."""
    reach = 1.0 if pair.box else float(pair.radius or 1.0)
    return climb(lambda values, _: change(values), pair.restrict, pair.shape, reach=reach, steps=steps, pairs=pairs, seed=seed)
