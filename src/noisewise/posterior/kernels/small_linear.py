"""Cholesky factors and triangular systems: LAPACK's, or written out where the matrices are tiny or many.

For a tiny matrix a call to LAPACK costs more than the arithmetic. For many small ones (hundreds of holders) written-out steps run
over all of them at once, and there is no other way: in large batches the threads of jaxlib 0.10's batched triangular solver can
wait for each other forever.
"""

from __future__ import annotations

from noisewise.arrays import Traced

TINY = 3
MANY = 64
SMALL = 20
"""Above this, written-out steps would take too long to compile."""


def written_out(size: int, copies: int) -> bool:
    """True to avoid LAPACK for ``copies`` matrices of this size side by side."""
    return 0 < size <= (SMALL if copies >= MANY else TINY)


def cholesky(matrix: Traced, copies: int = 1) -> Traced:
    """The lower triangular L with LLᵀ = matrix; NaN where there is none."""
    import jax.numpy as jnp

    size = matrix.shape[0]
    if not written_out(size, copies):
        factor: Traced = jnp.linalg.cholesky(matrix)
        return factor
    places, columns = jnp.arange(size), []
    for j in range(size):
        columns.append(jnp.where(places < j, 0.0, matrix[:, j] / jnp.sqrt(matrix[j, j])))
        matrix = matrix - columns[-1][:, None] * columns[-1]
    return jnp.stack(columns, axis=1)


def solve_lower(lower: Traced, right: Traced, *, transposed: bool = False, copies: int = 1) -> Traced:
    """L⁻¹ right, or L⁻ᵀ right; ``right`` is a vector or a matrix."""
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    size = lower.shape[0]
    if not written_out(size, copies):
        solved: Traced = solve_triangular(lower, right, lower=True, trans=1 if transposed else 0)
        return solved
    found: dict[int, Traced] = {}
    for i in reversed(range(size)) if transposed else range(size):
        found[i] = right[i] / lower[i, i]
        column = lower[i] if transposed else lower[:, i]
        right = right - (column * found[i] if right.ndim == 1 else column[:, None] * found[i])
    return jnp.stack([found[i] for i in range(size)])
