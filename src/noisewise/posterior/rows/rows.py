"""Draw the values hidden by noise, row by row, given the parameters.

A Laplace variable of scale b is normal with the variance b²/W for a random W; given the noise r, W is inverse Gaussian with mean
b/|r| and shape 1. Given all W, the numbers of a row are normal, and so are the published ones. So a row's cell is drawn with the
numbers integrated out, and then the numbers given the cell. (Given the numbers, a category that shifts them by much more than
they scatter would never change.)

Everything is elementwise over rows. The small matrices of each row are written out entry by entry, so that one pass over memory
is enough, on CPUs and GPUs.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def normal_and_uniform(key: jax.Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[jax.Array, jax.Array]:
    """Draw standard normal and uniform numbers, equally many of each for every row.

    In single precision the generator makes 64 bits at a time: 24 of them make the normal number and 23 others the uniform one.
    """
    if jnp.dtype(dtype) == jnp.float64:
        normal_key, uniform_key = jax.random.split(key)
        return jax.random.normal(normal_key, shape, dtype=dtype), jax.random.uniform(uniform_key, shape, dtype=dtype)
    bits = jax.random.bits(key, shape, dtype=jnp.uint64)
    signed = jax.lax.bitcast_convert_type((bits >> 32).astype(jnp.uint32), jnp.int32) >> 8
    between = (signed.astype(dtype) + 0.5) * 2.0**-23  # in (−1, 1), symmetric, neither end
    uniform = (bits.astype(jnp.uint32) >> 9).astype(dtype) * 2.0**-23
    normal = 2.0**0.5 * jax.lax.erf_inv(between)
    # otherwise they would be drawn again at every use
    return jax.lax.optimization_barrier((normal.astype(dtype), uniform.astype(dtype)))  # type: ignore[no-any-return]


def draw_weights(normal: jax.Array, uniform: jax.Array, residual: jax.Array) -> jax.Array:
    """Draw W given ``residual`` = |r|/b: inverse Gaussian, mean 1/residual and shape 1 (Michael, Schucany and Haas 1976).

    Written to avoid cancellation and to allow a residual of 0.
    """
    half = 0.5 * normal * normal
    smaller = 1.0 / (residual + half + jnp.sqrt(half * (2.0 * residual + half)))
    return jnp.where(uniform * (1.0 + residual * smaller) <= 1.0, smaller, 1.0 / (residual * residual * smaller))


def cholesky_of_rows(precision: jax.Array, added: jax.Array) -> list[list[jax.Array]]:
    """L with LLᵀ = precision + diag(added[:, row]) for every row: entries L[i][j], j ≤ i; the diagonal is inverted."""
    size = added.shape[0]
    lower = [[jnp.zeros(())] * size for _ in range(size)]
    for j in range(size):
        pivot = precision[j, j] + added[j]
        for k in range(j):
            pivot = pivot - lower[j][k] * lower[j][k]
        lower[j][j] = jax.lax.rsqrt(pivot)
        for i in range(j + 1, size):
            entry = precision[i, j]
            for k in range(j):
                entry = entry - lower[i][k] * lower[j][k]
            lower[i][j] = entry * lower[j][j]
    return lower


def solve_rows(lower: list[list[jax.Array]], right: list[jax.Array]) -> list[jax.Array]:
    """L⁻¹ right for every row."""
    found: list[jax.Array] = []
    for i in range(len(lower)):
        value = right[i]
        for k in range(i):
            value = value - lower[i][k] * found[k]
        found.append(value * lower[i][i])
    return found


def solve_rows_transposed(lower: list[list[jax.Array]], right: list[jax.Array]) -> list[jax.Array]:
    """L⁻ᵀ right for every row."""
    size = len(lower)
    found = [jnp.zeros(())] * size
    for i in reversed(range(size)):
        value = right[i]
        for k in range(i + 1, size):
            value = value - lower[k][i] * found[k]
        found[i] = value * lower[i][i]
    return found


def invert_lower(lower: list[list[jax.Array]]) -> list[list[jax.Array]]:
    """L⁻¹ for every row."""
    size = len(lower)
    inverse = [[jnp.zeros(())] * size for _ in range(size)]
    for j in range(size):
        inverse[j][j] = lower[j][j]
        for i in range(j + 1, size):
            value = lower[i][j] * inverse[j][j]
            for k in range(j + 1, i):
                value = value + lower[i][k] * inverse[k][j]
            inverse[i][j] = -value * lower[i][i]
    return inverse


def covariance_of_rows(lower: list[list[jax.Array]]) -> list[list[jax.Array]]:
    """(LLᵀ)⁻¹ for every row, all of its entries."""
    size, inverse = len(lower), invert_lower(lower)
    found = [[jnp.zeros(())] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            found[i][j] = found[j][i] = reduce(add, [inverse[k][i] * inverse[k][j] for k in range(i, size)])
    return found
