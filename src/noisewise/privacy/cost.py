"""What a release costs, in a form that can be written down and composed: the mechanisms it is made of.

A piece is one of

- ``gaussian``: Gaussian noise; its number is the standard deviation over the L2 sensitivity.
- ``laplace``: Laplace noise, also on a vector; its number is the scale over the L1 sensitivity.
- ``approximate``: any mechanism of which only (epsilon, delta) is known; its numbers are these two.

Of a vector with Laplace noise, a piece stands for noise on one number: that is the worst case (C6 of calibration.md).
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
            raise PrivacyError("a piece of a cost is gaussian, laplace or approximate, with its numbers",
                               found=f"{self.kind} {numbers}")
        object.__setattr__(self, "numbers", tuple(float(number) for number in numbers))
        valid = all(math.isfinite(number) for number in self.numbers) and self.numbers[0] > 0 and all(
            0 <= number < 1 for number in self.numbers[1:])
        if not valid:
            raise PrivacyError("the numbers of a cost are positive and finite, and a delta is below 1",
                               found=f"{self.kind} {numbers}")

    def as_list(self) -> list[Any]:
        return [self.kind, *self.numbers]


@dataclass(frozen=True)
class Cost:
    """What one release costs: its pieces, which compose, and the (epsilon, delta) that it promises by itself.

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
            raise PrivacyError("a cost has a positive epsilon and a delta between 0 and 1",
                               found=f"({self.epsilon}, {self.delta})")
        if not self.pieces:
            raise PrivacyError("a cost has at least one piece", found="none")
        if self.delta == 0 and any(piece.kind == "gaussian" or piece.numbers[1:] > (0.0,) for piece in self.pieces):
            raise PrivacyError("a cost without a delta is made of pure pieces", found=", ".join(p.kind for p in self.pieces))

    @classmethod
    def gaussian(cls, multiplier: float, epsilon: float, delta: float) -> Cost:
        return cls(epsilon, delta, (Piece("gaussian", (multiplier,)),))

    @classmethod
    def laplace(cls, multiplier: float, epsilon: float) -> Cost:
        return cls(epsilon, 0.0, (Piece("laplace", (multiplier,)),))

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> Cost:
        return cls(epsilon, delta, (Piece("approximate", (epsilon, delta)),))

    def as_dict(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta, "pieces": [piece.as_list() for piece in self.pieces]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Cost:
        try:
            pieces = tuple(Piece(kind, tuple(numbers)) for kind, *numbers in stored["pieces"])
            return cls(stored["epsilon"], stored["delta"], pieces)
        except (KeyError, TypeError, ValueError) as error:
            raise PrivacyError("a cost is stored with epsilon, delta and pieces", found=type(error).__name__) from None


def pieces_of(costs: Sequence[Cost]) -> list[Piece]:
    """All pieces, in order."""
    return [piece for cost in costs for piece in cost.pieces]
