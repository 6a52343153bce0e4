"""Sensitivity of a `moments` release. The proofs are in moments.md, beside this file; "M1" ... name them.

The release holds blocks of sums over rows (x, y): sums of all monomials of degree k in x, alone or times y. Everything is
computed in exact rational numbers; a result is rounded once or twice, always up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from noisewise.errors import PrivacyError
from noisewise.privacy.rounding import round_up, sqrt_round_up
from noisewise.privacy.sensitivity.neighbours import Neighbours, check_adjacency, check_unit, checked_norm_bound
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.schema.moment_blocks import MomentBlock

MONOMIAL_ERROR = Fraction(1, 2**19)
"""M5. A monomial of order 3 or more in a row's rounded values is summed with at most this error."""

TOLERANCE = Fraction(1, 2**32)
"""M2. How far the bound may exceed the maximum, relative to the bound on all terms."""


@dataclass(frozen=True, kw_only=True)
class MomentsSensitivity(Neighbours):
    """The most that one privacy unit can change a `moments` release floored to the grid.

    Attributes:
        norm: bound on the Euclidean norm of the change, with each block's monomials multiplied by the root of their multinomial
            coefficient and of the block's weight.
        weights: the weight of each block by its name.
        predictors: number of columns of x.
    """

    norm: float
    weights: Mapping[str, float]
    predictors: int


def moments_sensitivity(*, weights: Mapping[str, float], scalars: int, groups: int, predictors: int, norm_bound: float | None,
                        adjacency: str, max_rows: int = 1, unit_is_row: bool = True) -> MomentsSensitivity:
    """Bound the effect of one privacy unit on the blocks of a `moments` release.

    Args:
        weights: weight of each block, by name; the number of rows, if released with noise, is the block "n".
        scalars: number of columns of x with values anywhere in [-1, 1].
        groups: number of groups of columns of x of which at most one is nonzero in a row, with a value in [-1, 1].
        predictors: number of columns of x.
        norm_bound: bound on the norm of x, if it was clipped to one smaller than the box implies.
        adjacency, max_rows, unit_is_row: as for `gram_sensitivity`.

    >>> found = moments_sensitivity(weights={"xx": 1, "yx": 1}, scalars=1, groups=0, predictors=1, norm_bound=None,
    ...                             adjacency="replace-one")
    >>> round(found.norm**2, 3)
    4.5
    """
    _check(weights, adjacency, max_rows, unit_is_row, norm_bound)
    square = Fraction(scalars + groups)
    if norm_bound is not None:
        square = min(square, Fraction(norm_bound) ** 2)
    alone, with_response = coefficients(weights)
    added = added_square(alone, with_response, square)
    replaced = replaced_square(alone, with_response, square)
    if adjacency == "add-remove":
        row = added
    elif unit_is_row:
        row = replaced
    else:  # M4: a unit may be replaced by one with fewer rows
        row = max(added, replaced)
    allowance = Fraction(sqrt_round_up(_grid_square(weights, predictors, max_rows)))
    return MomentsSensitivity(norm=round_up(max_rows * Fraction(sqrt_round_up(row)) + allowance), weights=dict(weights),
                              predictors=predictors, adjacency=adjacency, unit_is_row=unit_is_row, max_rows=max_rows)


def coefficients(weights: Mapping[str, float]) -> tuple[list[Fraction], list[Fraction]]:
    """The weights of t_k(x) and of y t_k(x), by k."""
    found = {MomentBlock.named(name): Fraction(weight) for name, weight in weights.items()}
    degrees = range(max(block.degree for block in found) + 1)
    alone = [found.get(MomentBlock(False, degree), Fraction(0)) for degree in degrees]
    return alone, [found.get(MomentBlock(True, degree), Fraction(0)) for degree in degrees]


def added_square(alone: Sequence[Fraction], with_response: Sequence[Fraction], square: Fraction) -> Fraction:
    """M3. The squared norm of one row with ‖x‖² = `square` and |y| = 1."""
    return _value([one + other for one, other in zip(alone, with_response, strict=True)], square)


def replaced_square(alone: Sequence[Fraction], with_response: Sequence[Fraction], square: Fraction) -> Fraction:
    """M2. A bound on the squared norm of the change when a row is replaced: over both signs of yy' and all ⟨x, x'⟩."""
    whole = added_square(alone, with_response, square)
    best = Fraction(0)
    for sign in (1, -1):
        products = [-(one + sign * other) for one, other in zip(alone, with_response, strict=True)]
        best = max(best, 2 * whole + 2 * largest_value(products, square, TOLERANCE * whole))
    return best


def largest_value(polynomial: Sequence[Fraction], reach: Fraction, tolerance: Fraction) -> Fraction:
    """M2. At least the maximum of a polynomial (by ascending powers) on [-reach, reach], and at most `tolerance` above it.

    In the Bernstein basis of an interval the largest coefficient is at least the maximum there, and the first and last
    coefficients are values. Intervals are halved until the largest coefficient is close to the best value.

    >>> round(float(largest_value([Fraction(0), Fraction(2), Fraction(-1)], Fraction(5), Fraction(1, 10**6))), 5)
    1.0
    """
    waiting = [_bernstein(polynomial, reach)]
    best = max(waiting[0][0], waiting[0][-1])
    bound = best
    while waiting:
        here = waiting.pop()
        if max(here) <= best + tolerance:
            bound = max(bound, *here)
            continue
        left, right = _halved(here)
        best = max(best, right[0])
        waiting += [left, right]
    return bound


def _bernstein(polynomial: Sequence[Fraction], reach: Fraction) -> list[Fraction]:
    """The coefficients of p(reach (2u - 1)) in the Bernstein basis of u in [0, 1]."""
    degree = len(polynomial) - 1
    powers = [Fraction(0)] * (degree + 1)
    for power, coefficient in enumerate(polynomial):
        for of_u in range(power + 1):
            powers[of_u] += coefficient * reach**power * math.comb(power, of_u) * 2**of_u * (-1) ** (power - of_u)
    return [
        sum((Fraction(math.comb(place, of_u), math.comb(degree, of_u)) * powers[of_u] for of_u in range(place + 1)), Fraction(0))
        for place in range(degree + 1)
    ]


def _halved(coefficients: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """De Casteljau: the coefficients on both halves of the interval."""
    left, right, level = [], [], coefficients
    while level:
        left.append(level[0])
        right.append(level[-1])
        level = [(one + other) / 2 for one, other in pairwise(level)]
    return left, right[::-1]


def _grid_square(weights: Mapping[str, float], predictors: int, max_rows: int) -> Fraction:
    """M5. The squared norm that rounding and flooring can add; multinomial coefficients of degree k sum to predictors**k."""
    total = Fraction(0)
    for name, weight in weights.items():
        block = MomentBlock.named(name)
        error = 2 * max_rows * MONOMIAL_ERROR if block.order > 2 else Fraction(0)
        total += Fraction(weight) * predictors**block.degree * (Fraction(STATISTIC_GRID) + error) ** 2
    return total


def _value(polynomial: Sequence[Fraction], at: Fraction) -> Fraction:
    return sum((coefficient * at**power for power, coefficient in enumerate(polynomial)), Fraction(0))


def _check(weights: Mapping[str, float], adjacency: str, max_rows: int, unit_is_row: bool, norm_bound: float | None) -> None:
    check_adjacency(adjacency)
    check_unit(max_rows, unit_is_row)
    public = adjacency == "replace-one" and unit_is_row
    if not weights or ("n" in weights) == public or not all(0 < weight < math.inf for weight in weights.values()):
        raise PrivacyError("weights must be positive, with one for the number of rows unless that is public",
                           found=f"{dict(weights)!r}, {adjacency}", remedy="see checked_blocks")
    if norm_bound is not None:
        checked_norm_bound(norm_bound)
