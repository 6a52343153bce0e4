"""The two likelihoods of a generalised linear model, which docs/glm.md derives.

``latent_density`` has the columns' moments as unknowns: coefficients and the distribution of the columns are sampled together.
The moments are those of this table's rows, so the released Σ aaᵀ scatters only by the noise. What these moments leave open about
the rows makes Σ y a scatter (``expectations``). Coefficients are sampled as effects of one standard deviation of their predictor,
which avoids a funnel if the noise hides how much a predictor varies.

``flat_density`` is for many columns: their moments are those of the release, whose noise E is propagated to first order,

    δ(n E[y a]) = A₀ E e₀ + A₁ E θ,    A₀ = (c₀ − c₁μ) I + r₁θᵀ − r₀e₀ᵀ,   A₁ = c₁ I + r₂θᵀ,
    r₂ = ½ (c₂ m + c₃ (Wθ − μm)),      r₁ = c₂ (Wθ − μm) − 2μ r₂,   r₀ = c₂ μ (Wθ − μm) + (τ² − μ²) r₂,

where W = Σ aaᵀ/n, m = We₀, μ = e₀ᵀWθ, τ² = θᵀWθ − μ² and c_k = E f⁽ᵏ⁾(η). That is not enough if the noise is
of the order of the columns' smallest variance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from noisewise.arrays import Array, Namespace, Traced
from noisewise.posterior.glm.columns import distribution_and_rows
from noisewise.posterior.glm.expectations import Expectations, from_powers, response_moments, scaled_moments
from noisewise.posterior.glm.families import Family
from noisewise.posterior.glm.prior import coefficients
from noisewise.posterior.kernels.mode import LogDensity
from noisewise.posterior.kernels.small_linear import cholesky, solve_lower


def _of_family(density: Callable[[Family, Traced, Mapping[str, Traced], Namespace], Traced]) -> Callable[[Family], LogDensity]:
    """Return the log posterior density of a family: always the same function object, with its own name."""

    @cache
    def of(family: Family) -> LogDensity:
        def log_density(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
            return density(family, x, data, xp)

        log_density.__module__, log_density.__qualname__ = __name__, f"{density.__name__}[{family.name}]"
        return log_density

    return of


@_of_family
def latent_density(family: Family, x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """The density of the effects, the parameters of the columns' distribution and the log number of rows, if it is noisy."""
    terms = data["features"].shape[1]
    columns, rows, log_prior = distribution_and_rows(x[terms:], data, xp)
    moments = columns.second_moments()
    beta, log_prior_beta = coefficients(x[:terms], moments, data, xp)
    law = Expectations.of(data["features"] @ beta, columns.probabilities, columns.means, columns.covariance, xp)
    mean, covariance = response_moments(family, law, data, xp)
    log_moments = -0.5 * xp.sum((data["gram"] - rows * moments) ** 2 * data["gram_precision"])
    scatter = data["rows_ratio"] * rows * covariance + xp.diag(data["cross_variance"])
    log_response = log_normal(data["cross"] - rows * mean, scatter, data["copies"].shape[0], xp)
    result: Traced = log_prior + log_prior_beta + log_moments + log_response
    return result


@_of_family
def flat_density(family: Family, x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """The density of the effects alone."""
    moments, rows = data["moments"], data["rows"]
    beta, log_prior = coefficients(x, moments, data, xp)
    theta = data["features"] @ beta
    centre = moments[0]
    law = Expectations.of(theta, xp.ones(1), centre[None], moments - xp.outer(centre, centre), xp)
    response, square = scaled_moments(family, law, data, xp)
    powers = law.powers(response, 3)
    mean, covariance = from_powers(law, powers, law.powers(square, 2), data, xp)
    noise = passed_on(law, powers[0], theta, data["gram_variance"], xp) + xp.diag(data["cross_variance"])
    return log_prior + log_normal(data["cross"] - rows * mean, data["rows_ratio"] * rows * covariance + noise, 1, xp)


def log_normal(residual: Traced, covariance: Traced, copies: int, xp: Namespace) -> Traced:
    """The log density of a normal vector with mean 0."""
    lower = cholesky(covariance, copies=copies)
    standard = solve_lower(lower, residual, copies=copies)
    result: Traced = -0.5 * xp.sum(standard**2) - xp.sum(xp.log(xp.diagonal(lower)))
    return result


def passed_on(law: Expectations, powers: Traced, theta: Traced, variances: Traced, xp: Namespace) -> Traced:
    """The covariance of n E[y a] due to the noise of the released matrix; ``powers`` are E[f ξᵏ]."""
    centre, tau = law.means[0], law.tau
    mu = centre @ theta
    c0, c1 = powers[0], powers[1] / tau
    c2, c3 = (powers[2] - powers[0]) / tau**2, (powers[3] - 3.0 * powers[1]) / tau**3
    spread = law.direction * tau
    r2 = 0.5 * (c2 * centre + c3 * spread)
    r1 = c2 * spread - 2.0 * mu * r2
    r0 = c2 * mu * spread + (tau**2 - mu**2) * r2
    first = xp.eye(len(theta))[0]
    of_first = Map(c0 - c1 * mu, xp.stack([r1, -r0], axis=1), xp.stack([theta, first], axis=1))
    of_theta = Map(c1, r2[:, None], theta[:, None])
    cross = _mapped(of_first, _noise_products(variances, first, theta, xp), of_theta)
    return (_mapped(of_first, _noise_products(variances, first, first, xp), of_first) + cross + cross.T
            + _mapped(of_theta, _noise_products(variances, theta, theta, xp), of_theta))


class Map(NamedTuple):
    """The matrix scale · I + left · rightᵀ, with cheap products."""

    scale: Traced
    left: Traced
    right: Traced


def _mapped(a: Map, matrix: Traced, b: Map) -> Traced:
    """A matrix Bᵀ."""
    half = a.scale * matrix + a.left @ (a.right.T @ matrix)
    return b.scale * half + (half @ b.right) @ b.left.T


def _noise_products(variances: Traced, p: Traced, q: Traced, xp: Namespace) -> Traced:
    """Cov(Ep, Eq) for a symmetric E that has independent entries with the given variances."""
    pairs = variances * xp.outer(q, p)
    result: Traced = pairs - xp.diag(xp.diagonal(pairs)) + xp.diag(variances @ (p * q))
    return result


def possible_moments(moments: Array) -> Array:
    """The nearest moments of rows (1, x): a positive definite covariance, and the constant's square 1."""
    centre = moments[0, 1:]
    values, vectors = np.linalg.eigh(moments[1:, 1:] - np.outer(centre, centre))
    covariance = (vectors * np.clip(values, 1e-4, None)) @ vectors.T
    result: Array = np.block([[np.ones((1, 1)), centre[None]], [centre[:, None], covariance + np.outer(centre, centre)]])
    return result
