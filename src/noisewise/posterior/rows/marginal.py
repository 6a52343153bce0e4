"""The parameters given W with the numbers integrated out: Hamiltonian steps on a density that is a sum over rows.

Given W, a row of published numbers w̄ is normal with the mean C_d d and the covariance V = Σ + 1/ω. With a = V⁻¹(w̄ − C_d d)

    ∂ log p/∂C_d = Σ_rows a dᵀ,    ∂ log p/∂Σ = ½ Σ_rows (a aᵀ − V⁻¹),

so a gradient is one pass over the rows without random numbers, and costs less than drawing W. The metric is the inverse
of the expected information, Σ_rows [V⁻¹ ⊗ ddᵀ, ½ V⁻¹ ⊗ V⁻¹], carried over to the parameters, and the prior's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import add

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

from noisewise.posterior.rows.problem import Data, Law, Variant, unknown, with_row
from noisewise.posterior.rows.rows import cholesky_of_rows, covariance_of_rows, solve_rows, solve_rows_transposed

TRAJECTORY = 1.6
MOST_LEAPS = 12
LANES = 256


def to_vector(law: Law, variant: Variant) -> jax.Array:
    """The unknown parameters: g and τ of each regression that is not given.

    τ may be negative, so that 0 is not a boundary. The sign means nothing, and only shown values are made positive. Steps with
    a metric that links τ and slopes differ between the two sides, so starting each from τ > 0 would change the target.
    """
    parts = []
    for k in unknown(variant):
        last = k == variant.numbers - 1
        parts.append(law.working if last else jnp.concatenate([law.effects[k], law.slopes[k, :k]]))
        if not variant.scales_known:
            parts.append(law.scales[k][None])
    return jnp.concatenate(parts)


def _split(vector: jax.Array, variant: Variant, data: Data) -> Iterator[tuple[int, jax.Array, jax.Array | None]]:
    """Yield the unknown parameters of each regression: its index, g, and τ, or None if all τ are given."""
    place = 0
    for k in unknown(variant):
        stop = place + data["directions"][k].shape[1]
        yield k, vector[place:stop], None if variant.scales_known else vector[stop]
        place = stop if variant.scales_known else stop + 1


def from_vector(vector: jax.Array, law: Law, variant: Variant, data: Data) -> Law:
    """Return the model with these unknown parameters."""
    for k, working, scale in _split(vector, variant, data):
        law = with_row(law, k, working, law.scales[k] if scale is None else scale, data)
    return law


def log_prior(vector: jax.Array, variant: Variant, data: Data) -> jax.Array:
    """The log prior of the vector: normal coefficients, half-normal τ."""
    total: jax.Array | float = 0.0
    for k, working, scale in _split(vector, variant, data):
        total = total - 0.5 * jnp.sum((data["prior_slope"][k] @ working + data["prior_offset"][k]) ** 2)
        if scale is not None:
            total = total - 0.5 * (scale / data["prior_scale"][k]) ** 2
    return jnp.asarray(total)


def moments(law: Law) -> tuple[jax.Array, jax.Array]:
    """C_d and Σ: z has the mean C_d d and the covariance Σ."""
    means: list[jax.Array] = []
    roots: list[jax.Array] = []
    unit = jnp.eye(law.scales.shape[0])
    for k in range(law.scales.shape[0]):
        mean, root = law.effects[k], law.scales[k] * unit[k]
        for j in range(k):
            mean, root = mean + law.slopes[k, j] * means[j], root + law.slopes[k, j] * roots[j]
        means.append(mean)
        roots.append(root)
    root = jnp.stack(roots)
    return jnp.stack(means), root @ root.T


def row_sums(means: jax.Array, covariance: jax.Array, centre: jax.Array, variance: jax.Array, known: list[jax.Array]
             ) -> tuple[jax.Array, jax.Array, jax.Array]:
    """log p, and its gradients with respect to C_d and Σ."""
    size, dtype = variance.shape[0], variance.dtype
    # Finish small computations before the loop over rows; otherwise the compiler repeats them for every row.
    sigma, c = jax.lax.optimization_barrier((covariance.astype(dtype), means.astype(dtype)))
    lower = cholesky_of_rows(sigma, variance)
    away = [centre[i] - sum(c[i, j] * column for j, column in enumerate(known)) for i in range(size)]
    solved = solve_rows(lower, away)
    weights = solve_rows_transposed(lower, solved)
    inverse = covariance_of_rows(lower)
    logs = reduce(add, [jnp.log(lower[i][i]) - 0.5 * solved[i] * solved[i] for i in range(size)])
    pairs = [(i, j) for i in range(size) for j in range(i + 1)]
    # A gradient need not be exact, only deterministic: products of whole arrays, in the rows' own precision.
    stacked = jnp.stack(weights)
    ones = jnp.ones(stacked.shape[1], dtype=dtype)
    toward_mean = (stacked @ jnp.stack(known).T).astype(float)
    products = stacked @ stacked.T
    traces = jnp.stack([inverse[i][j] for i, j in pairs]) @ ones
    full = {pair: trace for pair, trace in zip(pairs, traces, strict=True)}
    inverses = jnp.stack([jnp.stack([full[max(i, j), min(i, j)] for j in range(size)]) for i in range(size)])
    return total(logs), toward_mean, 0.5 * (products - inverses).astype(float)


def total(values: jax.Array) -> jax.Array:
    """Sum over rows in double precision, in parallel lanes for speed."""
    whole = len(values) // LANES * LANES
    lanes = jnp.sum(values[:whole].reshape(-1, LANES).astype(float), axis=0)
    return jnp.sum(lanes) + jnp.sum(values[whole:].astype(float))


def log_density(vector: jax.Array, law: Law, centre: jax.Array, variance: jax.Array, known: list[jax.Array], variant: Variant,
                data: Data) -> tuple[jax.Array, jax.Array]:
    """log p(parameters | W, published) and its gradient."""
    (means, covariance), back = jax.vjp(lambda at: moments(from_vector(at, law, variant, data)), vector)
    value, toward_mean, toward_covariance = row_sums(means, covariance, centre, variance, known)
    prior, prior_gradient = jax.value_and_grad(log_prior)(vector, variant, data)
    return value + prior, back((toward_mean, toward_covariance))[0] + prior_gradient


def information(law: Law, variance: jax.Array, known: list[jax.Array], variant: Variant, data: Data) -> jax.Array:
    """The expected information about the vector, given W."""
    vector = to_vector(law, variant)
    mean_slopes, covariance_slopes = jax.jacfwd(lambda at: moments(from_vector(at, law, variant, data)))(vector)
    size, dtype = variance.shape[0], variance.dtype
    covariance = moments(from_vector(vector, law, variant, data))[1]
    precision = covariance_of_rows(cholesky_of_rows(covariance.astype(dtype), variance))
    d = jnp.stack(known).astype(float)
    flat = jnp.stack([precision[i][j] for i in range(size) for j in range(size)]).astype(float)
    pairs = (flat @ flat.T).reshape(size, size, size, size)
    found = 0.5 * jnp.einsum("abx,bcda,cdy->xy", covariance_slopes, pairs, covariance_slopes)
    means = jnp.einsum("gr,qr,hr->qgh", d, flat, d).reshape(size, size, len(known), len(known))
    found = found + jnp.einsum("kgx,klgh,lhy->xy", mean_slopes, means, mean_slopes)
    result: jax.Array = found - jax.hessian(log_prior)(vector, variant, data)
    return result


def inverse_root(matrix: jax.Array) -> jax.Array:
    """R with RRᵀ = matrix⁻¹."""
    lower = jnp.linalg.cholesky((matrix + matrix.T) / 2.0)
    return solve_triangular(lower, jnp.eye(len(matrix)), lower=True, trans=1)


def hamiltonian(key: jax.Array, law: Law, centre: jax.Array, variance: jax.Array, known: list[jax.Array], variant: Variant,
                data: Data, tuning: Mapping[str, jax.Array]) -> tuple[Law, jax.Array]:
    """Run one trajectory; return the parameters afterwards and the acceptance probability."""
    momentum_key, accept_key, jitter_key = jax.random.split(key, 3)
    root, step = tuning["root"], jnp.exp(tuning["log_step"])
    step = step * jax.random.uniform(jitter_key, minval=0.5, maxval=1.2, dtype=float)

    def gradient(vector: jax.Array) -> tuple[jax.Array, jax.Array]:
        value, slope = log_density(vector, law, centre, variance, known, variant, data)
        return value, root.T @ slope

    vector = to_vector(law, variant)
    momentum = jax.random.normal(momentum_key, vector.shape, dtype=float)
    value, slope = gradient(vector)

    def leap(index: int, carried: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        at, speed, _, force = carried
        speed = speed + 0.5 * step * force
        at = at + step * (root @ speed)
        new, force = gradient(at)
        return at, speed + 0.5 * step * force, new, force

    steps = jnp.clip(jnp.ceil(TRAJECTORY / step), 1, MOST_LEAPS).astype(int)
    at, speed, new, _ = jax.lax.fori_loop(0, steps, leap, (vector, momentum, value, slope))
    ratio = new - value + 0.5 * (momentum @ momentum - speed @ speed)
    ratio = jnp.where(jnp.isfinite(ratio), ratio, -jnp.inf)
    taken = jnp.log(jax.random.uniform(accept_key, dtype=float)) < ratio
    return from_vector(jnp.where(taken, at, vector), law, variant, data), jnp.exp(jnp.minimum(ratio, 0.0))
