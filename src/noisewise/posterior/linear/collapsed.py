"""The likelihood for normal predictors, whose mean and covariance are sampled too.

Rows (1, x, v) as in ``coordinates``. w = (x, v) ~ N(μ, Σ), that is, x ~ N(m, C), v = θ₀ + θᵀx + N(0, τ²), τ = σ/ω. The
parameters give A = E[aaᵀ], and ``kernels.clt_density`` gives the density of the released matrices. A private number of
rows is a parameter too, one per holder, with a flat prior. The priors of m and C are in docs/methods.md; the density of C
is proportional to exp(−3(d + 1) tr C / 2), flat near 0, so loose bounds do no harm.

With d predictors Σ has (d + 1)(d + 2)/2 entries. A matrix over all of them would be too large, and is not needed.
Let VΛVᵀ be the released Σ̂, made positive definite if noise broke it, and

    Σ = R T Tᵀ Rᵀ,    R = V Λ^½,    μ = μ̂ + R t,

with T lower triangular (a logarithm on its diagonal) and large eigenvalues first. Both the scatter of a table's covariance,
2nΣ⊗Σ, and symmetric noise are diagonal in V, so t and the entries of T are nearly independent, with known standard deviations
(i ≠ j; half the variance for log T_ii):

    Var(t_i) ≈ (1 + s²/(2nλᵢ)) / n,      Var(T_ij) ≈ (1 + s²/(2nλᵢλⱼ)) / n.

One correlation is left: Σ̂ = Ŵ_ww/n − μ̂μ̂ᵀ is distorted by the noise e of μ̂, and a deviation of μ makes up the share
s²/(2nλᵢ + s²) of e in direction i. So T is measured from Σ̂ without that noise, a shift that is linear in t.

By Σ⁻¹e_v = (−θ, 1)/τ² the coefficients follow from two triangular systems. Densities: dC dθ dτ² = dΣ / det C and
det Σ = τ² det C give, for parameters (t, log T_ii, T_ij), the factor τ · Π T_ii^(d − i), i from 0, in addition to the priors
of (m, C, θ, σ).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from noisewise.arrays import Array, Namespace, Traced
from noisewise.errors import FitError
from noisewise.posterior.contributions import Contributions, residual_rows, rotation_invariant, row_count
from noisewise.posterior.kernels.clt_density import clt_log_density, dense_covariance
from noisewise.posterior.kernels.diagonal_nuts import ACCEPTANCE, CAREFUL_ACCEPTANCE, sample_diagonal
from noisewise.posterior.kernels.jax_setup import Program, double_precision
from noisewise.posterior.kernels.mode import LogDensity
from noisewise.posterior.kernels.nuts import NutsDraws
from noisewise.posterior.linear.coordinates import Coordinates, LinearModel, RowBasis
from noisewise.posterior.prior import ResolvedPrior
from noisewise.progress import Tick
from noisewise.run import nobody
from noisewise.words import option

USUAL_SCATTER: Final = 0.02
"""2λ² of a typical column, to weigh holders by noise and scatter for the starting point."""
HIDDEN: Final = 0.5
"""Eigenvalues hidden by the noise are set to this share of the noise's largest eigenvalue."""
WIDEST_DIAGONAL: Final = 4.0
"""Least precision of log T_ii: about that of the logarithm of a χ variable with three degrees of freedom, 4.3."""


def log_density_rotated(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """Log posterior density up to a constant, for symmetric Gaussian noise: O(d³) per holder."""
    import jax

    unknown = unknowns(x, data, xp)
    observed = unknown.rows, data["noise"], data["matrices"]
    if len(data["matrices"]) == 1:  # avoid a batch axis of length 1 in calls of LAPACK
        return unknown.log_prior + clt_log_density()(unknown.moments, *(each[0] for each in observed))
    density = jax.vmap(clt_log_density(), in_axes=(None, 0, 0, 0))
    result: Traced = unknown.log_prior + xp.sum(density(unknown.moments, *observed))
    return result


def log_density_dense(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """The same for noise of any covariance between the released entries: O(d⁶), matching second moments only."""
    unknown = unknowns(x, data, xp)
    a, rows = unknown.moments, unknown.rows
    i, j = np.triu_indices(a.shape[0])
    used = slice(data["skip"].shape[0], None)  # an exact corner is not an observation
    total = unknown.log_prior
    for index in range(data["matrices"].shape[0]):
        covariance = dense_covariance(a, rows[index], xp) + data["noise_covariance"][index]
        residual = (data["matrices"][index] - rows[index] * a)[i, j][used]
        lower = xp.linalg.cholesky(covariance[used, used])
        standard = _solve_lower(lower, residual)
        total = total - 0.5 * xp.sum(standard**2) - xp.sum(xp.log(xp.diagonal(lower)))
    return total


def _solve_lower(lower: Traced, vector: Traced, *, transposed: bool = False) -> Traced:
    from jax.scipy.linalg import solve_triangular

    return solve_triangular(lower, vector, lower=True, trans=1 if transposed else 0)


class Unknowns(NamedTuple):
    """The model's quantities, computed from the parameters."""

    g: Traced
    variance: Traced
    """σ²."""
    mean: Traced
    covariance: Traced
    moments: Traced
    """A."""
    rows: Traced
    log_prior: Traced
    """The log prior of the parameters, with the Jacobian."""


def unknowns(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Unknowns:
    """Convert the parameters (t, log diagonal of T, rest of T, log rows) to the model's quantities."""
    root, average = data["root"], data["average"]
    size, means = len(root), data["mean_root"].shape[1]
    below = np.tril_indices(size, -1)
    t, log_diagonal, rest = x[:means], x[means:means + size], x[means + size:]
    lower, log_rows = xp.zeros((size, size)).at[below].set(rest[:len(below[0])]), rest[len(below[0]):]
    if means == size:
        cross = xp.outer(data["standard_centre"], data["noise_share"] * t)
        lower = lower - xp.tril(cross + cross.T, -1)
        log_diagonal = log_diagonal - xp.diagonal(cross)
    lower = lower + xp.diag(xp.exp(log_diagonal))

    factor = root @ lower
    covariance = factor @ factor.T
    last = _solve_lower(lower, data["inverse_root"][:, -1])
    tau2 = 1.0 / (last @ last)
    slopes = -tau2 * (_solve_lower(lower, last, transposed=True) @ data["inverse_root"])[:-1]
    mean = data["centre"][:means] + data["mean_root"] @ t
    if means == size:
        theta = xp.concatenate([(mean[-1] - slopes @ mean[:-1])[None], slopes])
        g = data["from_theta"] @ (theta - data["effects_offset"])
    else:  # no intercept: the response's mean is not free
        g = data["from_theta"] @ (slopes - data["effects_offset"][1:])
        level = data["effects"][0] @ g + data["effects_offset"][0]
        mean = xp.concatenate([mean, (level + slopes @ mean)[None]])
    # Rows that were averaged in groups of k are (√k, …): their constant is √k, and their mean √k times as large.
    border = average * mean
    moments = xp.zeros((size + 1, size + 1)).at[0, 0].set(average).at[0, 1:].set(border).at[1:, 0].set(border)
    moments = moments.at[1:, 1:].set(covariance + xp.outer(border, mean))

    variance = tau2 * data["residual_norm2"]
    standard = data["prior_slope"] @ g + data["prior_offset"]
    log_prior = -0.5 * xp.sum(standard**2) - 0.5 * variance / data["prior_sigma2"]
    log_prior += -0.5 * xp.sum((mean[:-1] / data["mean_scale"]) ** 2)
    log_prior += -0.5 * xp.trace(covariance[:-1, :-1]) / data["wishart_scale2"]
    log_prior += 0.5 * xp.log(tau2) + xp.sum((size - 1.0 - xp.arange(size)) * log_diagonal)
    rows = data["rows"]
    if log_rows.shape[0]:
        rows = xp.exp(log_rows)
        log_prior += xp.sum(log_rows)
    return Unknowns(g, variance, mean, covariance, moments, rows, log_prior)


@dataclass(frozen=True)
class CollapsedModel(LinearModel):
    """A regression with normal predictors on one or several releases."""

    exact_rows: bool
    scale: Array
    hidden: bool
    """True if the noise hides some direction of w, where the posterior is far from normal."""

    @classmethod
    def of(cls, contributions: Contributions, coordinates: Coordinates, prior: ResolvedPrior) -> CollapsedModel:
        """Build the model; refuse holders who averaged their rows in groups of different sizes."""
        basis = RowBasis.of(coordinates)
        exact = contributions[0].rows is not None
        rotated = all(rotation_invariant(one.noise) for one in contributions)
        features = basis.features
        average = _common_average(contributions)
        rows = np.array([residual_rows(one) for one in contributions])
        matrices = np.array([basis.project(one) for one in contributions])
        rough = _Rough.of(matrices, rows, np.array([2.0 * one.noise.off_diagonal**2 for one in contributions]), average)
        free = basis.effects.shape[1] == features + 1
        data: dict[str, Array | float] = {
            "matrices": matrices,
            "rows": rows,
            "average": average,
            "effects": basis.effects,
            "effects_offset": basis.effects_offset,
            "from_theta": np.asarray(np.linalg.inv(basis.effects) if free else np.linalg.pinv(basis.effects[1:]), dtype=float),
            "residual_norm2": basis.response_scale**2,
            "mean_scale": np.ones(features),
            "wishart_scale2": 1.0 / (3.0 * (features + 1)),
            **rough.data(free),
            **prior.in_coordinates(coordinates),
        }
        if rotated:
            data["noise"] = np.array([one.noise.diagonal**2 for one in contributions])
        else:
            variances = [one.noise.variances(len(basis.matrix)) for one in contributions]
            data["noise_covariance"] = np.array([basis.covariance_of(each) for each in variances])
            data["skip"] = np.zeros(1 if exact else 0)
        scale = rough.scale(free)
        if not exact:
            deviations = np.array([one.noise.corner for one in contributions]) / np.maximum(rows, 10.0)
            scale = np.append(scale, np.minimum(deviations, 0.3))
        return cls({key: np.asarray(value, dtype=float) for key, value in data.items()}, coordinates, rotated, exact, scale,
                   rough.hidden)

    @property
    def log_density(self) -> LogDensity:
        """The fast density if all noise is rotation invariant, otherwise the dense one."""
        return log_density_rotated if self.rotated else log_density_dense

    def sample(self, *, seed: int, chains: int, draws: int, warmup: int = 300, tick: Tick = nobody) -> NutsDraws:
        """Draws of (g, σ)."""
        return sample_diagonal(self.log_density, self.data, *self.start(), seed=seed, chains=chains, draws=draws, warmup=warmup,
                               acceptance=CAREFUL_ACCEPTANCE if self.hidden else ACCEPTANCE, shown=self.coefficients, tick=tick)

    def start(self) -> tuple[Array, Array]:
        """Return the noisy moments, projected to the cone, and the approximate standard deviation of every parameter."""
        tail = np.zeros(0) if self.exact_rows else np.log(np.maximum(self.data["rows"], 10.0))
        return np.append(np.zeros(len(self.scale) - len(tail)), tail), self.scale

    def coefficients(self, draws: Array) -> Array:
        """Return (g, σ) for each draw of the parameters, with any leading axes."""
        flat = draws.reshape(-1, draws.shape[-1])
        with double_precision():
            found = np.asarray(_coefficients()(flat, dict(self.data)))
        return found.reshape(*draws.shape[:-1], -1)


@cache
def _coefficients() -> Program:
    """Return (g, σ) of many draws, one after the other."""
    import jax
    import jax.numpy as jnp

    def one(x: Traced, data: Mapping[str, Traced]) -> Traced:
        unknown = unknowns(x, data, jnp)
        return jnp.append(unknown.g, jnp.sqrt(unknown.variance))

    return jax.jit(lambda flat, data: jax.lax.map(lambda x: one(x, data), flat))


@dataclass(frozen=True)
class _Rough:
    """An estimate of μ and Σ from the released matrices, with its precision."""

    rows: float
    noise2: float
    """The variance of the noise on the diagonal, per row."""
    average: float
    centre: Array
    eigenvalues: Array
    vectors: Array
    hidden: bool

    @classmethod
    def of(cls, matrices: Array, rows: Array, noise: Array, average: float) -> _Rough:
        """``noise``: the variances on the diagonals."""
        rows = np.maximum(rows, 10.0)
        weights = 1.0 / (USUAL_SCATTER + noise / rows)
        total = float(weights @ rows)
        moments = np.einsum("j,jkl->kl", weights, matrices) / total
        noise2 = float(weights**2 @ noise) / total**2
        centre = np.clip(moments[0, 1:] / average, -1.0, 1.0)
        covariance = moments[1:, 1:] - average * np.outer(centre, centre)
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        least = np.clip(HIDDEN * np.sqrt(2.0 * len(centre) * noise2), 1e-6, 1.0 / 3.0)
        worth = total**2 / float(weights**2 @ rows)
        return cls(worth, noise2, average, centre, np.maximum(values, least)[::-1], vectors[:, ::-1], bool(values[0] < least))

    def data(self, free: bool) -> dict[str, Array]:
        """Return the arrays that define the parameters; ``free``: whether the response's mean is one."""
        root = self.vectors * np.sqrt(self.eigenvalues)
        inverse = (self.vectors / np.sqrt(self.eigenvalues)).T
        return {
            "root": root,
            "inverse_root": inverse,
            "centre": self.centre,
            "standard_centre": inverse @ self.centre,
            "noise_share": self.average * self.noise2 / (2.0 * self.eigenvalues / self.rows + self.noise2),
            "mean_root": np.asarray(root if free else np.linalg.cholesky((root @ root.T)[:-1, :-1]), dtype=float),
        }

    def scale(self, free: bool) -> Array:
        """Return approximate standard deviations of (t, log diagonal of T, rest of T), from the data or the prior."""
        size, values = len(self.eigenvalues), self.eigenvalues
        products = np.outer(values, values)
        told = self.rows / (1.0 + 0.5 * self.rows * self.noise2 / products)
        mean = self.average * self.rows / (1.0 + 0.5 * self.rows * self.noise2 / values) + values
        precisions = mean if free else mean[1:], 2.0 * np.diag(told) + WIDEST_DIAGONAL, (told + size)[np.tril_indices(size, -1)]
        result: Array = 1.0 / np.sqrt(np.concatenate(precisions))
        return result


def _common_average(contributions: Contributions) -> float:
    """Return the number of rows averaged into one. It must be the same for all holders, who share the moments A."""
    averages = {getattr(one, "average", 1) for one in contributions}
    if len(averages) > 1:
        raise FitError("this method requires the same group size from all holders who averaged their rows",
                       argument="method", found=", ".join(map(str, sorted(averages))),
                       remedy="use " + option("method", "conditional"))
    return row_count(contributions[0]) / residual_rows(contributions[0])
