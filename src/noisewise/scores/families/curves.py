"""Means of clipped responses as functions of η: cubic polynomials that match mean and slope at evenly spaced nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array


@dataclass(frozen=True, eq=False)
class Curves:
    """Several curves on the same nodes: ``mean`` and ``slope`` have one row for each."""

    start: float
    step: float
    mean: Array
    slope: Array

    def at(self, which: npt.NDArray[np.intp], eta: Array) -> tuple[Array, Array]:
        """The values and derivatives of curves number ``which``; beyond the nodes, those of the last node."""
        place = np.clip((eta - self.start) / self.step, 0.0, self.mean.shape[1] - 1.001)
        left = place.astype(np.intp)
        part = place - left
        if eta.ndim > 1:
            which = which[:, None]
        mean, rise = self.mean[which, left], self.mean[which, left + 1]
        rise = rise - mean
        slope, following = self.step * self.slope[which, left], self.step * self.slope[which, left + 1]
        bend, twist = 3 * rise - 2 * slope - following, slope + following - 2 * rise
        return mean + part * (slope + part * (bend + part * twist)), (slope + part * (2 * bend + 3 * part * twist)) / self.step
