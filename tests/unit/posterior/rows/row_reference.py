"""A slow posterior of perturbed rows that shares nothing with the sampler: quadrature for each row, importance sampling.

One predictor x and the response y, and perhaps a two-level predictor by randomised response. The likelihood of one published row
is an integral over x, by the trapezoidal rule, of a density of y's published value in closed form (a normal variable plus a
Laplace one; or the product of several copies, then a second integral).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp

Array = npt.NDArray[np.float64]

NODES = np.linspace(-6.0, 6.0, 81)
LOG_WEIGHTS = -0.5 * NODES**2 - 0.5 * np.log(2 * np.pi) + np.log(NODES[1] - NODES[0])
COEFFICIENT, SCALE, CELL = 2.5, 0.5, 0.5
"""Of the default prior: sd of coefficients, scale of the half-normal sigmas, weight of the Dirichlet prior."""


@dataclass(frozen=True)
class SmallRows:
    """Published values of x and y, (copies, rows) each, their Laplace scales, and answers with their keep-probability."""

    x: Array
    y: Array
    scales: tuple[float, float]
    answers: npt.NDArray[np.int64] | None = None
    keep: float = 1.0

    @property
    def names(self) -> list[str]:
        group = [] if self.answers is None else ["x_group", "y_group", "share"]
        return ["x_mean", "x_scale", "intercept", "slope", "sigma", *group]


def log_posterior(theta: Array, rows: SmallRows) -> Array:
    """For parameters (walkers, ·): x_mean, log x_scale, intercept, slope, log sigma (and group effects, logit of the share)."""
    x_mean, x_scale, intercept, slope, sigma = theta[:, 0], np.exp(theta[:, 1]), theta[:, 2], theta[:, 3], np.exp(theta[:, 4])
    coefficients = theta[:, [0, 2, 3]]
    prior = -0.5 * np.sum((coefficients / COEFFICIENT) ** 2, axis=1)
    prior += -0.5 * (x_scale**2 + sigma**2) / SCALE**2 + theta[:, 1] + theta[:, 4]
    if rows.answers is None:
        return np.asarray(prior + np.sum(_log_row(x_mean, x_scale, intercept, slope, sigma, rows), axis=1))
    prior -= 0.5 * np.sum((theta[:, 5:7] / COEFFICIENT) ** 2, axis=1)
    log_share, log_rest = -np.logaddexp(0, -theta[:, 7]), -np.logaddexp(0, theta[:, 7])
    prior += CELL * (log_share + log_rest)
    terms = []
    for code, log_probability in ((-1, log_rest), (1, log_share)):
        agree = np.sum(rows.answers == (code > 0), axis=0)
        told = agree * np.log(rows.keep) + (len(rows.answers) - agree) * np.log1p(-rows.keep)
        part = _log_row(x_mean + code * theta[:, 5], x_scale, intercept + code * theta[:, 6], slope, sigma, rows)
        terms.append(part + told + log_probability[:, None])
    return np.asarray(prior + np.sum(np.logaddexp(*terms), axis=1))


def _log_row(x_mean: Array, x_scale: Array, intercept: Array, slope: Array, sigma: Array, rows: SmallRows) -> Array:
    """(walkers, rows)."""
    x = x_mean[:, None] + x_scale[:, None] * NODES
    seen_x = sum(-np.abs(copy[None, :, None] - x[:, None]) for copy in rows.x) / rows.scales[0]
    expected = intercept[:, None] + slope[:, None] * x
    if len(rows.y) == 1:
        seen_y = _log_normal_plus_laplace(rows.y[0][None, :, None] - expected[:, None], sigma[:, None, None], rows.scales[1])
    else:
        y = expected[:, :, None] + sigma[:, None, None] * NODES
        both = sum(-np.abs(copy[None, :, None, None] - y[:, None]) for copy in rows.y) / rows.scales[1]
        seen_y = logsumexp(both + LOG_WEIGHTS, axis=3)
    return np.asarray(logsumexp(seen_x + seen_y + LOG_WEIGHTS, axis=2))


def _log_normal_plus_laplace(value: Array, sd: Array, scale: float) -> Array:
    """But for log 2b."""
    ratio = sd / scale
    left = -value / scale + log_ndtr(value / sd - ratio)
    right = value / scale + log_ndtr(-value / sd - ratio)
    return np.asarray(0.5 * ratio**2 + np.logaddexp(left, right))


@dataclass(frozen=True)
class Reference:
    """Weighted draws (draws, parameters), not in logarithms; weights add up to 1."""

    draws: Array
    weights: Array

    @property
    def effective(self) -> float:
        return float(1.0 / np.sum(self.weights**2))

    def mean_and_error(self, change: Callable[[Array], Array]) -> tuple[Array, Array]:
        """The mean of a function of the parameters, and its standard error."""
        values = change(self.draws)
        mean = self.weights @ values
        return mean, np.sqrt(self.weights**2 @ (values - mean) ** 2)


def reference(rows: SmallRows, *, draws: int = 8000, seed: int = 5, degrees: float = 4.0) -> Reference:
    """Importance sampling from a t distribution at the mode, with the curvature there."""
    generator = np.random.default_rng(seed)
    size = len(rows.names)
    start = np.array([0.0, np.log(0.3), 0.0, 0.2, np.log(0.2), 0.0, 0.0, 0.0])[:size]
    found = minimize(lambda theta: -log_posterior(theta[None], rows)[0], start, method="BFGS")
    root = 1.2 * np.linalg.cholesky(_inverse_curvature(found.x, rows))
    standard = generator.normal(size=(draws, size)) / np.sqrt(generator.chisquare(degrees, size=(draws, 1)) / degrees)
    theta = found.x + standard @ root.T
    blocks = np.array_split(theta, 40)
    logs = np.concatenate([log_posterior(block, rows) for block in blocks])
    logs += 0.5 * (degrees + size) * np.log1p(np.sum(standard**2, axis=1) / degrees)
    weights = np.exp(logs - logs.max())
    theta[:, [1, 4]] = np.exp(theta[:, [1, 4]])
    if rows.answers is not None:
        theta[:, 7] = 1.0 / (1.0 + np.exp(-theta[:, 7]))
    return Reference(theta, weights / weights.sum())


def _inverse_curvature(mode: Array, rows: SmallRows, step: float = 0.02) -> Array:
    size = len(mode)
    moves = step * np.eye(size)
    pairs = [(i, j) for i in range(size) for j in range(size)]
    corners = [log_posterior(np.array([mode + a * moves[i] + b * moves[j] for i, j in pairs]), rows)
               for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
    curvature = -(corners[0] - corners[1] - corners[2] + corners[3]).reshape(size, size) / (4 * step**2)
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    return np.asarray((vectors / np.maximum(values, 1.0)) @ vectors.T)


def made_rows(count: int, *, scales: tuple[float, float] = (0.1, 0.1), copies: int = 1, group: bool = False,
              keep: float = 0.8, seed: int = 1) -> SmallRows:
    """Rows with a slope of 0.6, sigma 0.15; with a group, half of the rows have x and y shifted."""
    generator = np.random.default_rng(seed)
    member = generator.random(count) < 0.5
    code = np.where(member, 1, -1) * group
    x = 0.1 + 0.15 * code + 0.3 * generator.normal(size=count)
    y = -0.1 + 0.6 * x + 0.2 * code + 0.15 * generator.normal(size=count)
    noisy = [z + scale * generator.laplace(size=(copies, count)) for z, scale in zip((x, y), scales, strict=True)]
    if not group:
        return SmallRows(noisy[0], noisy[1], scales)
    kept = generator.random((copies, count)) < keep
    return SmallRows(noisy[0], noisy[1], scales, np.where(kept, member, ~member).astype(np.int64), keep)
