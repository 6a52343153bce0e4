"""Wishart noise on a Gram matrix, from the literature. The proofs are in wishart.md, beside this file; "V1" ... name them.

Noise N ~ Wishart(k, B²I) for a Gram matrix of q columns (Sheffet, "Old techniques in differentially private linear regression",
ALT 2019, algorithm 2). His bound on k, which paper 004 uses, is far from tight. Here delta is computed: for add-remove neighbours
it is that of a scalar with chi-square noise, in closed form (V2); for replaced rows it is bounded by sums over a grid that are
never below the integral (V4, V5). All delta functions depend on k and q only through `extra` = k − q.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import check_delta, check_epsilon
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms.guarantee import fitting, statement
from noisewise.privacy.noise import NORMAL_VARIANCE, array_in_words, check_normals, wishart_integers
from noisewise.privacy.rounding import sqrt_round_up
from noisewise.privacy.sensitivity.gram import GramSensitivity
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.words import option

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

SPECIAL_FUNCTIONS: Final = 1e-10
"""V6. Allowance for the relative error of the incomplete gamma function; the tests measure it."""
FEWEST_EXTRA: Final = 2
"""With k ≥ q + 2 the densities are log-concave and the formulas hold."""
LARGEST_EXTRA: Final = 2**18
"""Far above this, from about a million, SciPy's incomplete gamma function loses digits in its tails."""
ROWS: Final = 1500
COLUMNS: Final = 240
"""The grid of the upper sums: cells for the chi-square and for the normal variable."""
NEGLIGIBLE: Final = 1e-6
"""Share of delta left for the tails beyond the grid, on each of its three sides."""
SAMPLING_SHARE: Final = Fraction(1, 1024)
"""V7. Share of delta kept for the distance between the noise drawn and a Wishart matrix."""


@dataclass(frozen=True, kw_only=True)
class SymmetricWishart:
    """Noise N − E N, N ~ Wishart(degrees, scale·I): the release is the Gram matrix of the rows and `degrees` random ones.

    Attributes:
        sensitivity: what the noise was calibrated to (its largest eigenvalue, which is the scale).
        epsilon, delta: the guarantee.
        degrees: the degrees of freedom k.
        name: "wishart" for the smallest private k, "wishart-paper" for the k of paper 004.
    """

    distribution: ClassVar[str] = "wishart"

    sensitivity: GramSensitivity
    epsilon: float
    delta: float
    degrees: int
    name: str = "wishart"

    @classmethod
    def calibrate(cls, sensitivity: GramSensitivity, epsilon: float, delta: float, name: str = "wishart") -> SymmetricWishart:
        """The fewest degrees of freedom that guarantee (epsilon, delta), or by name those of the paper, if they suffice."""
        _check_wishart(sensitivity)
        check_delta(delta)
        size, replaced = sensitivity.size, sensitivity.adjacency == "replace-one"
        ideal = float(Fraction(float(delta)) * (1 - SAMPLING_SHARE))
        degrees = smallest_degrees(size, epsilon, ideal, replaced=replaced)
        if name == "wishart-paper":
            degrees = _checked_paper_degrees(size, epsilon, delta, degrees)
        check_normals(size, degrees)
        found = cls(sensitivity=sensitivity, epsilon=float(epsilon), delta=float(delta), degrees=degrees, name=name)
        fitting(found.entry_sd()[0])
        found._check_sampling()
        return found

    @property
    def scale(self) -> float:
        """B²: the scale matrix of the Wishart distribution is B² times the identity."""
        return self.sensitivity.spectral

    def perturb(self, statistic: NDArray[np.object_], step: float) -> NDArray[np.float64]:
        """Add noise to an exact symmetric matrix of whole multiples of `step`; only then round to the grid.

        The sum must not have been rounded to the grid before: then a changed row would give more than two eigenvalues.
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
        if self.sensitivity.corner_is_public:  # V8: replaces its noisy value, which is discarded
            matrix[0, 0] = float(statistic[0, 0] * Fraction(step))
        return matrix

    def entry_sd(self) -> tuple[float, float, float]:
        """Standard deviations of a diagonal entry, an off-diagonal entry, and the corner (0.0 if public)."""
        variance = self.degrees * Fraction(self.scale) ** 2
        diagonal, off_diagonal = sqrt_round_up(2 * variance), sqrt_round_up(variance)
        return diagonal, off_diagonal, 0.0 if self.sensitivity.corner_is_public else diagonal

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in one sentence; `unit` names the unit column, if any."""
        return statement(self.sensitivity, self.epsilon, self.delta, "Wishart noise", unit)

    def cost(self) -> Cost:
        """The cost: the distribution of its loss is known for one release only, so only (epsilon, delta) composes."""
        return Cost.approximate(self.epsilon, self.delta)

    def _check_sampling(self) -> None:
        """V7. Check that the noise drawn is close enough to Wishart noise for the share of delta kept for it."""
        size = self.sensitivity.size
        reach = Fraction(size * (size + 1) * self.degrees, 2**91) * (2 * Fraction(self.scale) / Fraction(STATISTIC_GRID) + 1)
        smallest = (1 + math.exp(min(self.epsilon, 700.0))) * float(reach / SAMPLING_SHARE)
        if not smallest <= self.delta:
            enough = f"a delta of at least {smallest:.1e}" if smallest < 1 else "a smaller epsilon"
            raise PrivacyError("delta must be large enough for the precision of Wishart noise", argument="delta",
                               found=option("epsilon", self.epsilon) + ", " + option("delta", self.delta),
                               remedy=f"give {enough}, or use the mechanism gaussian")


def _check_wishart(sensitivity: GramSensitivity) -> None:
    if not (math.isfinite(sensitivity.spectral) and sensitivity.size >= 2):
        raise PrivacyError("Wishart noise is proved private only where a unit is one row of a Gram matrix without averaging",
                           found=f"a unit of at most {sensitivity.max_rows} rows" if sensitivity.max_rows > 1 else
                           "another statistic", remedy="use the mechanism gaussian")


def _checked_paper_degrees(size: int, epsilon: float, delta: float, needed: int) -> int:
    degrees = paper_degrees(size, epsilon, delta)
    if degrees < needed:  # V3: more degrees of freedom are never less private, so `needed` or more suffice
        raise PrivacyError("the degrees of freedom of paper 004 do not give the guarantee",
                           found=f"{degrees}; {needed} are needed",
                           remedy="use the mechanism wishart, which takes as many as it needs")
    return degrees


def _check_exact(matrix: NDArray[np.object_], size: int) -> None:
    """Wishart noise, unlike other noise, is for a matrix of one size: more columns would need more degrees of freedom."""
    fits = isinstance(matrix, np.ndarray) and matrix.shape == (size, size)
    exact = fits and matrix.dtype == object and all(isinstance(entry, int) for entry in matrix.ravel().tolist())
    if not (exact and (matrix == matrix.T).all()):
        raise PrivacyError("Wishart noise is added to a symmetric matrix of Python integers, "
                           f"{size} by {size} as calibrated", found=array_in_words(matrix),
                           remedy="give the exact sum, before it is put on a grid")


def smallest_degrees(size: int, epsilon: float, delta: float, *, replaced: bool) -> int:
    """The smallest k for which Wishart noise is (epsilon, delta) private for a matrix of `size` columns.

    `replaced`: neighbours differ by a replaced row, rather than an added or removed one.

    >>> smallest_degrees(10, 1.0, math.exp(-10), replaced=False)
    37
    """
    check_epsilon(epsilon)
    check_delta(delta)
    return size + _smallest_extra(float(epsilon), float(delta), replaced)


def paper_degrees(size: int, epsilon: float, delta: float) -> int:
    """The k of paper 004, section 4, after Sheffet (2019): far more than needed.

    >>> paper_degrees(10, 1.0, math.exp(-10))
    328
    """
    check_epsilon(epsilon)
    check_delta(delta)
    degrees = size + 28 * math.log(4 / delta) / float(epsilon) / float(epsilon)  # the square of a tiny epsilon would be zero
    if not degrees < 2.0**53:
        raise PrivacyError("the degrees of freedom are out of range", found="more than 2**53",
                           remedy="give a larger epsilon, or use the mechanism gaussian")
    return math.floor(degrees)


def delta_if_added(extra: int, epsilon: float) -> float:
    """V2. The delta of add-remove neighbours, rounded up: exact except for the allowance for special functions.

    >>> delta_if_added(37 - 10, 1.0) < math.exp(-10) < delta_if_added(36 - 10, 1.0)
    True
    """
    one = np.ones(1)
    loss = np.full(1, float(epsilon))
    shape = _shape(extra)
    return float(max(shifted_up(loss, one, shape)[0], shifted_down(loss, one, shape)[0]))


def delta_if_replaced(extra: int, epsilon: float, tail: float, rows: int = ROWS, columns: int = COLUMNS) -> float:
    """V4, V5. An upper bound on the delta of replace-one neighbours, whatever the two rows are.

    `tail`: the probability left beyond the grid on each of its three sides, a small share of the intended delta.
    """
    from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, ndtr, ndtri

    degrees = extra + 2
    low, high = 2 * gammaincinv(degrees / 2, tail), 2 * gammainccinv(degrees / 2, tail)
    variance: Array = np.linspace(low ** (1 / 3), high ** (1 / 3), rows + 1, dtype=np.float64) ** 3
    normal: Array = np.linspace(0.0, -ndtri(tail / 2), columns + 1, dtype=np.float64)
    below, above = gammainc(degrees / 2, variance / 2), gammaincc(degrees / 2, variance / 2)
    mass = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
    share = 2 * -np.diff(ndtr(-normal))
    come = _delta_of_new_row(variance[:-1, None], normal[None, 1:], epsilon, extra)
    gone = _delta_of_old_row(variance[1:, None], normal[None, :-1], epsilon, extra)
    beyond = below[0] + above[-1] + 2 * ndtr(-normal[-1])
    bound = float(max(mass @ come @ share, mass @ gone @ share) + beyond) * (1 + SPECIAL_FUNCTIONS)
    return bound if bound <= 1 else 1.0


def _delta_of_new_row(variance: Array, normal: Array, epsilon: float, extra: int) -> Array:
    """V4(b). Given the variables of the fibre: the largest delta over lengths of the removed row; decreases in `variance`."""
    shape = _shape(extra)
    with np.errstate(all="ignore"):
        share = normal**2 / (variance - 1)
        epsilon_left = epsilon + (shape - 1) * np.log1p(-1 / variance) - share / 2 + 0.5
        found = np.maximum(shifted_down(epsilon_left, np.maximum(1 - share, 0), shape), shifted_up(epsilon_left, share, shape))
    return np.where(np.broadcast_to(variance, found.shape) > 1, found, 1.0)


def _delta_of_old_row(variance: Array, normal: Array, epsilon: float, extra: int) -> Array:
    """V4(a). Given the variables of the fibre: the largest delta over lengths of the new row; increases in `variance`."""
    shape = _shape(extra)
    share = normal**2 / (variance + 1)
    epsilon_left = epsilon + (shape - 1) * np.log1p(1 / variance) + share / 2 - 0.5
    return np.maximum(shifted_up(epsilon_left, np.maximum(1 - share, 0), shape), shifted_down(epsilon_left, share, shape))


def shifted_up(epsilon: Array, shift: Array, shape: float) -> Array:
    """V1. Delta of c against c + shift ≥ c, c chi-square with 2·shape degrees of freedom; epsilon may be negative."""
    from scipy.special import gammainc

    with np.errstate(all="ignore"):
        threshold = shift / -np.expm1(-(epsilon + shift / 2) / (shape - 1))
        first = gammainc(shape, threshold / 2)
        second = np.exp(epsilon) * gammainc(shape, np.maximum(threshold - shift, 0) / 2)
    return _difference(epsilon, first, second, (epsilon <= -shift / 2) | (shift == 0))


def shifted_down(epsilon: Array, shift: Array, shape: float) -> Array:
    """V1. Delta of c against c − shift ≤ c: the loss is at most shift/2."""
    from scipy.special import gammaincc

    with np.errstate(all="ignore"):
        exponent = (epsilon - shift / 2) / (shape - 1)
        threshold = shift * np.exp(exponent) / -np.expm1(exponent)
        first = gammaincc(shape, threshold / 2)
        second = np.exp(epsilon) * gammaincc(shape, (threshold + shift) / 2)
    return np.where(epsilon >= shift / 2, 0.0, _difference(epsilon, first, second, shift == 0))


def _difference(epsilon: Array, first: NDArray[Any], second: NDArray[Any], everywhere: Mask) -> Array:
    """first − second, rounded up; `everywhere`: the best event always happens. What cannot be computed counts as 1."""
    second = np.where(np.isfinite(second), second, 0.0)
    found = first * (1 + SPECIAL_FUNCTIONS) - second * (1 - SPECIAL_FUNCTIONS)
    stick = np.clip(np.where(everywhere, -np.expm1(np.minimum(epsilon, 0.0)), found), 0.0, 1.0)
    return np.where(np.isnan(stick), 1.0, stick)


def _shape(extra: int) -> float:
    """Half the degrees of freedom, k − q + 1, of the chi-square variable c."""
    return (extra + 1) / 2


@lru_cache(maxsize=256)
def _smallest_extra(epsilon: float, delta: float, replaced: bool) -> int:
    """Each candidate is judged by its own bound, so the returned one is private however the search went."""
    if not replaced:
        return _least(lambda extra: delta_if_added(extra, epsilon) <= delta, FEWEST_EXTRA)
    tail = NEGLIGIBLE * delta
    about = _least(lambda extra: delta_if_replaced(extra, epsilon, tail, ROWS // 8, COLUMNS // 6) <= delta, FEWEST_EXTRA)
    return _least(lambda extra: delta_if_replaced(extra, epsilon, tail) <= delta, about)  # the coarse grid asks for too much


def _least(private: Callable[[int], bool], start: int) -> int:
    """The smallest private number; all larger ones are private too (V3). From a guess, double the steps, then bisect."""
    step = max(1, start // 64)
    low = high = start
    if private(start):
        while (low := max(high - step, FEWEST_EXTRA - 1)) >= FEWEST_EXTRA and private(low):
            high, step = low, 2 * step
    else:
        while not private(high := min(low + step, LARGEST_EXTRA)):
            if high == LARGEST_EXTRA:
                raise PrivacyError("Wishart noise would need too many degrees of freedom",
                                   found=f"more than {LARGEST_EXTRA}", remedy="use the mechanism gaussian: its noise is smaller")
            low, step = high, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return high
