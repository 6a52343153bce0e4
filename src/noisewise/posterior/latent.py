"""The likelihood that knows what a Gram matrix is: the table's own matrix W is unknown, positive definite and bounded.

Rows (1, x, v) as in ``row_basis``: W holds S = Σ(1, x)(1, x)ᵀ, z = Σ(1, x)v and t = Σv². No distribution for x: S itself is unknown.
Given S, the coefficients θ of v on (1, x) and the residual variance τ²,

    z ~ N(Sθ, τ²S),      t − zᵀS⁻¹z = τ² χ²(n − d − 1),      independent,

and the release is W plus noise. This is the model of ``conditional``, which integrates S out with a flat prior over all symmetric
matrices. Here S = n·M with M = mean of (1, x)(1, x)ᵀ over the rows of the table: its mean m and covariance C have weak priors in the
units of the declared bounds, C is positive definite, and its scales may be anything from 0 (loose bounds) to the whole
range: m ~ N(0, ½²), C = DRD with standard deviations D half-normal (scale ½; a column that is uniform over its range has 0.58)
and all correlation matrices R equally likely (LKJ with η = 1).

Where S may be small, θ is free, and where S is large it is not: a funnel that a sampler gets stuck in. So θ ~ N(b, V) is
integrated out. With S = LLᵀ and z = Ly, y is normal with mean Lᵀb and covariance H = LᵀVL + τ²I, and zᵀS⁻¹z = yᵀy. The sampler sees
y = Lᵀb + H^½ ζ with ζ standard normal; θ is drawn afterwards from its exact normal distribution given (S, y, τ²).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.posterior.coordinates import Coordinates
from noisewise.posterior.kernels.small_linear import cholesky
from noisewise.posterior.parts import Part, rotation_invariant, row_count
from noisewise.posterior.prior import ResolvedPrior
from noisewise.posterior.row_basis import RowBasis

Array = npt.NDArray[np.float64]

MEAN_SCALE: Final = 0.5
DEVIATION_SCALE: Final = 0.5


def log_density_rotated(x: Any, data: Mapping[str, Any], xp: Any) -> Any:
    """Log posterior density up to a constant, for symmetric Gaussian noise."""
    gram, cross, total, spread, log_prior = _residuals(x, data, xp)
    noise = data["noise"]
    # Each pair off the diagonal occurs twice in the sum over the matrix, with variance noise/2: together the Frobenius norm.
    quadratic = (xp.sum(gram**2) + 2.0 * xp.sum(cross**2)) / noise + total**2 / (noise + spread)
    return log_prior - 0.5 * (quadratic + xp.log(noise + spread))


def log_density_dense(x: Any, data: Mapping[str, Any], xp: Any) -> Any:
    """The same for noise of any covariance between the entries (the Laplace mechanism: second moments only)."""
    gram, cross, total, spread, log_prior = _residuals(x, data, xp)
    others = xp.concatenate([gram[np.triu_indices(gram.shape[0])][data["skip"].shape[0]:], cross])
    rest = total - data["gain"] @ others
    variance = data["total_noise"] + spread
    return log_prior - 0.5 * (xp.sum((data["root"] @ others) ** 2) + rest**2 / variance + xp.log(variance))


def _residuals(x: Any, data: Mapping[str, Any], xp: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Released minus expected S, z and t; the variance of t besides the noise; and the log prior."""
    lower, response, tau2, rows, log_prior = _unknowns(x, data, xp)
    ratio = data["rows_ratio"]
    gram = data["gram"] - lower @ lower.T
    cross = data["cross"] - lower @ response
    free = rows * data["degrees"] - ratio * lower.shape[0]
    total = data["total"] - response @ response - free * tau2
    return gram, cross, total, 2.0 * rows * ratio * data["degrees"] * tau2**2, log_prior


def _unknowns(x: Any, data: Mapping[str, Any], xp: Any) -> tuple[Any, Any, Any, Any, Any]:
    """From the parameters (ζ, ±σ, m, log of D, directions of the rows of R's root, log rows) to L, y, τ², the rows and the log prior."""
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
    # LKJ: row i of R's root (from 0) is a point u of a sphere with density u_ii^(d − i) on its surface. With u = (w, 1) / √(1 + |w|²)
    # the surface element is (1 + |w|²)^(−(i + 1)/2) dw.
    log_prior += -0.5 * (features + 1.0) * xp.sum(xp.log(length2))
    log_rows = rest[len(below[0]):]
    rows = data["rows"]
    if log_rows.shape[0]:
        rows = xp.exp(log_rows[0])
        log_prior += log_rows[0]

    lower = xp.zeros((size, size)).at[0, 0].set(1.0).at[1:, 0].set(m).at[1:, 1:].set(root) * xp.sqrt(rows)
    tau2 = variance / data["response_scale2"]
    scaled = lower.T @ data["theta_root"]
    spread = cholesky(scaled @ scaled.T + tau2 * data["rows_ratio"] * xp.eye(size), copies=data["copies"].shape[0])
    return lower, lower.T @ data["theta_mean"] + spread @ zeta, tau2, rows, log_prior


@dataclass(frozen=True)
class LatentModel:
    """A regression with the predictors' moments as unknowns."""

    data: Mapping[str, Array]
    rotated: bool
    exact_rows: bool
    coordinates: Coordinates
    prior_root: Array
    prior_offset: Array

    @classmethod
    def of(cls, parts: Sequence[Part], coordinates: Coordinates, prior: ResolvedPrior,
           weights: Array | None = None) -> LatentModel:
        """Add up the holders' matrices, with weights where their noise differs."""
        w = np.ones(len(parts)) if weights is None else weights
        basis = RowBasis.of(coordinates)
        matrix = np.einsum("j,jkl->kl", w, [basis.project(part) for part in parts])
        rows = np.array([row_count(part) for part in parts])
        size = basis.features + 1
        # The prior says slope @ g + offset ~ N(0, I), so that g = −root @ offset + root @ N(0, I) with root = slope⁻¹.
        root = np.linalg.inv((prior.functionals @ coordinates.slope) / prior.sd[:, None])
        offset = (prior.functionals @ coordinates.offset - prior.mean) / prior.sd
        data: dict[str, Any] = {
            "gram": matrix[:size, :size],
            "cross": matrix[:size, size],
            "total": matrix[size, size],
            "rows": w @ rows,
            "rows_ratio": (w**2 @ rows) / (w @ rows),
            "degrees": 1.0,
            "copies": np.zeros(1),
            "response_scale2": basis.response_scale**2,
            "theta_root": basis.effects @ root,
            "theta_mean": basis.effects_offset - basis.effects @ root @ offset,
            "prior_sigma2": (prior.sigma / coordinates.half_width) ** 2,
        }
        rotated = all(rotation_invariant(part.noise) for part in parts)
        exact = parts[0].rows is not None
        if rotated:
            data["noise"] = sum(w**2 * [part.noise.diagonal**2 for part in parts])
        else:
            noise = np.einsum("j,jkl->kl", w**2, [basis.noise_covariance(part) for part in parts])
            data |= _conditional_noise(noise, size, 1 if exact else 0)
        return cls({key: np.asarray(value, dtype=float) for key, value in data.items()}, rotated, exact, coordinates, root, offset)

    @property
    def log_density(self) -> Any:
        return log_density_rotated if self.rotated else log_density_dense

    def start(self, sigma: float) -> tuple[Array, Array]:
        """Start at the noisy moments, projected to the cone."""
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
        import jax
        import jax.numpy as jnp

        data = {key: jnp.asarray(value) for key, value in self.data.items()}

        def one(x: Any, standard: Any) -> Any:
            lower, response, tau2, _, _ = _unknowns(x, data, jnp)
            effect = lower.T @ data["theta_root"]
            weight = tau2 * data["rows_ratio"]
            precision = jnp.linalg.cholesky(jnp.eye(effect.shape[1]) + effect.T @ effect / weight)
            mean = effect.T @ (response - lower.T @ data["theta_mean"]) / weight
            solved = jax.scipy.linalg.solve_triangular(precision, mean, lower=True) + standard
            return jax.scipy.linalg.solve_triangular(precision.T, solved, lower=False)

        size = self.data["gram"].shape[0]
        flat = draws.reshape(-1, draws.shape[-1])
        standard = np.random.default_rng(seed).normal(size=(len(flat), self.data["theta_root"].shape[1]))
        scaled = np.asarray(jax.jit(jax.vmap(one))(flat, standard))
        g = (scaled - self.prior_offset) @ self.prior_root.T
        return np.concatenate([g, flat[:, size:size + 1]], axis=1).reshape(*draws.shape[:-1], -1)


def _conditional_noise(noise: Array, size: int, skip: int) -> dict[str, Array]:
    """The noise of t given that of S and z, from the covariance of the noise of all entries of the matrix of (1, x, v)."""
    row, column = np.triu_indices(size + 1)
    others = np.concatenate([np.flatnonzero(column < size)[skip:], np.flatnonzero((column == size) & (row < size))])
    last = np.flatnonzero(row == size)
    precision = np.linalg.inv(noise[np.ix_(others, others)])
    gain = (noise[np.ix_(last, others)] @ precision)[0]
    return {
        "root": np.linalg.cholesky(precision).T,
        "gain": gain,
        "total_noise": noise[last[0], last[0]] - gain @ noise[others, last[0]],
        "skip": np.zeros(skip),
    }
