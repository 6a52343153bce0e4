"""The distribution of one holder's columns, for checking a fit at that holder: what sums Σ y a and Σ y² it implies there.

The parameters ψ of the distribution, and the logarithm of the number of rows where that is noisy, are found from the holder's own
noisy moments; their covariance says how far the noise lets them be known. With many columns ψ is the released matrix itself, as
in ``flat``. What a fit implies at the holder is F(ψ, β) = n (E[y a], E[y²]), with derivatives by both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.glm.columns import Layout, distribution, start
from noisewise.posterior.glm.expectations import Expectations
from noisewise.posterior.glm.family import Family
from noisewise.posterior.glm.flat import possible_moments
from noisewise.posterior.glm.response_moments import response_moments, scaled_moments
from noisewise.posterior.kernels.gradients import jax_density
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.kernels.mode import find_mode

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class HolderLaw:
    """ψ with a root of its covariance; ``data`` as for a fit to this holder alone."""

    family: Family
    data: Mapping[str, Any]
    latent: bool
    point: Array
    root: Array

    @classmethod
    def of(cls, family: Family, layout: Layout, data: Mapping[str, Any], latent: bool) -> HolderLaw:
        if not latent:
            moments = possible_moments(data["gram"] / data["rows"]) * data["rows"]
            upper = np.triu_indices(len(moments))
            deviations = np.sqrt(np.where(np.isfinite(data["gram_variance"]), data["gram_variance"], 0.0))
            return cls(family, data, latent, moments[upper], np.diag(deviations[upper]))
        count = np.log(data["rows"])[None] if len(data["count"]) else np.zeros(0)
        first = np.concatenate([start(layout, data["gram"] / data["rows"]), count])
        if not len(first):
            return cls(family, data, latent, first, np.zeros((0, 0)))
        mode = find_mode(jax_density(columns_density, data), first, np.full(len(first), 0.1))
        return cls(family, data, latent, mode.point, mode.scale)

    def implied(self, draws: Array) -> Array:
        """F at each of some draws of β: (draws, columns + 1)."""
        with double_precision():
            return np.asarray(_compiled(self.family, self.latent)[0](self.point, draws, dict(self.data)))

    def derivatives(self, beta: Array) -> tuple[Array, Array]:
        """∂F/∂β, and ∂F/∂ψ times the root of ψ's covariance."""
        with double_precision():
            by_beta, by_point = _compiled(self.family, self.latent)[1](self.point, beta, dict(self.data))
        return np.asarray(by_beta), np.asarray(by_point) @ self.root

    def scatter(self, beta: Array) -> tuple[Array, float, Expectations]:
        """Covariance of Σ y a given the columns' moments, the number of rows, and the law of (η, a)."""
        with double_precision():
            covariance, rows, *law = _compiled(self.family, self.latent)[2](self.point, beta, dict(self.data))
        return np.asarray(covariance), float(rows), Expectations(*map(np.asarray, law))


def columns_density(x: Any, data: Mapping[str, Any], xp: Any) -> Any:
    """The log posterior density of the columns' distribution given their released moments alone."""
    columns, rest = distribution(x, data, xp)
    rows, log_prior = data["rows"], columns.log_prior
    if rest.shape[0]:
        rows = xp.exp(rest[0])
        log_prior = log_prior + rest[0] - 0.5 * (rows - data["count_rows"]) ** 2 / data["count_variance"]
    return log_prior - 0.5 * xp.sum((data["gram"] - rows * columns.second_moments()) ** 2 * data["gram_precision"])


def _law(point: Any, beta: Any, data: Mapping[str, Any], latent: bool, xp: Any) -> tuple[Expectations, Any]:
    theta = data["features"] @ beta
    if latent:
        columns, rest = distribution(point, data, xp)
        rows = xp.exp(rest[0]) if rest.shape[0] else data["rows"]
        return Expectations.of(theta, columns.probabilities, columns.means, columns.covariance, xp), rows
    upper = np.triu_indices(data["gram"].shape[0])
    half = xp.zeros(data["gram"].shape).at[upper].set(point)
    gram = half + half.T - xp.diag(xp.diagonal(half))
    moments = gram / gram[0, 0]
    return Expectations.of(theta, xp.ones(1), moments[:1], moments - xp.outer(moments[0], moments[0]), xp), gram[0, 0]


@cache
def _compiled(family: Family, latent: bool) -> tuple[Any, Any, Any]:
    """F at many draws, its derivatives, and what `HolderLaw.scatter` gives."""
    import jax
    import jax.numpy as jnp

    def implied(point: Any, beta: Any, data: Any) -> Any:
        law, rows = _law(point, beta, data, latent, jnp)
        mean, square = scaled_moments(family, law, data, jnp)
        return rows * jnp.append(law.with_row(mean, jnp), law.of_function(square, jnp))

    def derivatives(point: Any, beta: Any, data: Any) -> Any:
        return jax.jacfwd(implied, argnums=1)(point, beta, data), jax.jacrev(implied, argnums=0)(point, beta, data)

    def scatter(point: Any, beta: Any, data: Any) -> Any:
        law, rows = _law(point, beta, data, latent, jnp)
        covariance = rows * response_moments(family, law, data, jnp)[1]
        return covariance, rows, law.eta, law.weights, law.means, law.direction, law.covariance

    return jax.jit(jax.vmap(implied, in_axes=(None, 0, None))), jax.jit(derivatives), jax.jit(scatter)
