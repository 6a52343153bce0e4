"""The likelihood for normal predictors: nothing plugged in, the predictors' mean and covariance are sampled too.

Rows (1, x, v) in an orthonormal basis of the columns that the formula uses: x are the predictors' directions besides the
constant, v is the response's own direction. x ~ N(m, C), v = α + θᵀx + N(0, σ²/ω²). The parameters give A = E[aaᵀ], and
``kernels.clt_density`` gives the density of the released matrices. Where the number of rows is private it is a parameter too, one
per holder, with a flat prior.

The priors: C = LLᵀ with L = scale · Bartlett factor, so that C is Wishart with d + 1 degrees of freedom and mean ⅓ · identity (a
uniform scaled column has variance ⅓); this density is flat near 0, so that loose bounds do no harm. m is standard normal in
scaled units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError
from noisewise.posterior.coordinates import Coordinates
from noisewise.posterior.kernels.clt_density import clt_log_density, dense_covariance, np_triangle
from noisewise.posterior.parts import Part, residual_rows, rotation_invariant, row_count
from noisewise.posterior.prior import ResolvedPrior
from noisewise.posterior.row_basis import RowBasis

Array = npt.NDArray[np.float64]


def log_density_rotated(x: Any, data: Mapping[str, Any], xp: Any) -> Any:
    """Log posterior density up to a constant, for symmetric Gaussian noise: O(d³) per holder."""
    import jax

    a, rows, log_prior = _second_moments(x, data, xp)
    density = jax.vmap(clt_log_density(), in_axes=(None, 0, 0, 0))
    return xp.sum(density(a, rows, data["noise"], data["matrices"])) + log_prior


def log_density_dense(x: Any, data: Mapping[str, Any], xp: Any) -> Any:
    """The same for noise of any covariance between the released entries: O(d⁶), matching second moments only."""
    a, rows, log_prior = _second_moments(x, data, xp)
    i, j = np_triangle(a.shape[0])
    used = slice(data["skip"].shape[0], None)  # an exact corner is not an observation
    total = log_prior
    for index in range(data["matrices"].shape[0]):
        covariance = dense_covariance(a, rows[index], xp) + data["noise_covariance"][index]
        residual = (data["matrices"][index] - rows[index] * a)[i, j][used]
        lower = xp.linalg.cholesky(covariance[used, used])
        standard = _solve_lower(lower, residual)
        total = total - 0.5 * xp.sum(standard**2) - xp.sum(xp.log(xp.diagonal(lower)))
    return total


def _solve_lower(lower: Any, vector: Any) -> Any:
    from jax.scipy.linalg import solve_triangular

    return solve_triangular(lower, vector, lower=True)


def _second_moments(x: Any, data: Mapping[str, Any], xp: Any) -> tuple[Any, Any, Any]:
    """From the parameters (g, ±σ, m, log diagonal of L, rest of L, log rows) to A, the numbers of rows and the log prior."""
    features = data["mean_scale"].shape[0]
    p = data["effects"].shape[1]
    below = np.tril_indices(features, -1)
    g, variance, rest = x[:p], x[p] ** 2, x[p + 1:]
    m, log_diagonal, rest = rest[:features], rest[features:2 * features], rest[2 * features:]
    lower = xp.diag(xp.exp(log_diagonal))
    lower = lower.at[below].set(rest[:len(below[0])])
    log_rows = rest[len(below[0]):]

    effects = data["effects"] @ g + data["effects_offset"]
    moments = xp.zeros((features + 2, features + 2))
    covariance = lower @ lower.T + data["average"] * xp.outer(m, m)
    # Rows that were averaged in groups of k are (√k, …): the constant is √k there, and the mean √k times as large.
    inner = xp.concatenate([xp.concatenate([data["average"][None, None], data["average"] * m[None]], axis=1),
                            xp.concatenate([data["average"] * m[:, None], covariance], axis=1)])
    cross = inner @ effects
    moments = moments.at[:-1, :-1].set(inner).at[-1, :-1].set(cross).at[:-1, -1].set(cross)
    moments = moments.at[-1, -1].set(effects @ cross + variance / data["residual_norm2"])

    standard = data["prior_slope"] @ g + data["prior_offset"]
    log_prior = -0.5 * xp.sum(standard**2) - 0.5 * variance / data["prior_sigma2"]
    log_prior += -0.5 * xp.sum((m / data["mean_scale"]) ** 2)
    log_prior += -0.5 * xp.sum(lower**2) / data["wishart_scale2"]
    # Bartlett: the i-th diagonal entry is a chi variable with d + 1 − i degrees of freedom (i from 0); + 1 for its logarithm.
    log_prior += xp.sum((features + 1.0 - xp.arange(features)) * log_diagonal)
    rows = data["rows"]
    if log_rows.shape[0]:
        rows = xp.exp(log_rows)
        log_prior += xp.sum(log_rows)
    return moments, rows, log_prior


@dataclass(frozen=True)
class CollapsedModel:
    """A regression with normal predictors on one or several releases."""

    data: Mapping[str, Array]
    rotated: bool
    exact_rows: bool
    coordinates: Coordinates

    @classmethod
    def of(cls, parts: Sequence[Part], coordinates: Coordinates, prior: ResolvedPrior) -> CollapsedModel:
        basis = RowBasis.of(coordinates)
        matrices = np.array([basis.project(part) for part in parts])
        exact = parts[0].rows is not None
        rotated = all(rotation_invariant(part.noise) for part in parts)
        features = basis.features
        data: dict[str, Any] = {
            "matrices": matrices,
            "rows": np.array([residual_rows(part) for part in parts]),
            "average": _common_average(parts),
            "effects": basis.effects,
            "effects_offset": basis.effects_offset,
            "residual_norm2": basis.response_scale**2,
            "mean_scale": np.ones(features),
            "wishart_scale2": 1.0 / (3.0 * (features + 1)),
            **prior.in_coordinates(coordinates),
        }
        if rotated:
            data["noise"] = np.array([part.noise.diagonal**2 for part in parts])
        else:
            data["noise_covariance"] = np.array([basis.noise_covariance(part) for part in parts])
            data["skip"] = np.zeros(1 if exact else 0)
        return cls({key: np.asarray(value, dtype=float) for key, value in data.items()}, rotated, exact, coordinates)

    @property
    def log_density(self) -> Any:
        return log_density_rotated if self.rotated else log_density_dense

    def start(self, g: Array, sigma: float) -> tuple[Array, Array]:
        """Start at the noisy moments, projected to the cone, with coefficients from the conditional likelihood."""
        rows = np.maximum(self.data["rows"], 10.0)
        features = len(self.data["mean_scale"])
        moments = self.data["matrices"].sum(axis=0) / rows.sum()
        average = float(self.data["average"])
        mean = np.clip(moments[0, 1:-1] / average, -1.0, 1.0)
        covariance = moments[1:-1, 1:-1] - average * np.outer(mean, mean)
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2) if features else (np.ones(0), np.ones((0, 0)))
        lower = np.linalg.cholesky((vectors * np.clip(values, 0.01, 1.0)) @ vectors.T) if features else np.ones((0, 0))
        tail = np.zeros(0) if self.exact_rows else np.log(rows)
        point = np.concatenate([g, [sigma], mean, np.log(np.diag(lower)), lower[np.tril_indices(features, -1)], tail])
        return point, np.full(len(point), 0.05)


def _common_average(parts: Sequence[Part]) -> float:
    """How many rows were averaged into one, if it is the same for all holders: they share the moments A."""
    averages = {getattr(part, "average", 1) for part in parts}
    if len(averages) > 1:
        raise FitError("holders who averaged their rows must have averaged equally many for this method",
                       found=", ".join(map(str, sorted(averages))), remedy='use method="conditional"')
    first = parts[0]
    return row_count(first) / residual_rows(first)
