"""The mechanism of a `partition` release: noise on sums over parts, and selection of undeclared limits (partition.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import (
    analytic_gaussian_sigma,
    check_delta,
    check_epsilon,
    laplace_multiplier,
    laplace_scale,
    needed_delta,
    widen_for_grid,
)
from noisewise.privacy.cost import Cost, Piece
from noisewise.privacy.mechanisms.bounds import Grid, Selection
from noisewise.privacy.mechanisms.guarantee import fitting, gaussian_cost, statement
from noisewise.privacy.noise import check_cube, cube_integers, gaussian_integers, smallest_cube
from noisewise.privacy.rounding import round_down
from noisewise.privacy.sensitivity.bounds import BoundSensitivity, rank_scores
from noisewise.privacy.sensitivity.partition import PartitionSensitivity
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.words import leave_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS: Final = round(1 / STATISTIC_GRID)
"""A value between 0 and 1 is a whole number of these steps."""
MECHANISMS: Final = ("k-norm", "gaussian")


@dataclass(frozen=True, kw_only=True)
class PartitionMechanism:
    """Noise for K sums over parts, after selections with their own budgets.

    Attributes:
        sensitivity: sensitivity of the sums.
        epsilon, delta: the guarantee of everything together.
        selections: the epsilon of each selection of a limit.
        noise_epsilon: the epsilon left for the sums.
        scale: noise scale of a sum of values between 0 and 1: its standard deviation if gaussian, see P4 for k-norm.
        name: "k-norm" or "gaussian".
    """

    sensitivity: PartitionSensitivity
    epsilon: float
    delta: float
    selections: tuple[float, ...]
    noise_epsilon: float
    scale: float
    name: str

    @classmethod
    def calibrate(cls, sensitivity: PartitionSensitivity, epsilon: float, delta: float | None, mechanism: str | None = None,
                  shares: tuple[float, ...] = ()) -> PartitionMechanism:
        """The least noise for this guarantee; the ``shares`` of epsilon go to selections."""
        name = mechanism or ("k-norm" if delta is None else "gaussian")
        if name == "laplace" and sensitivity.numbers == 1:
            name = "k-norm"  # the two are the same for one number
        if name not in MECHANISMS:
            raise PrivacyError("unknown mechanism for a partition release", argument="mechanism", found=repr(mechanism),
                               known=MECHANISMS, remedy="for one number k-norm is laplace; " + leave_out("mechanism")
                               + ": gaussian is used with a delta and k-norm without")
        if name == "gaussian":
            delta = needed_delta(delta, "Gaussian noise cannot guarantee pure epsilon; it needs", ", or use k-norm")
        check_epsilon(epsilon)
        if delta is not None:
            check_delta(delta)  # k-norm spends none of it
        selections, rest = _divided(float(epsilon), shares)
        if name == "gaussian":
            assert delta is not None
            scale = fitting(widen_for_grid(analytic_gaussian_sigma(rest, delta, sensitivity.norm), STATISTIC_GRID))
        else:
            scale = max(laplace_scale(rest, sensitivity.largest), smallest_cube(sensitivity.numbers) * STATISTIC_GRID)
            check_cube(scale / STATISTIC_GRID, sensitivity.numbers)
        return cls(sensitivity=sensitivity, epsilon=float(epsilon), delta=float(delta or 0.0) if name == "gaussian" else 0.0,
                   selections=selections, noise_epsilon=rest, scale=scale, name=name)

    def perturb(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Add noise to the sums, in grid steps."""
        if len(sums) != self.sensitivity.numbers:
            raise PrivacyError("noise must be added to all sums that it was calibrated for", found=f"{len(sums)} sums",
                               remedy=f"give {self.sensitivity.numbers}")
        draw = gaussian_integers if self.name == "gaussian" else cube_integers
        return np.asarray(draw(sums, self.scale / STATISTIC_GRID) * STATISTIC_GRID, dtype=np.float64)

    def select(self, which: int, values: NDArray[np.float64], grid: Grid) -> float:
        """Select the median of the parts' values among public candidates, with this selection's share of epsilon (P5)."""
        beyond = len(values) - np.searchsorted(np.sort(values), grid, side="right")
        scores = rank_scores(beyond.astype(np.int64), len(values), len(values) // 2)
        people = BoundSensitivity(adjacency=self.sensitivity.adjacency, unit_is_row=self.sensitivity.unit_is_row)
        return float(grid[Selection.calibrate(people, self.selections[which]).choose(scores)])

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` names the unit column, if any."""
        noise = "Gaussian noise" if self.name == "gaussian" else "K-norm noise"
        return statement(self.sensitivity, self.epsilon, self.delta, noise, unit)

    def cost(self) -> Cost:
        """The cost, in a form that composes."""
        if self.name == "gaussian":
            pieces = gaussian_cost(self.scale, self.sensitivity.norm, self.noise_epsilon, self.delta).pieces
        elif self.sensitivity.numbers == 1:
            multiplier = laplace_multiplier(self.scale, STATISTIC_GRID, self.sensitivity.largest)
            pieces = Cost.laplace(multiplier, self.noise_epsilon).pieces
        else:
            pieces = Cost.approximate(self.noise_epsilon, 0.0).pieces
        return Cost(self.epsilon, self.delta, pieces + tuple(Piece("approximate", (each, 0.0)) for each in self.selections))


def _divided(epsilon: float, shares: tuple[float, ...]) -> tuple[tuple[float, ...], float]:
    """Split epsilon into parts for selections and a rest, rounded down so that all together, exactly, are at most epsilon."""
    parts = tuple(round_down(Fraction(epsilon) * Fraction(share)) for share in shares)
    rest = round_down(Fraction(epsilon) - sum(map(Fraction, parts)))
    if not (rest > 0 and all(part > 0 and math.isfinite(part) for part in parts)):
        raise PrivacyError("the shares of epsilon for selections must leave something for the numbers themselves",
                           found=", ".join(map(repr, shares)),
                           remedy="give smaller shares, declare bounds for the quantiles, or ask for fewer quantiles")
    return parts, rest
