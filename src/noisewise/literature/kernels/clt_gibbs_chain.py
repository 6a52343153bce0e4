"""The Gibbs sampler of Bernstein and Sheldon (2019) as extended to several holders: appendix C.1 of Alparslan et al. (2023).

One iteration draws the exact Gram matrices given the noisy ones (``clt_conditional``), then the parameters given the sum of the
exact matrices as if the table were known: moments of the predictors (inverse Wishart), coefficients (normal), σ² (inverse gamma).
Rows are (x, y), or (1, x, y) with a constant.

Only the sum over holders enters the second half. It must be positive definite, but a normal matrix need not be: a draw outside
the cone is rejected and the old one kept. This is a Metropolis step for the normal model restricted to the cone. The restriction
carries no information about the parameters: the cone's probability under the normal model is that of nI + √(2n)·(a symmetric
normal matrix), whatever A is. (Moving the draw to the cone's boundary instead would give the second half a singular matrix.)

The first half treats W as normal and the second as Wishart, which agree only in the limit of many rows. The published method
does the same.

Independent normal noise with other variances is split into symmetric Gaussian noise, as large as possible, and the rest. The
matrix with only the symmetric noise is a further unknown, with independent normal entries given the other two: still O(d³).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from noisewise.literature.kernels.clt_conditional import gram_given_noisy, rows_information, rows_log_density, symmetric_normal

if TYPE_CHECKING:
    import jax

Data: TypeAlias = "Mapping[str, jax.Array]"
Parts: TypeAlias = "tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]"
"""The fields of a ``State``."""
Visited: TypeAlias = "tuple[jax.Array, jax.Array]"
"""Draws of (g, σ), and whether the Gram matrix was rejected."""


@dataclass(frozen=True)
class Variant:
    """The parts of the model that are fixed at compile time."""

    constant: bool
    """Rows start with the constant 1, and the predictors have a mean."""
    private_rows: bool
    """Numbers of rows are unknown; requires ``constant``."""
    split_noise: bool
    half_normal: bool
    """The prior of σ is half-normal; otherwise that of σ² is inverse gamma."""
    scaled_prior: bool = False
    """The coefficients' prior precision is divided by σ², as in the paper."""


class State(NamedTuple):
    """The state of a chain."""

    coefficients: jax.Array
    variance: jax.Array
    moments: jax.Array
    """E[xxᵀ], x including the constant."""
    matrices: jax.Array
    """Each holder's exact Gram matrix if the noise is split, else only their sum: (holders or 1, m + 1, m + 1)."""
    rows: jax.Array


DrawMatrices: TypeAlias = "Callable[[Variant, State, jax.Array, Data], tuple[jax.Array, jax.Array, jax.Array]]"
"""``(variant, state, key, data) -> (matrices, rows, rejected)``."""


@cache
def gibbs_chain(variant: Variant, steps: int, draw: DrawMatrices | None = None
                ) -> Callable[[Parts, jax.Array, Data], tuple[Parts, Visited]]:
    """Build the pure function ``(state, key, data) -> (state, (draws of (g, σ), rejected))``, for ``jax.vmap`` or ``jax.jit``.

    ``draw`` replaces the first half of an iteration, for comparisons.
    """
    import jax

    def chain(state: Parts, key: jax.Array, data: Data) -> tuple[Parts, Visited]:
        def one(current: Parts, step_key: jax.Array) -> tuple[Parts, Visited]:
            return gibbs_step(variant, State(*current), step_key, data, draw or draw_matrices)

        return jax.lax.scan(one, state, jax.random.split(key, steps))

    return chain


def gibbs_step(variant: Variant, state: State, key: jax.Array, data: Data, draw: DrawMatrices) -> tuple[Parts, Visited]:
    """Run one iteration."""
    import jax
    import jax.numpy as jnp

    matrix_key, moment_key, coefficient_key, variance_key = jax.random.split(key, 4)
    matrices, rows, rejected = draw(variant, state, matrix_key, data)
    total, count = jnp.sum(matrices, axis=0), jnp.sum(rows)
    moments = _draw_moments(variant, total, count, moment_key, data)
    weight = 1.0 / state.variance if variant.scaled_prior else 1.0
    coefficients = _draw_coefficients(total, state.variance, weight, coefficient_key, data)
    variance = _draw_variance(variant, total, count, coefficients, state.variance, variance_key, data)
    visited = jnp.append(coefficients, jnp.sqrt(variance))
    return (coefficients, variance, moments, matrices, rows), (visited, rejected)


def second_moments(state: State, data: Data) -> jax.Array:
    """Return A = E[aaᵀ] of rows a = (x, y)."""
    import jax.numpy as jnp

    theta = data["effects"] @ state.coefficients + data["offset"]
    cross = state.moments @ theta
    last = jnp.append(cross, theta @ cross + state.variance)
    return jnp.vstack([jnp.column_stack([state.moments, cross]), last])


def draw_matrices(variant: Variant, state: State, key: jax.Array, data: Data) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Draw exact Gram matrices and numbers of rows given the noisy matrices; keep the old if the sum is not positive definite."""
    import jax
    import jax.numpy as jnp

    split_key, rows_key, matrix_key = jax.random.split(key, 3)
    values, vectors = jnp.linalg.eigh(second_moments(state, data))
    values = jnp.maximum(values, values[-1] * 1e-15)
    noisy = data["matrices"]
    if variant.split_noise:
        share = data["share"]
        spread = jnp.sqrt(data["noise"])[:, None, None] * jnp.sqrt(1.0 - share)
        noisy = state.matrices + share * (noisy - state.matrices) + spread * symmetric_normal(split_key, noisy.shape)
    rotated = vectors.T @ noisy @ vectors
    rows = _draw_rows(values, vectors, state.rows, rotated, rows_key, data) if variant.private_rows else state.rows
    standard = symmetric_normal(matrix_key, noisy.shape)
    given_noisy = jax.vmap(gram_given_noisy, in_axes=(None, None, 0, 0, 0, 0, None))
    drawn = given_noisy(values, vectors, rows, data["noise"], rotated, standard, variant.constant)
    if not variant.split_noise:
        drawn = jnp.sum(drawn, axis=0, keepdims=True)
    drawn = vectors @ drawn @ vectors.T
    inside = jnp.all(jnp.isfinite(jnp.linalg.cholesky(jnp.sum(drawn, axis=0))))
    return jnp.where(inside, drawn, state.matrices), jnp.where(inside, rows, state.rows), ~inside


def _draw_rows(values: jax.Array, vectors: jax.Array, rows: jax.Array, rotated: jax.Array, key: jax.Array, data: Data
               ) -> jax.Array:
    """Take a Metropolis step for each holder's number of rows, the exact matrix integrated out, with a flat prior from 1 up."""
    import jax
    import jax.numpy as jnp

    step_key, accept_key = jax.random.split(key)
    over_holders = (None, None, 0, 0)
    information = jax.vmap(rows_information, in_axes=over_holders)(values, vectors, data["rows"], data["noise"])
    # 2.4 standard deviations is the best step for a normal in one dimension; exact numbers of rows do not move.
    step = data["private"] * 2.4 / jnp.sqrt(information) * jax.random.normal(step_key, rows.shape, dtype=float)
    proposed = jnp.where(rows + step >= 1.0, rows + step, rows)
    density = jax.vmap(rows_log_density, in_axes=(*over_holders, 0))
    gain = density(values, vectors, proposed, data["noise"], rotated) - density(values, vectors, rows, data["noise"], rotated)
    return jnp.where(jnp.log(jax.random.uniform(accept_key, rows.shape, dtype=float)) < gain, proposed, rows)


def _draw_moments(variant: Variant, total: jax.Array, count: jax.Array, key: jax.Array, data: Data) -> jax.Array:
    """Draw E[xxᵀ] given the exact sums: inverse Wishart; with a constant, normal-inverse-Wishart with prior mean 0."""
    import jax
    import jax.numpy as jnp

    scatter_key, mean_key = jax.random.split(key)
    s = total[:-1, :-1]
    if not variant.constant:
        root = _inverse_wishart_root(data["features_scale"] + s, data["features_degrees"] + count, scatter_key)
        return root.T @ root
    if s.shape[0] == 1:
        return jnp.ones((1, 1))
    weight = data["mean_weight"] + count
    centre = s[0, 1:] / weight
    scale = data["features_scale"] + s[1:, 1:] - weight * jnp.outer(centre, centre)
    root = _inverse_wishart_root(scale, data["features_degrees"] + count, scatter_key)
    mean = centre + jax.random.normal(mean_key, centre.shape, dtype=float) @ root / jnp.sqrt(weight)
    rows = jnp.vstack([jnp.append(1.0, mean), jnp.column_stack([jnp.zeros(len(mean)), root])])
    return rows.T @ rows


def _inverse_wishart_root(scale: jax.Array, degrees: jax.Array, key: jax.Array) -> jax.Array:
    """Draw R with RᵀR ~ inverse Wishart: R = B⁻¹Lᵀ, LLᵀ the scale, B Bartlett's factor of a standard Wishart."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    gamma_key, normal_key = jax.random.split(key)
    size = scale.shape[0]
    diagonal = jnp.sqrt(2.0 * jax.random.gamma(gamma_key, (degrees - jnp.arange(size)) / 2.0, dtype=float))
    bartlett = jnp.tril(jax.random.normal(normal_key, (size, size), dtype=float), -1) + jnp.diag(diagonal)
    return solve_triangular(bartlett, jnp.linalg.cholesky(scale).T, lower=True)


def _draw_coefficients(total: jax.Array, variance: jax.Array, weight: jax.Array | float, key: jax.Array, data: Data) -> jax.Array:
    """Draw g given the exact sums and σ² (normal), with the prior precision multiplied by ``weight``."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.linalg import cho_solve, solve_triangular

    s, z, effects = total[:-1, :-1], total[:-1, -1], data["effects"]
    prior = weight * data["prior_precision"]
    lower = jnp.linalg.cholesky(prior + effects.T @ s @ effects / variance)
    mean = cho_solve((lower, True), prior @ data["prior_mean"] + effects.T @ (z - s @ data["offset"]) / variance)
    standard = jax.random.normal(key, mean.shape, dtype=float)
    return mean + solve_triangular(lower, standard, lower=True, trans=1)


def _draw_variance(variant: Variant, total: jax.Array, count: jax.Array, coefficients: jax.Array, old: jax.Array, key: jax.Array,
                   data: Data) -> jax.Array:
    """Draw σ² given the exact sums and g: inverse gamma; with the half-normal prior, a Metropolis step that proposes from one."""
    import jax
    import jax.numpy as jnp

    draw_key, accept_key = jax.random.split(key)
    contrast = jnp.append(data["effects"] @ coefficients + data["offset"], -1.0)
    shape, rate = count / 2.0, contrast @ total @ contrast / 2.0
    if variant.scaled_prior:
        away = coefficients - data["prior_mean"]
        shape, rate = shape + len(away) / 2.0, rate + away @ data["prior_precision"] @ away / 2.0
    first, second = data["sigma_prior"]
    if not variant.half_normal:  # shape and rate
        drawn: jax.Array = (rate + second) / jax.random.gamma(draw_key, shape + first, dtype=float)
        return drawn
    # p(σ²) ∝ σ⁻¹ exp(−σ²/2h²): an inverse gamma with shape −½, except for the exponential, which the acceptance adds.
    proposed = rate / jax.random.gamma(draw_key, shape - 0.5, dtype=float)
    accepted = jnp.log(jax.random.uniform(accept_key, dtype=float)) < (old - proposed) / (2.0 * first**2)
    return jnp.where(accepted, proposed, old)
