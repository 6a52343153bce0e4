"""Draw a Gram matrix given its noisy version under the central-limit model, in O(d³) without a D×D factorisation.

Rows a with E[aaᵀ] = A, W the sum of n of the aaᵀ, Ŵ = W + E with symmetric Gaussian noise (variance s² on the diagonal, s²/2 off
it). Without a constant, W − nA has the covariance operator X ↦ 2n AXA in the Frobenius geometry. It is diagonal in the eigenbasis
of A with entries 2nλᵢλⱼ, and the noise there is still s². So the entries of W given Ŵ are independent,

    mean  nλᵢ[i = j] + 2nλᵢλⱼ/Dᵢⱼ · (Ŵ − nA)ᵢⱼ,    variance  2nλᵢλⱼs²/Dᵢⱼ,    Dᵢⱼ = 2nλᵢλⱼ + s²

(Frobenius geometry: an off-diagonal entry has half that variance and occurs twice).

With a constant, a = (1, w), the operator loses 2n⟨āāᵀ, ·⟩āāᵀ. This is the same normal conditioned on its corner X₀₀ being 0,
since AZA = āāᵀ for Z = e₀e₀ᵀ. So we draw as above and then condition on X₀₀ = 0: with covariance Γ = s²·2n·A(K⁻¹·)A,

    X − ΓZ · X₀₀ / ⟨Z, ΓZ⟩,    ΓZ ∝ K⁻¹(āāᵀ),   K⁻¹: division by D in the eigenbasis.

Nothing cancels as s → 0. The corner of the draw is n, whether the noise of Ŵ₀₀ was s² or 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jax
from typing import TYPE_CHECKING


def symmetric_normal(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Draw a standard normal in the Frobenius geometry: variance 1 on the diagonal, ½ off it."""
    import jax

    entries = jax.random.normal(key, shape, dtype=float)
    return (entries + entries.swapaxes(-1, -2)) / 2.0


def gram_given_noisy(values: jax.Array, vectors: jax.Array, rows: jax.Array, noise: jax.Array, rotated: jax.Array,
                     standard: jax.Array, constant: bool) -> jax.Array:
    """Draw W given Ŵ and A, both in the eigenbasis of A; ``standard`` comes from `symmetric_normal` (0 gives the mean)."""
    import jax.numpy as jnp

    products = values[:, None] * values[None, :]
    signal = 2.0 * rows * products
    d = signal + noise
    expected = jnp.diag(rows * values)
    x = signal / d * (rotated - expected) + jnp.sqrt(signal * noise / d) * standard
    if constant:
        z = vectors[0][:, None] * vectors[0][None, :]
        along = z * products / d
        x = x - along * (jnp.sum(z * x) / jnp.sum(z * along))
    return expected + x


def rows_log_density(values: jax.Array, vectors: jax.Array, rows: jax.Array, noise: jax.Array, rotated: jax.Array) -> jax.Array:
    """Log density of Ŵ (``clt_density``), with a constant and a noisy corner, as a function of the number of rows."""
    import jax.numpy as jnp

    d, g = _downdate(values, vectors, rows, noise)
    residual = rotated - jnp.diag(rows * values)
    p = residual / d
    z = vectors[0][:, None] * vectors[0][None, :]
    scalar = jnp.sum(z * residual) - noise * jnp.sum(z * p)
    quadratic = jnp.sum(residual * p) + scalar**2 / (2.0 * rows * noise * g)
    return -0.5 * (quadratic + 0.5 * (jnp.sum(jnp.log(d)) + jnp.sum(jnp.log(jnp.diagonal(d)))) + jnp.log(g))


def rows_information(values: jax.Array, vectors: jax.Array, rows: jax.Array, noise: jax.Array) -> jax.Array:
    """Information about the number of rows in Ŵ given A, through its mean nA: ⟨A, Cov⁻¹A⟩."""
    import jax.numpy as jnp

    d, g = _downdate(values, vectors, rows, noise)
    p = values / jnp.diagonal(d)
    scalar = 1.0 - noise * jnp.sum(vectors[0] ** 2 * p)
    return jnp.sum(values * p) + scalar**2 / (2.0 * rows * noise * g)


def _downdate(values: jax.Array, vectors: jax.Array, rows: jax.Array, noise: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return D, and G, the corner of K⁻¹(āāᵀ) (see ``clt_density``)."""
    import jax.numpy as jnp

    products = values[:, None] * values[None, :]
    d = 2.0 * rows * products + noise
    z = vectors[0][:, None] * vectors[0][None, :]
    return d, jnp.sum(z * z * products / d)
