"""Scores of candidates for a bound of a column, and how much one privacy unit can change them.

The proofs are in bounds.md, beside this file. Everything here is in integers, and exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from noisewise.privacy.sensitivity.neighbours import Neighbours

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class BoundSensitivity(Neighbours):
    """The most that one privacy unit can change the score of any candidate (B1); the same for both adjacencies."""

    @property
    def score(self) -> int:
        """B1: one for each row of a unit."""
        return self.max_rows


def target(cells: int, tail: Fraction, fewest: int) -> int:
    """How many cells should lie beyond the bound: a share of them, but at least as many as the noise can hide.

    >>> target(10_000, Fraction(1, 100), 20), target(1000, Fraction(1, 100), 20)
    (100, 20)
    """
    return max(int(tail * cells), fewest)


def rank_scores(beyond: Counts, cells: int, wanted: int) -> Counts:
    """The score of each candidate, ordered outwards; ``beyond`` counts the cells strictly beyond each.

    Zero is best: the first candidate that leaves at most ``wanted`` cells outside.

    >>> rank_scores(np.array([9, 6, 2, 0, 0]), cells=10, wanted=3)
    array([-6, -3,  0, -1, -3])
    """
    within = np.concatenate([np.array([cells], dtype=np.int64), beyond[:-1]])
    scores: Counts = -np.maximum(np.maximum(beyond - wanted, wanted - within), 0)
    return scores
