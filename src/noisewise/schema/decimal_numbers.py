"""Decimal numbers of a few digits over many magnitudes: candidates that people would write down, chosen without data."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

EXPONENTS: Final = range(-9, 13)
"""Decades: from 1e-9 up to, not including, 1e13, with both signs, and zero."""


@lru_cache(maxsize=4)
def decimal_numbers(digits: int) -> npt.NDArray[np.float64]:
    """Zero, and both signs of every decimal number of so many significant digits, in order.

    >>> len(decimal_numbers(1)), decimal_numbers(1)[-3:].tolist()
    (397, [7000000000000.0, 8000000000000.0, 9000000000000.0])
    """
    # Through texts, so that each is the double nearest to the decimal number, as in a table that was read from text.
    positive = [float(f"{number}e{exponent - digits + 1}")
                for exponent in EXPONENTS for number in range(10 ** (digits - 1), 10**digits)]
    grid = np.array([*(-value for value in reversed(positive)), 0.0, *positive])
    grid.flags.writeable = False
    return grid
