"""Rounding towards privacy: from exact rational numbers to the next float on the safe side."""

from __future__ import annotations

import math
from fractions import Fraction


def round_up(value: Fraction) -> float:
    """The smallest float that is not below an exact value.

    >>> round_up(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    candidate = float(value)
    while Fraction(candidate) < value:
        candidate = math.nextafter(candidate, math.inf)
    return candidate


def round_down(value: Fraction) -> float:
    """The largest float that is not above an exact value."""
    return -round_up(-value)


def sqrt_round_up(value: Fraction) -> float:
    """A float not below the square root of an exact value, and within one unit in the last place of it.

    >>> Fraction(sqrt_round_up(Fraction(2))) ** 2 >= 2
    True
    """
    candidate = math.sqrt(value)
    while Fraction(candidate) ** 2 < value:
        candidate = math.nextafter(candidate, math.inf)
    return candidate
