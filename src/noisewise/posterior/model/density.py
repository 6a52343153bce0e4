"""The log density of coefficients, given a scale, as a function of the distance from the first holder's last point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise.arrays import Array
from noisewise.scores.estimate import Estimate

AT_ONCE = 512
"""Distances to evaluate together: more would only take memory."""


@dataclass(frozen=True, eq=False)
class Density:
    """The log density around an estimate. How uncertain the noisy sums are is taken from there."""

    estimate: Estimate

    def __call__(self, distances: Array) -> Array:
        """The log density of distances, which are rows, up to a constant."""
        blocks = [self._block(distances[start:start + AT_ONCE].T) for start in range(0, len(distances), AT_ONCE)]
        return np.concatenate(blocks)

    def _block(self, distances: Array) -> Array:
        apart = self.estimate.prior.apart(self.estimate.to_user(distances))
        total = -0.5 * np.sum(apart**2, axis=0)
        one = self.estimate
        for combined, precision, place in zip(one.combined, one.precisions, one.places, strict=True):
            left = combined.left_of_many(place.distance(distances))
            total = total - 0.5 * np.sum(left * (precision @ left), axis=0)
        return np.asarray(total)
