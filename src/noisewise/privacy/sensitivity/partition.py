"""How much one privacy unit can change the sums of a `partition` release.

The proofs are in partition.md, beside this file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from noisewise.privacy.sensitivity.neighbours import Neighbours


@dataclass(frozen=True, kw_only=True)
class PartitionSensitivity(Neighbours):
    """The most that one privacy unit can change K sums over parts of values from 0 to 1 (P3); the same for all neighbours.

    Attributes:
        numbers: K, the number of sums.
    """

    numbers: int

    @property
    def largest(self) -> float:
        """The most that each sum can change (the L-infinity norm)."""
        return 1.0

    @property
    def norm(self) -> float:
        """The L2 norm, rounded up."""
        return math.nextafter(math.sqrt(self.numbers), math.inf)
