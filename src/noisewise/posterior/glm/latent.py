"""The likelihood with the columns' moments as unknowns: coefficients and the distribution of the columns are sampled together.

    released Σ aaᵀ = n E[aaᵀ] + noise,      released Σ y a ~ N(n E[y a], n Cov + noise).

The moments are those of this table's rows, so that the first line has no scatter but the noise; what rows with these moments
leave open is in the second (``response_moments``). Coefficients are sampled as effects of one standard deviation of their
predictor: so there is no funnel where the noise hides how much a predictor varies.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from noisewise.posterior.glm.columns import distribution
from noisewise.posterior.glm.expectations import Expectations
from noisewise.posterior.glm.family import Family
from noisewise.posterior.glm.prior import coefficients
from noisewise.posterior.glm.response_moments import response_moments
from noisewise.posterior.kernels.small_linear import cholesky, solve_lower


@cache
def latent_density(family: Family) -> Any:
    """The log posterior density of a family, up to a constant; always the same function for the same family."""

    def log_density(x: Any, data: Mapping[str, Any], xp: Any) -> Any:
        terms = data["features"].shape[1]
        columns, rest = distribution(x[terms:], data, xp)
        rows, log_prior = data["rows"], columns.log_prior
        if rest.shape[0]:
            rows = xp.exp(rest[0])
            log_prior = log_prior + rest[0] - 0.5 * (rows - data["count_rows"]) ** 2 / data["count_variance"]
        moments = columns.second_moments()
        beta, log_prior_beta = coefficients(x[:terms], moments, data, xp)
        law = Expectations.of(data["features"] @ beta, columns.probabilities, columns.means, columns.covariance, xp)
        mean, covariance = response_moments(family, law, data, xp)
        log_moments = -0.5 * xp.sum((data["gram"] - rows * moments) ** 2 * data["gram_precision"])
        scatter = data["rows_ratio"] * rows * covariance + xp.diag(data["cross_variance"])
        log_response = log_normal(data["cross"] - rows * mean, scatter, data["copies"].shape[0], xp)
        return log_prior + log_prior_beta + log_moments + log_response

    log_density.__module__ = __name__
    log_density.__qualname__ = f"latent_density[{family.name}]"
    return log_density


def log_normal(residual: Any, covariance: Any, copies: int, xp: Any) -> Any:
    """The log density of a normal vector with mean 0."""
    lower = cholesky(covariance, copies=copies)
    standard = solve_lower(lower, residual, copies=copies)
    return -0.5 * xp.sum(standard**2) - xp.sum(xp.log(xp.diagonal(lower)))
