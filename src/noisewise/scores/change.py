"""How the noise of a round is split, and how far one privacy unit can move its sums. The proof is in
`noisewise/privacy/sensitivity/model.md`.

A row adds (s, r rᵀ, (ψ/bound)², s sᵀ), each at most 1 in norm. Piece by piece one row could move them by 2, √2, 1 and √2 if it is
replaced. But it cannot move all of them that far at once: a row that turns s around leaves s sᵀ as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from noisewise.schema.schema import Adjacency

MOST_OF_MATRICES: Final = 0.5
MOST_OF_SPREADS: Final = 2.0


@dataclass(frozen=True)
class Weights:
    """The squared weight of each piece of a round, if that of the score is 1: noise is the score's over the root of the weight.

    A piece with weight 0 is not released.
    """

    matrix: float
    square: float = 0.0
    spread: float = 0.0

    @classmethod
    def of(cls, adjacency: Adjacency, *, scaled: bool, spread: bool) -> Weights:
        """The default split, for a family with or without a scale, with or without Σ s sᵀ."""
        if adjacency == "replace-one":  # squares and spreads are free (`changed_square`)
            return cls(0.35 if spread else 0.5, 1.0 if scaled else 0.0, 0.15 if spread else 0.0)
        return cls(0.2, 0.06 if scaled else 0.0, 0.1 if spread else 0.0)


def changed_square(weights: Weights, *, added: bool) -> float:
    """A bound on the squared norm of a round's change if a row is ``added`` or removed, or replaced.

    Pieces count with their weights. If they are small enough, replacing a row moves the score and one matrix, and nothing else
    (D4 of model.md); otherwise each piece counts for itself.

    >>> changed_square(Weights(0.35, 1.0, 0.15), added=False), changed_square(Weights(0.25), added=True)
    (4.35, 1.25)
    """
    if added:
        return 1.0 + weights.matrix + weights.square + weights.spread
    if weights.matrix + weights.spread <= MOST_OF_MATRICES and weights.square + weights.spread <= MOST_OF_SPREADS:
        return 4.0 + weights.matrix
    return 4.0 + 2.0 * weights.matrix + weights.square + 2.0 * weights.spread
