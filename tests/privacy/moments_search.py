"""A search for neighbours that change the blocks of a moments release as much as possible.

It knows nothing of the proofs: it writes out every monomial of every block, with its coefficient and weight.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from tests.privacy.neighbour_search import Array, climb


def features(x: Array, y: Array, weights: Mapping[str, float]) -> Array:
    """Rows (..., columns) and responses (...) as vectors of all monomials, each times the roots of coefficient and weight."""
    found = []
    for name, weight in weights.items():
        degree = name.count("x")
        for monomial in combinations_with_replacement(range(x.shape[-1]), degree):
            orders = math.factorial(degree) / math.prod(math.factorial(count) for count in Counter(monomial).values())
            value = np.prod(x[..., list(monomial)], axis=-1) * (y if name.startswith("y") else 1.0)
            found.append(math.sqrt(weight * orders) * value)
    return np.stack(found, axis=-1)


@dataclass(frozen=True)
class MomentPair:
    """The rows that two tables do not share: `before` in one, `after` in the other; x in a ball or the box, the response last."""

    predictors: int
    weights: Mapping[str, float]
    before: int = 1
    after: int = 1
    radius: float | None = None

    def restrict(self, values: Array) -> Array:
        x, y = values[..., :-1], np.clip(values[..., -1:], -1, 1)
        if self.radius is None:
            x = np.clip(x, -1, 1)
        else:
            x = x * np.minimum(1.0, self.radius / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-300))
        return np.concatenate([x, y], axis=-1)

    def change(self, values: Array) -> Array:
        rows = features(values[..., :-1], values[..., -1], self.weights)
        signs = np.repeat([1.0, -1.0], [self.before, self.after])
        return np.asarray(np.linalg.norm(np.einsum("...rf,r->...f", rows, signs), axis=-1))

    def largest(self, steps: int = 220, pairs: int = 32, seed: int = 20183) -> float:
        """The largest change that the search finds."""
        return climb(lambda values, _: self.change(values), self.restrict, (self.before + self.after, self.predictors + 1),
                     reach=max(self.radius or 1.0, 1.0), steps=steps, pairs=pairs, seed=seed)
