"""What a row adds to a round of a model release, written out once more in floats; and pairs of rows that change it a lot.

It knows nothing of the proofs, and takes from the library only the tables of a family.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from tests.privacy.neighbour_search import Array

from noisewise.scores.change import Weights
from noisewise.scores.families import FAMILIES
from noisewise.scores.nodes import Nodes

BOUNDS = {"gaussian": (-3.0, 5.0), "logistic": (0.0, 1.0), "probit": (0.0, 1.0), "poisson": (0.0, 12.0),
          "negative-binomial": (0.0, 12.0)}


@dataclass(frozen=True)
class RoundPair:
    """Rows (x, y), and a round with some weights at a point: ``eta`` and ``coordinates`` of the columns, the constant first."""

    family: str
    eta: Array
    coordinates: Array
    scale: float
    weights: Weights

    @cached_property
    def nodes(self) -> Nodes:
        return Nodes.of(FAMILIES[self.family], BOUNDS[self.family], self.scale)

    def responses(self, y: Array) -> Array:
        """From [−1, 1] to responses that the family can have."""
        low, high = BOUNDS[self.family]
        found = low + (high - low) * (y + 1) / 2
        return found if self.family == "gaussian" else np.rint(found)

    def features(self, values: Array) -> Array:
        """Rows (..., columns and the response) as what they add, each piece times the root of its weight."""
        x, y = values[..., :-1], self.responses(values[..., -1])
        x = np.concatenate([np.ones((*x.shape[:-1], 1)), x], axis=-1)
        at = self.nodes.place(x @ self.eta)
        bound, u = self.nodes.bound[at], x @ self.coordinates.T
        psi = self.nodes.factor[at] * (np.clip(y, self.nodes.low[at], self.nodes.high[at]) - self.nodes.mean[at])
        w = 1 / np.maximum(1.0, np.sum(u**2, axis=-1) * bound**2)
        s, r = (w * psi)[..., None] * u, np.sqrt(w * self.nodes.rate[at])[..., None] * u

        def outer(vector: Array) -> Array:
            return (vector[..., :, None] * vector[..., None, :]).reshape(*vector.shape[:-1], -1)

        one = self.weights
        return np.concatenate([s, np.sqrt(one.matrix) * outer(r), np.sqrt(one.spread) * outer(s),
                               np.sqrt(one.square) * ((psi / bound) ** 2)[..., None]], axis=-1)

    def change(self, values: Array) -> Array:
        """The norm of the change: the rows before the last are on one side, the last on the other; a single row is added."""
        rows = self.features(values)
        total = rows[..., 0, :] if values.shape[-2] == 1 else rows[..., 0, :] - rows[..., 1, :]
        return np.asarray(np.linalg.norm(total, axis=-1))


def random_pair(random: np.random.Generator, family: str, weights: Weights, columns: int = 3) -> RoundPair:
    """A point anywhere: from flat to steep, from coordinates that shorten no row to such that shorten all."""
    scale = {"gaussian": 10 ** random.uniform(-1, 0.5), "negative-binomial": 10 ** random.uniform(-1.5, 0.5)}.get(family, 1.0)
    terms = int(random.integers(1, columns + 1))
    eta = random.normal(size=columns) * 10 ** random.uniform(-1, 1.3)
    coordinates = random.normal(size=(terms, columns)) * 10 ** random.uniform(-1.5, 1.0)
    return RoundPair(family, eta, coordinates, scale, weights)
