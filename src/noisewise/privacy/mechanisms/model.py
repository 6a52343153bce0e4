"""The mechanism of a `model` release: Gaussian noise on the first look and on each round, within one budget.

The budget is μ², the squared distance of neighbours in standard deviations of the noise; the shares of the look and of the rounds
add up to it (D7 of model.md). How much a round spends, and where it looks, may depend on earlier rounds' noisy sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import LATTICE_VARIANCE, analytic_gaussian_sigma, needed_delta
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms.guarantee import check_symmetric, fitting, statement
from noisewise.privacy.noise import gaussian_integers
from noisewise.privacy.rounding import sqrt_round_up
from noisewise.privacy.sensitivity.model import ModelSensitivity
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.scores.change import Weights
from noisewise.scores.rounds import Look, Noise, Point, Round

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPARE: Final = 1 - Fraction(1, 2**40)
"""Of a share: what shares that are added up in floats may exceed 1 by is less."""
SMALL_SHARE: Final = 0.01
"""Noise for this share must fit the grid; those of the look and of all rounds are larger."""
GRID_VARIANCE: Final = 2 * LATTICE_VARIANCE * Fraction(STATISTIC_GRID) ** 2
"""D6. By how much the variance of the score's noise exceeds that of the continuous noise that it stands for."""


@dataclass(frozen=True, kw_only=True)
class ModelMechanism:
    """Gaussian noise for a `model` release.

    Attributes:
        sensitivity: what the noise is calibrated to.
        epsilon, delta: the guarantee.
        multiplier: the standard deviation, relative to the sensitivity, of noise that spends the whole budget at once: 1/μ.
    """

    name: ClassVar[str] = "gaussian"

    sensitivity: ModelSensitivity
    epsilon: float
    delta: float
    multiplier: float

    @classmethod
    def calibrate(cls, sensitivity: ModelSensitivity, epsilon: float, delta: float | None) -> ModelMechanism:
        """The budget that (epsilon, delta) is worth."""
        delta = needed_delta(delta, "a model release adds Gaussian noise and needs")
        multiplier = analytic_gaussian_sigma(epsilon, delta, 1.0)
        found = cls(sensitivity=sensitivity, epsilon=float(epsilon), delta=float(delta), multiplier=multiplier)
        found.look_noise(SMALL_SHARE)
        for spread in (False, True):
            found.noise_for(SMALL_SHARE, spread)
        return found

    def look_noise(self, share: float) -> float:
        """The standard deviation of the noise of a first look with this share of the budget."""
        return self._noise(self.sensitivity.look, share)

    def noise_for(self, share: float, spread: bool) -> Noise:
        """The noise of a round with this share of the budget, with or without Σ s sᵀ."""
        weights = self.sensitivity.weights(spread)
        score = self._noise(self.sensitivity.of_round(spread), share)
        sds = {name: fitting(sqrt_round_up(Fraction(score) ** 2 / Fraction(weight)))
               for name, weight in (("matrix", weights.matrix), ("square", weights.square), ("spread", weights.spread)) if weight}
        return Noise(score=score, **sds)

    def _noise(self, sensitivity: float, share: float) -> float:
        if not 0 < share <= 1:
            raise PrivacyError("a share of the budget must be between 0 and 1", found=repr(share))
        continuous = Fraction(sensitivity) ** 2 * Fraction(self.multiplier) ** 2 / (Fraction(share) * SPARE)
        return fitting(sqrt_round_up(continuous + GRID_VARIANCE))

    def draws(self) -> ModelDraws:
        """The account of one release, which draws its noise."""
        return ModelDraws(self)

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` names the unit column, if any."""
        return statement(self.sensitivity, self.epsilon, self.delta, "Gaussian noise", unit)

    def cost(self) -> Cost:
        """The cost, in a form that composes: all draws together are as private as one with the whole budget (D7)."""
        return Cost.gaussian(self.multiplier, self.epsilon, self.delta)


class ModelDraws:
    """Draws the noise of one release, and keeps an exact account of what it spends."""

    def __init__(self, mechanism: ModelMechanism) -> None:
        self.mechanism = mechanism
        self.spent = Fraction(0)
        """μ² so far."""
        self.budget = 1 / Fraction(mechanism.multiplier) ** 2

    def perturb_look(self, sums: NDArray[np.int64], rows: int, noise: float) -> Look:
        """Add noise of this standard deviation to the sums of the first look, multiples of the grid step, and to their number of
        rows unless that is public."""
        sensitivity = self.mechanism.sensitivity
        if sums.shape != (sensitivity.sums,):
            raise PrivacyError("the sums must be those that the noise was calibrated for", found=f"shape {sums.shape}",
                               remedy=f"give {sensitivity.sums} sums")
        self._spend(sensitivity.look, Fraction(noise) ** 2)
        if sensitivity.rows_are_public:
            return Look(noise=noise, sums=_noisy(sums, noise), rows=float(rows), rows_noise=0.0)
        found = _noisy(np.append(sums, np.int64(round(rows / STATISTIC_GRID))), noise)
        return Look(noise=noise, sums=found[:-1], rows=float(found[-1]), rows_noise=noise)

    def perturb_round(self, point: Point, noise: Noise, score: NDArray[np.int64], matrix: NDArray[np.int64],
                      square: int | None = None, spread: NDArray[np.int64] | None = None) -> Round:
        """Add this noise to the sums of a round, multiples of the grid step."""
        sensitivity = self.mechanism.sensitivity
        weights = sensitivity.weights(point.spread)
        _check_pieces(weights, noise, square, spread)
        matrices = [matrix] if spread is None else [matrix, spread]
        for one in matrices:
            check_symmetric(one, "noise is added to")
        sizes = {score.shape, *((len(one),) for one in matrices)}
        if sizes != {(sensitivity.terms,)}:
            raise PrivacyError("the sums must be those of the coefficients that the noise was calibrated for",
                               found=str(sorted(sizes)), remedy=f"give those of {sensitivity.terms} coefficients")
        self._spend(sensitivity.of_round(point.spread), _least_variance(weights, noise))
        return Round(
            point=point, noise=noise, score=_noisy(score, noise.score), matrix=_noisy_matrix(matrix, noise.matrix),
            square=None if square is None or noise.square is None else float(_noisy(np.array([square]), noise.square)[0]),
            spread=None if spread is None or noise.spread is None else _noisy_matrix(spread, noise.spread))

    def _spend(self, sensitivity: float, variance: Fraction) -> None:
        """Enter what noise of this variance spends, before it is drawn."""
        continuous = variance - GRID_VARIANCE
        if continuous <= 0:
            raise PrivacyError("noise must be wider than its grid", found="less", remedy="calibrate the noise")
        spent = self.spent + Fraction(sensitivity) ** 2 / continuous
        if spent > self.budget:
            raise PrivacyError("the rounds of a release must not spend more than its budget",
                               found=f"{float(spent / self.budget):.6g} of it", remedy="give the last round what the others left")
        self.spent = spent


def _check_pieces(weights: Weights, noise: Noise, square: int | None, spread: NDArray[np.int64] | None) -> None:
    """Refuse sums that have no noise, and noise for what is not released."""
    wanted = {"square": weights.square > 0, "spread": weights.spread > 0}
    given = {"square": (square is not None, noise.square is not None), "spread": (spread is not None, noise.spread is not None)}
    for name, expected in wanted.items():
        if given[name] != (expected, expected):
            raise PrivacyError(f"a round must have the {name}, and noise for it, if and only if its weight is positive",
                               found=f"weight {getattr(weights, name)}, sums and noise {given[name]}")


def _least_variance(weights: Weights, noise: Noise) -> Fraction:
    """The variance of the score's noise that the least noisy piece stands for."""
    pieces = ((1.0, noise.score), (weights.matrix, noise.matrix), (weights.square, noise.square), (weights.spread, noise.spread))
    return min(Fraction(weight) * Fraction(sd) ** 2 for weight, sd in pieces if sd is not None)


def _noisy(values: NDArray[np.int64], sd: float) -> NDArray[np.float64]:
    return np.asarray(gaussian_integers(values, sd / STATISTIC_GRID) * STATISTIC_GRID, dtype=np.float64)


def _noisy_matrix(matrix: NDArray[np.int64], sd: float) -> NDArray[np.float64]:
    """Noise of this standard deviation on the diagonal, and √½ of it off the diagonal."""
    noisy = np.zeros(matrix.shape)
    np.fill_diagonal(noisy, _noisy(np.diagonal(matrix).copy(), sd))
    upper = np.triu_indices_from(matrix, k=1)
    noisy[upper] = noisy.T[upper] = _noisy(matrix[upper], sqrt_round_up(Fraction(sd) ** 2 / 2))
    return noisy
