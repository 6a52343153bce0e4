"""Two methods of paper 002 that treat the released S = Σ xxᵀ as if it were exact: ``fixed-s`` and ``fast``.

Alparslan, Yıldırım and Birbil (2023), section 4.2. Each holder's Ŝ is projected to the positive semidefinite cone and then
fixed. Given S, ẑ_j is normal with mean S_j θ and covariance σ² S_j + v_j I (v_j is the variance of the noise on ẑ_j; the
paper's acceptance ratio prints a stray θ after S_j). ``fixed-s`` (Algorithm 2) alternates between drawing g from its full
conditional, the paper's (12), and a Metropolis step for σ. ``fast`` (Algorithm 3) also fixes σ, at a third of the bound on |y|;
g is then normal in closed form.

Neither uses Σ y² or accounts for the noise in S, so their intervals are too narrow where that noise matters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from noisewise.arrays import Array, Namespace, Traced
from noisewise.literature.kernels.metropolis import Data, Sampler, State, accept, acceptance, sample_chains
from noisewise.literature.statistics import HalfNormal, InverseGamma, LinearProblem
from noisewise.posterior.kernels.small_linear import cholesky, solve_lower
from noisewise.posterior.request import Request, Sampled

if TYPE_CHECKING:
    import jax

SIGMA_ACCEPTANCE = 0.44
"""The best rate for a random walk in one dimension (Gelman, Roberts and Gilks 1996)."""


def fast(request: Request) -> Sampled:
    """Draw independently from the closed form; sigma is the same number in all draws."""
    problem = LinearProblem.of(request)
    sigma = rough_sigma(problem)
    mean, covariance = fast_posterior(problem, sigma)
    generator = np.random.default_rng(request.seed)
    standard = generator.normal(size=(request.chains, request.draws, len(mean)))
    g = mean + standard @ np.linalg.cholesky(covariance).T
    return in_user_units(request, problem, np.concatenate([g, np.full((*g.shape[:2], 1), sigma)], axis=-1))


def fixed_s(request: Request) -> Sampled:
    """Sample after a warm-up of the same length, as in the authors' code."""
    problem = LinearProblem.of(request)
    draws = sample_chains(FIXED_S, fixed_s_arrays(problem), seed=request.seed, chains=request.chains, draws=request.draws,
                          warmup=request.draws, tick=request.tick)
    return in_user_units(request, problem, draws)


def in_user_units(request: Request, problem: LinearProblem, draws: Array) -> Sampled:
    """Convert draws of (g, σ) from the problem's units."""
    scale = np.append(np.ones(draws.shape[-1] - 1), problem.sigma_scale)
    return Sampled(request.coordinates.to_user(draws * scale))


def rough_sigma(problem: LinearProblem) -> float:
    """Return ‖Y‖/3, the paper's crude estimate of the residual standard deviation. (The authors' code has it as the variance.)"""
    return problem.response_bound / 3.0


def projected(gram: Array) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of the nearest positive semidefinite matrices (Higham 1988), for matrices (J, m, m)."""
    values, vectors = np.linalg.eigh((gram + np.swapaxes(gram, -1, -2)) / 2)
    return np.maximum(values, 0.0), vectors


def fast_posterior(problem: LinearProblem, sigma: float, ridge: float = 0.0) -> tuple[Array, Array]:
    """Return the mean and covariance of g given σ and the projected S_j + ridge · I."""
    data = fixed_s_arrays(problem, ridge)
    precision, linear = _normal_equations(data, sigma**2, np)
    covariance = np.linalg.inv(precision)
    return covariance @ linear, (covariance + covariance.T) / 2


def fixed_s_arrays(problem: LinearProblem, ridge: float = 0.0) -> dict[str, Array]:
    """Return the input of ``fixed-s``, each holder in its own eigenbasis. (The authors' code has ridge = 1.)"""
    statistics = problem.statistics
    values, vectors = projected(statistics.gram)
    turned = np.swapaxes(vectors, -1, -2)
    return {
        "values": values + ridge,
        "noise": np.broadcast_to(statistics.cross_variance[:, None], values.shape).copy(),
        "cross": np.einsum("jkl,jl->jk", turned, statistics.cross),
        "effects": turned @ problem.effects,
        "offset": turned @ problem.offset,
        **prior_arrays(problem),
    }


def prior_arrays(problem: LinearProblem) -> dict[str, Array]:
    """The priors of g and of σ."""
    prior = problem.sigma_prior
    if isinstance(prior, InverseGamma):  # of σ², hence one more power of σ: log p(σ) = −(2a + 1) log σ − b/σ²
        sigma = [2.0 * prior.shape + 1.0, prior.rate, 0.0]
    else:
        sigma = [0.0, 0.0, 0.5 / prior.scale**2]
    return {
        "prior_precision": problem.prior_precision,
        "prior_linear": problem.prior_precision @ problem.prior_mean,
        "sigma_prior": np.array(sigma),
        "sigma_start": np.array(rough_sigma(problem)),
        "sigma_step": np.array(_prior_sd(prior)),
    }


def _prior_sd(prior: HalfNormal | InverseGamma) -> float:
    """Return an initial step size for the walk of σ, adapted later."""
    return prior.scale if isinstance(prior, HalfNormal) else 0.2 * float(np.sqrt(prior.rate / (prior.shape + 1.0)))


def log_sigma_prior(sigma: Traced, data: Mapping[str, Traced], xp: Namespace) -> jax.Array:
    """Log prior density of ±σ: half-normal, or an inverse gamma of σ²."""
    power, inverse, square = data["sigma_prior"]
    log_density: jax.Array = -power * xp.log(xp.abs(sigma)) - inverse / sigma**2 - square * sigma**2
    return log_density


def walk_sigma(key: jax.Array, state: State, log_density: Callable[[jax.Array], jax.Array], gain: jax.Array) -> State:
    """Take a Metropolis step of a normal random walk in ±σ.

    The paper walks in σ². The density depends on ±σ only through its square, and a half-normal prior then has no boundary to
    get stuck at.
    """
    import jax
    import jax.numpy as jnp

    walk_key, accept_key = jax.random.split(key)
    sigma = state["sigma"]
    proposal = sigma + jnp.exp(state["log_step"]) * jax.random.normal(walk_key, dtype=float)
    ratio = log_density(proposal) - log_density(sigma)
    moved = jnp.where(accept(accept_key, ratio), proposal, sigma)
    log_step = state["log_step"] + 2.0 * gain * (acceptance(ratio) - SIGMA_ACCEPTANCE)
    return state | {"sigma": moved, "log_step": log_step}


def draw_normal(key: jax.Array, precision: Traced, linear: Traced) -> jax.Array:
    """Draw from the normal distribution with this precision and mean precision⁻¹ linear."""
    import jax

    lower = cholesky(precision)
    standard = solve_lower(lower, linear) + jax.random.normal(key, linear.shape, dtype=float)
    return jax.numpy.asarray(solve_lower(lower, standard, transposed=True))


def _normal_equations(data: Mapping[str, Traced], variance: Traced | float, xp: Namespace) -> tuple[Traced, Traced]:
    """Return the precision of g given σ², and precision times mean: the paper's (12)."""
    values, effects = data["values"], data["effects"]
    weights = values / (variance * values + data["noise"])
    precision = data["prior_precision"] + xp.einsum("jk,jkp,jkq->pq", weights * values, effects, effects)
    rest = data["cross"] - values * data["offset"]
    return precision, data["prior_linear"] + xp.einsum("jk,jkp,jk->p", weights, effects, rest)


def _start(key: jax.Array, data: Data) -> State:
    import jax
    import jax.numpy as jnp

    sigma = data["sigma_start"] * jnp.exp(0.3 * jax.random.normal(key, dtype=float))
    return {"g": jnp.zeros(data["prior_linear"].shape), "sigma": sigma, "log_step": jnp.log(data["sigma_step"])}


def _step(key: jax.Array, state: State, data: Data, gain: jax.Array) -> State:
    import jax
    import jax.numpy as jnp

    normal_key, walk_key = jax.random.split(key)
    g = draw_normal(normal_key, *_normal_equations(data, state["sigma"] ** 2, jnp))
    residual = data["cross"] - data["values"] * (data["effects"] @ g + data["offset"])

    def log_density(sigma: jax.Array) -> jax.Array:
        variance = sigma**2 * data["values"] + data["noise"]
        return -0.5 * jnp.sum(residual**2 / variance + jnp.log(variance)) + log_sigma_prior(sigma, data, jnp)

    return walk_sigma(walk_key, state | {"g": g}, log_density, gain)


def record(state: State) -> jax.Array:
    """Return (g, σ)."""
    import jax.numpy as jnp

    return jnp.append(state["g"], jnp.abs(state["sigma"]))


FIXED_S = Sampler(_start, _step, record)
