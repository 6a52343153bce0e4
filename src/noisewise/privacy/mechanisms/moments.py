"""The mechanism of a `moments` release: Gaussian noise whose size differs from block to block.

A block of weight c has noise of standard deviation s/√c on its monomials times the roots of their multinomial coefficients. In
the coordinates that the weights define, this is one isotropic Gaussian mechanism (M6 of moments.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import LATTICE_VARIANCE, analytic_gaussian_sigma, needed_delta
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms.guarantee import fitting, statement
from noisewise.privacy.noise import gaussian_integers
from noisewise.privacy.rounding import round_down, sqrt_round_up
from noisewise.privacy.sensitivity.moments import MomentsSensitivity
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.schema.moment_blocks import MomentBlock

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class MomentsMechanism:
    """Gaussian noise for the blocks of a `moments` release.

    Attributes:
        sensitivity: what the noise was calibrated to, with the weights of the blocks.
        epsilon, delta: the guarantee.
        sigma: standard deviation of the noise of a block of weight 1, before the allowance for the grid.
    """

    name: ClassVar[str] = "gaussian"

    sensitivity: MomentsSensitivity
    epsilon: float
    delta: float
    sigma: float

    def block_sds(self) -> dict[str, float]:
        """The standard deviation of each block's noise, on monomials times the roots of their multinomial coefficients (M6)."""
        variance, step = Fraction(self.sigma) ** 2, LATTICE_VARIANCE * Fraction(STATISTIC_GRID) ** 2
        return {name: sqrt_round_up(variance / Fraction(weight) + math.factorial(MomentBlock.named(name).degree) * step)
                for name, weight in self.sensitivity.weights.items()}

    @classmethod
    def calibrate(cls, sensitivity: MomentsSensitivity, epsilon: float, delta: float | None) -> MomentsMechanism:
        """The least noise that guarantees (epsilon, delta) for this sensitivity."""
        delta = needed_delta(delta, "a moments release adds Gaussian noise and needs")
        sigma = analytic_gaussian_sigma(epsilon, delta, sensitivity.norm)
        found = cls(sensitivity=sensitivity, epsilon=float(epsilon), delta=float(delta), sigma=sigma)
        for sd in found.block_sds().values():
            fitting(sd)
        return found

    def perturb(self, sums: Mapping[str, NDArray[np.int64]]) -> dict[str, NDArray[np.float64]]:
        """Add noise to the sums of each block's monomials (without their coefficients), multiples of the grid step."""
        sds, predictors = self.block_sds(), self.sensitivity.predictors
        sizes = {name: MomentBlock.named(name).size(predictors) for name in sds}
        if {name: len(values) for name, values in sums.items()} != sizes:
            raise PrivacyError("the sums must be those of the blocks that the noise was calibrated for",
                               found=repr({name: len(values) for name, values in sums.items()}), remedy=f"give {sizes}")
        noisy = {}
        for name, sd in sds.items():
            times = MomentBlock.named(name).multiplicities(predictors)
            noisy[name] = np.zeros(len(times))
            for coefficient in np.unique(times):
                equal = times == coefficient
                entry_sd = sqrt_round_up(Fraction(sd) ** 2 / int(coefficient))
                noisy[name][equal] = gaussian_integers(sums[name][equal], entry_sd / STATISTIC_GRID) * STATISTIC_GRID
        return noisy

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` names the unit column, if any."""
        return statement(self.sensitivity, self.epsilon, self.delta, "Gaussian noise", unit)

    def cost(self) -> Cost:
        """The cost, in a form that composes. By M6, noise on the grid is as private as N(0, sigma²) for the weighted sums."""
        multiplier = round_down(Fraction(self.sigma) / Fraction(self.sensitivity.norm))
        return Cost.gaussian(multiplier, self.epsilon, self.delta)
