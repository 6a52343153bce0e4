"""The mechanism of an `adassp` release, from the literature: two Gaussian pieces that share one budget.

A third of (epsilon, delta) goes to the smallest eigenvalue of the predictors' Gram matrix S, two thirds go to (S, z) together
(Alparslan, Yıldırım and Birbil 2023, appendix C.2, after Wang 2018). Each piece is calibrated separately; the guarantee of
both is the sum of their epsilons and of their deltas (basic composition).

The error of a numerical eigenvalue grows with the number of rows, so no public number bounds it. Here floats only guess and
integers decide: a matrix is positive definite if and only if its leading minors are positive, and fraction-free
elimination computes them exactly. So noise is added to a function whose sensitivity is proved (A3 of adassp.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from noisewise.privacy.calibration import check_delta, check_epsilon, needed_delta
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms.gram import SymmetricGaussian
from noisewise.privacy.mechanisms.guarantee import check_symmetric
from noisewise.privacy.rounding import round_down
from noisewise.privacy.sensitivity.adassp import AdasspSensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_SIZE: Final = 100
"""Exact elimination of a matrix of this size takes a second or two; the time grows with the fourth power."""


@dataclass(frozen=True)
class NoisySums:
    """The output of the mechanism: noisy S, z and smallest eigenvalue of S, as multiples of the grid step."""

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
        """The least noise that guarantees (epsilon, delta), split one third to two thirds."""
        delta = needed_delta(delta, "an adassp release adds Gaussian noise and needs")
        check_epsilon(epsilon)
        check_delta(delta)
        third = third_of(epsilon), third_of(delta)
        return cls(epsilon=float(epsilon), delta=float(delta),
                   sums=SymmetricGaussian.calibrate(sensitivity.sums, 2 * third[0], 2 * third[1]),
                   eigenvalue=SymmetricGaussian.calibrate(sensitivity.eigenvalue, *third))

    def perturb(self, grid_matrix: NDArray[np.int64], smallest: int | None = None) -> NoisySums:
        """Add noise to the Gram matrix of (1, u, y), in multiples of the grid step. The sum of y² is never used.

        ``smallest`` is the result of `smallest_eigenvalue`, which a holder computes before charging the budget.
        """
        exact = self.smallest_eigenvalue(grid_matrix) if smallest is None else smallest
        statistic = grid_matrix.copy()
        statistic[-1, -1] = 0  # replaced by a public number; neither it nor its noise leaves this function
        noisy = self.sums.perturb(statistic)
        eigenvalue = self.eigenvalue.perturb(np.array([[exact]], dtype=np.int64))
        return NoisySums(noisy[:-1, :-1].copy(), noisy[:-1, -1].copy(), float(eigenvalue[0, 0]))

    @staticmethod
    def smallest_eigenvalue(grid_matrix: NDArray[np.int64]) -> int:
        """The exact statistic of the second piece, confidential until noise is added. Takes seconds for many columns."""
        return integer_below_smallest_eigenvalue(grid_matrix[:-1, :-1])

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in words; `unit` names the unit column, if any."""
        whole = replace(self.sums, epsilon=self.epsilon, delta=self.delta).statement(unit)
        return (f"{whole} It is the sum of two guarantees (basic composition): a third of epsilon and delta for the smallest "
                "eigenvalue of the predictors' matrix, two thirds for the sums of products.")

    def cost(self) -> Cost:
        """The cost of both pieces together, in a form that composes."""
        return Cost(self.epsilon, self.delta, self.eigenvalue.cost().pieces + self.sums.cost().pieces)


def third_of(budget: float) -> float:
    """A third, rounded down, so that three times it, computed exactly, is at most the whole.

    >>> 3 * Fraction(third_of(1.0)) <= 1
    True
    """
    return round_down(Fraction(float(budget)) / 3)


def integer_below_smallest_eigenvalue(matrix: NDArray[np.int64]) -> int:
    """The largest integer below the smallest eigenvalue.

    >>> integer_below_smallest_eigenvalue(np.array([[5, 1], [1, 5]]))
    3
    """
    check_symmetric(matrix, "eigenvalues are taken of")
    exact = matrix.astype(object)
    guess = _guess(matrix)
    below, above, step = guess, guess + 1, 1
    while not _positive_definite(_minus(exact, below)):
        below, above, step = below - step, below, 2 * step
    step = 1
    while _positive_definite(_minus(exact, above)):
        below, above, step = above, above + step, 2 * step
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if _positive_definite(_minus(exact, middle)) else (below, middle)
    return below


def _guess(matrix: NDArray[np.int64]) -> int:
    """Where to start the search. If the numerical method fails, the search takes longer but finds the same number."""
    try:
        return int(np.floor(np.linalg.eigvalsh(matrix.astype(np.float64))[0]))
    except (np.linalg.LinAlgError, ValueError, OverflowError):
        return 0


def _minus(matrix: NDArray[np.object_], shift: int) -> NDArray[np.object_]:
    shifted = matrix.copy()
    np.fill_diagonal(shifted, np.diagonal(matrix) - shift)
    return shifted


def _positive_definite(matrix: NDArray[np.object_]) -> bool:
    """Sylvester's criterion. In Bareiss' elimination the k-th pivot is the k-th leading minor, and each division is exact."""
    before = 1
    for column in range(len(matrix)):
        pivot = matrix[column, column]
        if pivot <= 0:
            return False
        rest = slice(column + 1, None)
        row = matrix[column, rest]
        matrix[rest, rest] = (matrix[rest, rest] * pivot - np.multiply.outer(row, row)) // before
        before = pivot
    return True
