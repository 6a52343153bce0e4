"""Priors and terms of paper 002's model for normal features, shared by ``normal-x`` (as printed) and ``normal-x-nuts``.

Alparslan, Yıldırım and Birbil (2023), section 4.1 and appendix B.2. The released Ŝ_j is S_j plus noise, and S_j is unknown:

- without a constant, rows are x ~ N(0, Σ) and S_j ~ Wishart(Σ, n_j);
- with a constant, rows are x ~ N(μ, Σ), the mean of a holder's rows is b_j ~ N(μ, Σ/n_j), their scatter about it is
  C_j ~ Wishart(Σ, n_j − 1), and S_j = [[n_j, n_j b_jᵀ], [n_j b_j, C_j + n_j b_j b_jᵀ]].

Then ẑ_j ~ N(S_j θ, σ² S_j + v_j I). Σ y² is not used. Priors: Σ ~ inverse Wishart(Λ, κ) and μ given Σ ~ N(0, Σ/k), so that both
can be integrated out. Below, "scatter" is C_j with a constant and S_j without. A number of rows released with noise is used
unchanged, except for a floor that the Wishart density needs.

The default prior uses only that columns are scaled to [−1, 1]: κ = d + 2 and Λ = identity/3 give Σ the mean identity/3 (the
variance of a uniform column) with the heaviest tails for which the mean exists, and k = 1/3 then gives μ a standard deviation
of 1. Together they weigh as much as a handful of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from noisewise.arrays import Array, Namespace, Traced
from noisewise.literature.fixed_moments import fast_posterior, prior_arrays, rough_sigma
from noisewise.literature.statistics import LinearProblem
from noisewise.posterior.kernels.small_linear import cholesky, solve_lower


@dataclass(frozen=True)
class FeaturePrior:
    """Σ ~ inverse Wishart(scale, degrees), and μ given Σ ~ N(0, Σ/mean_rows), as if ``mean_rows`` rows had been seen at 0."""

    scale: Array
    degrees: float
    mean_rows: float = 1.0 / 3.0

    @classmethod
    def default(cls, features: int) -> FeaturePrior:
        """Return the default prior for this many features."""
        return cls(np.eye(features) / 3.0, features + 2.0)


def feature_count(problem: LinearProblem) -> int:
    """Return d, the number of predictors without the constant."""
    return int(problem.statistics.gram.shape[1]) - int(problem.statistics.constant)


def model_arrays(problem: LinearProblem, prior: FeaturePrior | None = None) -> dict[str, Array]:
    """Return the input of the two samplers as arrays."""
    statistics, features = problem.statistics, feature_count(problem)
    chosen = FeaturePrior.default(features) if prior is None else prior
    upper = np.triu(np.ones(statistics.gram.shape[1:], dtype=bool))
    variance = np.where(upper & (statistics.gram_variance > 0), statistics.gram_variance, np.inf)
    if statistics.constant:
        variance[:, 0, 0] = np.inf  # the number of rows is not learned
    start = fast_posterior(problem, rough_sigma(problem))[0]
    return {
        "gram": (statistics.gram + np.swapaxes(statistics.gram, 1, 2)) / 2,
        "gram_precision": 1.0 / variance,
        "cross": statistics.cross,
        "cross_variance": statistics.cross_variance,
        "rows": np.maximum(statistics.rows, features + 3.0),
        "effects": problem.effects,
        "offset": problem.offset,
        "scale": chosen.scale,
        "degrees": np.array(chosen.degrees),
        "mean_rows": np.array(chosen.mean_rows),
        "g_start": start,
        **prior_arrays(problem),
    }


def has_constant(data: Mapping[str, Traced]) -> bool:
    """Tell from the shapes, which are known when a function is compiled, whether the model has a constant."""
    return bool(data["gram"].shape[-1] > data["scale"].shape[-1])


def assemble(lower: Traced, mean: Traced, rows: Traced, constant: bool, xp: Namespace) -> Traced:
    """Compute one holder's S from a lower square root of its scatter and the mean of its rows."""
    if not constant:
        return lower @ lower.T
    corner = xp.sqrt(rows)
    left = xp.concatenate([corner[None], corner * mean])[:, None]
    root = xp.concatenate([left, xp.concatenate([xp.zeros((1, len(mean))), lower])], axis=1)
    gram: Traced = root @ root.T
    return gram


def assemble_all(lower: Traced, means: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """Compute S of every holder."""
    import jax

    constant = has_constant(data)
    return jax.vmap(lambda root, mean, rows: assemble(root, mean, rows, constant, xp))(lower, means, data["rows"])


def log_gram(gram: Traced, released: Traced, precision: Traced, xp: Namespace) -> Traced:
    """Log density of the released Ŝ given S; entries with precision 0 are ignored."""
    log_density: Traced = -0.5 * xp.sum(precision * (released - gram) ** 2)
    return log_density


def log_cross(gram: Traced, cross: Traced, theta: Traced, variance: Traced, noise: Traced, holders: int, xp: Namespace) -> Traced:
    """Log density of ẑ given S, θ and σ² (``variance``): N(Sθ, σ²S + v I)."""
    lower = cholesky(variance * gram + noise * xp.eye(gram.shape[0]), holders)
    standard = solve_lower(lower, cross - gram @ theta, copies=holders)
    log_density: Traced = -0.5 * xp.sum(standard**2) - xp.sum(xp.log(xp.diagonal(lower)))
    return log_density


def log_cross_all(grams: Traced, theta: Traced, variance: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """Sum of `log_cross` over all holders."""
    import jax

    terms: Callable[..., Traced] = jax.vmap(
        lambda gram, cross, noise: log_cross(gram, cross, theta, variance, noise, len(grams), xp))
    total: Traced = xp.sum(terms(grams, data["cross"], data["cross_variance"]))
    return total


def normal_equations(grams: Traced, variance: Traced, data: Mapping[str, Traced], xp: Namespace) -> tuple[Traced, Traced, Traced]:
    """Return the precision of g given all S and σ², precision times mean (the paper's (12)), and log p(all ẑ) at g = 0."""
    import jax

    def one(gram: Traced, cross: Traced, noise: Traced) -> tuple[Traced, Traced]:
        lower = cholesky(variance * gram + noise * xp.eye(gram.shape[0]), len(grams))
        both = xp.concatenate([gram @ data["effects"], (cross - gram @ data["offset"])[:, None]], axis=1)
        standard = solve_lower(lower, both, copies=len(grams))
        return standard.T @ standard, xp.sum(xp.log(xp.diagonal(lower)))

    products, log_determinants = jax.vmap(one)(grams, data["cross"], data["cross_variance"])
    joint = xp.sum(products, axis=0)
    log_at_zero = -0.5 * joint[-1, -1] - xp.sum(log_determinants)
    return data["prior_precision"] + joint[:-1, :-1], data["prior_linear"] + joint[:-1, -1], log_at_zero


def total_scatter(scatters: Traced, means: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """Return the scale of Σ's inverse Wishart given all holders, μ integrated out: Λ + Σ_j C_j + a term for the means."""
    total: Traced = data["scale"] + xp.sum(scatters, axis=0)
    if not has_constant(data):
        return total
    rows, prior_rows = data["rows"], data["mean_rows"]
    centre = rows @ means / xp.sum(rows)
    away = means - centre
    shrunk = prior_rows * xp.sum(rows) / (prior_rows + xp.sum(rows))
    total = total + (away.T * rows) @ away + shrunk * xp.outer(centre, centre)
    return total
