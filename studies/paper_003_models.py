"""Shared by the studies of Kulkarni et al. (2021, paper 003): scaled rows, simulated releases of them, and posteriors.

A statistic is released in one of three ways, all for replaced rows, and simulated with a seeded generator (``studies.tables``
says why):

- ``paper``: Σ y x and Σ xxᵀ of rows with ‖x‖ ≤ 1 and y = ±1, one noise for both, Δ = √4.5 (Corollary 3.4, which the library's own
  bound for these blocks confirms); no sums of columns;
- ``gram``: the noisy Gram matrix of (1, x, y) that ``noisewise.release`` gives, columns in [−1, 1];
- ``moments``: the blocks Σ x, Σ xxᵀ, Σ y and Σ y x with the default weights of a release of that kind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.kinds import Moments
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.glm.fit import GlmModel
from noisewise.posterior.kernels.mode import find_mode, jax_density
from noisewise.posterior.kernels.nuts import sample_nuts
from noisewise.posterior.prior import Prior
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.privacy.sensitivity.gram import gram_sensitivity
from noisewise.privacy.sensitivity.moments import moments_sensitivity
from noisewise.releases.contents.gram import EntryNoise
from noisewise.results.diagnostics import r_hat
from noisewise.schema import Basis, Design, Schema
from noisewise.schema.moment_blocks import DEFAULT_BLOCKS

Array = npt.NDArray[np.float64]

RESPONSE: Final = "y"
DELTA: Final = 1e-5
PAPER_BLOCKS: Final = {"xx": 1.0, "yx": 1.0}
HIDDEN: Final = 1e3
SEEDS_APART: Final = 1000
"""The step between the seeds of two fits."""


@dataclass(frozen=True)
class Rows:
    """Predictors in [−1, 1], with their names, and a response −1 or 1 (or a count, scaled to [−1, 1])."""

    names: tuple[str, ...]
    x: Array
    y: Array

    def schema(self) -> Schema:
        columns: dict[str, Any] = {name: {"bounds": [-1, 1]} for name in self.names}
        return Schema.from_dict({"adjacency": "replace-one", "columns": columns | {RESPONSE: {"levels": ["no", "yes"]}}})

    def matrix(self) -> Array:
        """The exact Gram matrix of (1, x, y)."""
        columns = np.column_stack([np.ones(len(self.y)), self.x, self.y])
        return columns.T @ columns


@dataclass(frozen=True)
class NoisyPart:
    """The part of a release that the likelihood of a generalised linear model needs; variances are infinite where nothing was."""

    matrix: Array
    rows: int
    noise: EntryNoise
    variances: Array


def entry_variances(statistic: str, predictors: int, epsilon: float, delta: float) -> Array:
    """The variance of every entry of the released matrix of (1, x, y)."""
    size = predictors + 2
    if statistic == "gram":
        bound = gram_sensitivity(scalars=predictors + 1, blocks=0, size=size, radius=math.sqrt(predictors + 1),
                                 norm_clipped=False, adjacency="replace-one").frobenius
        sd = analytic_gaussian_sigma(epsilon, delta, bound)
        return EntryNoise("gaussian", sd, sd / math.sqrt(2), 0.0).variances(size)
    weights, norm = (PAPER_BLOCKS, 1.0) if statistic == "paper" else (DEFAULT_BLOCKS, None)
    bound = moments_sensitivity(weights=weights, scalars=predictors, groups=0, predictors=predictors, norm_bound=norm,
                                adjacency="replace-one").norm
    variance = analytic_gaussian_sigma(epsilon, delta, bound) ** 2
    found = np.full((size, size), np.inf)
    found[0, 0] = 0.0
    if "x" in weights:
        found[0, 1:-1] = found[1:-1, 0] = variance / weights["x"]
        found[0, -1] = found[-1, 0] = variance / weights["y"]
    found[1:-1, 1:-1] = variance / weights["xx"] * (0.5 + 0.5 * np.eye(predictors))
    found[-1, 1:-1] = found[1:-1, -1] = variance / weights["yx"]
    return found


def noisy_part(exact: Array, variances: Array, rng: np.random.Generator) -> NoisyPart:
    released = np.isfinite(variances)
    upper = np.triu(rng.normal(size=exact.shape) * np.sqrt(np.where(released, variances, 0.0)))
    matrix = np.where(released, exact + upper + np.triu(upper, 1).T, 0.0)
    off_diagonal = math.sqrt(variances[-1, 1])
    return NoisyPart(matrix, round(exact[0, 0]), EntryNoise("gaussian", off_diagonal, off_diagonal, 0.0), variances)


def model_of(schema: Schema, part: NoisyPart, formula: str, family: str, prior: Prior | None, *,
             centred: bool = False) -> tuple[GlmModel, Design]:
    """The library's model for a simulated part.

    The paper's statistic lacks the sums of the columns, and a fit refuses such a release. If predictors are ``centred``, as the
    paper assumes, the sums are known to be 0 up to their scatter between tables. Otherwise they get noise that hides them.
    """
    basis = Basis.of(schema)
    variances = np.minimum(part.variances, (HIDDEN * part.rows) ** 2)
    if centred:
        variances[0, 1:-1] = variances[1:-1, 0] = part.rows
    kind, contributions = Moments(formula), (replace(part, variances=variances),)
    release: Any = SimpleNamespace(kind=kind, contributions=contributions, schema=schema, basis=basis, terms=None,
                                   clipped_norm=None)
    design = Design.of(formula, basis)
    return GlmModel.of(release, design, FAMILIES[family], prior), design


@dataclass(frozen=True)
class Fits:
    """Draws of the coefficients for several models (models, chains · draws, terms), and the largest R-hat of each model."""

    draws: Array
    r_hat: Array


def sample_models(models: Sequence[Any], *, seed: int, draws: int = 1000, chains: int = 2) -> Fits:
    """The library's sampler on one model after the other. Models of one shape share a compiled program."""
    found = []
    for index, model in enumerate(models):
        mode = find_mode(jax_density(model.log_density, model.data), *model.start())
        sampled = sample_nuts(model.log_density, model.data, mode, seed=seed + SEEDS_APART * index, chains=chains, draws=draws)
        found.append(model.coefficients(sampled.draws))
    return Fits(np.stack([one.reshape(chains * draws, -1) for one in found]), np.array([r_hat(one).max() for one in found]))


@dataclass(frozen=True)
class Reference:
    """The posterior of the rows themselves: weighted draws by importance sampling, as good as exact."""

    draws: Array
    weights: Array

    @property
    def mean(self) -> Array:
        found: Array = self.weights @ self.draws
        return found

    @property
    def sd(self) -> Array:
        found: Array = np.sqrt(self.weights @ (self.draws - self.mean) ** 2)
        return found

    @property
    def effective(self) -> float:
        """The effective number of independent draws."""
        return float(1.0 / np.sum(self.weights**2))

    def quantiles(self, k: int, levels: Array) -> Array:
        order = np.argsort(self.draws[:, k])
        found: Array = np.interp(levels, np.cumsum(self.weights[order]), self.draws[order, k])
        return found


def reference(features: Array, y: Array, prior_sd: Array, *, family: str = "logistic", radius: float = math.inf, seed: int = 1,
              proposals: int = 20_000) -> Reference:
    """Coefficients with independent normal priors around 0, cut off at a norm of ``radius``; y = ±1, or counts.

    Proposals are multivariate t around the mode, weighted by the posterior's density over theirs.
    """
    mode, curvature = fitted(features, y, prior_sd, family)
    root = np.linalg.inv(np.linalg.cholesky(curvature)).T
    rng, degrees, terms = np.random.default_rng(seed), 8.0, len(mode)
    standard = rng.normal(size=(proposals, terms)) / np.sqrt(rng.chisquare(degrees, proposals) / degrees)[:, None]
    draws = mode + standard @ root.T
    log_weight = 0.5 * (degrees + terms) * np.log1p(np.sum(standard**2, axis=1) / degrees)
    log_weight -= 0.5 * np.sum((draws / prior_sd) ** 2, axis=1)
    for lot in np.array_split(np.arange(proposals), max(1, proposals * len(y) // 4_000_000)):
        eta = draws[lot] @ features.T
        fit = -np.logaddexp(0.0, -y * eta) if family == "logistic" else y * eta - np.exp(eta)
        log_weight[lot] += fit.sum(axis=1)
    log_weight[np.linalg.norm(draws, axis=1) > radius] = -np.inf
    weights = np.exp(log_weight - log_weight.max())
    return Reference(draws, weights / weights.sum())


def fitted(features: Array, y: Array, prior_sd: Array, family: str = "logistic") -> tuple[Array, Array]:
    """The mode and the curvature there, by Newton's method with halved steps."""
    theta = np.zeros(features.shape[1])

    def value(theta: Array) -> float:
        eta = features @ theta
        terms = np.logaddexp(0.0, -y * eta) if family == "logistic" else np.exp(np.minimum(eta, 50.0)) - y * eta
        return float(terms.sum() + 0.5 * np.sum((theta / prior_sd) ** 2))

    for _ in range(100):
        eta = features @ theta
        probability = 1.0 / (1.0 + np.exp(-eta))
        weight = probability * (1.0 - probability) if family == "logistic" else np.exp(eta)
        residual = probability - (y + 1.0) / 2.0 if family == "logistic" else np.exp(eta) - y
        curvature = (features.T * weight) @ features + np.diag(prior_sd**-2.0)
        gradient = features.T @ residual + theta / prior_sd**2
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while value(theta - size * step) > value(theta) and size > 1e-6:
            size /= 2
        theta = theta - size * step
        if gradient @ step < 1e-12:
            break
    return theta, curvature


def ks_distance(draws: Array, other: Array, weights: Array | None = None) -> float:
    """The largest difference of two distribution functions: of draws, and of other, weighted draws.

    >>> ks_distance(np.array([0.0, 1.0]), np.array([0.0, 1.0, 2.0, 3.0]))
    0.5
    """
    draws, order = np.sort(draws), np.argsort(other)
    weights = np.full(len(other), 1.0 / len(other)) if weights is None else weights
    other, cumulative = other[order], np.concatenate([[0.0], np.cumsum(weights[order])])
    points = np.concatenate([draws, other])
    one = np.searchsorted(draws, points, side="right") / len(draws)
    two = cumulative[np.searchsorted(other, points, side="right")]
    return float(np.max(np.abs(one - two)))
