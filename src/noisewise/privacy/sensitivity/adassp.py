"""Sensitivities of an `adassp` release. The proofs are in adassp.md, beside this file; "A1" ... name them.

The release holds the Gram matrix S = Σ aaᵀ of the predictors' rows a = (1, u), the sums z = Σ ay with the response y in
[-1, 1], and the smallest eigenvalue of S. Everything is computed in exact rational numbers and rounded up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from noisewise.privacy.rounding import round_up, sqrt_round_up
from noisewise.privacy.sensitivity.gram import GramSensitivity, gram_sensitivity
from noisewise.privacy.sensitivity.neighbours import check_adjacency, checked_norm_bound
from noisewise.schema.basis import STATISTIC_GRID


@dataclass(frozen=True, kw_only=True)
class AdasspSensitivity:
    """The most that one privacy unit can change the two pieces of an `adassp` release, both on the grid.

    Attributes:
        sums: sensitivity of (S, z) as the symmetric matrix [[S, z], [zᵀ, 0]]; its Frobenius norm counts z twice.
        eigenvalue: sensitivity of the smallest eigenvalue of S, a single number.
    """

    sums: GramSensitivity
    eigenvalue: GramSensitivity


def adassp_sensitivity(*, scalars: int, blocks: int, predictors: int, norm_bound: float | None, adjacency: str, max_rows: int = 1,
                       unit_is_row: bool = True) -> AdasspSensitivity:
    """Bound the effect of one privacy unit on (S, z) and on the smallest eigenvalue of S.

    Args:
        scalars: number of columns of u with values anywhere in [-1, 1].
        blocks: number of groups of columns of u of which at most one is nonzero in a row, with a value in [-1, 1].
        predictors: number of columns of a, including the constant.
        norm_bound: bound on the norm of (u, y), if rows were clipped to one smaller than the box implies.
        adjacency, max_rows, unit_is_row: as for `gram_sensitivity`.

    >>> s = adassp_sensitivity(scalars=2, blocks=0, predictors=3, norm_bound=None, adjacency="replace-one")
    >>> round(s.sums.frobenius / 2**0.5, 3), round(s.eigenvalue.frobenius, 3)
    (4.0, 3.0)
    """
    whole = gram_sensitivity(  # A1: for the Gram matrix of (1, u, y), whose last entry is not released
        scalars=scalars + 1, blocks=blocks, size=predictors + 1, radius=norm_bound if norm_bound is not None else 1.0,
        norm_clipped=norm_bound is not None, adjacency=adjacency, max_rows=max_rows, unit_is_row=unit_is_row)
    box, step = Fraction(scalars + blocks), Fraction(STATISTIC_GRID)
    largest = 1 + (box if norm_bound is None else min(box, Fraction(norm_bound) ** 2))  # B²: the squared norm of a = (1, u)
    frobenius = whole.frobenius
    if adjacency == "add-remove":
        row = Fraction(_added(largest))
        frobenius = min(frobenius, round_up(max_rows * row + (predictors + 1) * step))
    eigenvalue = round_up(max_rows * largest + (predictors + 1) * step)  # A2, A3 and A4
    return AdasspSensitivity(sums=replace(whole, frobenius=frobenius), eigenvalue=replace(
        whole, frobenius=eigenvalue, l1=eigenvalue, corner_is_public=False))


def sums_without_constant(norm_bound: float, adjacency: str) -> float:
    """A1. Frobenius sensitivity of (S, z) for rows without a constant and with norm at most `norm_bound`, for one row.

    >>> sums_without_constant(1.0, "add-remove") ** 2, round(sums_without_constant(1.0, "replace-one") ** 2, 9)
    (3.0000000000000004, 8.0)
    """
    check_adjacency(adjacency)
    square = checked_norm_bound(norm_bound) ** 2
    if adjacency == "add-remove":
        return _added(square)
    return sqrt_round_up(2 * (1 + square) ** 2 if square >= 1 else 8 * square)


def _added(square: Fraction) -> float:
    """A1. sqrt(B⁴ + 2B²): one row a of squared norm B² with |y| = 1."""
    return sqrt_round_up(square**2 + 2 * square)
