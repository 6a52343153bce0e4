"""How many degrees of freedom make Wishart noise private. The proofs are in wishart.md, beside this file; "V1" ... name them.

Noise N ~ Wishart(k, B²I) for a Gram matrix of q columns (Sheffet, "Old techniques in differentially private linear regression",
ALT 2019, algorithm 2). His bound on k, which paper 004 uses, is far from tight. Here delta is computed: for add-remove neighbours
it is that of a scalar with chi-square noise, in closed form (V2); for replaced rows it is bounded by sums over a grid that are
never below the integral (V4, V5). All delta functions take `extra` = k − q, on which alone they depend.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import check_delta, check_epsilon

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

SPECIAL_FUNCTIONS: Final = 1e-10
"""V6. An allowance for the relative error of the incomplete gamma function; the tests measure it."""

FEWEST_EXTRA: Final = 2
"""With k ≥ q + 2 the densities are log-concave and the formulas hold."""

LARGEST_EXTRA: Final = 2**18
"""Far beyond it, from about a million on, SciPy's incomplete gamma function loses digits in its tails."""

ROWS: Final = 1500
COLUMNS: Final = 240
"""The grid of the upper sums: cells for the chi-square and for the normal variable."""

NEGLIGIBLE: Final = 1e-6
"""The share of delta that is left for the tails beyond the grid, on each of its three sides."""


def smallest_degrees(size: int, epsilon: float, delta: float, *, replaced: bool) -> int:
    """The least k for which Wishart noise is (epsilon, delta) private for a matrix of `size` columns.

    `replaced`: neighbours differ by a replaced row, not by one that is added or removed.

    >>> smallest_degrees(10, 1.0, math.exp(-10), replaced=False)
    37
    """
    check_epsilon(epsilon)
    check_delta(delta)
    return size + _smallest_extra(float(epsilon), float(delta), replaced)


def paper_degrees(size: int, epsilon: float, delta: float) -> int:
    """The k of paper 004, section 4, after Sheffet (2019): far more than is needed.

    >>> paper_degrees(10, 1.0, math.exp(-10))
    328
    """
    check_epsilon(epsilon)
    check_delta(delta)
    degrees = size + 28 * math.log(4 / delta) / float(epsilon) / float(epsilon)  # the square of a tiny epsilon would be zero
    if not degrees < 2.0**53:
        raise PrivacyError("the degrees of freedom must be a number that can be counted", found="more than 2**53",
                           remedy="give a larger epsilon, or take the mechanism gaussian")
    return math.floor(degrees)


def delta_if_added(extra: int, epsilon: float) -> float:
    """V2. The delta of add-remove neighbours, rounded up: exact but for the allowance for special functions.

    >>> delta_if_added(37 - 10, 1.0) < math.exp(-10) < delta_if_added(36 - 10, 1.0)
    True
    """
    one = np.ones(1)
    loss = np.full(1, float(epsilon))
    shape = _shape(extra)
    return float(max(shifted_up(loss, one, shape)[0], shifted_down(loss, one, shape)[0]))


def delta_if_replaced(extra: int, epsilon: float, tail: float, rows: int = ROWS, columns: int = COLUMNS) -> float:
    """V4, V5. An upper bound on the delta of replace-one neighbours, whatever the two rows are.

    `tail`: the probability that is left beyond the grid on each of its three sides, a small share of the delta that is wanted.
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
    """V4(b). Given the variables of the fibre: the largest delta over the length of the row that leaves; falls in `variance`."""
    shape = _shape(extra)
    with np.errstate(all="ignore"):
        share = normal**2 / (variance - 1)
        epsilon_left = epsilon + (shape - 1) * np.log1p(-1 / variance) - share / 2 + 0.5
        found = np.maximum(shifted_down(epsilon_left, np.maximum(1 - share, 0), shape), shifted_up(epsilon_left, share, shape))
    return np.where(np.broadcast_to(variance, found.shape) > 1, found, 1.0)


def _delta_of_old_row(variance: Array, normal: Array, epsilon: float, extra: int) -> Array:
    """V4(a). Given the variables of the fibre: the largest delta over the length of the row that comes; grows in `variance`."""
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
    """first − second, rounded up; `everywhere`: the best event always happens. What cannot be computed counts in full."""
    second = np.where(np.isfinite(second), second, 0.0)
    found = first * (1 + SPECIAL_FUNCTIONS) - second * (1 - SPECIAL_FUNCTIONS)
    stick = np.clip(np.where(everywhere, -np.expm1(np.minimum(epsilon, 0.0)), found), 0.0, 1.0)
    return np.where(np.isnan(stick), 1.0, stick)


def _shape(extra: int) -> float:
    """Half the degrees of freedom, k − q + 1, of the chi-square variable c."""
    return (extra + 1) / 2


@lru_cache(maxsize=256)
def _smallest_extra(epsilon: float, delta: float, replaced: bool) -> int:
    """Each number is judged by its own bound, so that the one that is returned is private however it was found."""
    if not replaced:
        return _least(lambda extra: delta_if_added(extra, epsilon) <= delta, FEWEST_EXTRA)
    tail = NEGLIGIBLE * delta
    about = _least(lambda extra: delta_if_replaced(extra, epsilon, tail, ROWS // 8, COLUMNS // 6) <= delta, FEWEST_EXTRA)
    return _least(lambda extra: delta_if_replaced(extra, epsilon, tail) <= delta, about)  # a coarse grid asks for too much


def _least(private: Callable[[int], bool], start: int) -> int:
    """The least number that is private; more always are if it is (V3). From a guess on, steps are doubled, then halved."""
    step = max(1, start // 64)
    low = high = start
    if private(start):
        while (low := max(high - step, FEWEST_EXTRA - 1)) >= FEWEST_EXTRA and private(low):
            high, step = low, 2 * step
    else:
        while not private(high := min(low + step, LARGEST_EXTRA)):
            if high == LARGEST_EXTRA:
                raise PrivacyError("Wishart noise would need more degrees of freedom than can be computed with",
                                   found=f"more than {LARGEST_EXTRA}", remedy="take the mechanism gaussian: its noise is smaller")
            low, step = high, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return high
