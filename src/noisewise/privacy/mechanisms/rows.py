"""The mechanism of a rows release: noise in every cell of every row (R1 to R6 of sensitivity/rows.md).

It is calibrated from the schema, the shares of the columns and (epsilon, delta) before looking at the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import (
    LATTICE_VARIANCE,
    SMALL_DELTA,
    analytic_gaussian_sigma,
    check_delta,
    check_epsilon,
    widen_for_grid,
)
from noisewise.privacy.cost import Cost, Piece
from noisewise.privacy.mechanisms.guarantee import fitting, statement
from noisewise.privacy.noise import gaussian_integers, laplace_integers, randomised_response
from noisewise.privacy.rounding import round_down, round_up, sqrt_round_up
from noisewise.privacy.sensitivity.neighbours import Neighbours
from noisewise.privacy.sensitivity.rows import (
    CELL_GRID,
    CELL_RANGE,
    KEEP_BITS,
    gaussian_squared_distance,
    keep_units,
    laplace_loss,
)
from noisewise.words import leave_out, option

if TYPE_CHECKING:
    from numpy.typing import NDArray

MECHANISMS: Final = ("gaussian", "laplace")
ONE_ROW: Final = Neighbours(adjacency="replace-one", unit_is_row=True)
"""What the guarantee protects; no other neighbours have a proof."""


@dataclass(frozen=True, kw_only=True)
class RowsMechanism:
    """Noise for each column.

    Attributes:
        epsilon, delta: the guarantee of all columns and copies together.
        copies: how often every row is published, each time with fresh noise.
        shares: each column's exact share of the budget; they add up to 1.
        distribution: distribution of the noise on numbers, "laplace" or "gaussian".
        scales: noise scale of each numeric column, in scaled units: the Laplace scale, or a standard deviation.
        levels: number of levels of each categorical column.
        keep: the probability that a categorical cell keeps its level, in units of 2**-53.
    """

    epsilon: float
    delta: float
    copies: int
    shares: Mapping[str, Fraction]
    distribution: str
    scales: Mapping[str, float]
    levels: Mapping[str, int]
    keep: Mapping[str, int]

    def keep_probability(self, name: str) -> float:
        """The probability itself, which is exact because it has 53 bits."""
        return float(math.ldexp(self.keep[name], -KEEP_BITS))

    @property
    def name(self) -> str:
        """The name of the mechanism, as the release states it."""
        return self.distribution if self.scales else "randomised-response"

    def perturb(self, numbers: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Noisy rows, (rows, copies, columns): numbers (columns, rows) in units of the grid, then codes of levels."""
        _check_cells(numbers, len(self.scales), round(1 / CELL_GRID))
        _check_cells(codes, len(self.levels))
        count, rows = self.copies, numbers.shape[1]
        draw = gaussian_integers if self.distribution == "gaussian" else laplace_integers
        noisy = [draw(np.tile(cells, count), scale / CELL_GRID)
                 for cells, scale in zip(numbers, self.scales.values(), strict=True)]
        noisy += [randomised_response(np.tile(cells, count), self.levels[name], self.keep[name])
                  for cells, name in zip(codes, self.levels, strict=True)]
        return np.ascontiguousarray(np.stack(noisy).reshape(len(noisy), count, rows).transpose(2, 1, 0))

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` is accepted for uniformity and ignored."""
        kinds = [f"{self.distribution.capitalize()} noise" if self.scales else "", "randomised response" if self.levels else ""]
        noise = ", ".join(filter(None, kinds))
        return statement(ONE_ROW, self.epsilon, self.delta, noise)

    def cost(self) -> Cost:
        """R6. The cost, in a form that composes: one piece for all numbers, one for each categorical column."""
        pieces = [Piece("approximate", (round_up(self.shares[name] * Fraction(self.epsilon)), 0.0)) for name in self.levels]
        if self.scales and self.distribution == "laplace":
            beside_grid = sum((self.copies * (Fraction(CELL_GRID) / Fraction(scale)) ** 2 / 4 for scale in self.scales.values()),
                              Fraction(0))
            loss = laplace_loss(self.scales.values(), self.copies) + beside_grid
            pieces.append(Piece("laplace", (round_down(1 / loss),)))
        elif self.scales:
            pieces.append(Piece("gaussian", (self._gaussian_multiplier(),)))
        return Cost(self.epsilon, self.delta, tuple(pieces))

    def _gaussian_multiplier(self) -> float:
        """R3 and C5. One over the distance of the worst neighbours, for the continuous noise behind the noise on the grid."""
        allowance = 2 * LATTICE_VARIANCE * Fraction(CELL_GRID) ** 2
        squared = sum((self.copies * CELL_RANGE**2 / (Fraction(sd) ** 2 - allowance) for sd in self.scales.values()), Fraction(0))
        return round_down(1 / Fraction(sqrt_round_up(squared)))


def calibrate(
    columns: Mapping[str, int | None], *, epsilon: float, delta: float | None, mechanism: str | None, copies: int,
    weights: Mapping[str, Fraction],
) -> RowsMechanism:
    """The least noise that guarantees (epsilon, delta). ``columns`` maps names to numbers of levels, None for a number.

    >>> equal = {"age": Fraction(1), "ward": Fraction(1)}
    >>> made = calibrate({"age": None, "ward": 2}, epsilon=2.0, delta=None, mechanism=None, copies=1, weights=equal)
    >>> made.scales, made.keep_probability("ward")
    ({'age': 2.0}, 0.7310585786300048)
    """
    check_epsilon(epsilon)
    numbers = [name for name, levels in columns.items() if levels is None]
    distribution = _distribution(numbers, delta, mechanism)
    total = sum(weights[name] for name in columns)
    shares = {name: weights[name] / total for name in columns}
    exact = Fraction(float(epsilon))
    if distribution == "gaussian":
        assert delta is not None
        scales = _gaussian_sds({name: shares[name] for name in numbers}, exact, delta, copies)
    else:
        scales = {name: round_up(copies * CELL_RANGE / (shares[name] * exact)) for name in numbers}
    for scale in scales.values():
        fitting(scale, CELL_GRID)
    levels = {name: count for name, count in columns.items() if count is not None}
    return RowsMechanism(
        epsilon=float(epsilon), delta=float(delta) if distribution == "gaussian" and delta else 0.0, copies=copies,
        distribution=distribution, scales=scales, levels=levels, shares=shares,
        keep={name: keep_units(shares[name] * exact / copies, count) for name, count in levels.items()},
    )


def _distribution(numbers: list[str], delta: float | None, mechanism: str | None) -> str:
    if mechanism not in (None, *MECHANISMS) and (numbers or mechanism != "randomised-response"):
        raise PrivacyError("unknown mechanism for a rows release", argument="mechanism", found=repr(mechanism), known=MECHANISMS,
                           remedy=leave_out("mechanism") + ": gaussian is used with a delta and laplace without")
    if delta is not None:
        check_delta(delta)
    if mechanism == "gaussian" and (delta is None or not numbers):
        raise PrivacyError("Gaussian noise is for numeric columns and needs a delta", argument="delta",
                           found=option("delta", delta), remedy=SMALL_DELTA + ", or " + leave_out("mechanism"))
    return "gaussian" if delta is not None and mechanism != "laplace" and numbers else "laplace"


def _gaussian_sds(shares: Mapping[str, Fraction], epsilon: Fraction, delta: float, copies: int) -> dict[str, float]:
    """R3. The numeric columns get their part of epsilon, and share the squared distance that it allows."""
    own = sum(shares.values(), Fraction(0))
    allowed = Fraction(analytic_gaussian_sigma(round_down(own * epsilon), delta, 1.0))
    sds = {name: widen_for_grid(sqrt_round_up(copies * CELL_RANGE**2 * allowed**2 * own / share), CELL_GRID)
           for name, share in shares.items()}
    assert gaussian_squared_distance(sds.values(), copies) <= 1 / allowed**2
    return sds


def _check_cells(cells: NDArray[np.int64], columns: int, largest: int | None = None) -> None:
    fits = isinstance(cells, np.ndarray) and cells.dtype == np.int64 and cells.ndim == 2 and len(cells) == columns
    if not fits or (largest is not None and cells.size and not -largest <= int(cells.min()) <= int(cells.max()) <= largest):
        raise PrivacyError("noise is added to scaled cells within [-1, 1] on their grid, and to codes of levels",
                           remedy="scale and clip the cells first")
