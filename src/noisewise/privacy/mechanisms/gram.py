"""Mechanisms for a Gram matrix: Gaussian noise, Laplace noise, and the choice among all available ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import (
    analytic_gaussian_sigma,
    check_delta,
    laplace_multiplier,
    laplace_scale,
    needed_delta,
    widen_for_grid,
)
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms.guarantee import check_symmetric, fitting, gaussian_cost, statement
from noisewise.privacy.mechanisms.wishart import SymmetricWishart
from noisewise.privacy.noise import gaussian_integers, laplace_integers
from noisewise.privacy.rounding import sqrt_round_up
from noisewise.privacy.sensitivity.gram import GramSensitivity
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.words import leave_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Draw = Callable[[NDArray[np.int64], float], NDArray[np.int64]]


@dataclass(frozen=True, kw_only=True)
class SymmetricGaussian:
    """Gaussian noise with sd `sd` on the diagonal and sd/sqrt(2) off it: isotropic in the Frobenius norm.

    Attributes:
        sensitivity: what the noise was calibrated to (its Frobenius norm).
        epsilon, delta: the guarantee.
        sd: standard deviation of a diagonal entry, in units of the statistic.
    """

    name: ClassVar[str] = "gaussian"
    distribution: ClassVar[str] = "gaussian"

    sensitivity: GramSensitivity
    epsilon: float
    delta: float
    sd: float

    @classmethod
    def calibrate(cls, sensitivity: GramSensitivity, epsilon: float, delta: float) -> SymmetricGaussian:
        """The least noise that guarantees (epsilon, delta) for this sensitivity."""
        sigma = analytic_gaussian_sigma(epsilon, delta, sensitivity.frobenius)
        sd = fitting(widen_for_grid(sigma, STATISTIC_GRID))
        return cls(sensitivity=sensitivity, epsilon=float(epsilon), delta=float(delta), sd=sd)

    def perturb(self, grid_matrix: NDArray[np.int64]) -> NDArray[np.float64]:
        """Add noise to a symmetric matrix of multiples of the grid step; a public corner passes unchanged."""
        diagonal, off_diagonal, _ = self.entry_sd()
        return _noisy(grid_matrix, gaussian_integers, diagonal, off_diagonal, self.sensitivity)

    def entry_sd(self) -> tuple[float, float, float]:
        """Standard deviations of a diagonal entry, an off-diagonal entry, and the corner (0.0 if public)."""
        off_diagonal = sqrt_round_up(Fraction(self.sd) ** 2 / 2)
        return self.sd, off_diagonal, 0.0 if self.sensitivity.corner_is_public else self.sd

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` names the unit column, if any."""
        return statement(self.sensitivity, self.epsilon, self.delta, "Gaussian noise", unit)

    def cost(self) -> Cost:
        """The cost, in a form that composes."""
        return gaussian_cost(self.sd, self.sensitivity.frobenius, self.epsilon, self.delta)


@dataclass(frozen=True, kw_only=True)
class SymmetricLaplace:
    """Independent Laplace noise of one scale on every entry of the upper triangle: pure epsilon.

    Attributes:
        sensitivity: what the noise was calibrated to (its L1 norm).
        epsilon: the guarantee; no delta is spent, even if one was offered.
        scale: scale of the noise, in units of the statistic; its sd is sqrt(2) times that.
    """

    name: ClassVar[str] = "laplace"
    distribution: ClassVar[str] = "laplace"
    delta: ClassVar[float] = 0.0

    sensitivity: GramSensitivity
    epsilon: float
    scale: float

    @classmethod
    def calibrate(cls, sensitivity: GramSensitivity, epsilon: float) -> SymmetricLaplace:
        """The least noise that guarantees epsilon for this sensitivity."""
        scale = fitting(laplace_scale(epsilon, sensitivity.l1))
        return cls(sensitivity=sensitivity, epsilon=float(epsilon), scale=scale)

    def perturb(self, grid_matrix: NDArray[np.int64]) -> NDArray[np.float64]:
        """Add noise to a symmetric matrix of multiples of the grid step; a public corner passes unchanged."""
        return _noisy(grid_matrix, laplace_integers, self.scale, self.scale, self.sensitivity)

    def entry_sd(self) -> tuple[float, float, float]:
        """Standard deviations of a diagonal entry, an off-diagonal entry, and the corner (0.0 if public)."""
        sd = math.sqrt(2) * self.scale
        return sd, sd, 0.0 if self.sensitivity.corner_is_public else sd

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` names the unit column, if any."""
        return statement(self.sensitivity, self.epsilon, self.delta, "Laplace noise", unit)

    def cost(self) -> Cost:
        """The cost, in a form that composes."""
        return Cost.laplace(laplace_multiplier(self.scale, STATISTIC_GRID, self.sensitivity.l1), self.epsilon)


def _noisy(matrix: NDArray[np.int64], draw: Draw, on_diagonal: float, off_diagonal: float,
           sensitivity: GramSensitivity) -> NDArray[np.float64]:
    check_symmetric(matrix, "noise is added to")
    first = 1 if sensitivity.corner_is_public else 0
    diagonal = np.diagonal(matrix).copy()
    diagonal[first:] = draw(diagonal[first:], on_diagonal / STATISTIC_GRID)
    upper = np.triu_indices_from(matrix, k=1)
    noisy = np.diag(diagonal * STATISTIC_GRID)
    noisy[upper] = noisy.T[upper] = draw(matrix[upper], off_diagonal / STATISTIC_GRID) * STATISTIC_GRID
    return noisy


SymmetricMechanism = SymmetricGaussian | SymmetricLaplace | SymmetricWishart
MECHANISMS: Final = ("gaussian", "laplace", "wishart", "wishart-paper")
LITERATURE: Final = ("wishart", "wishart-paper")
"""Those included for comparison with the literature."""


def choose_mechanism(sensitivity: GramSensitivity, epsilon: float, delta: float | None,
                     mechanism: str | None) -> SymmetricMechanism:
    """Choose the mechanism: the named one, or else Gaussian with a delta and Laplace without.

    "laplace" with a delta is allowed; it guarantees pure epsilon and spends none of the delta.
    """
    if mechanism not in (None, *MECHANISMS):
        raise PrivacyError("unknown mechanism for a gram release", argument="mechanism", found=repr(mechanism), known=MECHANISMS,
                           remedy=leave_out("mechanism") + ": gaussian is used with a delta and laplace without")
    if mechanism not in (None, "laplace"):
        noise = "Gaussian" if mechanism == "gaussian" else "Wishart"
        delta = needed_delta(delta, f"{noise} noise cannot guarantee pure epsilon; it needs", ", or use laplace")
    if delta is None:
        return SymmetricLaplace.calibrate(sensitivity, epsilon)
    if mechanism == "laplace":
        check_delta(delta)
        return SymmetricLaplace.calibrate(sensitivity, epsilon)
    if mechanism in LITERATURE:
        return SymmetricWishart.calibrate(sensitivity, epsilon, delta, mechanism)
    return SymmetricGaussian.calibrate(sensitivity, epsilon, delta)
