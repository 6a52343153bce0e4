"""Mechanisms for a symmetric statistic: calibrated noise, and a description of it for the analyst.

A mechanism is chosen from a sensitivity and (epsilon, delta) before the data are looked at. `perturb` takes the exact
statistic in units of the grid and returns a noisy one; nothing else in the library adds privacy noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import analytic_gaussian_sigma, check_delta, laplace_scale, widen_for_grid
from noisewise.privacy.noise import check_scale, gaussian_integers, laplace_integers
from noisewise.privacy.rounding import sqrt_round_up
from noisewise.privacy.sensitivity.gram import GramSensitivity
from noisewise.schema.basis import STATISTIC_GRID

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class SymmetricGaussian:
    """Gaussian noise with sd `sd` on the diagonal and sd/sqrt(2) off it: isotropic in the Frobenius norm.

    Attributes:
        sensitivity: what the noise was calibrated to (its Frobenius norm).
        epsilon, delta: the guarantee.
        sd: standard deviation of a diagonal entry, in units of the statistic.
    """

    name: ClassVar[str] = "gaussian"

    sensitivity: GramSensitivity
    epsilon: float
    delta: float
    sd: float

    @classmethod
    def calibrate(cls, sensitivity: GramSensitivity, epsilon: float, delta: float) -> SymmetricGaussian:
        """The least noise that guarantees (epsilon, delta) for this sensitivity."""
        sigma = analytic_gaussian_sigma(epsilon, delta, sensitivity.frobenius)
        sd = widen_for_grid(sigma, STATISTIC_GRID)
        check_scale(sd / STATISTIC_GRID)
        return cls(sensitivity=sensitivity, epsilon=float(epsilon), delta=float(delta), sd=sd)

    def perturb(self, grid_matrix: NDArray[np.int64]) -> NDArray[np.float64]:
        """Add noise to a symmetric matrix of multiples of the grid step; a public corner passes unchanged."""
        _check_symmetric(grid_matrix)
        first = 1 if self.sensitivity.corner_is_public else 0
        diagonal_sd, off_diagonal_sd, _ = self.entry_sd()
        diagonal = np.diagonal(grid_matrix).copy()
        diagonal[first:] = gaussian_integers(diagonal[first:], diagonal_sd / STATISTIC_GRID)
        upper = np.triu_indices_from(grid_matrix, k=1)
        return _assemble(
            diagonal, upper, gaussian_integers(grid_matrix[upper], off_diagonal_sd / STATISTIC_GRID)
        )

    def entry_sd(self) -> tuple[float, float, float]:
        """Standard deviations of a diagonal entry, of one off the diagonal, and of the corner (0.0 if public)."""
        off_diagonal = sqrt_round_up(Fraction(self.sd) ** 2 / 2)
        return self.sd, off_diagonal, 0.0 if self.sensitivity.corner_is_public else self.sd

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` names the unit column, if there is one."""
        return (
            f"{_neighbours(self.sensitivity, unit)} changes the probability of any result of this release by at most "
            f"a factor exp(epsilon) and a further delta, with epsilon = {_exactly(self.epsilon)} and "
            f"delta = {_exactly(self.delta)} ({self.sensitivity.adjacency}, Gaussian noise)."
        )

    def event(self) -> Any:
        """The dp-accounting event; see `SymmetricLaplace.event` for how to account for it."""
        return _accounting().GaussianDpEvent(self.sd / self.sensitivity.frobenius)


@dataclass(frozen=True, kw_only=True)
class SymmetricLaplace:
    """Independent Laplace noise of one scale on every entry of the upper triangle: pure epsilon.

    Attributes:
        sensitivity: what the noise was calibrated to (its L1 norm).
        epsilon: the guarantee; delta is not spent, whatever was offered.
        scale: scale of the noise, in units of the statistic; its sd is sqrt(2) times that.
    """

    name: ClassVar[str] = "laplace"
    delta: ClassVar[float] = 0.0

    sensitivity: GramSensitivity
    epsilon: float
    scale: float

    @classmethod
    def calibrate(cls, sensitivity: GramSensitivity, epsilon: float) -> SymmetricLaplace:
        """The least noise that guarantees epsilon for this sensitivity."""
        scale = laplace_scale(epsilon, sensitivity.l1)
        check_scale(scale / STATISTIC_GRID)
        return cls(sensitivity=sensitivity, epsilon=float(epsilon), scale=scale)

    def perturb(self, grid_matrix: NDArray[np.int64]) -> NDArray[np.float64]:
        """Add noise to a symmetric matrix of multiples of the grid step; a public corner passes unchanged."""
        _check_symmetric(grid_matrix)
        first = 1 if self.sensitivity.corner_is_public else 0
        upper = np.triu_indices_from(grid_matrix)
        values = grid_matrix[upper]  # row by row, so that the corner is the first one
        values[first:] = laplace_integers(values[first:], self.scale / STATISTIC_GRID)
        on_diagonal = upper[0] == upper[1]
        off = upper[0][~on_diagonal], upper[1][~on_diagonal]
        return _assemble(values[on_diagonal], off, values[~on_diagonal])

    def entry_sd(self) -> tuple[float, float, float]:
        """Standard deviations of a diagonal entry, of one off the diagonal, and of the corner (0.0 if public)."""
        sd = math.sqrt(2) * self.scale
        return sd, sd, 0.0 if self.sensitivity.corner_is_public else sd

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` names the unit column, if there is one."""
        return (
            f"{_neighbours(self.sensitivity, unit)} changes the probability of any result of this release by at most "
            f"a factor exp(epsilon), with epsilon = {_exactly(self.epsilon)} and delta = 0 "
            f"({self.sensitivity.adjacency}, Laplace noise)."
        )

    def event(self) -> Any:
        """The dp-accounting event.

        Its noise multiplier is relative to the distance between neighbours of *our* adjacency. In dp-accounting that
        is the convention of `ADD_OR_REMOVE_ONE`, whatever our adjacency is: with one of its replacement relations it
        would take the sensitivity twice, or refuse.
        """
        return _accounting().LaplaceDpEvent(self.scale / self.sensitivity.l1)


SymmetricMechanism = SymmetricGaussian | SymmetricLaplace


def choose_mechanism(
    sensitivity: GramSensitivity, epsilon: float, delta: float | None, mechanism: str | None
) -> SymmetricMechanism:
    """The mechanism for a request: Gaussian if there is a delta and Laplace otherwise, unless it is named.

    "laplace" with a delta is allowed; it guarantees pure epsilon and spends none of the delta.
    """
    if mechanism not in (None, "gaussian", "laplace"):
        raise PrivacyError(
            "the mechanism of a Gram release is gaussian or laplace",
            found=repr(mechanism),
            remedy="leave it out: gaussian is used with a delta and laplace without",
        )
    if delta is None and mechanism == "gaussian":
        raise PrivacyError(
            "Gaussian noise cannot give a pure epsilon guarantee: it needs a delta",
            found="delta=None",
            remedy="give a delta well below one over the number of rows, for example 1e-6, or take laplace",
        )
    if delta is None:
        return SymmetricLaplace.calibrate(sensitivity, epsilon)
    if mechanism == "laplace":
        check_delta(delta)
        return SymmetricLaplace.calibrate(sensitivity, epsilon)
    return SymmetricGaussian.calibrate(sensitivity, epsilon, delta)


def _accounting() -> Any:
    import dp_accounting

    return dp_accounting


def _exactly(value: float) -> str:
    """A number without rounding: a statement may not promise more than was spent."""
    return repr(value).removesuffix(".0")


def _neighbours(sensitivity: GramSensitivity, unit: str | None) -> str:
    if sensitivity.unit_is_row:
        who = "any one row"
    else:
        of = f"any one value of {unit}" if unit else "any one unit"
        rows = "row" if sensitivity.max_rows == 1 else "rows"
        who = f"all rows of {of} (at most {sensitivity.max_rows} {rows})"
    change = "Replacing" if sensitivity.adjacency == "replace-one" else "Adding or removing"
    return f"{change} {who}"


def _check_symmetric(matrix: NDArray[np.int64]) -> None:
    square = isinstance(matrix, np.ndarray) and matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 0
    if not (square and matrix.dtype == np.int64 and np.array_equal(matrix, matrix.T)):
        raise PrivacyError(
            "noise is added to a symmetric matrix of 64-bit integers",
            found=f"{type(matrix).__name__} {getattr(matrix, 'dtype', '')} {getattr(matrix, 'shape', '')}".strip(),
            remedy="put the statistic on its grid first",
        )


def _assemble(
    diagonal: NDArray[np.int64], upper: tuple[NDArray[np.intp], ...], off_diagonal: NDArray[np.int64]
) -> NDArray[np.float64]:
    matrix = np.diag(diagonal * STATISTIC_GRID)
    matrix[upper] = off_diagonal * STATISTIC_GRID
    matrix.T[upper] = off_diagonal * STATISTIC_GRID
    return matrix
