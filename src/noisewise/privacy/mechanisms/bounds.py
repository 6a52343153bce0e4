"""Private selection, and the search for one bound of a column: public candidates, a target, a draw (sensitivity/bounds.md).

Candidates are decimal numbers of a few digits over a fixed range of magnitudes. So results are numbers that people would write
down, and columns of any scale are served without looking at them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.errors import DeclarationError, PrivacyError
from noisewise.privacy.calibration import check_epsilon, laplace_scale
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms.guarantee import fitting, statement
from noisewise.privacy.noise import noisy_max
from noisewise.privacy.rounding import round_down
from noisewise.privacy.sensitivity.bounds import BoundSensitivity, Counts, rank_scores, target
from noisewise.schema.search_grid import checked_digits, decimal_numbers, share_outside

Side: TypeAlias = Literal["lower", "upper"]
SIDES: Final[tuple[Side, Side]] = ("lower", "upper")
Grid: TypeAlias = npt.NDArray[np.float64]

PROBABILITY: Final = 0.99
"""Probability with which the promise about a column holds."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Select one of several candidates; better scores are likelier. Pure epsilon (B2 of sensitivity/bounds.md).

    Attributes:
        sensitivity: what the noise was calibrated to.
        epsilon: the guarantee.
        scale: scale of the exponential noise added to each score.
    """

    name: ClassVar[str] = "permute-and-flip"
    delta: ClassVar[float] = 0.0

    sensitivity: BoundSensitivity
    epsilon: float
    scale: float

    def choose(self, scores: npt.NDArray[np.int64]) -> int:
        """Draw a candidate and return its index."""
        return noisy_max(scores, self.scale)

    @classmethod
    def calibrate(cls, sensitivity: BoundSensitivity, epsilon: float) -> Selection:
        """The least noise that guarantees epsilon for this sensitivity; two scores may change in opposite directions."""
        return cls(sensitivity=sensitivity, epsilon=float(epsilon),
                   scale=fitting(laplace_scale(epsilon, 2.0 * sensitivity.score), step=1.0))

    def shortfall(self, candidates: int, miss: float) -> int:
        """B3. With probability 1 − miss, the drawn candidate scores at most this much below the best; rounded up."""
        return math.ceil(self.scale * math.log(candidates / miss) * (1 + 1e-12))

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` names the unit column, if any."""
        return statement(self.sensitivity, self.epsilon, self.delta, "permute-and-flip selection", unit, "any result")

    def cost(self) -> Cost:
        """The cost: a pure epsilon, which composes as such."""
        return Cost.approximate(self.epsilon, 0.0)


def candidates(digits: int) -> Grid:
    """All candidates, in order: zero, and both signs of every decimal number with this many significant digits.

    >>> len(candidates(1)), candidates(1)[-3:].tolist()
    (397, [7000000000000.0, 8000000000000.0, 9000000000000.0])
    """
    return decimal_numbers(checked_digits(digits))


def cells_beyond(counts: Counts, side: Side) -> Counts:
    """How many cells lie strictly beyond each candidate. ``counts`` alternates between gaps and candidates.

    >>> cells_beyond(np.array([0, 2, 5, 1, 0]), "upper"), cells_beyond(np.array([0, 2, 5, 1, 0]), "lower")
    (array([6, 0]), array([0, 7]))
    """
    up_to = np.cumsum(counts)
    return up_to[-1] - up_to[1::2] if side == "upper" else up_to[:-1:2]


@dataclass(frozen=True, kw_only=True)
class BoundSearch:
    """The search for one bound.

    Attributes:
        side: which bound.
        places: indices of its candidates in the grid, ordered outwards.
        selection: the mechanism.
        tail: the share of cells that may lie outside.
        error: how many cells more or fewer than intended may lie outside, with the promised probability (B3).
    """

    side: Side
    grid: Grid
    places: npt.NDArray[np.intp]
    selection: Selection
    tail: Fraction
    error: int

    @property
    def fewest(self) -> int:
        """B3. Leave at least this many cells outside, so that the bound does not run away."""
        return self.error + 1

    @property
    def outside(self) -> int:
        """B3. At most this many cells lie outside, unless the tail's share is more."""
        return self.fewest + self.error

    def find(self, counts: Counts) -> float:
        """Draw the bound. The budget must already be charged."""
        cells = int(counts.sum())
        beyond = cells_beyond(counts, self.side)[self.places]
        scores = rank_scores(beyond, cells, target(cells, self.tail, self.fewest))
        return float(self.grid[self.places[self.selection.choose(scores)]])


def plan_search(
    side: Side, grid: Grid, *, sensitivity: BoundSensitivity, epsilon: float, tail: Fraction, other: float | None, miss: float
) -> BoundSearch:
    """Plan the search for one bound. ``other`` is the opposite bound, if public; candidates lie on the correct side of it."""
    if side == "upper":
        places = np.arange(0 if other is None else np.searchsorted(grid, other, "right"), len(grid))
    else:
        places = np.arange(len(grid) if other is None else np.searchsorted(grid, other, "left"))[::-1]
    if not len(places):
        raise DeclarationError("a public bound must leave room for the other one", found=repr(other),
                               remedy=f"bounds are searched between {grid[0]:g} and {grid[-1]:g}")
    selection = Selection.calibrate(sensitivity, epsilon)
    return BoundSearch(side=side, grid=grid, places=places, selection=selection, tail=tail,
                       error=selection.shortfall(len(places), miss))


def share(epsilon: float, parts: int) -> float:
    """An equal part of epsilon, rounded down so that all parts together, computed exactly, are at most epsilon (B4).

    >>> 7 * Fraction(share(1.0, 7)) <= 1
    True
    """
    check_epsilon(epsilon)
    found = round_down(Fraction(float(epsilon)) / parts)
    if found == 0:
        raise PrivacyError("epsilon is too small to be divided", found=repr(epsilon), remedy="give for example 0.1")
    return found


def checked_tail(tail: object) -> Fraction:
    """The share of cells that may lie outside each bound, exactly as written."""
    return Fraction(repr(share_outside(tail)))


def cost_of(epsilon: float, searches: Iterable[BoundSearch]) -> Cost:
    """The cost of all searches together (B4)."""
    return Cost(epsilon, 0.0, tuple(piece for search in searches for piece in search.selection.cost().pieces))
