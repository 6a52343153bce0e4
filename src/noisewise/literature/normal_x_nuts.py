"""``normal-x-nuts``: the posterior of ``normal-x``, with g, Σ and μ integrated out and the rest sampled by NUTS.

The scatters are C_j = n_j L_j L_jᵀ with L_j lower triangular, parametrised by the logarithm of its diagonal. The features'
distribution that remains is

    p(C_1..C_J, b_1..b_J)  ∝  Π_j |C_j|^((ν_j − d − 1)/2)  ·  |Λ + Σ_j C_j + M|^(−(κ + n)/2),

ν_j = n_j − 1 and M = Σ_j n_j (b_j − b̄)(b_j − b̄)ᵀ + (k n/(k + n)) b̄b̄ᵀ with a constant, ν_j = n_j and M = 0 without. Given all S_j
and σ, g is normal. Integrating it out avoids a funnel where σ is small, and g is drawn exactly afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.arrays import Array, Namespace, Traced
from noisewise.literature.fixed_moments import draw_normal, in_user_units, log_sigma_prior
from noisewise.literature.normal_features import (
    assemble_all,
    has_constant,
    log_gram,
    model_arrays,
    normal_equations,
    total_scatter,
)
from noisewise.literature.statistics import LinearProblem
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.kernels.mode import Mode, find_mode, jax_density
from noisewise.posterior.kernels.nuts import NutsDraws, sample_nuts
from noisewise.posterior.kernels.small_linear import cholesky, solve_lower
from noisewise.posterior.request import Request, Sampled
from noisewise.progress import Tick
from noisewise.run import nobody

if TYPE_CHECKING:
    import jax

AT_ONCE = 1000
"""Number of matrices factorised side by side; see ``kernels.small_linear``."""


def normal_x_nuts(request: Request) -> Sampled:
    """Sample in the user's units."""
    problem = LinearProblem.of(request)
    data = model_arrays(problem)
    mode = normal_x_mode(data)
    result = sample_normal_x(data, mode, seed=request.seed, chains=request.chains, draws=request.draws, tick=request.tick)
    doubts = () if mode.converged else ("the search for the posterior mode did not converge",)
    return Sampled(in_user_units(request, problem, result.draws).samples, result.diverging, doubts)


def sample_normal_x(data: Mapping[str, Array], mode: Mode, *, seed: int, chains: int, draws: int,
                    tick: Tick = nobody) -> NutsDraws:
    """Draw (g, σ)."""
    result = sample_nuts(log_density, data, mode, seed=seed, chains=chains, draws=draws, tick=tick)
    flat = result.draws.reshape(chains * draws, -1)
    with double_precision():
        g = np.asarray(_coefficients()(np.int64(seed), flat, dict(data)))
    both = np.concatenate([g, np.abs(flat[:, :1])], axis=1)
    return NutsDraws(both.reshape(chains, draws, -1), result.diverging)


def normal_x_mode(data: Mapping[str, Array]) -> Mode:
    """Find the mode to sample around. The parameters are ±σ and, for each holder, its mean, log diagonal and rest of L."""
    return find_mode(jax_density(log_density, data), *start(data))


def log_density(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """Log posterior density up to a constant."""
    means, log_diagonal, lower = unpacked(x[1:], data, xp)
    grams = assemble_all(lower, means, data, xp)
    precision, linear, log_at_zero = normal_equations(grams, x[0] ** 2, data, xp)
    root = cholesky(precision)
    integral = 0.5 * xp.sum(solve_lower(root, linear) ** 2) - xp.sum(xp.log(xp.diagonal(root)))
    released = log_gram(grams, data["gram"], data["gram_precision"], xp)
    features = log_features(lower, log_diagonal, means, data, xp)
    total: Traced = released + log_at_zero + integral + features + log_sigma_prior(x[0], data, xp)
    return total


def log_features(lower: Traced, log_diagonal: Traced, means: Traced, data: Mapping[str, Traced], xp: Namespace
                 ) -> Traced | float:
    """Log density of the scatters' parameters and of the means, Σ and μ integrated out."""
    features, rows = data["scale"].shape[0], data["rows"]
    if features == 0:  # y ~ 1
        return 0.0
    degrees = rows - 1.0 if has_constant(data) else rows
    total = total_scatter(lower @ xp.swapaxes(lower, 1, 2), means, data, xp)
    log_determinant = 2.0 * xp.sum(xp.log(xp.diagonal(cholesky(total))))
    # |C|^((ν − d − 1)/2), the Jacobian Π L_ii^(d − i) of L -> LLᵀ (i from 0), and one more power for the logarithm: L_ii^(ν − i).
    powers = degrees[:, None] - xp.arange(features)
    total_log: Traced = xp.sum(powers * log_diagonal) - 0.5 * (data["degrees"] + xp.sum(rows)) * log_determinant
    return total_log


def unpacked(rest: Traced, data: Mapping[str, Traced], xp: Namespace) -> tuple[Traced, Traced, Traced]:
    """Return the means, log diagonals of L and √n · L of every holder."""
    rows, features, constant = data["rows"], data["scale"].shape[0], has_constant(data)
    below = np.tril_indices(features, -1)
    each = rest.reshape(rows.shape[0], -1)
    means = each[:, :features] if constant else xp.zeros((rows.shape[0], features))
    each = each[:, features:] if constant else each
    log_diagonal, entries = each[:, :features], each[:, features:]
    lower = xp.zeros((rows.shape[0], features, features)).at[:, below[0], below[1]].set(entries)
    lower = lower + xp.exp(log_diagonal)[:, :, None] * xp.eye(features)
    return means, log_diagonal, xp.sqrt(rows)[:, None, None] * lower


@cache
def _coefficients() -> Any:
    """Compile the function that draws g for each of many points."""
    import jax
    import jax.numpy as jnp

    def one(key: jax.Array, x: jax.Array, data: Mapping[str, jax.Array]) -> jax.Array:
        means, _, lower = unpacked(x[1:], data, jnp)
        grams = assemble_all(lower, means, data, jnp)
        return draw_normal(key, *normal_equations(grams, x[0] ** 2, data, jnp)[:2])

    def run(seed: jax.Array, points: jax.Array, data: Mapping[str, jax.Array]) -> jax.Array:
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), 2**31 - 1), points.shape[0])
        at_once = max(1, min(AT_ONCE // data["rows"].shape[0], points.shape[0]))
        drawn: jax.Array = jax.lax.map(lambda each: one(each[0], each[1], data), (keys, points), batch_size=at_once)
        return drawn

    return jax.jit(run)


def start(data: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the released statistics, made positive definite, and rough scales."""
    features, rows = data["scale"].shape[0], data["rows"]
    below = np.tril_indices(features, -1)
    point, scale = [float(data["sigma_start"])], [0.1 * float(data["sigma_start"])]
    for gram, precision, count in zip(data["gram"], data["gram_precision"], rows, strict=True):
        scatter = gram
        if has_constant(data):
            mean = np.clip(gram[0, 1:] / count, -1.0, 1.0)
            scatter = gram[1:, 1:] - count * np.outer(mean, mean)
            point, scale = [*point, *mean], scale + [0.01] * features
        values, vectors = np.linalg.eigh(scatter) if features else (np.ones(0), np.ones((0, 0)))
        known = precision[precision > 0]
        floor = (0.5 / np.sqrt(known.min()) if len(known) else 0.0) + 1e-9 * count
        lower = np.linalg.cholesky((vectors * np.maximum(values, floor)) @ vectors.T / count) if features else np.ones((0, 0))
        point = [*point, *np.log(np.diag(lower)), *lower[below]]
        scale = scale + [0.01] * (features + len(below[0]))
    return np.array(point), np.array(scale)
