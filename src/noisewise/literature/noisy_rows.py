"""Two methods without a model of the noise, for comparison: ignoring it, and SIMEX.

SIMEX (Cook and Stefanski 1994) adds more noise of the same kind, with λ times its variance, to everything published, records
the effect on least squares, and extrapolates from λ ≥ 0 to λ = −1, which is no noise. Here predictors and response have noise.
Randomised responses are randomised again, so that their matrix of probabilities is raised to the power 1 + λ (Küchenhoff,
Mwalili and Lesaffre 2006). The variance is extrapolated too: mean naive variance less the variance over the simulations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.posterior.rows.problem import Answers, RowProblem
from noisewise.progress import Tick

Extrapolant: TypeAlias = Literal["quadratic", "rational-linear"]

LAMBDAS: Final = (0.5, 1.0, 1.5, 2.0)
SIMULATIONS: Final = 50


@dataclass(frozen=True)
class Estimate:
    """Estimates of (g, σ²) and the covariance of their sampling distribution."""

    values: Array
    covariance: Array

    def draws(self, chains: int, draws: int, seed: int) -> Array:
        """Draw (g, σ) independently, (chains, draws, ·), from a normal distribution with this mean and covariance."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        standard = np.random.default_rng(seed).normal(size=(chains, draws, len(self.values)))
        drawn = self.values + standard @ root.T
        drawn[..., -1] = np.sqrt(np.maximum(drawn[..., -1], 1e-12))
        return np.asarray(drawn)


def naive_draws(problem: RowProblem, draws: int, chains: int, seed: int, tick: Tick) -> Array:
    """Draw from the sampling distribution of `naive`."""
    return naive(problem).draws(chains, draws, seed + 1)


def simex_draws(problem: RowProblem, draws: int, chains: int, seed: int, tick: Tick) -> Array:
    """Draw from the sampling distribution of `simex`."""
    return simex(problem, seed=seed).draws(chains, draws, seed + 1)


def naive(problem: RowProblem) -> Estimate:
    """Fit least squares as if nothing were perturbed; several copies enter as their means and most frequent levels."""
    return _least_squares(problem, problem.observed, [category.codes for category in problem.categories])


def simex(problem: RowProblem, *, seed: int, extrapolant: Extrapolant = "quadratic", simulations: int = SIMULATIONS) -> Estimate:
    """Estimate by simulation and extrapolation."""
    generator = np.random.default_rng(seed)
    plain = naive(problem)
    means, covariances = [plain.values], [plain.covariance]
    for more in LAMBDAS:
        found = [_once(problem, more, generator) for _ in range(simulations)]
        values = np.stack([estimate.values for estimate in found])
        means.append(values.mean(axis=0))
        covariances.append(np.mean([estimate.covariance for estimate in found], axis=0) - np.cov(values.T))
    at = np.array([0.0, *LAMBDAS])
    size = len(plain.values)
    values = np.array([extrapolate(at, np.array(means)[:, i], extrapolant) for i in range(size)])
    covariance = np.array([[extrapolate(at, np.array(covariances)[:, i, j], "quadratic") for j in range(size)]
                           for i in range(size)])
    return Estimate(values, covariance)


def extrapolate(at: Array, values: Array, extrapolant: Extrapolant) -> float:
    """Extrapolate values at ``at`` to λ = −1 by a parabola, or by a + b/(c + λ) if that has no pole on the way.

    >>> round(extrapolate(np.array([0.0, 0.5, 1.0, 2.0]), 2 + 1 / (3 + np.array([0.0, 0.5, 1.0, 2.0])), "rational-linear"), 6)
    2.5
    """
    parabola = float(np.polyval(np.polyfit(at, values, 2), -1.0))
    if extrapolant == "quadratic":
        return parabola
    # (c + λ)·v = a(c + λ) + b is linear in c, a and ac + b: λ·v = a·λ + (ac + b) − c·v.
    design = np.column_stack([at, np.ones_like(at), -values])
    (slope, constant, pole), *_ = np.linalg.lstsq(design, at * values, rcond=None)
    return parabola if pole <= 1.05 else float((constant - slope) / (pole - 1.0))


def _once(problem: RowProblem, more: float, generator: np.random.Generator) -> Estimate:
    scales = np.sqrt(more) * problem.noise
    kind = generator.laplace if problem.laplace else generator.normal
    observed = problem.observed + scales * kind(size=problem.observed.shape)
    codes = [_answered_again(category, more, generator) for category in problem.categories]
    return _least_squares(problem, observed, codes)


def _answered_again(category: Answers, more: float, generator: np.random.Generator) -> npt.NDArray[np.integer]:
    """Randomise the answers again, raising the eigenvalue of randomised response (keep less the chance level) to the power λ."""
    levels = category.levels
    eigenvalue = max((category.keep * levels - 1.0) / (levels - 1.0), 1e-12) ** more
    keep = eigenvalue + (1.0 - eigenvalue) / levels
    other = (category.codes + generator.integers(1, levels, size=category.codes.shape)) % levels
    return np.where(generator.random(category.codes.shape) < keep, category.codes, other)


def _least_squares(problem: RowProblem, observed: Array, codes: list[npt.NDArray[np.integer]]) -> Estimate:
    numbers = observed.mean(axis=0)
    pieces = [problem.known.T]
    for category, answers in zip(problem.categories, codes, strict=True):
        counts = np.stack([(answers == level).sum(axis=0) for level in range(category.levels)])
        pieces.append(category.coding[counts.argmax(axis=0)])
    columns = np.column_stack([*pieces, numbers[:, :-1]])
    prior = problem.priors()[-1]
    design, response = columns @ prior.directions, numbers[:, -1] + columns @ prior.shift
    gram = design.T @ design
    inverse = np.linalg.inv(gram)
    values = inverse @ (design.T @ response)
    freedom = max(len(response) - len(values), 1)
    variance = float(np.sum((response - design @ values) ** 2)) / freedom
    covariance = np.zeros((len(values) + 1, len(values) + 1))
    covariance[:-1, :-1], covariance[-1, -1] = variance * inverse, 2.0 * variance**2 / freedom
    return Estimate(np.append(values, variance), covariance)
