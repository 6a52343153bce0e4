"""The distribution of one holder's columns, for checking a fit at that holder: the sums Σ y a and Σ y² it implies there, and
how the squared residuals of counts scatter.

The parameters ψ of the distribution, and the logarithm of a noisy number of rows, are estimated from the holder's own noisy
moments; their covariance shows how well they are known. With many columns ψ is the released matrix itself, as in
``flat_density``. A fit implies F(ψ, β) = n (E[y a], E[y²]) at the holder, with derivatives with respect to both.

*Dispersion: whether counts vary as much as Poisson counts.* With r = y − l(η), l the best linear function of η, a
row has E[r² | η] = g = v + ρ², where ρ = f − l as in ``expectations``, and E[r⁴ | η] = E e⁴ + 4ρ E e³ + 6ρ² v + ρ⁴ with e = y −
f. What the columns' moments leave open is handled as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from noisewise.arrays import Array, Namespace, Traced
from noisewise.posterior.glm.columns import Layout, distribution_and_rows, start
from noisewise.posterior.glm.densities import possible_moments
from noisewise.posterior.glm.expectations import Expectations, response_moments, scaled_moments
from noisewise.posterior.glm.families import Family
from noisewise.posterior.kernels.jax_setup import Program, double_precision
from noisewise.posterior.kernels.mode import find_mode, jax_density


@dataclass(frozen=True)
class HolderLaw:
    """ψ with a root of its covariance. ``data`` is for a fit to this holder alone."""

    family: Family
    data: Mapping[str, Array]
    latent: bool
    point: Array
    root: Array

    @classmethod
    def of(cls, family: Family, layout: Layout, data: Mapping[str, Array], latent: bool) -> HolderLaw:
        """Find ψ from the holder's noisy moments alone; ``latent`` as in `GlmModel`."""
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
        """Return F at each draw of β: (draws, columns + 1)."""
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


def columns_density(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """The log posterior density of the columns' distribution given their released moments alone."""
    columns, rows, log_prior = distribution_and_rows(x, data, xp)
    result: Traced = log_prior - 0.5 * xp.sum((data["gram"] - rows * columns.second_moments()) ** 2 * data["gram_precision"])
    return result


def _law(point: Traced, beta: Traced, data: Mapping[str, Traced], latent: bool, xp: Namespace) -> tuple[Expectations, Traced]:
    theta = data["features"] @ beta
    if latent:
        columns, rows, _ = distribution_and_rows(point, data, xp)
        return Expectations.of(theta, columns.probabilities, columns.means, columns.covariance, xp), rows
    upper = np.triu_indices(data["gram"].shape[0])
    half = xp.zeros(data["gram"].shape).at[upper].set(point)
    gram = half + half.T - xp.diag(xp.diagonal(half))
    moments = gram / gram[0, 0]
    return Expectations.of(theta, xp.ones(1), moments[:1], moments - xp.outer(moments[0], moments[0]), xp), gram[0, 0]


@cache
def _compiled(family: Family, latent: bool) -> tuple[Program, Program, Program]:
    """F at many draws, its derivatives, and the results of `HolderLaw.scatter`."""
    import jax
    import jax.numpy as jnp

    def implied(point: jax.Array, beta: jax.Array, data: Mapping[str, jax.Array]) -> Traced:
        law, rows = _law(point, beta, data, latent, jnp)
        mean, square = scaled_moments(family, law, data, jnp)
        return rows * jnp.append(law.with_row(mean, jnp), law.of_function(square, jnp))

    def derivatives(point: jax.Array, beta: jax.Array, data: Mapping[str, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return jax.jacfwd(implied, argnums=1)(point, beta, data), jax.jacrev(implied, argnums=0)(point, beta, data)

    def scatter(point: jax.Array, beta: jax.Array, data: Mapping[str, jax.Array]) -> tuple[Traced, ...]:
        law, rows = _law(point, beta, data, latent, jnp)
        covariance = rows * response_moments(family, law, data, jnp)[1]
        return covariance, rows, law.eta, law.weights, law.means, law.direction, law.covariance

    return jax.jit(jax.vmap(implied, in_axes=(None, 0, None))), jax.jit(derivatives), jax.jit(scatter)


@dataclass(frozen=True)
class Dispersion:
    """Per row, in the units of the release."""

    linear: Array
    """The best linear function of η as a combination of the columns: l = linear @ a."""
    explained: float
    """E v: the variance of counts around their means."""
    variance: float
    """The variance of Σ r², given the columns' moments."""
    covariance: Array
    """The covariance of Σ r² with Σ y a."""


FLAT: Final = 1e-6
"""Added to the mean square of η's quadratic polynomial: 0 if η has two values only."""


def dispersion(law: Expectations, theta: Array, data: Mapping[str, Traced]) -> Dispersion:
    """The dispersion of counts that are cut off at the declared maximum; everything as NumPy arrays."""
    half = float(data["response_half"])
    raw_mean, v, third, fourth = _central_moments(np.asarray(law.eta), int(data["largest"]))
    mean = (raw_mean - float(data["response_centre"])) / half
    v, third, fourth = v / half**2, third / half**3, fourth / half**4

    centre = law.of_function(law.eta, np)
    width = np.sqrt(law.of_function((law.eta - centre) ** 2, np))
    standard = (law.eta - centre) / width
    level, slope = law.of_function(mean, np), law.of_function(mean * standard, np)
    rest = mean - level - slope * standard
    quadratic = standard**2 - 1.0 - law.of_function(standard**3, np) * standard
    quadratic = quadratic / np.sqrt(law.of_function(quadratic**2, np) + FLAT)

    square = v + rest**2
    variance = law.of_function(fourth + 4.0 * rest * third + 6.0 * rest**2 * v + rest**4, np)
    covariance = law.with_row(third + 2.0 * rest * v + rest * square, np)
    for polynomial in (np.ones_like(standard), standard, quadratic):
        known = law.of_function(square * polynomial, np)
        variance -= known**2
        covariance = covariance - known * law.with_row(rest * polynomial, np)
    linear = slope / width * theta
    linear[0] += level - slope * centre / width
    return Dispersion(np.asarray(linear), float(law.of_function(v, np)), float(variance), np.asarray(covariance))


def _central_moments(eta: Array, largest: int) -> tuple[Array, Array, Array, Array]:
    """Mean, variance, third and fourth central moment of min(Y, largest) for Y ~ Poisson(exp(η)); one line of η at a time."""
    from scipy.special import gammaln, pdtrc

    counts = np.arange(largest + 1.0)
    found = []
    for line in np.clip(eta, -60.0, 60.0):
        rate = np.exp(line)[:, None]
        weights = np.exp(counts * line[:, None] - rate - gammaln(counts + 1.0))
        weights[:, -1] = pdtrc(largest - 1, rate[:, 0]) if largest else 1.0
        mean = weights @ counts
        away = counts - mean[:, None]
        found.append([mean, *(np.sum(weights * away**power, axis=1) for power in (2, 3, 4))])
    mean, second, third, fourth = np.array(found).transpose(1, 0, 2)
    return mean, second, third, fourth
