"""Limits of a quantile that nobody knows: public numbers of the search for them (P5 of privacy/sensitivity/partition.md)."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.schema.decimal_numbers import decimal_numbers
from noisewise.schema.questions import Limits

DISTANCES: Final = 3.0
"""Limits of a location are this many typical distances from the centre; those of a scale so many over the root of M."""
NARROWEST: Final = 2.0**-36
"""And at least this share of the centre, so that doubles can tell the limits apart, and the steps between them."""
WIDTH_RATIO: Final = math.sqrt(2.0)
"""Of two candidates for a distance that follow each other. Candidates for a centre are decimal numbers of two digits."""
SMALLEST_CENTRE: Final = 1e-9
CENTRE_DIGITS: Final = 2


def centre_candidates() -> npt.NDArray[np.float64]:
    """Where the centre of the parts' medians is looked for, in order."""
    return decimal_numbers(CENTRE_DIGITS)


def width_candidates() -> npt.NDArray[np.float64]:
    """Where their typical distance from it is looked for: from 1e-9 to 1e9, by factors of √2."""
    return np.array([2.0 ** (power / 2) for power in range(-60, 61)])


def limits_about(centre: float, distance: float) -> Limits:
    """What a centre and a typical distance from it come to."""
    reach = max(DISTANCES * distance, NARROWEST * abs(centre))
    return centre - reach, centre + reach


def sought(lower: float, upper: float) -> tuple[float, float]:
    """The centre and the distance that such limits come from.

    >>> sought(*limits_about(2.1, 0.25))
    (2.1, 0.25)
    """
    return float(f"{(lower + upper) / 2.0:.1e}"), (upper - lower) / (2.0 * DISTANCES)


def previous_candidates(centre: float, distance: float) -> tuple[float, float]:
    """The candidate for a centre that comes before this one, and that for a distance.

    >>> previous_candidates(2.1, 1.0)[0], previous_candidates(1.0, 1.0)[0], previous_candidates(-3.0, 1.0)[0]
    (2.0, 0.99, -3.1)
    """
    if centre in (0.0, SMALLEST_CENTRE):
        return centre - SMALLEST_CENTRE, distance / WIDTH_RATIO
    digits, _, exponent = f"{centre:.1e}".partition("e")
    lower = float(digits) - (0.01 if digits == "1.0" else 0.1)
    return float(f"{lower:.2f}e{exponent}"), distance / WIDTH_RATIO
