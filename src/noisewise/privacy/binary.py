"""How many pseudo-rows a beta-binomial synthesis needs. The proofs are in binary.md, beside this file."""

from __future__ import annotations

import math
from typing import Final

from noisewise.errors import PrivacyError
from noisewise.schema.columns import is_finite_number

LARGEST_ALPHA: Final = 2**53
MOST_ROWS: Final = 10**7
"""Synthetic rows of all copies together."""
_SAFETY: Final = 1 + 2.0**-40
"""More than all rounding of two logarithms and a product."""


def smallest_alpha(rows: int, epsilon: float, copies: int) -> int:
    """The fewest pseudo-rows of each kind with copies · log(1 + rows/alpha) ≤ epsilon; rounded towards privacy.

    >>> smallest_alpha(100, 1.0, 1), smallest_alpha(100, 1.0, 2)
    (59, 155)
    """
    for name, value in (("rows", rows), ("copies", copies)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise PrivacyError(f"{name} of a synthesis are a whole number, 1 or more", found=repr(value))
    if rows * copies > MOST_ROWS:
        raise PrivacyError(f"at most {MOST_ROWS} rows are synthesised at once", found=f"{copies} copies of {rows}",
                           remedy="ask for fewer: inference hardly needs more synthetic rows than real ones")
    if not (is_finite_number(epsilon) and 0 < epsilon <= 700):
        raise PrivacyError("epsilon is a positive number", found=repr(epsilon), remedy="give for example epsilon=1.0")
    growth = math.expm1(epsilon / copies)
    if rows > LARGEST_ALPHA * growth:
        raise PrivacyError("this epsilon is too small for so many synthetic rows", found=repr(epsilon),
                           remedy="give a larger epsilon, or ask for fewer rows")
    alpha = max(math.floor(rows / growth * (1 - 2.0**-40)), 1)
    while not suffices(alpha, rows, epsilon, copies):
        alpha += 1
    return alpha


def suffices(alpha: int, rows: int, epsilon: float, copies: int) -> bool:
    """Whether so many pseudo-rows guarantee epsilon."""
    return copies * math.log1p(rows / alpha) * _SAFETY <= epsilon
