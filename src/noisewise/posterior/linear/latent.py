"""The likelihood that uses the properties of a Gram matrix: the table's own matrix W is unknown, positive definite and bounded.

Rows (1, x, v) as in ``coordinates``: W holds S = Σ(1, x)(1, x)ᵀ, z = Σ(1, x)v and t = Σv². No distribution for x: S itself is
unknown. Given S, the coefficients θ of v on (1, x) and the residual variance τ²,

    z ~ N(Sθ, τ²S),      t − zᵀS⁻¹z = τ² χ²(n − d − 1),      independent,

and the release is W plus noise. This is the model of ``conditional``, which integrates S out with a flat prior over all symmetric
matrices; here S has weak priors in units of the declared bounds, which docs/methods.md states and justifies.

If S is small, θ is free; if S is large, it is not: a funnel in which a sampler gets stuck. So θ ~ N(b, V) is
integrated out: with S = LLᵀ and z = Ly, y = Lᵀb + Au with AAᵀ = LᵀVL + τ²I and u standard normal, and zᵀS⁻¹z = yᵀy. Given ẑ and
S, u is normal again; the sampler sees it in its own standard units ζ, so that ζ is nearly standard normal whatever the
noise (only t̂ says more). θ is drawn afterwards from its exact normal distribution given (S, y, τ²).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from noisewise.arrays import Array, Namespace, Traced
from noisewise.posterior.contributions import (
    Contributions,
    residual_rows,
    rotation_invariant,
    row_count,
    weighted_sum,
    weighted_variances,
)
from noisewise.posterior.kernels.jax_setup import Program, double_precision
from noisewise.posterior.kernels.mode import LogDensity
from noisewise.posterior.kernels.small_linear import cholesky, solve_lower
from noisewise.posterior.linear.coordinates import Coordinates, LinearModel, RowBasis
from noisewise.posterior.prior import ResolvedPrior

MEAN_SCALE: Final = 0.5
DEVIATION_SCALE: Final = 0.5


def log_density_rotated(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """Log posterior density up to a constant, for symmetric Gaussian noise."""
    unknown = _unknowns(x, data, xp)
    noise = data["noise"]
    gram = data["gram"] - unknown.lower @ unknown.lower.T
    response, log_cross = _response(unknown, data, xp)
    total, spread = _total(unknown, response, data)
    # Each pair off the diagonal occurs twice in the sum over the matrix, with variance noise/2: together the Frobenius norm.
    quadratic = xp.sum(gram**2) / noise + total**2 / (noise + spread)
    result: Traced = unknown.log_prior + log_cross - 0.5 * (quadratic + xp.log(noise + spread))
    return result


def log_density_dense(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """The same for noise of any covariance between the entries (the Laplace mechanism: second moments only)."""
    unknown = _unknowns(x, data, xp)
    gram = _gram_entries(unknown, data)
    response, log_cross = _response(unknown, data, xp)
    total, spread = _total(unknown, response, data)
    total = total - data["total_gain"] @ xp.concatenate([gram, data["cross"] - unknown.lower @ response])
    variance = data["total_noise"] + spread
    quadratic = xp.sum((data["gram_root"] @ gram) ** 2) + total**2 / variance
    result: Traced = unknown.log_prior + log_cross - 0.5 * (quadratic + xp.log(variance))
    return result


class Unknowns(NamedTuple):
    """The model's quantities, computed from the parameters."""

    zeta: Traced
    lower: Traced
    """L with S = LLᵀ."""
    tau2: Traced
    rows: Traced
    log_prior: Traced


def _unknowns(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Unknowns:
    """Convert the parameters (ζ, ±σ, m, log of D, directions of the rows of R's root, log rows) to the model's quantities."""
    size = data["gram"].shape[0]
    features = size - 1
    below = np.tril_indices(features, -1)
    zeta, variance, rest = x[:size], x[size] ** 2, x[size + 1:]
    m, log_deviation, rest = rest[:features], rest[features:2 * features], rest[2 * features:]
    direction = xp.eye(features).at[below].set(rest[:len(below[0])])
    length2 = xp.sum(direction**2, axis=1)
    root = direction * (xp.exp(log_deviation) / xp.sqrt(length2))[:, None]

    log_prior = -0.5 * xp.sum(zeta**2) - 0.5 * variance / data["prior_sigma2"]
    log_prior += -0.5 * xp.sum(m**2) / MEAN_SCALE**2
    log_prior += xp.sum(log_deviation - 0.5 * xp.exp(2.0 * log_deviation) / DEVIATION_SCALE**2)
    # LKJ: row i of R's root (from 0) is a point u of a sphere with density u_ii^(d − i) on its surface. With
    # u = (w, 1) / √(1 + |w|²) the surface element is (1 + |w|²)^(−(i + 1)/2) dw.
    log_prior += -0.5 * (features + 1.0) * xp.sum(xp.log(length2))
    log_rows = rest[len(below[0]):]
    rows = data["rows"]
    if log_rows.shape[0]:
        rows = xp.exp(log_rows[0])
        log_prior += log_rows[0]
    lower = xp.zeros((size, size)).at[0, 0].set(1.0).at[1:, 0].set(m).at[1:, 1:].set(root) * xp.sqrt(rows)
    return Unknowns(zeta, lower, variance / data["response_scale2"], rows, log_prior)


def _gram_entries(unknown: Unknowns, data: Mapping[str, Traced]) -> Traced:
    """Released minus true S, entry by entry; an exact corner is left out."""
    residual = data["gram"] - unknown.lower @ unknown.lower.T
    return residual[np.triu_indices(residual.shape[0])][data["skip"].shape[0]:]


def _seen_cross(unknown: Unknowns, data: Mapping[str, Traced], xp: Namespace) -> tuple[Traced, Traced]:
    """Return ẑ minus its noise as predicted from the noise of Ŝ, and the factor that standardises the remaining noise."""
    if "noise" in data:
        return data["cross"], xp.sqrt(2.0 / data["noise"])
    return data["cross"] - data["cross_gain"] @ _gram_entries(unknown, data), data["cross_root"]


def _response(unknown: Unknowns, data: Mapping[str, Traced], xp: Namespace) -> tuple[Traced, Traced]:
    """y, and the log density of ẑ given S."""
    cross, noise_root = _seen_cross(unknown, data, xp)
    copies = data["copies"].shape[0]
    lower = unknown.lower
    one = xp.eye(lower.shape[0])
    scaled = lower.T @ data["theta_root"]
    least = 1e-12 * unknown.rows  # without an intercept, θ's prior is not of full rank, and τ² may be 0
    a = cholesky(scaled @ scaled.T + (unknown.tau2 * data["rows_ratio"] + least) * one, copies=copies)
    expected = lower.T @ data["theta_mean"]
    if noise_root.ndim:
        seen, residual = noise_root @ lower @ a, noise_root @ (cross - lower @ expected)
    else:
        seen, residual = noise_root * (lower @ a), noise_root * (cross - lower @ expected)
    b = cholesky(one + seen.T @ seen, copies=copies)
    u = solve_lower(b, solve_lower(b, seen.T @ residual, copies=copies), transposed=True, copies=copies)
    left = residual - seen @ u
    log_cross = -0.5 * (left @ left + u @ u) - xp.sum(xp.log(xp.diagonal(b)))
    return expected + a @ (u + solve_lower(b, unknown.zeta, transposed=True, copies=copies)), log_cross


def _total(unknown: Unknowns, response: Traced, data: Mapping[str, Traced]) -> tuple[Traced, Traced]:
    """Released minus expected t, and its variance without the noise."""
    ratio = data["rows_ratio"]
    free = unknown.rows * data["degrees"] - ratio * unknown.lower.shape[0]
    residual = data["total"] - response @ response - free * unknown.tau2
    return residual, 2.0 * unknown.rows * ratio * data["degrees"] * unknown.tau2**2


@dataclass(frozen=True)
class LatentModel(LinearModel):
    """A regression with the predictors' moments as unknowns."""

    exact_rows: bool
    prior_root: Array
    prior_offset: Array

    @classmethod
    def of(cls, contributions: Contributions, coordinates: Coordinates, prior: ResolvedPrior,
           weights: Array | None = None) -> LatentModel:
        """Add up the holders' matrices, with weights if their noise differs."""
        w = np.ones(len(contributions)) if weights is None else weights
        basis = RowBasis.of(coordinates)
        matrix = basis.matrix.T @ weighted_sum(w, contributions) @ basis.matrix
        rows = np.array([row_count(one) for one in contributions])
        groups = np.array([residual_rows(one) for one in contributions])
        size = basis.features + 1
        # The prior says slope @ g + offset ~ N(0, I), so that g = −root @ offset + root @ N(0, I) with root = slope⁻¹.
        given = prior.in_coordinates(coordinates)
        root, offset = np.linalg.inv(given["prior_slope"]), given["prior_offset"]
        data: dict[str, Array | float] = {
            "gram": matrix[:size, :size],
            "cross": matrix[:size, size],
            "total": matrix[size, size],
            "rows": w @ rows,
            "rows_ratio": (w**2 @ rows) / (w @ rows),
            "degrees": (w @ groups) / (w @ rows),
            "copies": np.zeros(1),
            "response_scale2": basis.response_scale**2,
            "theta_root": basis.effects @ root,
            "theta_mean": basis.effects_offset - basis.effects @ root @ offset,
            "prior_sigma2": given["prior_sigma2"],
        }
        rotated = all(rotation_invariant(one.noise) for one in contributions)
        exact = contributions[0].rows is not None
        if rotated:
            data["noise"] = float(sum(w**2 * [one.noise.diagonal**2 for one in contributions]))
        else:
            data |= _conditional_noise(basis.covariance_of(weighted_variances(w, contributions)), size, 1 if exact else 0)
        arrays = {key: np.asarray(value, dtype=float) for key, value in data.items()}
        return cls(arrays, coordinates, rotated, exact, np.asarray(root, dtype=float), offset)

    @property
    def log_density(self) -> LogDensity:
        """The fast density if all noise is rotation invariant, otherwise the dense one."""
        return log_density_rotated if self.rotated else log_density_dense

    def start(self, sigma: float = 0.3) -> tuple[Array, Array]:
        """Start at the noisy moments, projected to the cone; σ in working units."""
        rows = max(float(self.data["rows"]), 10.0)
        features = self.data["gram"].shape[0] - 1
        moments = self.data["gram"] / rows
        mean = np.clip(moments[0, 1:], -0.9, 0.9)
        covariance = moments[1:, 1:] - np.outer(mean, mean)
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2) if features else (np.ones(0), np.ones((0, 0)))
        lower = np.linalg.cholesky((vectors * np.clip(values, 0.02, 1.0)) @ vectors.T) if features else np.ones((0, 0))
        tail = np.zeros(0) if self.exact_rows else np.log([rows])
        point = np.concatenate([np.zeros(features + 1), [sigma], mean, np.log(np.linalg.norm(lower, axis=1)),
                                (lower / np.diag(lower)[:, None])[np.tril_indices(features, -1)], tail])
        return point, np.full(len(point), 0.1)

    def coefficients(self, draws: Array, seed: int) -> Array:
        """(g, ±σ) for each draw of the parameters: g from its normal distribution given the rest."""
        flat = draws.reshape(-1, draws.shape[-1])
        size, p = self.data["theta_root"].shape
        standard = np.random.default_rng(seed).normal(size=(len(flat), p))
        with double_precision():
            scaled = np.asarray(_standard_coefficients()(flat, standard, dict(self.data)))
        g = (scaled - self.prior_offset) @ self.prior_root.T
        return np.concatenate([g, flat[:, size:size + 1]], axis=1).reshape(*draws.shape[:-1], p + 1)


@cache
def _standard_coefficients() -> Program:
    """Draws of slope @ g + offset, whose prior is standard normal, given the other unknowns of each draw."""
    import jax
    import jax.numpy as jnp

    def one(x: Traced, standard: Traced, data: Mapping[str, Traced]) -> Traced:
        unknown = _unknowns(x, data, jnp)
        response, _ = _response(unknown, data, jnp)
        effect = unknown.lower.T @ data["theta_root"]
        weight = unknown.tau2 * data["rows_ratio"]
        precision = cholesky(jnp.eye(effect.shape[1]) + effect.T @ effect / weight)
        mean = effect.T @ (response - unknown.lower.T @ data["theta_mean"]) / weight
        return solve_lower(precision, solve_lower(precision, mean) + standard, transposed=True)

    return jax.jit(lambda flat, standard, data: jax.lax.map(lambda both: one(both[0], both[1], data), (flat, standard)))


def _conditional_noise(noise: Array, size: int, skip: int) -> dict[str, Array]:
    """The noise of z given that of S, and of t given both, from the covariance of the noise of all entries."""
    row, column = np.triu_indices(size + 1)
    gram = np.flatnonzero(column < size)[skip:]
    cross = np.flatnonzero((column == size) & (row < size))
    others, last = np.concatenate([gram, cross]), len(row) - 1
    of_gram = np.linalg.inv(noise[np.ix_(gram, gram)])
    cross_gain = noise[np.ix_(cross, gram)] @ of_gram
    cross_noise = noise[np.ix_(cross, cross)] - cross_gain @ noise[np.ix_(gram, cross)]
    total_gain = np.linalg.solve(noise[np.ix_(others, others)], noise[others, last])
    return {
        "gram_root": np.linalg.cholesky(of_gram).T,
        "cross_gain": cross_gain,
        "cross_root": np.linalg.cholesky(np.linalg.inv(cross_noise)).T,
        "total_gain": total_gain,
        "total_noise": noise[last, last] - total_gain @ noise[others, last],
        "skip": np.zeros(skip),
    }
