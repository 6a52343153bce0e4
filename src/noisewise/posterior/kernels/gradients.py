"""A density with its gradient as plain NumPy in, NumPy out: by autograd (no JAX needed) or by JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.kernels.jax_setup import double_precision

Array = npt.NDArray[np.float64]
ValueAndGradient = Callable[[Array], tuple[float, Array]]


def autograd_density(log_density: Callable[..., Any], data: Mapping[str, Any]) -> ValueAndGradient:
    """The density and its gradient without JAX."""
    import autograd
    import autograd.numpy

    function = autograd.value_and_grad(lambda x: log_density(x, data, autograd.numpy))

    def evaluate(x: Array) -> tuple[float, Array]:
        with np.errstate(all="ignore"):  # far-away points of a line search may overflow; the caller looks at the value
            value, gradient = function(x)
        return float(value), gradient

    return evaluate


def jax_density(log_density: Callable[..., Any], data: Mapping[str, Any]) -> ValueAndGradient:
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
def _compiled(log_density: Callable[..., Any]) -> Any:
    import jax
    import jax.numpy as jnp

    return jax.jit(jax.value_and_grad(lambda x, data: log_density(x, data, jnp)))
