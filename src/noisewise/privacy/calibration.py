"""Turn (epsilon, delta) and a sensitivity into a noise scale, rounded towards privacy.

The Gaussian is calibrated by its exact privacy profile (Balle and Wang, "Improving the Gaussian mechanism for
differential privacy", ICML 2018, theorem 8). calibration.md, beside this file, has the arguments: how to evaluate the profile
without cancellation (C1), what the safety margin covers (C2), and why noise on a grid needs only a small allowance (C3).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noisewise.checks import is_number
from noisewise.errors import PrivacyError
from noisewise.privacy.rounding import round_down, round_up, sqrt_round_up
from noisewise.words import leave_out, option

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIGMA_MARGIN = 1 + 2.0**-30
"""C2. Covers the error of evaluating the profile in floats, and the remainder of C3."""
LATTICE_VARIANCE = 16
"""C3. The variance that integer noise must have in excess of the continuous noise it stands for."""
LARGEST_EPSILON = 1e9
SMALLEST_DELTA = 1e-100
LARGEST_USEFUL_DELTA = 1 - 1e-6
SMALL_DELTA = "give a " + option("delta") + " well below one over the number of rows, for example 1e-6"
"""Remedy for a missing or invalid delta."""


def analytic_gaussian_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """Standard deviation, rounded up, that makes Gaussian noise (epsilon, delta) differentially private.

    >>> round(analytic_gaussian_sigma(1.0, 1e-5, 1.0), 4)
    3.7306
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_sensitivity(sensitivity)
    multiplier = _smallest_multiplier(float(epsilon), min(float(delta), LARGEST_USEFUL_DELTA))
    return _usable(Fraction(multiplier) * Fraction(SIGMA_MARGIN) * Fraction(float(sensitivity)))


def laplace_scale(epsilon: float, sensitivity: float) -> float:
    """Scale, rounded up, that makes Laplace noise epsilon differentially private.

    >>> laplace_scale(0.5, 3.0)
    6.0
    """
    check_epsilon(epsilon)
    check_sensitivity(sensitivity)
    return _usable(Fraction(float(sensitivity)) / Fraction(float(epsilon)))


def widen_for_grid(sigma: float, step: float) -> float:
    """C3. Standard deviation s, rounded up, such that integer noise on the grid is as private as N(0, sigma²).

    Both s and s/sqrt(2) (off the diagonal) exceed their continuous counterparts by the variance of the allowance.

    >>> 4.0 < widen_for_grid(4.0, 2.0**-16) < 4.0 * (1 + 1e-9)
    True
    """
    return sqrt_round_up(Fraction(sigma) ** 2 + 2 * LATTICE_VARIANCE * Fraction(step) ** 2)


def gaussian_multiplier(sd: float, step: float, sensitivity: float) -> float:
    """C5. In composition, noise on the grid is as private as N(0, sigma²) with sigma this many times the sensitivity.

    >>> 3.99 < gaussian_multiplier(widen_for_grid(4.0, 2.0**-16), 2.0**-16, 1.0) <= 4.0
    True
    """
    variance = Fraction(sd) ** 2 - 2 * LATTICE_VARIANCE * Fraction(step) ** 2
    sigma = Fraction(math.sqrt(variance)) * (1 - Fraction(1, 2**50))  # below the root, however it was rounded
    return round_down(sigma / Fraction(sensitivity))


def laplace_multiplier(scale: float, step: float, sensitivity: float) -> float:
    """C6. Noise on the grid is as private as Laplace noise whose scale is this many times the sensitivity; rounded down.

    >>> 0.999 < laplace_multiplier(2.0, 2.0**-16, 2.0) < 1.0
    True
    """
    loss = Fraction(sensitivity) / Fraction(scale) + (Fraction(step) / Fraction(scale)) ** 2 / 4
    return round_down(1 / loss)


def log_delta_of_gaussian(epsilon: float, multiplier: float) -> float:
    """Logarithm of the smallest delta of Gaussian noise with sd `multiplier` times the sensitivity (C1).

    >>> round(math.exp(log_delta_of_gaussian(1.0, 3.73063)), 8)
    1e-05
    """
    from scipy.special import erfcx, log_ndtr

    mu = 1.0 / multiplier
    upper = mu / 2 - epsilon / mu
    lower = -mu / 2 - epsilon / mu
    if upper < -40.0:  # delta < Phi(-40) < 1e-349: below any delta that can be requested
        return float(log_ndtr(upper))

    def mills(x: float | NDArray[np.float64]) -> NDArray[np.float64]:
        return math.sqrt(math.pi / 2) * np.asarray(erfcx(-x / math.sqrt(2)), dtype=np.float64)  # Phi(x) / phi(x)

    if mu >= 0.5:  # Phi(upper) (1 - mills(lower) / mills(upper)); mills is inf where the ratio vanishes
        return float(log_ndtr(upper)) + math.log1p(-float(mills(lower)) / float(mills(upper)))
    nodes, weights = _legendre()
    x = lower + mu * (nodes + 1) / 2
    integral = float(weights @ (1 + x * mills(x))) * mu / 2  # of the derivative of mills, which is positive
    return -upper * upper / 2 - math.log(2 * math.pi) / 2 + math.log(integral)


@lru_cache(maxsize=1)
def _legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(20)
    return np.asarray(nodes), np.asarray(weights)


def _smallest_multiplier(epsilon: float, delta: float) -> float:
    """Bisect to neighbouring floats and return the private one. The profile falls as the noise grows."""
    target = math.log(delta)
    high = 1.0
    while log_delta_of_gaussian(epsilon, high) > target:
        high *= 2
    low = high / 2
    while log_delta_of_gaussian(epsilon, low) <= target:
        low, high = low / 2, low
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if log_delta_of_gaussian(epsilon, middle) <= target else (middle, high)
    return high


def _usable(scale: Fraction) -> float:
    if scale > Fraction(2) ** 1000:
        raise PrivacyError("the noise scale is out of range", found="a scale above 1e301",
                           remedy="give a larger epsilon or delta")
    return round_up(scale)


def check_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is not positive and finite."""
    if not (is_number(epsilon) and 0 < epsilon < math.inf):
        raise PrivacyError("epsilon must be positive and finite", argument="epsilon", found=repr(epsilon),
                           remedy="give " + option("epsilon") + " > 0, for example 1.0")
    if epsilon > LARGEST_EPSILON:
        raise PrivacyError(f"epsilon must be at most {LARGEST_EPSILON:g}", argument="epsilon", found="a larger value",
                           remedy="a guarantee that weak needs no noise at all; give for example 1.0")


def check_delta(delta: float) -> None:
    """Refuse a delta outside (0, 1), or so small that the remainder of C3 could matter (C2)."""
    if not (is_number(delta) and 0 < delta < 1):
        raise PrivacyError("delta must lie strictly between 0 and 1", argument="delta", found=repr(delta),
                           remedy=SMALL_DELTA + ", or none for pure epsilon")
    if delta < SMALLEST_DELTA:
        raise PrivacyError(f"delta must be at least {SMALLEST_DELTA:g}", argument="delta", found=repr(delta),
                           remedy=leave_out("delta") + " for a pure epsilon guarantee")


def needed_delta(delta: float | None, by: str, otherwise: str = "") -> float:
    """The delta; None is refused. ``by`` says what needs it, ``otherwise`` what does not."""
    if delta is None:
        raise PrivacyError(f"{by} a delta", argument="delta", found=option("delta", None), remedy=SMALL_DELTA + otherwise)
    return delta


def check_sensitivity(sensitivity: float) -> None:
    """Refuse a sensitivity that is not positive and finite; it comes from wrong declarations."""
    if not (math.isfinite(sensitivity) and sensitivity > 0):
        raise PrivacyError("a sensitivity must be positive and finite", found=repr(sensitivity),
                           remedy="declare finite bounds for every column")
