"""Sensitivity of the Gram matrix of rows a = (1, u). The proofs are in gram.md, beside this file; "P1" ... name them.

Everything is computed in exact rational numbers; a result is rounded once or twice, always up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from noisewise.errors import PrivacyError
from noisewise.privacy.rounding import round_up, sqrt_round_up
from noisewise.privacy.sensitivity.neighbours import Neighbours, check_adjacency, check_unit, checked_norm_bound
from noisewise.schema.basis import STATISTIC_GRID


@dataclass(frozen=True, kw_only=True)
class GramSensitivity(Neighbours):
    """The most that one privacy unit can change a Gram matrix floored to the grid.

    Attributes:
        frobenius: bound on the Frobenius norm of the change.
        l1: bound on the sum of the absolute changes of the upper triangle, including the diagonal.
        corner_is_public: whether the corner (the number of rows) is the same for all neighbours.
        size: number of columns of the matrix; 0 where no mechanism needs it.
        spectral: bound on the absolute eigenvalues of the change of the exact matrix, *not* floored, if the unit is one row;
            infinite where no mechanism could use one.
    """

    frobenius: float
    l1: float
    corner_is_public: bool
    size: int = 0
    spectral: float = math.inf


def gram_sensitivity(*, scalars: int, blocks: int, size: int, radius: float, norm_clipped: bool, adjacency: str,
                     max_rows: int = 1, unit_is_row: bool = True) -> GramSensitivity:
    """Bound the effect of one privacy unit on the floored Gram matrix of the rows a = (1, u).

    Args:
        scalars: number of columns of u with values anywhere in [-1, 1].
        blocks: number of groups of columns of which at most one is nonzero in a row, with a value in [-1, 1].
        size: number of columns of a, including the constant.
        radius: bound on the Euclidean norm of u; used only if rows were clipped to it.
        norm_clipped: whether `radius` was enforced on the rows; otherwise the norm follows from the box.
        adjacency: "replace-one" or "add-remove".
        max_rows: the most rows a unit may have; 1 if the unit is a row.
        unit_is_row: False if the unit is a value of a column; then the number of rows is not public.

    >>> s = gram_sensitivity(scalars=2, blocks=0, size=3, radius=2**0.5, norm_clipped=False, adjacency="add-remove")
    >>> round(s.frobenius, 3), round(s.l1, 3), s.corner_is_public
    (3.0, 6.0, False)
    """
    check_adjacency(adjacency)
    _check_shape(scalars, blocks, size)
    check_unit(max_rows, unit_is_row)
    radius_squared = Fraction(scalars + blocks)
    if norm_clipped:
        radius_squared = min(radius_squared, checked_norm_bound(radius) ** 2)
    added = Fraction(1 + radius_squared), _l1_add_remove(scalars, blocks, radius_squared)
    moved = sqrt_round_up(_frobenius_replace_one_squared(radius_squared))
    replaced = Fraction(moved), _l1_replace_one(scalars, blocks, radius_squared)
    if adjacency == "add-remove":
        row = added
    elif unit_is_row:
        row = replaced
    else:  # P5: a unit may be replaced by one with fewer rows, so rows are replaced, added or removed.
        row = max(added[0], replaced[0]), max(added[1], replaced[1])

    step = Fraction(STATISTIC_GRID)  # P6: flooring adds less than one step to the change of each entry.
    public = adjacency == "replace-one" and unit_is_row
    return GramSensitivity(
        frobenius=round_up(max_rows * row[0] + size * step),
        l1=round_up(max_rows * row[1] + Fraction(size * (size + 1), 2) * step),
        corner_is_public=public, adjacency=adjacency, unit_is_row=unit_is_row, max_rows=max_rows, size=size,
        spectral=_spectral(radius_squared, public=public) if max_rows == 1 else math.inf)


def frobenius_without_constant(norm_bound: float, adjacency: str) -> float:
    """P1. Frobenius sensitivity of the sum of a aᵀ over rows with norm at most `norm_bound`, for one row, rounded up.

    >>> frobenius_without_constant(1.0, "add-remove")
    1.0
    """
    check_adjacency(adjacency)
    square = checked_norm_bound(norm_bound) ** 2
    return round_up(square) if adjacency == "add-remove" else sqrt_round_up(2 * square**2)


def l1_without_constant(scalars: int, adjacency: str) -> float:
    """P3. L1 sensitivity of the upper triangle of the sum of u uᵀ, u in [-1, 1]^scalars, for one row.

    >>> l1_without_constant(3, "replace-one")
    6.0
    """
    check_adjacency(adjacency)
    _check_shape(scalars, 0, scalars + 1)
    return round_up(Fraction(scalars * (scalars + 1), 2))


def _frobenius_replace_one_squared(radius_squared: Fraction) -> Fraction:
    """P2. The square of sqrt(2)(1+r²) if r ≥ 1, else of 2 sqrt(2) r."""
    return 2 * (1 + radius_squared) ** 2 if radius_squared >= 1 else 8 * radius_squared


def _spectral(radius_squared: Fraction, *, public: bool) -> float:
    """P7. 1+r², and if the number of rows is public and r < 1, 2r; rounded up."""
    if public and radius_squared < 1:
        return sqrt_round_up(4 * radius_squared)
    return round_up(1 + radius_squared)


def _l1_add_remove(scalars: int, blocks: int, radius_squared: Fraction) -> Fraction:
    """P3. 1 + sqrt(b) r + (b+1) r²/2, which is (b+1)(b+2)/2 where the norm is that of the box, r² = b."""
    support = scalars + blocks
    root = Fraction(sqrt_round_up(support * radius_squared))
    return 1 + root + (support + 1) * radius_squared / 2


def _l1_replace_one(scalars: int, blocks: int, radius_squared: Fraction) -> Fraction:
    """P4. The smallest of the bound from the box and the two from the norm."""
    box = blocks * (blocks + 3) + _largest_scalar_change(scalars, blocks)
    triangle = 2 * (_l1_add_remove(scalars, blocks, radius_squared) - 1)
    # W of P4(c): entries that can change; off-diagonal ones count one half.
    weight = (Fraction(3 * (scalars + 2 * blocks), 2) + Fraction(scalars * (scalars - 1), 4) + scalars * blocks
              + Fraction(blocks * (blocks - 1), 2))
    cauchy = Fraction(sqrt_round_up(weight * _frobenius_replace_one_squared(radius_squared)))
    return min(box, triangle, cauchy)


@lru_cache(maxsize=256)
def _largest_scalar_change(scalars: int, blocks: int) -> Fraction:
    """P4(b). Exact maximum of 2(q+2)D - 2D² - 2Σδ² + 2mΣmax(δ, 1-δ) over δ in [0,1]^q, with D = Σδ.

    A solution has `high` coordinates at y in [1/2, 1] and the others at x in [0, 1/2], with x = 0 or y = 1.
    Without blocks it is q(q+2)²/(2(q+1)).
    """

    def change(high: int, x: Fraction, y: Fraction) -> Fraction:
        low = scalars - high
        total = low * x + high * y
        squares = low * x**2 + high * y**2
        return 2 * (scalars + 2) * total - 2 * total**2 - 2 * squares + 2 * blocks * (low * (1 - x) + high * y)

    zero, half, one = Fraction(0), Fraction(1, 2), Fraction(1)
    best = zero
    for high in range(scalars + 1):
        y = min(max(Fraction(scalars + 2 + blocks, 2 * (high + 1)), half), one)
        x = min(max(Fraction(scalars + 2 - 2 * high - blocks, 2 * (scalars - high + 1)), zero), half)
        best = max(best, change(high, zero, y), change(high, x, one))
    return best


def _check_shape(scalars: int, blocks: int, size: int) -> None:
    if scalars < 0 or blocks < 0 or size < 1 + scalars + blocks:
        raise PrivacyError("a row must have a constant, one column per scalar and at least one column per block",
                           found=f"scalars={scalars}, blocks={blocks}, size={size}", remedy="count the released columns again")
