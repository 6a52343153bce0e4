"""The only place where privacy noise is drawn: OpenDP's exact samplers on integers.

OpenDP samples the discrete Gaussian and the discrete Laplace distribution from the operating system's random bytes,
exactly and without floating-point arithmetic. There is no seed, on purpose.

Before anything is drawn we check what OpenDP does not: it takes a scale of zero, which adds no noise, and clamps what
leaves 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noisewise.errors import PrivacyError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_SCALE = 2.0**55
"""The noise leaves 64 bits with a probability below exp(-64) per entry."""

LARGEST_VALUE = 2**62


def gaussian_integers(values: NDArray[np.int64], scale_units: float) -> NDArray[np.int64]:
    """Add independent discrete Gaussian noise with standard deviation `scale_units` to each integer."""
    return _add_noise("gaussian", values, scale_units)


def laplace_integers(values: NDArray[np.int64], scale_units: float) -> NDArray[np.int64]:
    """Add independent discrete Laplace noise with scale `scale_units` to each integer."""
    return _add_noise("laplace", values, scale_units)


def _add_noise(
    distribution: Literal["gaussian", "laplace"], values: NDArray[np.int64], scale_units: float
) -> NDArray[np.int64]:
    check_scale(scale_units)
    _check_values(values)
    if values.size == 0:
        return values.copy()
    noisy: Sequence[int] = _measurement(distribution, float(scale_units))(values.tolist())
    return np.asarray(noisy, dtype=np.int64)


def _measurement(distribution: Literal["gaussian", "laplace"], scale: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if distribution == "gaussian":
        return dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale)
    return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale)


def check_scale(scale: float) -> None:
    """Refuse noise that the grid cannot hold; mechanisms ask when they are calibrated, before anything is read or charged."""
    if not (math.isfinite(scale) and 0 < scale <= LARGEST_SCALE):
        raise PrivacyError(
            "the noise scale must be positive, and must fit the 64-bit grid of the statistic",
            found=f"{scale!r} grid units",
            remedy="give a larger epsilon or delta, or release fewer columns"
            if scale > 0
            else "calibrate the noise",
        )


def _check_values(values: NDArray[np.int64]) -> None:
    if not (isinstance(values, np.ndarray) and values.dtype == np.int64 and values.ndim == 1):
        raise PrivacyError(
            "noise is added to a one-dimensional array of 64-bit integers",
            found=f"{type(values).__name__} {getattr(values, 'dtype', '')} {getattr(values, 'shape', '')}".strip(),
            remedy="put the statistic on its grid first",
        )
    if values.size and not (-LARGEST_VALUE <= int(values.min()) and int(values.max()) <= LARGEST_VALUE):
        raise PrivacyError(
            "a statistic must leave room for noise in 64 bits",
            remedy="release the table in several parts: it has too many rows for one",
        )
