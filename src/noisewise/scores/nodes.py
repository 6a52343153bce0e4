"""A family's functions of the linear predictor η at the nodes of a grid, which a row's η is rounded to.

With the response clipped to [low, high], a row's residual is ψ = factor · (clip(y) − mean), and |ψ| ≤ bound. All of them are
public, and a reader of a release computes the same values as its holder, up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from noisewise.arrays import Array
from noisewise.scores.families.family import Family

UP = 1.0 + 2.0**-40
"""More than rounding can take from a number that is computed in a few steps."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """One value for each node; ``slope`` and ``square`` are those of ψ: minus its derivative by η, and its mean square.

    ``rate`` is slope over the largest slope / bound², at most bound².
    """

    start: float
    step: float
    low: Array
    high: Array
    mean: Array
    factor: Array
    bound: Array
    slope: Array
    square: Array
    rate: Array
    rate_unit: float

    @classmethod
    def of(cls, family: Family, bounds: tuple[float, float], scale: float) -> Nodes:
        """The nodes of a family for a response with these bounds."""
        return _nodes(family, (float(bounds[0]), float(bounds[1])), float(scale))

    def place(self, eta: Array) -> np.ndarray:
        """The index of the node that each η is rounded to."""
        # Clipped before it becomes an integer: η may be beyond any integer.
        found: np.ndarray = np.clip(np.rint((eta - self.start) / self.step), 0.0, len(self.mean) - 1.0).astype(np.intp)
        return found


@lru_cache(maxsize=64)
def _nodes(family: Family, bounds: tuple[float, float], scale: float) -> Nodes:
    start, step, count = family.grid(bounds, scale)
    eta: Array = start + step * np.arange(count, dtype=float)
    low, high = family.limits(eta, bounds, scale)
    found = family.moments(eta, low, high, scale)
    factor = family.factor(eta, scale)
    mean = np.clip(found.mean, low, high)
    bound = factor * np.maximum(mean - low, high - mean) * UP
    slope = np.maximum(factor * found.slope, 0.0)
    square = factor**2 * np.maximum(found.square - 2 * mean * found.mean + mean**2, 0.0)
    unit = float(np.max(slope / bound**2)) * UP
    return Nodes(start, step, low, high, mean, factor, bound, slope, square, np.minimum(slope / unit, bound**2), unit)
