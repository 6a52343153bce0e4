"""Checks of numbers that callers pass in, for every room."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np


def is_number(value: object) -> TypeGuard[float]:
    """True for a number of Python or NumPy, including NaN but not booleans."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_whole(value: object, least: int, most: float = float("inf")) -> TypeGuard[int]:
    """True for a Python int within these limits. Booleans do not count, nor do NumPy integers, which JSON cannot hold."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
