"""The setting of Alparslan, Yıldırım and Birbil (2023) and all its methods, shared by the table and the simulation.

No constant, and bounds that are the largest norms of the rows. Such bounds are taken from the data and are NOT private. Theirs
are the statistics S = Σ xxᵀ and z = Σ xy (B&S: and Σ y²) with independent normal noise of one standard deviation on
all entries of the upper triangle, of the sensitivity for adding or removing a row. Ours is one symmetric matrix of (x, c·y/‖Y‖).

Two sizes of noise. ``correct``: the analytic Gaussian mechanism. ``theirs``: what the authors' code draws, where a square root is
missing; it is NOT ε-differentially private (`their_multiplier`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.literature.kernels.metropolis import Sampler
from noisewise.literature.normal_features import FeaturePrior
from noisewise.literature.normal_x import NORMAL_X
from noisewise.literature.statistics import HolderStatistics, InverseGamma, LinearProblem
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.prior import COEFFICIENT_SCALE, SIGMA_SCALE, ResolvedPrior
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.releases.contents.gram import EntryNoise
from studies import many, page
from studies.many import Length, Units
from studies.tables import SimulatedPart

Array = npt.NDArray[np.float64]

SHAPE, RATE = 20.0, 0.5
PRIOR_VARIANCE = RATE / (SHAPE - 1)
RESPONSE_SHARE = 1 / math.sqrt(2)  # a response scaled by this costs the predictors 6 % more noise than leaving it out
ITERATIONS = 10_000
OURS = Length(200, 400)
NOISES = ("theirs", "correct")
OWN_PRIOR = "conditional, own prior"
OUR_METHODS = ("conditional", "conditional-flat", "collapsed", OWN_PRIOR)
RESULTS = page.RESULTS / "paper_002"
METHODS = ("normal-x as run", "normal-x", "fixed-s", "fast", "clt-gibbs", "adassp", "collapsed", "conditional", OWN_PRIOR)


def their_multiplier(epsilon: float, delta: float) -> float:
    """The authors' standard deviation for sensitivity 1: Balle and Wang's algorithm with u where √u belongs.

    For a small δ it solves Φ(−√ε·u) − e^ε Φ(−√(ε(u + 2))) = δ; the first term should be Φ(−√(ε·u)). Then, as it should be, the
    standard deviation is (√(1 + u/2) + √(u/2)) / √(2ε). This was inferred from the numbers that their code gives, and gives
    all of them: 5.04, 1.487 and 0.441 at ε = 0.1, 1, 10 and δ = 1e-5, where 30.75, 3.731 and 0.500 would be private.

    >>> [round(their_multiplier(epsilon, 1e-5), 3) for epsilon in (0.1, 1.0, 10.0)]
    [5.043, 1.487, 0.441]
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    def excess(u: float) -> float:
        return float(ndtr(-math.sqrt(epsilon) * u) - math.exp(epsilon) * ndtr(-math.sqrt(epsilon * (u + 2))) - delta)

    u = float(brentq(excess, 0.0, 5.0, xtol=1e-14))
    return (math.sqrt(1 + u / 2) + math.sqrt(u / 2)) / math.sqrt(2 * epsilon)


def multiplier(noise: str, epsilon: float, delta: float) -> float:
    return analytic_gaussian_sigma(epsilon, delta, 1.0) if noise == "correct" else their_multiplier(epsilon, delta)


@dataclass(frozen=True)
class Tables:
    """The exact statistics of every holder, and public (here: not private) bounds on the rows."""

    gram: Array
    cross: Array
    total: Array
    rows: Array
    x_norm: float
    y_norm: float
    feature_scale: Array
    """Λ of the prior Σ_x ~ inverse Wishart(Λ, d + 1)."""

    @classmethod
    def of(cls, x: Array, y: Array, holders: int, feature_scale: Array) -> Tables:
        """Holders have blocks of successive rows."""
        xs, ys = np.array_split(x, holders), np.array_split(y, holders)
        return cls(
            np.array([a.T @ a for a in xs]), np.array([a.T @ b for a, b in zip(xs, ys, strict=True)]),
            np.array([b @ b for b in ys]), np.array([float(len(b)) for b in ys]), float(np.linalg.norm(x, axis=1).max()),
            float(np.abs(y).max()), feature_scale,
        )

    @property
    def d(self) -> int:
        return self.gram.shape[1]


@dataclass(frozen=True)
class Budget:
    """ε, δ and which noise."""

    noise: str
    epsilon: float
    delta: float

    def sd(self, sensitivity: float, share: float = 1.0) -> float:
        return sensitivity * multiplier(self.noise, self.epsilon * share, self.delta * share)


def random_scale(d: int, rng: np.random.Generator) -> Array:
    """Λ = VᵀV."""
    v = rng.normal(size=(d, d))
    return v.T @ v


def noisy_statistics(tables: Tables, sd: float, rng: np.random.Generator, with_total: bool) -> HolderStatistics:
    holders, d = tables.cross.shape
    upper = np.triu(rng.normal(0.0, sd, tables.gram.shape))
    total_variance = np.full(holders, sd**2 if with_total else np.inf)
    return HolderStatistics(
        gram=tables.gram + upper + np.swapaxes(np.triu(upper, 1), 1, 2), cross=tables.cross + rng.normal(0.0, sd, (holders, d)),
        total=tables.total + rng.normal(0.0, sd, holders) if with_total else np.zeros(holders), rows=tables.rows,
        gram_variance=np.full(tables.gram.shape, sd**2), cross_variance=np.full(holders, sd**2), total_variance=total_variance,
        constant=False,
    )


def noisy_problem(tables: Tables, budget: Budget, rng: np.random.Generator, with_total: bool = False) -> LinearProblem:
    """One run of the paper: the model's (S, z), or B&S's (S, z, t)."""
    x, y, d = tables.x_norm, tables.y_norm, tables.d
    sensitivity = math.sqrt(x**4 + (x * y) ** 2 + (y**4 if with_total else 0.0))
    return LinearProblem(
        statistics=noisy_statistics(tables, budget.sd(sensitivity), rng, with_total), effects=np.eye(d), offset=np.zeros(d),
        prior_mean=np.zeros(d), prior_precision=np.eye(d) / PRIOR_VARIANCE, sigma_prior=InverseGamma(SHAPE, RATE),
        response_bound=y,
    )


def adassp(tables: Tables, budget: Budget, rng: np.random.Generator, rho: float = 0.05) -> Array:
    """Wang's own: a third of the budget for each of the smallest eigenvalue, S and z, with the sensitivity of each.

    Appendix C.2 says two thirds for S and z together. That gives larger errors and wider intervals than the paper's Tables 1
    and 2; this gives theirs.
    """
    d, holders = tables.d, len(tables.rows)
    logarithm, sigma = math.log(6 / budget.delta), tables.x_norm**2 / (budget.epsilon / 3)
    noisy = noisy_statistics(tables, budget.sd(tables.x_norm**2, 1 / 3), rng, False)
    cross = tables.cross + rng.normal(0.0, budget.sd(tables.x_norm * tables.y_norm, 1 / 3), tables.cross.shape)
    least = np.linalg.eigvalsh(tables.gram)[:, 0]
    lower = np.maximum(least + math.sqrt(logarithm) * sigma * rng.normal(size=holders) - logarithm * sigma, 0.0)
    ridge = np.maximum(0.0, sigma * math.sqrt(d * logarithm * math.log(2 * d**2 / rho)) - lower).sum()
    return np.linalg.solve(noisy.gram.sum(axis=0) + ridge * np.eye(d), cross.sum(axis=0))


@dataclass(frozen=True)
class UnknownMeans:
    """The noise of a matrix without a constant: the constant's row was not released."""

    diagonal: float
    off_diagonal: float
    corner: float = 0.0
    distribution: str = "gaussian, without the sums of the columns"
    unknown: float = 1e8

    def variances(self, size: int) -> Array:
        result = np.full((size, size), self.off_diagonal**2)
        np.fill_diagonal(result, self.diagonal**2)
        result[0, :] = result[:, 0] = self.unknown
        result[0, 0] = 0.0
        return result


def released_parts(tables: Tables, budget: Budget, rng: np.random.Generator) -> list[SimulatedPart]:
    """Ours: one matrix of (x, c·y) per holder, scaled to norm 1, symmetric Gaussian noise, and a constant with sums 0.

    The likelihoods expect a constant. ``conditional-flat`` does not look at it, ``collapsed`` assumes sums of columns of 0.
    """
    sd = budget.sd(1 + RESPONSE_SHARE**2)
    noise = EntryNoise("gaussian", sd, sd / math.sqrt(2), 0.0)
    d, scale = tables.d, np.append(np.full(tables.d, 1 / tables.x_norm), RESPONSE_SHARE / tables.y_norm)
    parts = []
    for gram, cross, total, rows in zip(tables.gram, tables.cross, tables.total, tables.rows, strict=True):
        matrix = np.zeros((d + 2, d + 2))
        matrix[0, 0] = rows
        square = rng.normal(0, sd, (d + 1, d + 1))
        exact = np.block([[gram, cross[:, None]], [cross[None], np.array([[total]])]])
        matrix[1:, 1:] = scale[:, None] * exact * scale + (square + square.T) / 2
        parts.append(SimulatedPart(matrix, int(rows), noise))
    return parts


def without_means(parts: Sequence[SimulatedPart]) -> list[Any]:
    return [SimulatedPart(part.matrix, part.rows, UnknownMeans(part.noise.diagonal, part.noise.off_diagonal))  # type: ignore[arg-type]
            for part in parts]


def working_units(tables: Tables, own_prior: bool = False) -> Units:
    """The paper's prior for the coefficients, or our default; our default for sigma.

    The latent form has an intercept that is nearly 0.
    """
    d = tables.d
    scale = np.append(1.0, np.full(d, tables.x_norm))
    features = np.eye(d + 2)[:, : d + 1] * scale
    target = tables.y_norm / RESPONSE_SHARE * np.eye(d + 2)[-1]
    width = COEFFICIENT_SCALE * tables.y_norm / tables.x_norm if own_prior else math.sqrt(PRIOR_VARIANCE)
    sd, sigma = np.append(1e-3 * tables.y_norm, np.full(d, width)), SIGMA_SCALE * tables.y_norm
    prior = ResolvedPrior(np.eye(d), np.zeros(d), sd[1:], sigma)
    with_intercept = ResolvedPrior(np.eye(d + 1), np.zeros(d + 1), sd, sigma)
    return Units(Coordinates.from_arrays(features[:, 1:], target, tables.y_norm), prior, without_means,
                 (Coordinates.from_arrays(features, target, tables.y_norm), with_intercept))


def iterations_of(method: str, iterations: int) -> int:
    """The methods of the paper run for ``iterations``; ours have their own sampler and length."""
    return OURS.warmup + OURS.draws if method in OUR_METHODS else iterations


def halves(iterations: int) -> Length:
    """Half of the iterations are burn-in, as in the authors' code."""
    return Length(iterations // 2, iterations - iterations // 2)


def posterior_draws(method: str, tables: Tables, budgets: Sequence[Budget], seed: int, length: Length,
                    our_length: Length = OURS) -> Array:
    """Draws of (θ, σ) for each budget, that is, for each run: (runs, draws, d + 1). A point estimate is one draw."""
    rngs = [np.random.default_rng([seed, index]) for index in range(len(budgets))]
    if method == "adassp":
        return np.array([[np.append(adassp(tables, budget, rng), np.nan)] for budget, rng in zip(budgets, rngs, strict=True)])
    if method in OUR_METHODS:
        parts = [released_parts(tables, budget, rng) for budget, rng in zip(budgets, rngs, strict=True)]
        units = working_units(tables, own_prior=method == OWN_PRIOR)
        return many.ours(method.removesuffix(", own prior"), parts, units, our_length, seed)
    problems = [noisy_problem(tables, budget, rng, method == "clt-gibbs") for budget, rng in zip(budgets, rngs, strict=True)]
    scale, degrees = tables.feature_scale, tables.d + 1.0
    if method == "fast":  # the variance where the paper says the standard deviation: the authors' code
        return many.fast(problems, math.sqrt(tables.y_norm / 3), length.draws, seed)
    if method == "fixed-s":  # they add the identity to the projected S
        return many.fixed_s(problems, length, seed, ridge=1.0)
    if method == "clt-gibbs":
        return many.clt_gibbs(problems, length, seed, FeaturePrior(scale, degrees))
    if method == "normal-x as run":
        return many.normal_x(problems, length, seed, FeaturePrior(scale, degrees), AS_RUN, target=0.1)
    return many.normal_x(problems, length, seed, FeaturePrior(scale, degrees))


def _as_run(key: Any, data: Any) -> dict[str, Any]:
    """Start as the authors' code does: θ = 0, the variance a third of ‖Y‖, and proposals with n²/100 degrees of freedom."""
    import jax.numpy as jnp

    state = NORMAL_X.start(key, data)
    return state | {"g": jnp.zeros_like(state["g"]), "sigma": jnp.sqrt(data["sigma_start"]),
                    "log_alpha": jnp.log(data["rows"] ** 2 / 100.0)}


AS_RUN = Sampler(_as_run, NORMAL_X.step, NORMAL_X.record)
