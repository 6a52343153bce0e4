"""From the parts' averaged log Bayes factors and criteria to what they are without noise."""

from __future__ import annotations

from typing import Final

import numpy as np

from noisewise.answers.law import GridLaw
from noisewise.answers.noise import MeanNoise
from noisewise.release.partition import Number, PartitionRelease

POINTS: Final = 2001


def mean_law(release: PartitionRelease, number: Number) -> GridLaw:
    """The posterior of the parts' mean: anywhere between its limits with equal plausibility before the release is looked at."""
    points = np.linspace(number.lower, number.upper, POINTS)
    noise = MeanNoise.of(release, number)
    found = number.mean(release.parts)
    density = noise.density(found - points)
    if density.sum() <= 0.0:  # so far outside that doubles do not tell: the nearest limit
        density = noise.density(np.clip(found, number.lower, number.upper) - points)
    return GridLaw.of(points, density)
