"""What is learnt from it: an interval of the number of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from noisewise.releases.release import Release


@dataclass(frozen=True)
class Counted:
    point: float
    interval: tuple[float, float]


def answer(release: Release, *, prior_probability: float, probability: float, seed: int) -> Counted:
    one = release.contents
    reach = -one.scale * math.log(1 - probability)  # where a Laplace variable is, either side
    return Counted(one.number, (one.number - reach, one.number + reach))
