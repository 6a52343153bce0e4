"""What the numbers and texts of a release must be, wherever they come from."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisewise.errors import NoisewiseError, ReleaseError
from noisewise.releases.json_text import short

FloatMatrix: TypeAlias = NDArray[np.float64]

LARGEST_COUNT: Final = 2**53
"""Whole numbers up to here are exact as doubles."""

LARGEST_ENTRY: Final = 2.0**100
"""Eighth powers of entries up to here are still finite doubles: an accepted release overflows nowhere."""


def require(holds: bool, rule: str, found: object, remedy: str | None = None) -> None:
    """Refuse what breaks a rule of releases."""
    if not holds:
        raise ReleaseError(rule, found=found if isinstance(found, str) else short(found), remedy=remedy)


def settle(record: object, check: Callable[..., Any], *names: str, where: str = "{}", **limits: Any) -> None:
    """Put what a check makes of them in the place of fields of a frozen record; ``where`` is what a message calls them."""
    for name in names:
        object.__setattr__(record, name, check(getattr(record, name), where.format(name), **limits))


def symmetric(matrix: object, what: str) -> FloatMatrix:
    copied = _numbers(matrix, what, "square", lambda found: found.ndim == 2 and len({0, *found.shape}) == 2)
    require(np.array_equal(copied, copied.T), f"{what} must be symmetric", "entries that differ from their mirror images",
            "mirror the upper triangle")
    return copied


def numbers_of(values: object, what: str, size: int | None = None) -> NDArray[np.float64]:
    """A list of finite numbers of ordinary size, protected against change."""
    expected = "a list of numbers" if size is None else f"a list of {size} numbers"
    return _numbers(values, what, expected, lambda found: found.ndim == 1 and (size is None or len(found) == size))


def _numbers(values: object, what: str, shape: str, fits: Callable[[NDArray[np.float64]], bool]) -> NDArray[np.float64]:
    try:
        copied = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ReleaseError(f"{what} must be made of numbers", found=type(values).__name__) from None
    require(fits(copied), f"{what} must be {shape}", f"shape {copied.shape}")
    wrong = copied[~(np.abs(copied) <= LARGEST_ENTRY)]
    if len(wrong):
        raise ReleaseError(f"{what} must be made of finite numbers of ordinary size", found=repr(float(wrong[0])))
    copied.setflags(write=False)
    return copied


def plain_bytes(numbers: NDArray[np.float64]) -> bytes:
    """Numbers for a digest: the same on every machine, and with one zero, which a file may write with a sign or without.

    >>> plain_bytes(np.array([0.0])) == plain_bytes(np.array([-0.0]))
    True
    """
    return (numbers + 0.0).astype("<f8", copy=False).tobytes()


def number_of(value: object, what: str, most: float = math.inf) -> float:
    """A finite number, no further than ``most`` from 0."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ReleaseError(f"{what} must be a number", found=short(value))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    require(math.isfinite(number), f"{what} must be a finite number", value)
    require(abs(number) <= most, f"{what} must be of ordinary size", number)
    return number


def positive(value: object, what: str) -> float:
    number = number_of(value, what)
    require(number > 0, f"{what} must be positive", number)
    return number


def ordinary(value: object, what: str) -> float:
    """A positive number of ordinary size."""
    number = number_of(value, what)
    require(1 / LARGEST_ENTRY <= number <= LARGEST_ENTRY, f"{what} must be positive and of ordinary size", number)
    return number


def whole_number(value: object, what: str, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """A whole number within limits."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise ReleaseError(f"{what} must be a whole number from {least} to {most}", found=short(value))
    return int(value)


def text_of(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ReleaseError(f"{what} must be a text that is not empty", found=short(value))
    return value


def day_of(value: object, what: str) -> str:
    try:
        if isinstance(value, str) and datetime.date.fromisoformat(value).isoformat() == value:
            return value
    except ValueError:
        pass
    raise ReleaseError(f"{what} must be a day, written like 2026-11-15", found=short(value))


@contextmanager
def refused_as_release(where: str = "") -> Iterator[None]:
    """Whatever is refused within is refused as a release; ``where`` comes before the words."""
    try:
        yield
    except NoisewiseError as error:
        if isinstance(error, ReleaseError) and not where:
            raise
        raise error.into(ReleaseError, f"{where}{error.rule}") from None
