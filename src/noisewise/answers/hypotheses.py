"""From the parts' averaged log Bayes factors and criteria to what they are without noise."""

from __future__ import annotations

from typing import Final

import numpy as np

from noisewise.answers.law import GridLaw
from noisewise.answers.noise import MeanNoise
from noisewise.release.partition import Number, PartitionRelease

POINTS: Final = 2001
AT_LIMIT, NEAR_LIMIT = 0.05, 0.25
"""The probability of each limit, beforehand: enough for a 95 % interval to hold a limit that the noise does not exclude. Where
there is little noise it is as much as that of so many standard deviations: more would hide a mean that is just inside."""
REACH: Final = 12.0
"""Standard deviations of the noise, beyond which nothing is plausible."""


def mean_law(release: PartitionRelease, number: Number) -> GridLaw:
    """The posterior of the parts' mean.

    Before the release is looked at it is anywhere between its limits with equal plausibility, or, because strong effects clip all
    parts, exactly at one of them.
    """
    noise = MeanNoise.of(release, number)
    reach = REACH * noise.sd
    found = np.clip(number.mean(release.parts), number.lower - reach / 2.0, number.upper + reach / 2.0)
    first, last = max(number.lower, found - reach), min(number.upper, found + reach)
    points = np.linspace(first, last, POINTS)
    step = points[1] - points[0]
    limit_share = min(AT_LIMIT, NEAR_LIMIT * noise.sd / number.width)
    inside = noise.density(found - points) * (1.0 - 2.0 * limit_share) / number.width
    at_ends = [limit_share / step * float(noise.density(np.array([found - end]))[0]) * (end == limit)
               for end, limit in ((first, number.lower), (last, number.upper))]
    points = np.concatenate([[first - step], points, [last + step]])  # the two cells beyond stand for the limits themselves
    return GridLaw.of(points, np.concatenate([at_ends[:1], inside, at_ends[1:]]), (first, last))
