"""Mean and standard deviation of normal values after clipping, in closed form: what the sums in a release are about."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def clipped_normal(mean: Array, sd: Array | float, lower: float, upper: float) -> tuple[Array, Array]:
    """Mean and standard deviation of clip(X, lower, upper) for X ~ N(mean, sd²).

    >>> clipped = clipped_normal(np.array([0.0, 50.0]), 1.0, 0.0, 100.0)
    >>> np.round(clipped, 4).tolist()
    [[0.3989, 50.0], [0.5838, 1.0]]
    """
    from scipy.special import ndtr

    a, b = (lower - mean) / sd, (upper - mean) / sd
    at_lower, at_upper = ndtr(a), ndtr(-b)
    density_a, density_b = (np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi) for z in (a, b))
    inside = 1.0 - at_lower - at_upper
    # X and what clipping adds at the lower bound and takes away at the upper one
    centre = np.clip(mean + sd * (a * at_lower + density_a + b * at_upper - density_b), lower, upper)
    off = mean - centre
    variance = ((lower - centre) ** 2 * at_lower + (upper - centre) ** 2 * at_upper + (off**2 + sd**2) * inside
                + 2.0 * off * sd * (density_a - density_b) + sd**2 * (a * density_a - b * density_b))
    return np.asarray(centre), np.asarray(np.sqrt(np.maximum(variance, 0.0)))
