"""The model of Kulkarni et al. (2021, paper 003) with its Taylor series, and ours, for coefficients of growing norm.

x ~ N(0, Σ), y = ±1, tanh(η/2) ≈ η/2 − η³/24. With v = Σθ, τ² = θᵀv and k = ½ − τ²/8 the expectations of section 3.2 are

    E[y x] = k v,      E[y x_i x_j x_k] = k (Σ_ij v_k + Σ_ik v_j + Σ_jk v_i) − v_i v_j v_k / 4,

and (Σ y x, Σ xxᵀ) is treated as normal with N times the covariance of a row, plus the noise, as in the paper, with its errata
corrected (the sign in (5), case (b), min for max). A dense matrix of size d + d(d + 1)/2, and no d⁴ table of pairings.

|k v| has a largest value, at τ² = 4/3: tables with a stronger signal than that have no θ that would explain them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.posterior.glm.densities import log_normal
from noisewise.posterior.prior import Prior
from studies.paper_003_models import DELTA, Rows, entry_variances, model_of, noisy_part, sample_models

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

NORMS: Final = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
DIRECTION: Final = np.array([0.8, 0.6])
SCALE: Final = 4.0
"""Rows are divided by this and cut off at norm 1."""
CORRELATION: Final = 0.5
EPSILON: Final = 1.0
ROWS: Final = 20_000
SPREAD_OF_DEVIATIONS: Final = 2.5
TAYLOR, OURS, UNTOLD = "Taylor", "quadrature", "quadrature, mean not told"
"""The last is ours without knowing that the predictors' mean is 0, which the paper's statistic does not show."""
METHODS: Final = (TAYLOR, OURS, UNTOLD)
UNTOLD_NORMS: Final = (1.0, 5.0, 6.0)
"""The norms for the third, which takes several times as long as the others."""


def log_density(x: Any, data: Mapping[str, Any], xp: Any) -> Any:
    """θ in a ball, log standard deviations and directions of the rows of a correlation matrix's root; the paper's priors."""
    size = data["cross"].shape[0]
    below = np.tril_indices(size, -1)
    free, log_deviation, angles = x[:size], x[size:2 * size], x[2 * size:]
    length = xp.sqrt(1.0 + xp.sum(free**2))
    theta = data["radius"] * free / length
    log_prior = -(size + 2.0) * xp.log(length) - 0.5 * xp.sum(theta**2)

    direction = xp.eye(size).at[below].set(angles)
    square = xp.sum(direction**2, axis=1)
    root = direction * (xp.exp(log_deviation) / xp.sqrt(square))[:, None]
    sigma = root @ root.T
    # LKJ(2): the exponent is that of noisewise.posterior.glm.columns. Deviations are half-normal, in their logarithms.
    log_prior = log_prior - 0.5 * (size + 3.0) * xp.sum(xp.log(square))
    log_prior = log_prior + xp.sum(log_deviation - 0.5 * (xp.exp(log_deviation) / SPREAD_OF_DEVIATIONS) ** 2)

    mean, covariance = row_moments(theta, sigma, xp)
    residual = xp.concatenate([data["cross"], data["squares"]]) - data["rows"] * mean
    total = data["rows"] * covariance + data["variance"] * xp.eye(len(residual))
    return log_prior + log_normal(residual, total, data["copies"].shape[0], xp)


def row_moments(theta: Any, sigma: Any, xp: Any) -> tuple[Any, Any]:
    """Mean and covariance of (y x, squares and √2 · products of x), with the Taylor series."""
    size = sigma.shape[0]
    first, second = np.triu_indices(size)
    factor = np.where(first == second, 1.0, math.sqrt(2.0))
    v = sigma @ theta
    k = 0.5 - theta @ v / 8.0
    with_response = k * v
    squares = factor * sigma[first, second]
    cross = k * (sigma[:, first] * v[second] + sigma[:, second] * v[first] + v[:, None] * sigma[first, second])
    cross = factor * (cross - 0.25 * v[:, None] * v[first] * v[second]) - xp.outer(with_response, squares)
    fourth = sigma[first][:, first] * sigma[second][:, second] + sigma[first][:, second] * sigma[second][:, first]
    covariance = xp.concatenate([
        xp.concatenate([sigma - xp.outer(with_response, with_response), cross], axis=1),
        xp.concatenate([cross.T, np.outer(factor, factor) * fourth], axis=1)])
    return xp.concatenate([with_response, squares]), covariance


@dataclass(frozen=True)
class TaylorModel:
    """The paper's model for one released (Σ y x, Σ xxᵀ)."""

    data: Mapping[str, Array]
    log_density = staticmethod(log_density)

    @classmethod
    def of(cls, matrix: Array, variance: float, radius: float) -> TaylorModel:
        first, second = np.triu_indices(len(matrix) - 2)
        squares = np.where(first == second, 1.0, math.sqrt(2.0)) * matrix[1:-1, 1:-1][first, second]
        return cls({"cross": matrix[-1, 1:-1], "squares": squares, "rows": np.array(matrix[0, 0]), "variance": np.array(variance),
                    "radius": np.array(radius), "copies": np.zeros(1)})

    def start(self) -> tuple[Array, Array]:
        size = len(self.data["cross"])
        first, second = np.triu_indices(size)
        mean_squares = np.maximum(self.data["squares"][first == second] / self.data["rows"], 1e-3)
        point = np.concatenate([np.zeros(size), 0.5 * np.log(mean_squares), np.zeros(size * (size - 1) // 2)])
        return point, np.full(len(point), 0.1)

    def coefficients(self, draws: Array) -> Array:
        free = draws[..., : len(self.data["cross"])]
        found: Array = self.data["radius"] * free / np.sqrt(1.0 + np.sum(free**2, axis=-1, keepdims=True))
        return found


def simulated_rows(norm: float, rows: int, rng: np.random.Generator) -> Rows:
    z = rng.normal(size=(rows, 2))
    z[:, 1] = CORRELATION * z[:, 0] + math.sqrt(1 - CORRELATION**2) * z[:, 1]
    x = z / np.maximum(SCALE, np.linalg.norm(z, axis=1))[:, None]
    probability = 1.0 / (1.0 + np.exp(-norm * x @ DIRECTION))
    return Rows(("x1", "x2"), x, np.where(rng.uniform(size=rows) < probability, 1.0, -1.0))


def growing_norms(repeats: int, norms: Sequence[float] = NORMS, rows: int = ROWS, draws: int = 1000,
                  methods: Sequence[str] = METHODS) -> list[Line]:
    """Bias and coverage of the models. Each repeat has new tables and noise, and all models share them and the prior."""
    variances = entry_variances("paper", 2, EPSILON, DELTA)
    models: dict[str, list[Any]] = {method: [] for method in methods}
    for norm in norms:
        radius = math.sqrt(3.0) * norm  # the paper's recipe: 3 times the square of the true norm. All models are told it
        for repeat in range(repeats):
            rng = np.random.default_rng([round(10 * norm), repeat])
            table = simulated_rows(norm, rows, rng)
            part = noisy_part(table.matrix(), variances, rng)
            prior = Prior(largest_norm=radius, correlation=2.0)
            for method, members in models.items():
                if method == TAYLOR:
                    members.append(TaylorModel.of(part.matrix, variances[1, 1], radius))
                elif method == OURS or norm in UNTOLD_NORMS:
                    members.append(model_of(table.schema(), part, "y ~ 0 + x1 + x2", "logistic", prior,
                                            centred=method == OURS)[0])
    lines: list[Line] = []
    for method, members in models.items():
        at = [norm for norm in norms if method != UNTOLD or norm in UNTOLD_NORMS]
        fits = sample_models(members, seed=1, draws=draws)
        worst = fits.r_hat.reshape(len(at), repeats).max(axis=1)
        for norm, group, r_hat in zip(at, fits.draws.reshape(len(at), repeats, -1, 2), worst, strict=True):
            truth = norm * DIRECTION
            low, high = np.quantile(group, [0.025, 0.975], axis=1)
            inside = np.mean((low <= truth) & (truth <= high), axis=0)
            means = group.mean(axis=1)
            lengths = np.linalg.norm(group, axis=2).mean(axis=1)
            lines += [{"method": method, "norm": norm, "term": f"x{k + 1}", "repeats": repeats, "truth": truth[k],
                       "bias": np.mean(means[:, k] - truth[k]), "bias_error": np.std(means[:, k], ddof=1) / math.sqrt(repeats),
                       "sd": group[:, :, k].std(axis=1).mean(), "coverage": inside[k],
                       "length": lengths.mean(), "r_hat": r_hat} for k in range(2)]
    return lines
