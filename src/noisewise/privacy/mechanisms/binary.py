"""Beta-binomial synthesis of a yes-or-no column, from the literature. The proofs are in binary.md, beside this file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Final

from noisewise.checks import is_whole
from noisewise.errors import PrivacyError
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms.guarantee import statement
from noisewise.privacy.noise import urn_draws
from noisewise.privacy.sensitivity.neighbours import Neighbours
from noisewise.schema.columns import is_finite_number
from noisewise.words import option

LARGEST_ALPHA: Final = 2**53
MOST_ROWS: Final = 10**7
"""Limit on synthetic rows of all copies together."""
_SAFETY: Final = 1 + 2.0**-40
"""More than covers the rounding of two logarithms and a product."""


@dataclass(frozen=True, kw_only=True)
class BetaBinomial:
    """Synthetic yes-or-no rows: the number of ones is beta-binomial, and grows with the real number of ones.

    Attributes:
        adjacency: what neighbours are; the guarantee is the same for both (Y2, Y3).
        epsilon: the guarantee of all copies together.
        rows: synthetic rows per copy.
        copies: number of copies.
        alpha: pseudo-rows of each level.
    """

    name: ClassVar[str] = "beta-binomial"
    delta: ClassVar[float] = 0.0

    adjacency: str
    epsilon: float
    rows: int
    copies: int
    alpha: int

    @classmethod
    def calibrate(cls, adjacency: str, epsilon: float, rows: int, copies: int) -> BetaBinomial:
        """Use the fewest pseudo-rows that guarantee epsilon."""
        alpha = smallest_alpha(rows, epsilon, copies)
        return cls(adjacency=adjacency, epsilon=float(epsilon), rows=rows, copies=copies, alpha=alpha)

    def perturb(self, ones: int, zeros: int) -> tuple[int, ...]:
        """The number of ones of each synthetic copy."""
        return tuple(urn_draws(self.alpha + ones, self.alpha + zeros, self.rows) for _ in range(self.copies))

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` is accepted for uniformity and ignored."""
        row = Neighbours(adjacency=self.adjacency, unit_is_row=True)
        return statement(row, self.epsilon, self.delta, "beta-binomial synthesis", unit, "any result")

    def cost(self) -> Cost:
        """The cost: a pure epsilon, which composes as such."""
        return Cost.approximate(self.epsilon, 0.0)


def smallest_alpha(rows: int, epsilon: float, copies: int) -> int:
    """The fewest pseudo-rows of each level with copies · log(1 + rows/alpha) ≤ epsilon, rounded towards privacy.

    >>> smallest_alpha(100, 1.0, 1), smallest_alpha(100, 1.0, 2)
    (59, 155)
    """
    for name, value in (("rows", rows), ("copies", copies)):
        if not is_whole(value, 1):
            raise PrivacyError(f"{name} must be a whole number >= 1", found=repr(value))
    if rows * copies > MOST_ROWS:
        raise PrivacyError(f"at most {MOST_ROWS} rows can be synthesised at once", found=f"{copies} copies of {rows}",
                           remedy="ask for fewer: inference hardly needs more synthetic rows than real ones")
    if not (is_finite_number(epsilon) and 0 < epsilon <= 700):
        raise PrivacyError("epsilon must be > 0 and at most 700", argument="epsilon", found=repr(epsilon),
                           remedy="for example " + option("epsilon", 1.0))
    growth = math.expm1(epsilon / copies)
    if rows > LARGEST_ALPHA * growth:
        raise PrivacyError("epsilon is too small for this many synthetic rows", found=repr(epsilon),
                           remedy="give a larger epsilon, or ask for fewer rows")
    alpha = max(math.floor(rows / growth * (1 - 2.0**-40)), 1)
    while not suffices(alpha, rows, epsilon, copies):
        alpha += 1
    return alpha


def suffices(alpha: int, rows: int, epsilon: float, copies: int) -> bool:
    """True if this many pseudo-rows guarantee epsilon."""
    return copies * math.log1p(rows / alpha) * _SAFETY <= epsilon
