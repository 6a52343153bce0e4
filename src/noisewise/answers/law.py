"""The distribution of one unknown number, given what was released: weights on a grid, from which everything else follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GridLaw:
    """Equally spaced points and their probabilities.

    >>> law = GridLaw.of(np.linspace(0.0, 1.0, 101), np.ones(101))
    >>> law.central(0.5).round(2).tolist()
    [0.25, 0.5, 0.75]
    """

    points: Array
    weights: Array
    ends: tuple[float, float] | None = None
    """Nothing lies beyond these; without them, beyond the first and the last point."""

    @classmethod
    def of(cls, points: Array, density: Array, ends: tuple[float, float] | None = None) -> GridLaw:
        """From densities, up to a factor; where all vanish, what was released is further off than noise can be, and the nearest
        end is all that is left: the caller makes sure that densities do not vanish there."""
        total = density.sum()
        weights = density / total if total > 0.0 and np.isfinite(total) else np.full(len(points), 1.0 / len(points))
        return cls(points, weights, ends)

    def quantile(self, probability: Array | float) -> Array:
        """By linear interpolation between cells of the grid."""
        ends = np.concatenate([[0.0], np.cumsum(self.weights)])
        step = self.points[1] - self.points[0]
        edges = np.concatenate([self.points - step / 2.0, [self.points[-1] + step / 2.0]])
        found = np.interp(np.asarray(probability) * ends[-1], ends, edges)
        return np.asarray(np.clip(found, *(self.ends or (self.points[0], self.points[-1]))))

    def central(self, probability: float = 0.95) -> Array:
        """The lower end of the central interval, the median, and the upper end."""
        tail = (1.0 - probability) / 2.0
        return self.quantile(np.array([tail, 0.5, 1.0 - tail]))

    def mean(self, values: Array | None = None) -> float:
        return float(np.sum(self.weights * (self.points if values is None else values)))

    def draws(self, size: int, random: np.random.Generator) -> Array:
        return self.quantile(random.uniform(size=size))
