"""Sensitivity of a `model` release, of its first look and of a round. The proofs are in model.md; "D1" ... name them.

Everything is computed in exact rational numbers; a result is rounded once or twice, always up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, cast

from noisewise.errors import DeclarationError, PrivacyError
from noisewise.privacy.rounding import round_up, sqrt_round_up
from noisewise.privacy.sensitivity.neighbours import Neighbours, check_adjacency, check_unit
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.scores.change import Weights, changed_square
from noisewise.scores.rounds import Round

LARGEST_TERMS: Final = 1000
"""D1. With more coefficients, rounding could take more than the margin of 2**-40."""
ENTRY_ERROR: Final = Fraction(2**20 + 1, 2**40)
"""D5. How far truncation moves an entry of s or r."""
SQUARE_ERROR: Final = Fraction(1, 2**39)
"""D5. How far rounding moves (ψ/bound)²."""
ARITHMETIC: Final = 1 + Fraction(1, 2**40)
"""D3. More than rounding can take from a bound that is the sum of a few floats."""


@dataclass(frozen=True, kw_only=True)
class ModelSensitivity(Neighbours):
    """The most that one privacy unit can change the first look and each round, floored to the grid.

    Attributes:
        look: bound on the Euclidean norm of the change of all sums of the first look.
        finding, last: the same for a round without and with Σ s sᵀ, where each piece counts with the root of its weight, in units
            of the score.
        sums: the number of sums of the first look, without the number of rows.
        terms: the number of coefficients.
        scaled: whether rounds have Σ (ψ/bound)².
    """

    look: float
    finding: float
    last: float
    sums: int
    terms: int
    scaled: bool

    @property
    def rows_are_public(self) -> bool:
        """Whether neighbours have the same number of rows."""
        return self.adjacency == "replace-one" and self.unit_is_row

    def of_round(self, spread: bool) -> float:
        """The bound for a round with or without Σ s sᵀ."""
        return self.last if spread else self.finding

    def of_rounds(self, rounds: Sequence[Round]) -> float:
        """The largest bound for any of these rounds, which is the sensitivity that a release states."""
        return max(self.of_round(one.point.spread) for one in rounds)

    def weights(self, spread: bool) -> Weights:
        """The weights of the pieces of a round."""
        return weights_of(self.adjacency, scaled=self.scaled, spread=spread)


def model_sensitivity(*, look_added: float, look_replaced: float, sums: int, terms: int, scaled: bool, adjacency: str,
                      max_rows: int = 1, unit_is_row: bool = True) -> ModelSensitivity:
    """Bound the effect of one privacy unit on each part of a `model` release.

    Args:
        look_added, look_replaced: bounds on the squared change of the first look by a row that is added or replaced (D2).
        sums: the number of sums of the first look, without the number of rows.
        terms: the number of coefficients.
        scaled: whether the family has a scale, so that rounds have Σ (ψ/bound)².
        adjacency, max_rows, unit_is_row: as for `gram_sensitivity`.

    >>> found = model_sensitivity(look_added=3, look_replaced=8, sums=3, terms=2, scaled=False, adjacency="replace-one")
    >>> round(found.look**2, 3), round(found.finding**2, 3)
    (8.0, 4.5)
    """
    check_adjacency(adjacency)
    check_unit(max_rows, unit_is_row)
    if not 1 <= terms <= LARGEST_TERMS:
        raise DeclarationError(f"a model release can have at most {LARGEST_TERMS} coefficients", found=str(terms),
                               remedy="shorten the formula")
    if not (sums > 0 and look_added > 0 and look_replaced > 0):
        raise PrivacyError("a first look must have sums, and bounds on their change",
                           found=f"{sums} sums, {look_added}, {look_replaced}")
    public = adjacency == "replace-one" and unit_is_row
    row = _worst(Fraction(look_added) + (0 if public else 1), Fraction(look_replaced), adjacency, unit_is_row)
    entries = sums + (0 if public else 1)
    look = max_rows * Fraction(sqrt_round_up(row)) + Fraction(sqrt_round_up(entries * Fraction(STATISTIC_GRID) ** 2))

    def of_round(spread: bool) -> float:
        weights = weights_of(adjacency, scaled=scaled, spread=spread)
        added, replaced = (Fraction(changed_square(weights, added=one)) * ARITHMETIC for one in (True, False))
        sides = 1 if adjacency == "add-remove" else 2
        found = max_rows * Fraction(sqrt_round_up(_worst(added, replaced, adjacency, unit_is_row)))
        found += sides * max_rows * Fraction(sqrt_round_up(_row_error_square(weights, terms)))
        return round_up(found + Fraction(sqrt_round_up(_grid_square(weights, terms))))

    return ModelSensitivity(look=round_up(look), finding=of_round(False), last=of_round(True), sums=sums, terms=terms,
                            scaled=scaled, adjacency=adjacency, unit_is_row=unit_is_row, max_rows=max_rows)


def weights_of(adjacency: str, *, scaled: bool, spread: bool) -> Weights:
    """The weights of the pieces of a round."""
    return Weights.of(cast(Literal["replace-one", "add-remove"], adjacency), scaled=scaled, spread=spread)


def _worst(added: Fraction, replaced: Fraction, adjacency: str, unit_is_row: bool) -> Fraction:
    if adjacency == "add-remove":
        return added
    return replaced if unit_is_row else max(added, replaced)  # D4: a unit may be replaced by one with fewer rows


def _row_error_square(weights: Weights, terms: int) -> Fraction:
    """D5. The squared weighted distance between what a row adds and the values that D3 is about."""
    vector = terms * ENTRY_ERROR**2
    matrices = Fraction(weights.matrix) + Fraction(weights.spread)
    return vector + matrices * 4 * vector + Fraction(weights.square) * SQUARE_ERROR**2


def _grid_square(weights: Weights, terms: int) -> Fraction:
    """D6. The squared norm that flooring to the grid can add."""
    matrices = Fraction(weights.matrix) + Fraction(weights.spread)
    return (terms + matrices * terms**2 + Fraction(weights.square)) * Fraction(STATISTIC_GRID) ** 2
