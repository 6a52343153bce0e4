"""The central-limit density of a noisy Gram matrix of normal rows, in O(d³), with its own gradient rule.

Rows a = (1, w) with w normal; A = E[aaᵀ], ā = E[a] = A e₀. The sum of n such aaᵀ plus symmetric Gaussian noise (variance s² on
the diagonal, s²/2 off it) is nearly normal with mean nA. As docs/methods.md derives ("The collapsed likelihood"), in the
eigenbasis of A, with D_ij = 2nλᵢλⱼ + s², R = Ŵ − nA, P = K⁻¹R = R/D, Z = e₀e₀ᵀ and G = (K⁻¹ AZA)₀₀,

    −2 log p = ⟨R, P⟩ + (R₀₀ − s²P₀₀)² / (2n s² G) + Σ_{i≤j} log D_ij + log(s² G) + const,

in which nothing cancels as s → 0. The noise of the corner is independent of everything else. Where the number of rows is exact,
R₀₀ = 0 and the same formula holds up to a constant.

Differentiating through an eigendecomposition breaks down for equal eigenvalues, though the function is smooth there; so
the gradient is written out. With Y = K⁻¹Z and ⟨dA, ·⟩ the inner product,

    d⟨R, P⟩ = −2n⟨dA, P + 2PAP⟩,    d(R₀₀ − s²P₀₀) = n⟨dA, s²Y − Z + 2s²(PAY + YAP)⟩,    dG = 2s²⟨dA, YAY⟩.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from noisewise.arrays import Namespace, Traced

if TYPE_CHECKING:
    import jax

CltDensity: TypeAlias = "Callable[[Traced, Traced, Traced, Traced], jax.Array]"


@cache
def clt_log_density() -> CltDensity:
    """Return the function ``(A, rows, noise, matrix) -> log density``, differentiable in A and rows. Imports JAX."""
    import jax
    import jax.numpy as jnp
    from jax import Array

    def parts(a: Array, rows: Array, noise: Array, matrix: Array) -> tuple[Array, ...]:
        eigenvalues, q = jnp.linalg.eigh(a)
        products = eigenvalues[:, None] * eigenvalues[None, :]
        d = 2.0 * rows * products + noise
        r = q.T @ (matrix - rows * a) @ q
        p = r / d
        z = jnp.outer(q[0], q[0])
        y = z / d
        scalar = matrix[0, 0] - rows * a[0, 0] - noise * jnp.sum(z * p)
        g = jnp.sum(z * z * products / d)
        return eigenvalues, q, products, d, r, p, z, y, scalar, g

    @jax.custom_vjp
    def log_density(a: Array, rows: Array, noise: Array, matrix: Array) -> Array:
        return forward(a, rows, noise, matrix)[0]

    def forward(a: Array, rows: Array, noise: Array, matrix: Array) -> tuple[Array, tuple[Array, ...]]:
        _, _, _, d, r, p, _, _, scalar, g = parts(a, rows, noise, matrix)
        quadratic = jnp.sum(r * p) + scalar**2 / (2.0 * rows * noise * g)
        log_determinant = 0.5 * (jnp.sum(jnp.log(d)) + jnp.sum(jnp.log(jnp.diagonal(d)))) + jnp.log(noise * g)
        return -0.5 * (quadratic + log_determinant), (a, rows, noise, matrix)

    def backward(saved: tuple[Array, ...], cotangent: Array) -> tuple[Array, ...]:
        a, rows, noise, matrix = saved
        eigenvalues, q, products, d, _, p, z, y, scalar, g = parts(a, rows, noise, matrix)
        py = (p * eigenvalues) @ y
        yy = (y * eigenvalues) @ y
        share = scalar / (rows * noise * g)
        by_a = -2.0 * rows * (p + 2.0 * (p * eigenvalues) @ p)
        by_a += share * rows * (noise * y - z + 2.0 * noise * (py + py.T))
        by_a += (1.0 / g - 0.5 * share * scalar / g) * 2.0 * noise * yy
        by_eigenvalues = 2.0 * rows * (jnp.sum(eigenvalues / d, axis=1) + eigenvalues / jnp.diagonal(d))
        by_a = q @ (by_a + jnp.diag(by_eigenvalues)) @ q.T

        a_in_basis = jnp.diag(eigenvalues)
        apa = products * p
        by_p00 = -jnp.sum(y * a_in_basis) - 2.0 * jnp.sum(y * apa)
        by_g = -2.0 * jnp.sum((z * products / d) ** 2)
        by_rows = -2.0 * jnp.sum(a_in_basis * p) - 2.0 * jnp.sum(p * apa)
        by_rows += share * (-a[0, 0] - noise * by_p00) - 0.5 * share * scalar / rows
        by_rows += (1.0 / g - 0.5 * share * scalar / g) * by_g
        ratio = products / d
        by_rows += jnp.sum(ratio) + jnp.sum(jnp.diagonal(ratio))
        half = -0.5 * cotangent
        return half * (by_a + by_a.T) / 2.0, half * by_rows, jnp.zeros_like(noise), jnp.zeros_like(matrix)

    log_density.defvjp(forward, backward)
    return log_density


def dense_covariance(a: Traced, rows: Traced, xp: Namespace) -> Traced:
    """rows · Cov(aaᵀ) over the entries i ≤ j, as a matrix of O(d⁴) numbers, for noise that is not symmetric Gaussian."""
    i, j = np.triu_indices(a.shape[0])
    mean = a[0]
    covariance = a[i][:, i] * a[j][:, j] + a[i][:, j] * a[j][:, i]
    means = mean[i] * mean[j]
    result: Traced = rows * (covariance - 2.0 * xp.outer(means, means))
    return result
