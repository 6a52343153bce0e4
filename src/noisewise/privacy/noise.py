"""The only place where privacy noise is drawn: OpenDP's exact samplers on integers.

OpenDP samples the discrete Gaussian and the discrete Laplace distribution from the operating system's random bytes,
exactly and without floating-point arithmetic. There is deliberately no seed.

OpenDP has no sampler for Wishart noise; we build it from discrete Gaussians as XᵀX in integers (V7 of wishart.md).
OpenDP's permute-and-flip, which is also exact, selects one of several candidates (B2 of sensitivity/bounds.md).
OpenDP has no beta-binomial sampler either; those numbers come from an urn with integer numbers of balls (Y1 of binary.md).
We draw randomised response in integers from the operating system's random bytes (R4 of sensitivity/rows.md): OpenDP handles only
one cell at a time, which takes some hundred times as long.

Before drawing we check what OpenDP does not: it accepts a scale of zero, which adds no noise, and clamps values that overflow
64 bits.
"""

from __future__ import annotations

import math
import os
import secrets
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noisewise.errors import PrivacyError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_SCALE = 2.0**55
"""The noise overflows 64 bits with a probability below exp(-64) per entry."""
LARGEST_VALUE = 2**62
COARSE_BITS = 50
NORMAL_SCALE = 2.0**54
NORMAL_VARIANCE = (1 << 208) + (1 << 108) - 16
"""The variance of the normal variables behind `wishart_integers` (V7 of wishart.md)."""
LARGEST_NORMALS = 2**22
"""Limit on normal variables drawn for one Wishart matrix; this many take some minutes."""
LARGEST_URN_DRAWS = 10**7
"""Limit on balls drawn from urns per request; this many take about half a minute."""
MOST_AT_ANY_SCALE = 4
"""Noise on up to this many numbers together is fast at any scale: the smallest cube is accepted once in 384 times."""
_ROWS_AT_ONCE = 4096


def gaussian_integers(values: NDArray[np.int64], scale_units: float) -> NDArray[np.int64]:
    """Add independent discrete Gaussian noise with standard deviation `scale_units` to each integer."""
    return _add_noise("gaussian", values, scale_units)


def laplace_integers(values: NDArray[np.int64], scale_units: float) -> NDArray[np.int64]:
    """Add independent discrete Laplace noise with scale `scale_units` to each integer."""
    return _add_noise("laplace", values, scale_units)


def wishart_integers(size: int, degrees: int) -> NDArray[np.object_]:
    """XᵀX of a `degrees` by `size` matrix X of integers: normal with variance `NORMAL_VARIANCE`, except for their last bits.

    Each is 2**50 times a discrete Gaussian plus another one: 104 bits per standard deviation. All arithmetic is exact.
    """
    check_normals(size, degrees)
    total = np.zeros((size, size), dtype=object)
    for start in range(0, degrees, _ROWS_AT_ONCE):
        rows = min(_ROWS_AT_ONCE, degrees - start)
        nothing = np.zeros(rows * size, dtype=np.int64)
        coarse, fine = (gaussian_integers(nothing, NORMAL_SCALE).astype(object) for _ in range(2))
        normal = (coarse * (1 << COARSE_BITS) + fine).reshape(rows, size)
        total = total + normal.T @ normal
    return total


def cube_integers(values: NDArray[np.int64], scale_units: float) -> NDArray[np.int64]:
    """Add to a vector of integers a point x drawn with probability proportional to exp(−‖x‖_∞ / scale_units).

    This is exact: x is a uniform point of a cube of random size (P4 of sensitivity/partition.md).
    """
    _check_values(values)
    count = len(values)
    check_cube(scale_units, count)
    if count == 0:
        return values.copy()
    while True:
        radius = sum(_geometric(scale_units, count + 1))
        if all(secrets.randbelow(2 * (radius + place)) < 2 * radius + 1 for place in range(1, count + 1)):
            break
    point = [secrets.randbelow(2 * radius + 1) - radius for _ in range(count)]
    return values + np.array(point, dtype=np.int64)


def check_cube(scale_units: float, count: int) -> None:
    """Refuse a cube that overflows 64 bits or would take forever to draw."""
    check_scale(scale_units)
    check_scale(scale_units * (count + 1))
    if count > MOST_AT_ANY_SCALE and scale_units < smallest_cube(count):
        raise PrivacyError(f"noise on {count} numbers at once must have a scale of at least {smallest_cube(count):g} grid units",
                           found=repr(scale_units), remedy="give a smaller epsilon")


def smallest_cube(count: int) -> float:
    """The smallest scale, in grid units, of noise on this many numbers; about one in eight cubes is then accepted.

    >>> smallest_cube(1), smallest_cube(100)
    (0.0, 25.0)
    """
    return count / 4 if count > 1 else 0.0


def _geometric(scale: float, count: int) -> list[int]:
    """Integers r ≥ 0 with probability proportional to exp(−r / scale): discrete Laplace draws that are not negative."""
    found: list[int] = []
    while len(found) < count:
        drawn = laplace_integers(np.zeros(2 * count + 8, dtype=np.int64), scale)
        found += drawn[drawn >= 0].tolist()
    return found[:count]


def noisy_max(scores: NDArray[np.int64], scale: float) -> int:
    """The index of the largest score after adding independent exponential noise of this scale to each."""
    check_scale(scale)
    _check_values(scores)
    return int(_measurement("selection", float(scale))(scores.tolist()))


def urn_draws(white: int, black: int, draws: int) -> int:
    """How many of `draws` balls are white if each is put back with one more of its colour (Pólya): exactly beta-binomial."""
    if not (white > 0 and black > 0 and 0 < draws <= LARGEST_URN_DRAWS):
        raise PrivacyError("an urn must have balls of both colours and a valid number of draws", found=f"{draws} draws",
                           remedy="calibrate the mechanism")
    drawn = 0
    for total in range(white + black, white + black + draws):
        drawn += secrets.randbelow(total) < white + drawn
    return drawn


def randomised_response(codes: NDArray[np.int64], levels: int, keep_units: int) -> NDArray[np.int64]:
    """Keep each code with probability keep_units/2**53, exactly; otherwise take one of the other levels, all equally likely."""
    _check_values(codes)
    if not (levels >= 2 and 0 < keep_units < 2**53 <= keep_units * levels):
        raise PrivacyError("the probability to keep a level must be at least one over the number of levels, and below 1",
                           found=f"{keep_units} of 2**53, {levels} levels", remedy="calibrate the mechanism")
    if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < levels:
        raise PrivacyError("codes must be indices of levels", remedy="map the cells to their levels first")
    kept = _random_bits(codes.size, 53) < np.uint64(keep_units)
    other = _random_below(codes.size, levels - 1)
    return np.where(kept, codes, other + (other >= codes))


def _random_bits(count: int, bits: int) -> NDArray[np.uint64]:
    """Uniform integers of this many bits."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64) >> np.uint64(64 - bits)


def _random_below(count: int, limit: int) -> NDArray[np.int64]:
    """Uniform integers below a limit: draw as many bits as the limit has, and redraw what is too large."""
    bits = max(1, (limit - 1).bit_length())
    found = _random_bits(count, bits)
    while (again := found >= np.uint64(limit)).any():
        found[again] = _random_bits(int(again.sum()), bits)
    return found.astype(np.int64)


def check_normals(size: int, degrees: int) -> None:
    """Refuse a Wishart matrix that takes too long to draw; mechanisms check before anything is read or charged."""
    if not (size > 0 and degrees >= size):
        raise PrivacyError("a Wishart matrix needs at least as many degrees of freedom as columns",
                           found=f"{degrees} for {size}", remedy="calibrate the noise")
    if size * degrees > LARGEST_NORMALS:
        raise PrivacyError(f"Wishart noise is drawn from at most {LARGEST_NORMALS} normal variables",
                           found=f"{size} columns times {degrees} degrees of freedom",
                           remedy="give a larger epsilon, or use the mechanism gaussian: its noise is smaller")


def _add_noise(law: Literal["gaussian", "laplace"], values: NDArray[np.int64], scale_units: float) -> NDArray[np.int64]:
    check_scale(scale_units)
    _check_values(values)
    if values.size == 0:
        return values.copy()
    return np.asarray(_measurement(law, float(scale_units))(values.tolist()), dtype=np.int64)


def _measurement(law: Literal["gaussian", "laplace", "selection"], scale: float) -> Any:
    """OpenDP's measurement."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == "gaussian":
        return dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale)
    if law == "laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale)
    return dp.m.make_noisy_max(domain, dp.linf_distance(T="i64"), dp.max_divergence(), scale)


def check_scale(scale: float) -> None:
    """Refuse noise that the grid cannot hold; mechanisms check when calibrated, before anything is read or charged."""
    if not (math.isfinite(scale) and 0 < scale <= LARGEST_SCALE):
        raise PrivacyError("the noise scale must be positive and fit the 64-bit grid of the statistic",
                           found=f"{scale!r} grid units", remedy="calibrate the noise" if not scale > 0 else
                           "give a larger epsilon or delta, or release fewer columns")


def _check_values(values: NDArray[np.int64]) -> None:
    if not (isinstance(values, np.ndarray) and values.dtype == np.int64 and values.ndim == 1):
        raise PrivacyError("noise is added to a one-dimensional array of 64-bit integers", found=array_in_words(values),
                           remedy="put the statistic on its grid first")
    if values.size and not (-LARGEST_VALUE <= int(values.min()) and int(values.max()) <= LARGEST_VALUE):
        raise PrivacyError("a statistic must leave room for noise in 64 bits",
                           remedy="release the table in several parts: it has too many rows for one")


def array_in_words(found: object) -> str:
    """The type and shape of what was given instead of an array, without its content."""
    return f"{type(found).__name__} {getattr(found, 'dtype', '')} {getattr(found, 'shape', '')}".strip()
