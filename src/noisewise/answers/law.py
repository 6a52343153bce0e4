"""The distribution of one unknown number given the release, as weights on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from noisewise.answers.asked import Asked, MeanNoise
from noisewise.arrays import Array

if TYPE_CHECKING:
    from noisewise.releases.contents.partition import Number

POINTS: Final = 2001
AT_LIMIT, NEAR_LIMIT = 0.05, 0.25
"""The prior probability of each limit, enough for a 95 % interval to include a limit that the noise does not exclude. With little
noise it is the mass of ``NEAR_LIMIT`` standard deviations instead: more would hide a mean that is just inside."""
REACH: Final = 12.0
"""Values further away than this many standard deviations of the noise are implausible."""


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
    """The range of the number; by default from the first to the last point."""

    @classmethod
    def of(cls, points: Array, density: Array, ends: tuple[float, float] | None = None) -> GridLaw:
        """Normalise densities. If all vanish, weights are equal; callers keep the released value near enough to avoid this."""
        total = density.sum()
        weights = density / total if total > 0.0 and np.isfinite(total) else np.full(len(points), 1.0 / len(points))
        return cls(points, weights, ends)

    def quantile(self, probability: Array | float) -> Array:
        """Interpolate linearly between cells of the grid."""
        ends = np.concatenate([[0.0], np.cumsum(self.weights)])
        step = self.points[1] - self.points[0]
        edges = np.concatenate([self.points - step / 2.0, [self.points[-1] + step / 2.0]])
        found = np.interp(np.asarray(probability) * ends[-1], ends, edges)
        return np.asarray(np.clip(found, *(self.ends or (self.points[0], self.points[-1]))))

    def central(self, probability: float = 0.95) -> Array:
        """The lower end of the central interval, the median, and the upper end."""
        tail = (1.0 - probability) / 2.0
        return self.quantile(np.array([tail, 0.5, 1.0 - tail]))

    def draws(self, size: int, random: np.random.Generator) -> Array:
        """Independent draws, spread evenly within the cells."""
        return self.quantile(random.uniform(size=size))


def mean_law(asked: Asked, number: Number) -> GridLaw:
    """The posterior of the parts' mean of a log Bayes factor or a criterion.

    Its prior is uniform between its limits, with additional mass at each limit, because strong effects clip all parts.
    """
    noise = MeanNoise.of(asked, number)
    reach = REACH * noise.sd
    found = np.clip(number.mean(asked.parts), number.lower - reach / 2.0, number.upper + reach / 2.0)
    first, last = max(number.lower, found - reach), min(number.upper, found + reach)
    points = np.linspace(first, last, POINTS)
    step = points[1] - points[0]
    limit_share = min(AT_LIMIT, NEAR_LIMIT * noise.sd / number.width)
    inside = noise.density(found - points) * (1.0 - 2.0 * limit_share) / number.width
    at_ends = [limit_share / step * float(noise.density(np.array([found - end]))[0]) * (end == limit)
               for end, limit in ((first, number.lower), (last, number.upper))]
    points = np.concatenate([[first - step], points, [last + step]])  # the two outer cells represent the limits themselves
    return GridLaw.of(points, np.concatenate([at_ends[:1], inside, at_ends[1:]]), (first, last))
