"""The mode of a density and the curvature there: a normal approximation, and the coordinates in which NUTS is at ease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
ValueAndGradient = Callable[[Array], tuple[float, Array]]

STEP = 1e-3
"""Step of the central differences, in units of standard deviations along each axis: error of order 1e-6."""


@dataclass(frozen=True)
class Mode:
    """The highest point and a square root of the inverse curvature: ``point + scale @ z`` is nearly standard normal in z."""

    point: Array
    scale: Array
    converged: bool


def find_mode(log_density: ValueAndGradient, start: Array, start_scale: Array, rounds: int = 6) -> Mode:
    """Alternate between whitening by the curvature and L-BFGS until a round no longer moves the point."""
    from scipy.optimize import minimize

    point = start
    scale = _whiten(log_density, point, np.diag(start_scale))
    converged = False
    for _ in range(rounds):
        def negative(z: Array, point: Array = point, scale: Array = scale) -> tuple[float, Array]:
            value, gradient = log_density(point + scale @ z)
            if not np.isfinite(value):
                return 1e300, np.zeros_like(z)
            return -value, -(scale.T @ gradient)

        found = minimize(negative, np.zeros(len(point)), jac=True, method="L-BFGS-B",
                         options={"maxiter": 300, "gtol": 1e-6, "ftol": 1e-14})
        point = point + scale @ found.x
        scale = _whiten(log_density, point, scale)
        gradient = scale.T @ log_density(point)[1]
        if np.max(np.abs(gradient)) < 1e-3:
            converged = True
            break
    return Mode(point, scale, converged)


def _whiten(log_density: ValueAndGradient, point: Array, scale: Array) -> Array:
    """A better square root of the inverse curvature, from central differences of the gradient along the old one."""
    steps = STEP * scale.T
    differences = np.array([log_density(point - step)[1] - log_density(point + step)[1] for step in steps])
    curvature = differences @ scale / (2 * STEP)
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    values = np.clip(np.abs(values), 1e-6, 1e12)
    better: Array = scale @ (vectors / np.sqrt(values))
    return better
