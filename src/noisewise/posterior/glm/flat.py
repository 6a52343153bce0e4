"""The likelihood for many columns: their moments are taken from the release, and what its noise does to them is passed on.

With a flat prior on the moments, S = Σ aaᵀ is the released matrix up to its noise E. All columns count as normal, so that by
Stein's lemma E[y a] = c₀ m + c₁ (Wθ − μ m), where W = S/n, m = We₀, μ = e₀ᵀWθ, τ² = θᵀWθ − μ² and c_k = E f⁽ᵏ⁾(η). To first order

    δ(n E[y a]) = A₀ E e₀ + A₁ E θ,    A₀ = (c₀ − c₁μ) I + r₁θᵀ − r₀e₀ᵀ,   A₁ = c₁ I + r₂θᵀ,
    r₂ = ½ (c₂ m + c₃ (Wθ − μm)),      r₁ = c₂ (Wθ − μm) − 2μ r₂,   r₀ = c₂ μ (Wθ − μm) + (τ² − μ²) r₂,

because c_k changes by c_{k+1} δμ + ½ c_{k+2} δτ², and δW = (E − E₀₀W)/n: the number of rows may be noisy too. Only the
coefficients are left to be sampled. Where the noise is of the order of the columns' smallest variance this is no longer true, and
``latent`` is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from noisewise.posterior.glm.expectations import Expectations
from noisewise.posterior.glm.family import Family
from noisewise.posterior.glm.latent import log_normal
from noisewise.posterior.glm.prior import coefficients
from noisewise.posterior.glm.response_moments import from_powers, scaled_moments

Array = npt.NDArray[np.float64]


@cache
def flat_density(family: Family) -> Any:
    """The log posterior density of a family's coefficients, up to a constant."""

    def log_density(x: Any, data: Mapping[str, Any], xp: Any) -> Any:
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

    log_density.__module__ = __name__
    log_density.__qualname__ = f"flat_density[{family.name}]"
    return log_density


def passed_on(law: Expectations, powers: Any, theta: Any, variances: Any, xp: Any) -> Any:
    """The covariance of n E[y a] that comes from the noise of the released matrix; ``powers`` are E[f ξᵏ]."""
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
    """The matrix scale · I + left · rightᵀ, of which products are cheap."""

    scale: Any
    left: Any
    right: Any


def _mapped(a: Map, matrix: Any, b: Map) -> Any:
    """A matrix Bᵀ."""
    half = a.scale * matrix + a.left @ (a.right.T @ matrix)
    return b.scale * half + (half @ b.right) @ b.left.T


def _noise_products(variances: Any, p: Any, q: Any, xp: Any) -> Any:
    """Cov(Ep, Eq) of a symmetric E whose entries are independent with the given variances."""
    pairs = variances * xp.outer(q, p)
    return pairs - xp.diag(xp.diagonal(pairs)) + xp.diag(variances @ (p * q))


def possible_moments(moments: Array) -> Array:
    """The nearest moments of rows (1, x): a positive definite covariance, and the constant's square 1."""
    centre = moments[0, 1:]
    values, vectors = np.linalg.eigh(moments[1:, 1:] - np.outer(centre, centre))
    covariance = (vectors * np.clip(values, 1e-4, None)) @ vectors.T
    result: Array = np.block([[np.ones((1, 1)), centre[None]], [centre[:, None], covariance + np.outer(centre, centre)]])
    return result
