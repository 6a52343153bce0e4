"""How much one privacy unit can change the sums of a `partition` release.

The proofs are in partition.md, beside this file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PartitionSensitivity:
    """The most that one privacy unit can change K sums over parts of values from 0 to 1 (P3).

    Attributes:
        numbers: K, how many sums there are.
        adjacency: "replace-one" or "add-remove"; the bound is the same for both.
        unit_is_row: whether the privacy unit is a row, or the rows that share a value of a unit column.
        max_rows: the most rows of a unit that are used; the bound does not depend on it.
    """

    numbers: int
    adjacency: str
    unit_is_row: bool
    max_rows: int = 1

    @property
    def largest(self) -> float:
        """In each sum (the L-infinity norm)."""
        return 1.0

    @property
    def squared_norm(self) -> float:
        """The square of the L2 norm."""
        return float(self.numbers)

    @property
    def norm(self) -> float:
        """The L2 norm, rounded up."""
        return math.nextafter(math.sqrt(self.numbers), math.inf)

    @property
    def score(self) -> int:
        """Of a count of parts, and so of the score of a candidate (P5)."""
        return 1
