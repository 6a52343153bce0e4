"""Checks of the numbers and texts of a release, wherever they come from."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from noisewise.arrays import Array, Matrix, Vector
from noisewise.errors import NoisewiseError, ReleaseError
from noisewise.releases.json_text import short

LARGEST_COUNT: Final = 2**53
"""Whole numbers up to here are exact as doubles."""

LARGEST_ENTRY: Final = 2.0**100
"""Eighth powers of entries up to here are still finite doubles, so an accepted release never overflows."""


def require(holds: bool, rule: str, found: object, remedy: str | None = None) -> None:
    """Raise `ReleaseError` with this rule unless it holds."""
    if not holds:
        raise ReleaseError(rule, found=found if isinstance(found, str) else short(found), remedy=remedy)


def settle(record: object, check: Callable[..., object], *names: str, where: str = "{}", **limits: object) -> None:
    """Replace fields of a frozen record by what a check returns for them; ``where`` is how messages name them."""
    for name in names:
        object.__setattr__(record, name, check(getattr(record, name), where.format(name), **limits))


def symmetric(matrix: object, what: str) -> Matrix:
    """A square symmetric matrix of finite numbers of ordinary size, read-only."""
    copied = _numbers(matrix, what, "square", lambda found: found.ndim == 2 and len({0, *found.shape}) == 2)
    require(np.array_equal(copied, copied.T), f"{what} must be symmetric", "entries that differ from their mirror images",
            "mirror the upper triangle")
    return copied


def numbers_of(values: object, what: str, size: int | None = None) -> Vector:
    """A read-only list of finite numbers of ordinary size."""
    expected = "a list of numbers" if size is None else f"a list of {size} numbers"
    return _numbers(values, what, expected, lambda found: found.ndim == 1 and (size is None or len(found) == size))


def _numbers(values: object, what: str, shape: str, fits: Callable[[Array], bool]) -> Array:
    try:
        copied = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ReleaseError(f"{what} must contain numbers", found=type(values).__name__) from None
    require(fits(copied), f"{what} must be {shape}", f"shape {copied.shape}")
    wrong = copied[~(np.abs(copied) <= LARGEST_ENTRY)]
    if len(wrong):
        raise ReleaseError(f"{what} must contain finite numbers of at most 2**100", found=repr(float(wrong[0])))
    copied.setflags(write=False)
    return copied


def plain_bytes(numbers: Array) -> bytes:
    """Numbers as bytes for a digest: the same on every machine, and the same for 0 and -0, since a file may state either.

    >>> plain_bytes(np.array([0.0])) == plain_bytes(np.array([-0.0]))
    True
    """
    return (numbers + 0.0).astype("<f8", copy=False).tobytes()


def number_of(value: object, what: str, most: float = math.inf) -> float:
    """A finite number of absolute value at most ``most``."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ReleaseError(f"{what} must be a number", found=short(value))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    require(math.isfinite(number), f"{what} must be a finite number", value)
    require(abs(number) <= most, f"{what} must be between {-most:g} and {most:g}", number)
    return number


def positive(value: object, what: str) -> float:
    """A finite number above 0."""
    number = number_of(value, what)
    require(number > 0, f"{what} must be positive", number)
    return number


def ordinary(value: object, what: str) -> float:
    """A positive number of ordinary size: 2**-100 to 2**100."""
    number = number_of(value, what)
    require(1 / LARGEST_ENTRY <= number <= LARGEST_ENTRY, f"{what} must be positive, from 2**-100 to 2**100", number)
    return number


def whole_number(value: object, what: str, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """A whole number within limits."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise ReleaseError(f"{what} must be a whole number from {least} to {most}", found=short(value))
    return int(value)


def text_of(value: object, what: str) -> str:
    """A text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise ReleaseError(f"{what} must be non-empty text", found=short(value))
    return value


def day_of(value: object, what: str) -> str:
    """A date in ISO format."""
    try:
        if isinstance(value, str) and datetime.date.fromisoformat(value).isoformat() == value:
            return value
    except ValueError:
        pass
    raise ReleaseError(f"{what} must be a date such as 2026-11-15", found=short(value))


@contextmanager
def refused_as_release(where: str = "") -> Iterator[None]:
    """Turn every error raised inside into a `ReleaseError`; ``where`` is put before its rule."""
    try:
        yield
    except NoisewiseError as error:
        if isinstance(error, ReleaseError) and not where:
            raise
        raise error.into(ReleaseError, f"{where}{error.rule}") from None
