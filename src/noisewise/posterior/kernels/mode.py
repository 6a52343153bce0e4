"""A density with its gradient, its mode and the curvature there.

They make a normal approximation, and NUTS samples in coordinates that they define.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from noisewise.arrays import Array, Namespace, Traced
from noisewise.posterior.kernels.jax_setup import Program, double_precision

LogDensity: TypeAlias = Callable[[Traced, Mapping[str, Traced], Namespace], Traced]
"""A log density of parameters and arrays, computed with ``numpy`` or ``jax.numpy``."""
ValueAndGradient: TypeAlias = Callable[[Array], tuple[float, Array]]
"""NumPy in, NumPy out."""

STEP = 1e-3
"""Step of the central differences, in units of standard deviations along each axis: error of order 1e-6."""


def jax_density(log_density: LogDensity, data: Mapping[str, Traced]) -> ValueAndGradient:
    """The density and its gradient, compiled by JAX with the data as arguments."""
    with double_precision():
        import jax.numpy as jnp

        arrays = {key: jnp.asarray(value) for key, value in data.items()}

    def evaluate(x: Array) -> tuple[float, Array]:
        with double_precision():
            value, gradient = _compiled(log_density)(x, arrays)
        return float(value), np.asarray(gradient)

    return evaluate


@cache
def _compiled(log_density: LogDensity) -> Program:
    import jax
    import jax.numpy as jnp

    return jax.jit(jax.value_and_grad(lambda x, data: log_density(x, data, jnp)))


@dataclass(frozen=True)
class Mode:
    """The highest point and a square root of the inverse curvature: ``point + scale @ z`` is nearly standard normal in z."""

    point: Array
    scale: Array
    converged: bool

    @property
    def doubts(self) -> tuple[str, ...]:
        """The caveats of a fit around this mode; empty if the search converged."""
        return doubts_about(self.converged)


def doubts_about(converged: bool) -> tuple[str, ...]:
    """The caveats of a fit around a mode, depending on whether the search converged."""
    return () if converged else ("the search for the posterior mode did not converge",)


def find_mode(log_density: ValueAndGradient, start: Array, start_scale: Array, rounds: int = 6) -> Mode:
    """Alternate between whitening by the curvature and L-BFGS until the gradient is small."""
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
    """Improve a square root of the inverse curvature, by central differences of the gradient along its columns."""
    steps = STEP * scale.T
    differences = np.array([log_density(point - step)[1] - log_density(point + step)[1] for step in steps])
    curvature = differences @ scale / (2 * STEP)
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    values = np.clip(np.abs(values), 1e-6, 1e12)
    better: Array = scale @ (vectors / np.sqrt(values))
    return better
