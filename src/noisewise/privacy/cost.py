"""The cost of a release, in a form that can be stored and composed: the mechanisms it consists of.

A piece is one of

- ``gaussian``: Gaussian noise; its number is the standard deviation over the L2 sensitivity.
- ``laplace``: Laplace noise, also on a vector; its number is the scale over the L1 sensitivity.
- ``approximate``: any mechanism known only by its (epsilon, delta); its numbers are these two.

For a vector with Laplace noise, a piece stands for noise on one number, which is the worst case (C6 of calibration.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from noisewise.errors import PrivacyError

Kind: TypeAlias = Literal["gaussian", "laplace", "approximate"]
NUMBERS: Final[Mapping[str, int]] = {"gaussian": 1, "laplace": 1, "approximate": 2}


@dataclass(frozen=True)
class Piece:
    """One mechanism, relative to the distance between neighbours."""

    kind: Kind
    numbers: tuple[float, ...]

    def __post_init__(self) -> None:
        numbers = self.numbers
        if self.kind not in NUMBERS or len(numbers) != NUMBERS[self.kind]:
            raise PrivacyError("a piece of a cost must be gaussian, laplace or approximate, with its numbers",
                               found=f"{self.kind} {numbers}")
        object.__setattr__(self, "numbers", tuple(float(number) for number in numbers))
        valid = all(math.isfinite(number) for number in self.numbers) and self.numbers[0] > 0 and all(
            0 <= number < 1 for number in self.numbers[1:])
        if not valid:
            raise PrivacyError("the numbers of a cost must be positive and finite, and a delta below 1",
                               found=f"{self.kind} {numbers}")

    def as_list(self) -> list[str | float]:
        """Plain data: the kind, then its numbers."""
        return [self.kind, *self.numbers]


@dataclass(frozen=True)
class Cost:
    """The cost of one release: its pieces, which compose, and the (epsilon, delta) that it guarantees on its own.

    >>> Cost.gaussian(multiplier=4.0, epsilon=1.0, delta=1e-6).pieces
    (Piece(kind='gaussian', numbers=(4.0,)),)
    """

    epsilon: float
    delta: float
    pieces: tuple[Piece, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", float(self.epsilon))
        object.__setattr__(self, "delta", float(self.delta))
        if not (math.isfinite(self.epsilon) and self.epsilon > 0 and 0 <= self.delta < 1):
            raise PrivacyError("a cost must have a positive epsilon and a delta between 0 and 1",
                               found=f"({self.epsilon}, {self.delta})")
        if not self.pieces:
            raise PrivacyError("a cost must have at least one piece", found="none")
        if self.delta == 0 and any(piece.kind == "gaussian" or piece.numbers[1:] > (0.0,) for piece in self.pieces):
            raise PrivacyError("a cost without a delta must consist of pure pieces", found=", ".join(p.kind for p in self.pieces))

    @classmethod
    def gaussian(cls, multiplier: float, epsilon: float, delta: float) -> Cost:
        """The cost of Gaussian noise; ``multiplier`` is its standard deviation over the L2 sensitivity."""
        return cls(epsilon, delta, (Piece("gaussian", (multiplier,)),))

    @classmethod
    def laplace(cls, multiplier: float, epsilon: float) -> Cost:
        """The cost of Laplace noise; ``multiplier`` is its scale over the L1 sensitivity."""
        return cls(epsilon, 0.0, (Piece("laplace", (multiplier,)),))

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> Cost:
        """The cost of a mechanism known only by its (epsilon, delta)."""
        return cls(epsilon, delta, (Piece("approximate", (epsilon, delta)),))

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as stored in a ledger."""
        return {"epsilon": self.epsilon, "delta": self.delta, "pieces": [piece.as_list() for piece in self.pieces]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Cost:
        """Read what `as_dict` wrote."""
        try:
            pieces = tuple(Piece(kind, tuple(numbers)) for kind, *numbers in stored["pieces"])
            return cls(stored["epsilon"], stored["delta"], pieces)
        except (KeyError, TypeError, ValueError) as error:
            raise PrivacyError("a cost must be stored with epsilon, delta and pieces", found=type(error).__name__) from None


def pieces_of(costs: Sequence[Cost]) -> list[Piece]:
    """All pieces, in order."""
    return [piece for cost in costs for piece in cost.pieces]
