"""Mechanisms for a symmetric statistic, and for a selection: calibrated noise, and a description of it for the analyst.

A mechanism is chosen from a sensitivity and (epsilon, delta) before the data are looked at. `perturb` takes the exact
statistic in units of the grid and returns a noisy one; nothing else in the library adds privacy noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

import numpy as np

from noisewise.errors import PrivacyError
from noisewise.privacy.binary import smallest_alpha
from noisewise.privacy.calibration import (
    analytic_gaussian_sigma,
    check_delta,
    gaussian_multiplier,
    laplace_multiplier,
    laplace_scale,
    widen_for_grid,
)
from noisewise.privacy.cost import Cost
from noisewise.privacy.noise import (
    NORMAL_VARIANCE,
    check_cube,
    check_normals,
    check_scale,
    cube_integers,
    gaussian_integers,
    laplace_integers,
    noisy_max,
    randomised_response,
    smallest_cube,
    urn_draws,
    wishart_integers,
)
from noisewise.privacy.rounding import sqrt_round_up
from noisewise.privacy.sensitivity.bounds import BoundSensitivity
from noisewise.privacy.sensitivity.gram import GramSensitivity
from noisewise.privacy.wishart import paper_degrees, smallest_degrees
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
    distribution: ClassVar[str] = "gaussian"

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
        return gaussian_statement(self.sensitivity, self.epsilon, self.delta, unit)

    def cost(self) -> Cost:
        """What it costs, in a form that composes."""
        return gaussian_cost(self.sd, self.sensitivity.frobenius, self.epsilon, self.delta)


@dataclass(frozen=True, kw_only=True)
class SymmetricLaplace:
    """Independent Laplace noise of one scale on every entry of the upper triangle: pure epsilon.

    Attributes:
        sensitivity: what the noise was calibrated to (its L1 norm).
        epsilon: the guarantee; delta is not spent, whatever was offered.
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
        return pure_statement(self.sensitivity, self.epsilon, "Laplace noise", unit)

    def cost(self) -> Cost:
        """What it costs, in a form that composes."""
        return Cost.laplace(laplace_multiplier(self.scale, STATISTIC_GRID, self.sensitivity.l1), self.epsilon)


SAMPLING_SHARE: Final = Fraction(1, 1024)
"""V7. The share of delta that is kept for the distance between the noise that is drawn and a Wishart matrix."""


@dataclass(frozen=True, kw_only=True)
class SymmetricWishart:
    """Noise N − E N, N ~ Wishart(degrees, scale·I): what is released is the Gram matrix of the rows and of `degrees` random ones.

    Attributes:
        sensitivity: what the noise was calibrated to (its largest eigenvalue, which is the scale).
        epsilon, delta: the guarantee.
        degrees: the degrees of freedom k.
        name: "wishart" for the least k that is private, "wishart-paper" for that of paper 004.
    """

    distribution: ClassVar[str] = "wishart"

    sensitivity: GramSensitivity
    epsilon: float
    delta: float
    degrees: int
    name: str = "wishart"

    @classmethod
    def calibrate(cls, sensitivity: GramSensitivity, epsilon: float, delta: float, name: str = "wishart") -> SymmetricWishart:
        """The fewest degrees of freedom that guarantee (epsilon, delta), or, by name, those of the paper if they do."""
        _check_wishart(sensitivity)
        check_delta(delta)
        size, replaced = sensitivity.size, sensitivity.adjacency == "replace-one"
        ideal = float(Fraction(float(delta)) * (1 - SAMPLING_SHARE))
        degrees = smallest_degrees(size, epsilon, ideal, replaced=replaced)
        if name == "wishart-paper":
            degrees = _checked_paper_degrees(size, epsilon, delta, degrees)
        check_normals(size, degrees)
        found = cls(sensitivity=sensitivity, epsilon=float(epsilon), delta=float(delta), degrees=degrees, name=name)
        check_scale(found.entry_sd()[0] / STATISTIC_GRID)
        found._check_sampling()
        return found

    @property
    def scale(self) -> float:
        """B²: the scale matrix of the Wishart distribution is B² times the identity."""
        return self.sensitivity.spectral

    def perturb(self, statistic: NDArray[np.object_], step: float) -> NDArray[np.float64]:
        """Add noise to an exact symmetric matrix of whole multiples of `step`; only then round to the grid.

        The sum must not have been rounded to the grid before: that would give the change of a row more than two eigenvalues.
        """
        _check_exact(statistic, self.sensitivity.size)
        size = len(statistic)
        noise = wishart_integers(size, self.degrees)
        scale, unit = Fraction(self.scale) / Fraction(STATISTIC_GRID), Fraction(step) / Fraction(STATISTIC_GRID)
        matrix = np.empty((size, size))
        for row, column in zip(*np.triu_indices(size), strict=True):
            mean = self.degrees if row == column else 0
            noisy = statistic[row, column] * unit + scale * (Fraction(noise[row, column], NORMAL_VARIANCE) - mean)
            matrix[row, column] = matrix[column, row] = math.floor(noisy + Fraction(1, 2)) * STATISTIC_GRID
        if self.sensitivity.corner_is_public:  # V8: instead of its noisy value, which is thrown away
            matrix[0, 0] = float(statistic[0, 0] * Fraction(step))
        return matrix

    def entry_sd(self) -> tuple[float, float, float]:
        """Standard deviations of a diagonal entry, of one off the diagonal, and of the corner (0.0 if public)."""
        variance = self.degrees * Fraction(self.scale) ** 2
        diagonal, off_diagonal = sqrt_round_up(2 * variance), sqrt_round_up(variance)
        return diagonal, off_diagonal, 0.0 if self.sensitivity.corner_is_public else diagonal

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` names the unit column, if there is one."""
        return (
            f"{_neighbours(self.sensitivity, unit)} changes the probability of any result of this release by at most "
            f"a factor exp(epsilon) and a further delta, with epsilon = {_exactly(self.epsilon)} and "
            f"delta = {_exactly(self.delta)} ({self.sensitivity.adjacency}, Wishart noise)."
        )

    def cost(self) -> Cost:
        """What it costs: the law of its loss is known for one release only, so that (epsilon, delta) is all that composes."""
        return Cost.approximate(self.epsilon, self.delta)

    def _check_sampling(self) -> None:
        """V7. The noise that is drawn is so close to Wishart noise that the share of delta kept for it is enough."""
        size = self.sensitivity.size
        reach = Fraction(size * (size + 1) * self.degrees, 2**91) * (2 * Fraction(self.scale) / Fraction(STATISTIC_GRID) + 1)
        smallest = (1 + math.exp(min(self.epsilon, 700.0))) * float(reach / SAMPLING_SHARE)
        if not smallest <= self.delta:
            enough = f"a delta of at least {smallest:.1e}" if smallest < 1 else "a smaller epsilon"
            raise PrivacyError("delta must be large enough for the precision of Wishart noise",
                               found=f"epsilon={self.epsilon!r}, delta={self.delta!r}",
                               remedy=f"give {enough}, or take the mechanism gaussian")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """One of several candidates, the better its score the likelier: pure epsilon (B2 of sensitivity/bounds.md).

    Attributes:
        sensitivity: what the noise was calibrated to.
        epsilon: the guarantee.
        scale: scale of the exponential noise that is added to each score.
    """

    name: ClassVar[str] = "permute-and-flip"
    delta: ClassVar[float] = 0.0

    sensitivity: BoundSensitivity
    epsilon: float
    scale: float

    @classmethod
    def calibrate(cls, sensitivity: BoundSensitivity, epsilon: float) -> Selection:
        """The least noise that guarantees epsilon for this sensitivity: two scores may change in opposite directions."""
        scale = laplace_scale(epsilon, 2.0 * sensitivity.score)
        check_scale(scale)
        return cls(sensitivity=sensitivity, epsilon=float(epsilon), scale=scale)

    def choose(self, scores: NDArray[np.int64]) -> int:
        """The place of the candidate that was drawn."""
        return noisy_max(scores, self.scale)

    def shortfall(self, candidates: int, miss: float) -> int:
        """B3: with probability 1 − miss the score of what is drawn is at most this far below the best; rounded up."""
        return math.ceil(self.scale * math.log(candidates / miss) * (1 + 1e-12))

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` names the unit column, if there is one."""
        return (
            f"{_neighbours(self.sensitivity, unit)} changes the probability of any result by at most a factor exp(epsilon), "
            f"with epsilon = {_exactly(self.epsilon)} and delta = 0 ({self.sensitivity.adjacency}, permute-and-flip selection)."
        )

    def cost(self) -> Cost:
        """What it costs: a pure epsilon composes as such."""
        return Cost.approximate(self.epsilon, 0.0)


@dataclass(frozen=True, kw_only=True)
class BetaBinomial:
    """Synthetic yes-or-no rows: beta-binomial numbers of ones, which a real number of ones makes likelier (binary.md).

    Attributes:
        adjacency: what neighbours are; the guarantee is the same for both (Y2, Y3).
        epsilon: the guarantee, of all copies together.
        rows: synthetic rows of a copy.
        copies: how many there are.
        alpha: pseudo-rows of each kind.
    """

    name: ClassVar[str] = "beta-binomial"
    delta: ClassVar[float] = 0.0
    unit_is_row: ClassVar[bool] = True
    max_rows: ClassVar[int] = 1

    adjacency: str
    epsilon: float
    rows: int
    copies: int
    alpha: int

    @classmethod
    def calibrate(cls, adjacency: str, epsilon: float, rows: int, copies: int) -> BetaBinomial:
        """With the fewest pseudo-rows that guarantee epsilon."""
        alpha = smallest_alpha(rows, epsilon, copies)
        return cls(adjacency=adjacency, epsilon=float(epsilon), rows=rows, copies=copies, alpha=alpha)

    def perturb(self, ones: int, zeros: int) -> tuple[int, ...]:
        """The number of ones of each synthetic copy."""
        return tuple(urn_draws(self.alpha + ones, self.alpha + zeros, self.rows) for _ in range(self.copies))

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` is there for likeness."""
        return (
            f"{_neighbours(self, unit)} changes the probability of any result by at most a factor exp(epsilon), "
            f"with epsilon = {_exactly(self.epsilon)} and delta = 0 ({self.adjacency}, beta-binomial synthesis)."
        )

    def cost(self) -> Cost:
        """What it costs: a pure epsilon composes as such."""
        return Cost.approximate(self.epsilon, 0.0)


SymmetricMechanism = SymmetricGaussian | SymmetricLaplace | SymmetricWishart
MECHANISMS: Final = ("gaussian", "laplace", "wishart", "wishart-paper")


def choose_mechanism(
    sensitivity: GramSensitivity, epsilon: float, delta: float | None, mechanism: str | None
) -> SymmetricMechanism:
    """The mechanism for a request: Gaussian if there is a delta and Laplace otherwise, unless it is named.

    "laplace" with a delta is allowed; it guarantees pure epsilon and spends none of the delta.
    """
    if mechanism not in (None, *MECHANISMS):
        raise PrivacyError(
            "the mechanism of a Gram release is gaussian, laplace, wishart or wishart-paper",
            found=repr(mechanism),
            remedy="leave it out: gaussian is used with a delta and laplace without",
        )
    if delta is None and mechanism not in (None, "laplace"):
        noise = "Gaussian" if mechanism == "gaussian" else "Wishart"
        raise PrivacyError(
            f"{noise} noise cannot give a pure epsilon guarantee: it needs a delta",
            found="delta=None",
            remedy="give a delta well below one over the number of rows, for example 1e-6, or take laplace",
        )
    if delta is None:
        return SymmetricLaplace.calibrate(sensitivity, epsilon)
    if mechanism == "laplace":
        check_delta(delta)
        return SymmetricLaplace.calibrate(sensitivity, epsilon)
    if mechanism is not None and mechanism.startswith("wishart"):
        return SymmetricWishart.calibrate(sensitivity, epsilon, delta, mechanism)
    return SymmetricGaussian.calibrate(sensitivity, epsilon, delta)


def _check_wishart(sensitivity: GramSensitivity) -> None:
    if not (math.isfinite(sensitivity.spectral) and sensitivity.size >= 2):
        raise PrivacyError(
            "Wishart noise is proved private only where a unit is one row of a Gram matrix that was not averaged",
            found=f"a unit of at most {sensitivity.max_rows} rows" if sensitivity.max_rows > 1 else "another statistic",
            remedy="take the mechanism gaussian",
        )


def _checked_paper_degrees(size: int, epsilon: float, delta: float, needed: int) -> int:
    degrees = paper_degrees(size, epsilon, delta)
    if degrees < needed:  # V3: more degrees of freedom are never less private, so from `needed` on they suffice
        raise PrivacyError(
            "the degrees of freedom of paper 004 must give the guarantee",
            found=f"{degrees}, where {needed} are needed",
            remedy="take the mechanism wishart, which has as many as it needs",
        )
    return degrees


class Neighbours(Protocol):
    """What a sensitivity says about the neighbours that it is about."""

    @property
    def adjacency(self) -> str: ...
    @property
    def unit_is_row(self) -> bool: ...
    @property
    def max_rows(self) -> int: ...


def add_gaussian(grid_values: NDArray[np.int64], sd: float) -> NDArray[np.float64]:
    """Gaussian noise of one standard deviation on multiples of the grid step: a piece of a mechanism that has several."""
    return np.asarray(gaussian_integers(grid_values, sd / STATISTIC_GRID) * STATISTIC_GRID, dtype=np.float64)


def partition_noise(name: str, sums: NDArray[np.int64], scale: float, numbers: int) -> NDArray[np.float64]:
    """Gaussian or K-norm noise on sums of a partition release, multiples of the grid step; without sums, only a check."""
    units = scale / STATISTIC_GRID
    if name == "gaussian":
        check_scale(units)
        noisy = gaussian_integers(sums, units)
    else:
        check_cube(units, numbers)
        noisy = cube_integers(sums, units)
    return np.asarray(noisy * STATISTIC_GRID, dtype=np.float64)


def smallest_cube_scale(numbers: int) -> float:
    """The least scale of K-norm noise on so many sums, in units of the statistic (P4 of sensitivity/partition.md)."""
    return smallest_cube(numbers) * STATISTIC_GRID


def check_sd(sd: float) -> None:
    """Refuse noise that the grid of the statistic cannot hold; to be asked before anything is read or charged."""
    check_scale(sd / STATISTIC_GRID)


def add_cell_noise(distribution: str, cells: NDArray[np.int64], scale: float, step: float) -> NDArray[np.int64]:
    """Noise on cells that are whole multiples of a step: a piece of the mechanism of published rows."""
    draw = {"gaussian": gaussian_integers, "laplace": laplace_integers}[distribution]
    return draw(cells, scale / step)


def check_cell_scale(scale: float, step: float) -> None:
    """Refuse noise that cells on this grid cannot hold; to be asked before anything is read or charged."""
    check_scale(scale / step)


def answer(codes: NDArray[np.int64], levels: int, keep_units: int) -> NDArray[np.int64]:
    """Randomised response on the cells of a category: the other piece of it."""
    return randomised_response(codes, levels, keep_units)


def gaussian_statement(sensitivity: Neighbours, epsilon: float, delta: float, unit: str | None,
                       noise: str = "Gaussian noise") -> str:
    """The guarantee of Gaussian noise in one sentence; `unit` names the unit column, if there is one."""
    return (
        f"{_neighbours(sensitivity, unit)} changes the probability of any result of this release by at most "
        f"a factor exp(epsilon) and a further delta, with epsilon = {_exactly(epsilon)} and "
        f"delta = {_exactly(delta)} ({sensitivity.adjacency}, {noise})."
    )


def pure_statement(sensitivity: Neighbours, epsilon: float, noise: str, unit: str | None) -> str:
    """The guarantee of a pure epsilon in one sentence; `unit` names the unit column, if there is one."""
    return (
        f"{_neighbours(sensitivity, unit)} changes the probability of any result of this release by at most "
        f"a factor exp(epsilon), with epsilon = {_exactly(epsilon)} and delta = 0 ({sensitivity.adjacency}, {noise})."
    )


def gaussian_cost(sd: float, sensitivity: float, epsilon: float, delta: float) -> Cost:
    """What Gaussian noise costs, in a form that composes: ``sd`` as it is drawn on the grid."""
    return Cost.gaussian(gaussian_multiplier(sd, STATISTIC_GRID, sensitivity), epsilon, delta)



def _exactly(value: float) -> str:
    """A number without rounding: a statement may not promise more than was spent."""
    return repr(value).removesuffix(".0")


def _neighbours(sensitivity: Neighbours, unit: str | None) -> str:
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


def _check_exact(matrix: NDArray[np.object_], size: int) -> None:
    """Unlike other noise, Wishart noise is for a matrix of one size: with more columns it would need more degrees of freedom."""
    fits = isinstance(matrix, np.ndarray) and matrix.shape == (size, size)
    exact = fits and matrix.dtype == object and all(isinstance(entry, int) for entry in matrix.ravel().tolist())
    if not (exact and (matrix == matrix.T).all()):
        raise PrivacyError(
            f"Wishart noise is added to a symmetric matrix of Python's whole numbers, {size} by {size} as it was calibrated for",
            found=f"{type(matrix).__name__} {getattr(matrix, 'dtype', '')} {getattr(matrix, 'shape', '')}".strip(),
            remedy="give the exact sum, not one that was put on a grid",
        )


def _assemble(
    diagonal: NDArray[np.int64], upper: tuple[NDArray[np.intp], ...], off_diagonal: NDArray[np.int64]
) -> NDArray[np.float64]:
    matrix = np.diag(diagonal * STATISTIC_GRID)
    matrix[upper] = off_diagonal * STATISTIC_GRID
    matrix.T[upper] = off_diagonal * STATISTIC_GRID
    return matrix
