"""``normal-x``: Algorithm 1 of paper 002, Metropolis within Gibbs with Wishart proposals.

One step: Σ (and μ) from the inverse Wishart full conditional (11); each holder's scatter by Metropolis–Hastings with the proposal
Wishart(C/α, α); with a constant, each holder's mean by a random walk; g from its full conditional (12); σ by a random walk. α and
the steps of the walks adapt during warm-up. As in the paper, the chain mixes slowly; check R-hat and effective sample sizes.
``normal-x-nuts`` samples the same posterior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from noisewise.arrays import Array, Traced
from noisewise.literature.fixed_moments import (
    FIXED_S,
    draw_normal,
    fixed_s_arrays,
    in_user_units,
    log_sigma_prior,
    record,
    walk_sigma,
)
from noisewise.literature.kernels.metropolis import Data, Sampler, State, accept, acceptance, sample_chains
from noisewise.literature.normal_features import (
    FeaturePrior,
    assemble,
    assemble_all,
    feature_count,
    has_constant,
    log_cross,
    log_cross_all,
    log_gram,
    model_arrays,
    normal_equations,
    total_scatter,
)
from noisewise.literature.statistics import LinearProblem
from noisewise.posterior.kernels.small_linear import cholesky, solve_lower
from noisewise.posterior.request import Request, Sampled

if TYPE_CHECKING:
    import jax

Moved: TypeAlias = "tuple[jax.Array, jax.Array]"
"""What moved, and the adapted size of its proposals."""

TARGET_ACCEPTANCE = 0.2
"""Target acceptance rate of proposals for a holder's matrix, as in the paper. (The authors' code has 0.1.)"""
FLOOR = 0.1
"""Smallest eigenvalue at the start of a chain, as a share of the noise's standard deviation."""


def normal_x(request: Request) -> Sampled:
    """Sample after a warm-up of the same length, as in the authors' code."""
    problem = LinearProblem.of(request)
    if feature_count(problem) == 0:  # y ~ 1: nothing about S is unknown
        sampler, data = FIXED_S, fixed_s_arrays(problem)
    else:
        sampler, data = NORMAL_X, gibbs_arrays(problem)
    draws = sample_chains(sampler, data, seed=request.seed, chains=request.chains, draws=request.draws, warmup=request.draws,
                          tick=request.tick)
    return in_user_units(request, problem, draws)


def gibbs_arrays(problem: LinearProblem, prior: FeaturePrior | None = None, target: float = TARGET_ACCEPTANCE
                 ) -> dict[str, Array]:
    """Return the model's arrays and the acceptance rate that the proposals adapt to."""
    return model_arrays(problem, prior) | {"target": np.array(target)}


def _start(key: jax.Array, data: Data) -> State:
    """Start from the released statistics with noise added again, so that chains start about a posterior's width apart."""
    import jax
    import jax.numpy as jnp

    features, rows = data["scale"].shape[-1], data["rows"]
    sd = jnp.where(data["gram_precision"] > 0, data["gram_precision"], jnp.inf) ** -0.5
    gram_key, sigma_key = jax.random.split(key)
    upper = sd * jax.random.normal(gram_key, sd.shape, dtype=float)
    gram = data["gram"] + upper + jnp.swapaxes(jnp.triu(upper, 1), 1, 2)
    means = jnp.zeros((len(rows), features))
    if has_constant(data):
        means = gram[:, 0, 1:] / rows[:, None]
        gram = gram[:, 1:, 1:] - rows[:, None, None] * means[:, :, None] * means[:, None, :]
    values, vectors = jnp.linalg.eigh(gram)
    floor = FLOOR * jnp.max(sd, axis=(1, 2)) + 1e-9 * rows
    clipped = (vectors * jnp.maximum(values, floor[:, None])[:, None, :]) @ jnp.swapaxes(vectors, 1, 2)
    lower = jnp.asarray(jax.vmap(lambda matrix: cholesky(matrix, len(rows)))(clipped))
    sigma = data["sigma_start"] * jnp.exp(0.3 * jax.random.normal(sigma_key, dtype=float))
    return {"g": data["g_start"], "sigma": sigma, "log_step": jnp.log(data["sigma_step"]), "lower": lower, "means": means,
            "log_alpha": jnp.log(features * rows), "log_mean_step": jnp.log(jnp.max(sd, axis=(1, 2)) / rows + 1e-9)}


def _step(key: jax.Array, state: State, data: Data, gain: jax.Array) -> State:
    import jax
    import jax.numpy as jnp

    constant = has_constant(data)
    keys = jax.random.split(key, 5)
    precision, mu = draw_features(keys[0], state, data)
    theta = data["effects"] @ state["g"] + data["offset"]
    holders = [data[name] for name in ("gram", "gram_precision", "cross", "cross_variance", "rows")]
    given = (theta, state["sigma"] ** 2, precision, mu, data["target"], gain, constant, len(data["rows"]))

    def each(move: Callable[..., Moved], move_key: jax.Array, current: tuple[jax.Array, ...]) -> Moved:
        move_keys = jax.random.split(move_key, len(data["rows"]))
        over_holders: Callable[..., Moved] = jax.vmap(lambda one_key, one, holder: move(one_key, one, holder, *given))
        return over_holders(move_keys, current, holders)

    lower, log_alpha = each(move_scatter, keys[1], (state["lower"], state["means"], state["log_alpha"]))
    means, log_mean_step = state["means"], state["log_mean_step"]
    if constant:
        means, log_mean_step = each(move_mean, keys[2], (lower, means, log_mean_step))
    grams = assemble_all(lower, means, data, jnp)
    state = state | {"lower": lower, "means": means, "log_alpha": log_alpha, "log_mean_step": log_mean_step,
                     "g": draw_normal(keys[3], *normal_equations(grams, state["sigma"] ** 2, data, jnp)[:2])}
    theta = data["effects"] @ state["g"] + data["offset"]

    def log_density(sigma: jax.Array) -> jax.Array:
        return jnp.asarray(log_cross_all(grams, theta, sigma**2, data, jnp)) + log_sigma_prior(sigma, data, jnp)

    return walk_sigma(keys[4], state, log_density, gain)


def draw_features(key: jax.Array, state: State, data: Data) -> tuple[jax.Array, jax.Array]:
    """Draw Σ⁻¹ and μ given the holders' scatters and means: (11), and its extension to means."""
    import jax
    import jax.numpy as jnp

    rows, features = data["rows"], data["scale"].shape[-1]
    wishart_key, mean_key = jax.random.split(key)
    scatters = state["lower"] @ jnp.swapaxes(state["lower"], 1, 2)
    outer = cholesky(total_scatter(scatters, state["means"], data, jnp))
    inner = bartlett(wishart_key, data["degrees"] + jnp.sum(rows), features)
    # Ψ = LLᵀ and AAᵀ ~ Wishart(1): Σ⁻¹ = L⁻ᵀ A Aᵀ L⁻¹ ~ Wishart(Ψ⁻¹), and L A⁻ᵀ is a square root of Σ.
    root = jnp.asarray(solve_lower(outer, inner, transposed=True))
    weight = data["mean_rows"] + jnp.sum(rows)
    standard = solve_lower(inner, jax.random.normal(mean_key, (features,), dtype=float), transposed=True)
    return root @ root.T, rows @ state["means"] / weight + outer @ standard / jnp.sqrt(weight)


def bartlett(key: jax.Array, degrees: jax.Array, size: int) -> jax.Array:
    """Draw a lower triangular A with AAᵀ ~ Wishart(identity, degrees)."""
    import jax
    import jax.numpy as jnp

    chi_key, normal_key = jax.random.split(key)
    chi2 = 2.0 * jax.random.gamma(chi_key, (degrees - jnp.arange(size)) / 2.0)
    return jnp.tril(jax.random.normal(normal_key, (size, size), dtype=float), -1) + jnp.diag(jnp.sqrt(chi2))


def move_scatter(key: jax.Array, current: tuple[jax.Array, ...], holder: Sequence[jax.Array], theta: jax.Array,
                 variance: jax.Array, precision: jax.Array, mu: jax.Array, target: jax.Array, gain: jax.Array, constant: bool,
                 holders: int) -> Moved:
    """Take a Metropolis–Hastings step for one holder's scatter LLᵀ; the proposed root is L A/√α, A from Bartlett, again lower."""
    import jax
    import jax.numpy as jnp

    lower, mean, log_alpha = current
    released, gram_precision, cross, noise, rows = holder
    size, alpha = lower.shape[0], jnp.exp(log_alpha)
    proposal_key, accept_key = jax.random.split(key)
    factor = bartlett(proposal_key, alpha, size) / jnp.sqrt(alpha)

    def log_target(root: jax.Array) -> Traced:
        gram = assemble(root, mean, rows, constant, jnp)
        wishart = (rows - constant - size - 1.0) * jnp.sum(jnp.log(jnp.diagonal(root)))
        return (wishart - 0.5 * jnp.sum(precision * (root @ root.T)) + log_gram(gram, released, gram_precision, jnp)
                + log_cross(gram, cross, theta, variance, noise, holders, jnp))

    ratio = log_target(lower @ factor) - log_target(lower) + log_proposal_ratio(factor, alpha, holders)
    moved = jnp.where(accept(accept_key, ratio), lower @ factor, lower)
    log_alpha = jnp.maximum(log_alpha + 4.0 * gain * (target - acceptance(ratio)), jnp.log(size + 1.0))
    return moved, log_alpha


def log_proposal_ratio(factor: jax.Array, alpha: jax.Array, holders: int = 1) -> jax.Array:
    """log q(S|S′)/q(S′|S) for S′ ~ Wishart(S/α, α), S = LLᵀ, S′ = L F Fᵀ Lᵀ (appendix A.3).

    It is (α − (d + 1)/2) log|S|/|S′| + (α/2)(tr S⁻¹S′ − tr S′⁻¹S) and depends only on W = FFᵀ, so no differences of large
    numbers arise.
    """
    import jax.numpy as jnp

    size = factor.shape[0]
    inverse = solve_lower(factor, jnp.eye(size), copies=holders)
    log_determinant = 2.0 * jnp.sum(jnp.log(jnp.diagonal(factor)))
    return (0.5 * (size + 1.0) - alpha) * log_determinant + 0.5 * alpha * (jnp.sum(factor**2) - jnp.sum(inverse**2))


def move_mean(key: jax.Array, current: tuple[jax.Array, ...], holder: Sequence[jax.Array], theta: jax.Array, variance: jax.Array,
              precision: jax.Array, mu: jax.Array, target: jax.Array, gain: jax.Array, constant: bool, holders: int) -> Moved:
    """Take a random-walk step for one holder's mean."""
    import jax
    import jax.numpy as jnp

    lower, mean, log_step = current
    released, gram_precision, cross, noise, rows = holder
    walk_key, accept_key = jax.random.split(key)

    def log_target(at: jax.Array) -> Traced:
        gram = assemble(lower, at, rows, constant, jnp)
        return (-0.5 * rows * (at - mu) @ precision @ (at - mu) + log_gram(gram, released, gram_precision, jnp)
                + log_cross(gram, cross, theta, variance, noise, holders, jnp))

    proposal = mean + jnp.exp(log_step) * jax.random.normal(walk_key, mean.shape, dtype=float)
    ratio = log_target(proposal) - log_target(mean)
    moved = jnp.where(accept(accept_key, ratio), proposal, mean)
    return moved, log_step + 2.0 * gain * (acceptance(ratio) - target)


NORMAL_X = Sampler(_start, _step, record)
