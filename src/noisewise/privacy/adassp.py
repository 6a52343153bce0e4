"""The mechanism of an `adassp` release: two Gaussian pieces that share one budget.

A third of (epsilon, delta) goes to the smallest eigenvalue of the predictors' Gram matrix S, two thirds go to (S, z) together
(Alparslan, Yıldırım and Birbil 2023, appendix C.2, after Wang 2018). Each piece is calibrated on its own; the guarantee of
both is the sum of their epsilons and of their deltas (basic composition).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import check_delta, check_epsilon
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms import SymmetricGaussian
from noisewise.privacy.sensitivity.adassp import AdasspSensitivity
from noisewise.privacy.smallest_eigenvalue import integer_below_smallest_eigenvalue

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class NoisySums:
    """What leaves the mechanism: the noisy S, z and smallest eigenvalue of S, whole multiples of the grid step."""

    matrix: NDArray[np.float64]
    moments: NDArray[np.float64]
    eigenvalue: float


@dataclass(frozen=True, kw_only=True)
class AdasspMechanism:
    """Noise for (S, z) and for the smallest eigenvalue of S.

    Attributes:
        epsilon, delta: the guarantee of the whole release.
        sums: the noise of S and z: sd s on the diagonal of S, s/sqrt(2) off it and on z, none on a public number of rows.
        eigenvalue: the noise of the smallest eigenvalue.
    """

    name: ClassVar[str] = "gaussian"

    epsilon: float
    delta: float
    sums: SymmetricGaussian
    eigenvalue: SymmetricGaussian

    @classmethod
    def calibrate(cls, sensitivity: AdasspSensitivity, epsilon: float, delta: float | None) -> AdasspMechanism:
        """The least noise that guarantees (epsilon, delta), split as one third to two thirds."""
        if delta is None:
            raise PrivacyError("an adassp release adds Gaussian noise and needs a delta", found="delta=None",
                               remedy="give a delta well below one over the number of rows, for example 1e-6")
        check_epsilon(epsilon)
        check_delta(delta)
        third = round_down_third(epsilon), round_down_third(delta)
        return cls(
            epsilon=float(epsilon),
            delta=float(delta),
            sums=SymmetricGaussian.calibrate(sensitivity.sums, 2 * third[0], 2 * third[1]),
            eigenvalue=SymmetricGaussian.calibrate(sensitivity.eigenvalue, *third),
        )

    def perturb(self, grid_matrix: NDArray[np.int64], smallest: int | None = None) -> NoisySums:
        """Noise for the Gram matrix of (1, u, y), in multiples of the grid step. The sum of y² is never used.

        ``smallest`` is what `smallest_eigenvalue` gives for it: a holder has it computed before the budget is charged.
        """
        exact = self.smallest_eigenvalue(grid_matrix) if smallest is None else smallest
        statistic = grid_matrix.copy()
        statistic[-1, -1] = 0  # a public number in its place: neither it nor its noise leaves this function
        noisy = self.sums.perturb(statistic)
        eigenvalue = self.eigenvalue.perturb(np.array([[exact]], dtype=np.int64))
        return NoisySums(noisy[:-1, :-1].copy(), noisy[:-1, -1].copy(), float(eigenvalue[0, 0]))

    @staticmethod
    def smallest_eigenvalue(grid_matrix: NDArray[np.int64]) -> int:
        """The exact statistic of the second piece: confidential until noise is added. It takes seconds for many columns."""
        return integer_below_smallest_eigenvalue(grid_matrix[:-1, :-1])

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in words; `unit` names the unit column, if there is one."""
        whole = replace(self.sums, epsilon=self.epsilon, delta=self.delta).statement(unit)
        return (
            f"{whole} It is the sum of two guarantees (basic composition): a third of epsilon and delta for the smallest "
            "eigenvalue of the predictors' matrix, two thirds for the sums of products."
        )

    def cost(self) -> Cost:
        """What both pieces cost together, in a form that composes."""
        return Cost(self.epsilon, self.delta, self.eigenvalue.cost().pieces + self.sums.cost().pieces)


def round_down_third(value: float) -> float:
    """A third, rounded down: three times it, computed exactly, is at most the value.

    >>> 3 * Fraction(round_down_third(1.0)) <= 1
    True
    """
    third = float(value) / 3
    while 3 * Fraction(third) > Fraction(float(value)):
        third = math.nextafter(third, 0.0)
    return third
