"""What every room asks of a number that a caller gives."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np


def is_number(value: object) -> TypeGuard[float]:
    """A number of Python or NumPy; True is none, and NaN is one."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_whole(value: object, least: int, most: float = float("inf")) -> TypeGuard[int]:
    """One of Python's own whole numbers in these limits, as it may be written to a file; True is none."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
