"""Public candidates for bounds and limits that nobody knows.

The data holder searches them, and the analyst allows for the steps between them (P5 of privacy/sensitivity/partition.md).
Candidates are decimal numbers of a few digits over many magnitudes, as people would write them down, chosen without data.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from noisewise.arrays import Array
from noisewise.checks import is_number, is_whole
from noisewise.errors import DeclarationError
from noisewise.schema.questions import Limits

Known: TypeAlias = tuple[float | None, float | None]
"""The lower and upper bound of a column, None where unknown."""

MOST_DIGITS: Final = 4
LARGEST_TAIL: Final = 0.25
EXPONENTS: Final = range(-9, 13)
"""The decades, from 1e-9 up to but not including 1e13. Candidates are of both signs, or zero."""
DISTANCES: Final = 3.0
"""The limits of a location are this many typical distances from the centre; those of a scale this many over √M."""
NARROWEST: Final = 2.0**-36
"""Limits are at least this share of the centre away from it, so that doubles can tell apart the steps between them."""
WIDTH_RATIO: Final = math.sqrt(2.0)
"""The ratio of successive candidates for a distance. Candidates for a centre are decimal numbers of two digits."""
SMALLEST_CENTRE: Final = 1e-9


def checked_digits(digits: int) -> int:
    """The number of significant digits of an estimated bound, checked."""
    if not is_whole(digits, 1, MOST_DIGITS):
        raise DeclarationError(f"digits, the significant digits of a bound, must be from 1 to {MOST_DIGITS}",
                               found=repr(digits)[:80], remedy="3 is the default")
    return digits


def share_outside(tail: object) -> float:
    """The share of rows that may lie outside each estimated bound, checked."""
    if not (is_number(tail) and 0 <= tail <= LARGEST_TAIL):
        raise DeclarationError(f"tail, the share of rows outside each bound, must be between 0 and {LARGEST_TAIL}",
                               found=repr(tail)[:80], remedy="for example 0.005")
    return float(tail)


@lru_cache(maxsize=4)
def decimal_numbers(digits: int) -> Array:
    """Zero and every decimal number with this many significant digits, of both signs, in order.

    >>> len(decimal_numbers(1)), decimal_numbers(1)[-3:].tolist()
    (397, [7000000000000.0, 8000000000000.0, 9000000000000.0])
    """
    # Convert from strings, so that each is the double nearest to the decimal number, as in a table read from text.
    positive = [float(f"{number}e{exponent - digits + 1}")
                for exponent in EXPONENTS for number in range(10 ** (digits - 1), 10**digits)]
    grid = np.array([*(-value for value in reversed(positive)), 0.0, *positive])
    grid.flags.writeable = False
    return grid


def centre_candidates() -> Array:
    """Candidates for the centre of the parts' medians, in order."""
    return decimal_numbers(2)


def width_candidates() -> Array:
    """Candidates for the typical distance from the centre: from 1e-9 to 1e9, by factors of √2."""
    return np.array([2.0 ** (power / 2) for power in range(-60, 61)])


def limits_about(centre: float, distance: float) -> Limits:
    """The limits that follow from a centre and a typical distance from it."""
    reach = max(DISTANCES * distance, NARROWEST * abs(centre))
    return centre - reach, centre + reach


def sought(lower: float, upper: float) -> tuple[float, float]:
    """The centre and distance from which `limits_about` computes these limits.

    >>> sought(*limits_about(2.1, 0.25))
    (2.1, 0.25)
    """
    return float(f"{(lower + upper) / 2.0:.1e}"), (upper - lower) / (2.0 * DISTANCES)


def previous_candidates(centre: float, distance: float) -> tuple[float, float]:
    """The previous candidate for a centre, and the previous one for a distance.

    >>> previous_candidates(2.1, 1.0)[0], previous_candidates(1.0, 1.0)[0], previous_candidates(-3.0, 1.0)[0]
    (2.0, 0.99, -3.1)
    """
    if centre in (0.0, SMALLEST_CENTRE):
        return centre - SMALLEST_CENTRE, distance / WIDTH_RATIO
    digits, _, exponent = f"{centre:.1e}".partition("e")
    lower = float(digits) - (0.01 if digits == "1.0" else 0.1)
    return float(f"{lower:.2f}e{exponent}"), distance / WIDTH_RATIO
