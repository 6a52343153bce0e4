"""The numbers of a model release, in the units of its file: noisy sums of the first look, and those of each round.

A round sums over rows, with u = ``coordinates`` @ x for the released columns x of a row, and ψ, bound and rate of its linear
predictor (`noisewise.scores.nodes`): w = min(1, 1/(‖u‖ bound)²), s = w ψ u and r = √(w rate) u. No row has a longer s or r
than 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise.arrays import Array


class _Record:
    """Equality field by field. Arrays stay read-only if they are pickled."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in vars(self))

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, tuple[Any, bool]]:
        """The state to pickle: each field, and whether it can be changed."""
        return {name: (value, not isinstance(value, np.ndarray) or value.flags.writeable) for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, tuple[Any, bool]]) -> None:
        """Restore a pickled state."""
        for name, (value, changeable) in state.items():
            if not changeable:
                value.setflags(write=False)
            object.__setattr__(self, name, value)


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return not isinstance(one, np.ndarray) and not isinstance(other, np.ndarray) and one == other


@dataclass(frozen=True, eq=False, kw_only=True)
class Point(_Record):
    """Where a round looks: all of it is public before a row is read.

    Attributes:
        coefficients: of the terms of the formula, in the user's units.
        coordinates: a matrix with one row for each term and one column for each released column of the predictors.
        scale: the standard deviation of residuals, or the dispersion, that responses are clipped for.
        spread: whether the sum of s sᵀ is released too.
    """

    coefficients: Array
    coordinates: Array
    scale: float
    spread: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Noise(_Record):
    """Standard deviations of the noise: on entries of the score, on the diagonals of matrices (elsewhere √½ of it), on numbers.

    What a round does not release has none.
    """

    score: float
    matrix: float
    square: float | None = None
    spread: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Round(_Record):
    """The noisy sums of one round: Σ s, Σ r rᵀ, and if released Σ (ψ/bound)² and Σ s sᵀ."""

    point: Point
    noise: Noise
    score: Array
    matrix: Array
    square: float | None = None
    spread: Array | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Look(_Record):
    """The first look: noisy sums over rows of simple functions of single columns (`noisewise.scores.looks`).

    ``rows`` is the number of rows, noisy unless ``noise`` is not on it.
    """

    noise: float
    sums: Array
    rows: float
    rows_noise: float
