"""The privacy loss of publishing a row with noise in each cell. The proofs are in rows.md, beside this file; "R1" ... name them.

Everything is computed in exact rational numbers; a result is rounded once, always towards privacy.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Final

from noisewise.errors import PrivacyError

CELL_RANGE: Final = 2
"""R1. A scaled cell lies in [-1, 1], so another row's cell is at most this far away."""
CELL_GRID: Final = 2.0**-20
"""Scaled cells are whole multiples of it, and so is their noise."""
KEEP_BITS: Final = 53
"""R4. Probabilities to keep a level are whole multiples of 2**-53: exact as floats, and drawn exactly."""
LARGEST_EXPONENT: Final = 36
"""Above this a level would be kept with a probability closer to 1 than 2**-51."""


def laplace_loss(scales: Iterable[float], copies: int) -> Fraction:
    """R2. The epsilon of Laplace noise of these scales on the cells of a row, all copies together.

    >>> laplace_loss([4.0, 8.0], copies=2)
    Fraction(3, 2)
    """
    return sum((copies * CELL_RANGE / Fraction(scale) for scale in scales), Fraction(0))


def gaussian_squared_distance(sds: Iterable[float], copies: int) -> Fraction:
    """R3. The largest distance of two rows, in units of Gaussian noise of these standard deviations; squared.

    >>> gaussian_squared_distance([4.0], copies=4)
    Fraction(1, 1)
    """
    return sum((copies * CELL_RANGE**2 / Fraction(sd) ** 2 for sd in sds), Fraction(0))


def keep_units(epsilon: Fraction, levels: int) -> int:
    """R4. The largest probability, in units of 2**-53, of keeping a level that is epsilon private; rounded down.

    >>> keep_units(Fraction(1), 2) / 2**53
    0.7310585786300048
    """
    least = _exponential_below(min(epsilon, Fraction(LARGEST_EXPONENT)))
    units = int(least / (least + levels - 1) * 2**KEEP_BITS)
    if units * levels <= 2**KEEP_BITS:  # rounding would have made the true level no likelier than any other
        raise PrivacyError("epsilon is too small for the precision of randomised response",
                           found=f"{float(epsilon):.3g} per column",
                           remedy="give a larger epsilon, or fewer columns or copies")
    return units


def response_ratio(units: int, levels: int) -> Fraction:
    """R4. The most times likelier an answer is for one level than for another; must not exceed exp(epsilon)."""
    return Fraction(units * (levels - 1), 2**KEEP_BITS - units)


def _exponential_below(value: Fraction) -> Fraction:
    """A number just below exp(value), for 0 < value ≤ 36.

    Decimal's quotient and exponential are correctly rounded: with 60 digits the error is below 40 units of the 59th digit.
    """
    with localcontext() as context:
        context.prec = 60
        near = (Decimal(value.numerator) / Decimal(value.denominator)).exp()
    return Fraction(near) * (1 - Fraction(1, 10**50))
