"""What the numbers and texts of a release must be, wherever they come from."""

from __future__ import annotations

import datetime
import math
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisewise.errors import ReleaseError
from noisewise.release.json_text import short

FloatMatrix: TypeAlias = NDArray[np.float64]

LARGEST_ENTRY: Final = 2.0**100
"""Eighth powers of entries up to here are still finite doubles: an accepted release overflows nowhere."""


def symmetric(matrix: object) -> FloatMatrix:
    try:
        copied = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ReleaseError("the matrix must be made of numbers", found=type(matrix).__name__) from None
    if copied.ndim != 2 or copied.shape[0] != copied.shape[1] or copied.size == 0:
        raise ReleaseError("the matrix must be square", found=f"shape {copied.shape}")
    if not (np.abs(copied) <= LARGEST_ENTRY).all():
        raise ReleaseError(
            "the entries of the matrix must be finite numbers of ordinary size",
            found=repr(float(copied[~(np.abs(copied) <= LARGEST_ENTRY)][0])),
        )
    if not np.array_equal(copied, copied.T):
        raise ReleaseError("the matrix must be symmetric", remedy="mirror the upper triangle")
    copied.setflags(write=False)
    return copied


def plain_bytes(numbers: NDArray[np.float64]) -> bytes:
    """Numbers for a digest: the same on every machine, and with one zero, which a file may write with a sign or without.

    >>> plain_bytes(np.array([0.0])) == plain_bytes(np.array([-0.0]))
    True
    """
    return (numbers + 0.0).astype("<f8", copy=False).tobytes()


def number_of(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ReleaseError(f"{what} must be a number", found=short(value))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ReleaseError(f"{what} must be a finite number", found=short(value))
    return number


def check_day(value: object) -> None:
    try:
        if isinstance(value, str) and datetime.date.fromisoformat(value).isoformat() == value:
            return
    except ValueError:
        pass
    raise ReleaseError("created must be a day, written like 2026-11-15", found=short(value))
