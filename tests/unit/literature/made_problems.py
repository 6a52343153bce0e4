"""Made-up statistics of the kind that paper 002 starts from, a request on a real release, and comparisons of chains."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import noisewise as nw
from noisewise.literature.statistics import HalfNormal, HolderStatistics, LinearProblem
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.prior import ResolvedPrior
from noisewise.posterior.request import Request
from noisewise.releases.combine import combine
from noisewise.results.diagnostics import ess_bulk
from noisewise.run import QUIET
from noisewise.schema import Design

Array = NDArray[np.float64]


def made_problem(seed: int, rows: tuple[int, ...], features: int, noise: float, constant: bool = False) -> LinearProblem:
    """Normal features, one table per holder; noise with this sd on every entry of S, z and Σ y² but for an exact corner."""
    generator = np.random.default_rng(seed)
    size = features + constant
    theta = generator.normal(size=size) * 0.5
    factor = np.linalg.cholesky(0.15 * np.eye(features) + 0.1)
    grams, crosses, totals = [], [], []
    for count in rows:
        x = generator.normal(size=(count, features)) @ factor.T
        if constant:
            x = np.column_stack([np.ones(count), x + 0.3])
        y = x @ theta + 0.4 * generator.normal(size=count)
        upper = np.triu(generator.normal(size=(size, size)) * noise)
        if constant:
            upper[0, 0] = 0.0
        grams.append(x.T @ x + upper + np.triu(upper, 1).T)
        crosses.append(x.T @ y + noise * generator.normal(size=size))
        totals.append(y @ y + noise * generator.normal())
    variance = np.full((len(rows), size, size), noise**2)
    if constant:
        variance[:, 0, 0] = 0.0
    each = np.full(len(rows), noise**2)
    statistics = HolderStatistics(np.array(grams), np.array(crosses), np.array(totals), np.array(rows, dtype=float), variance,
                                  each, each, constant)
    effects = generator.normal(size=(size, size)) / np.sqrt(size) + np.eye(size)
    return LinearProblem(statistics, effects, 0.1 * generator.normal(size=size), 0.2 * np.ones(size), 0.5 * np.eye(size),
                         HalfNormal(0.5), response_bound=1.5)


def with_statistics(problem: LinearProblem, **changes: Any) -> LinearProblem:
    return replace(problem, statistics=replace(problem.statistics, **changes))


def made_request(epsilon: float, formula: str = "y ~ a + b", draws: int = 300, chains: int = 2, adjacency: str = "replace-one",
                 holders: int = 1) -> tuple[Request, Array, Array]:
    """A request on real releases, with the design matrix and the response behind it."""
    generator = np.random.default_rng(3)
    count = 3000
    a, b = generator.normal(50, 8, count), generator.normal(-0.2, 0.2, count)
    y = 3 + 0.2 * a - 4 * b + generator.normal(0, 2, count)
    table = {"a": np.clip(a, 10, 90), "b": np.clip(b, -1, 1), "y": np.clip(y, -20, 40)}
    schema = nw.Schema.from_dict({"adjacency": adjacency, "columns": {"a": {"bounds": [10, 90]}, "b": {"bounds": [-1, 1]},
                                                                      "y": {"bounds": [-20, 40]}}})
    releases = [nw.release({name: column[part::holders] for name, column in table.items()}, schema, epsilon=epsilon, delta=1e-6,
                           run=QUIET) for part in range(holders)]
    release = releases[0] if holders == 1 else combine(releases)
    design = Design.of(formula, release.basis, release.terms)
    request = Request(release, Coordinates.of(design), ResolvedPrior.of(design, None), draws, chains, 11, lambda *_: None)
    columns = [np.ones(count)] + [table[name] for name in formula.split("~")[1].replace("+", " ").split() if name != "1"]
    return request, np.column_stack(columns), table["y"]


def by_quadrature(problem: LinearProblem, grams: Array, wrong_variance: float = 1.0) -> tuple[Array, Array]:
    """Mean and sd of (g, σ) given exact S_j: a sum over a fine grid of σ, where g given σ is normal."""
    statistics, prior = problem.statistics, problem.sigma_prior
    assert isinstance(prior, HalfNormal)
    logs, means, squares = [], [], []
    grid = np.linspace(1e-3, 4 * prior.scale, 4000)
    for sigma in grid:
        precision, linear = problem.prior_precision.copy(), problem.prior_precision @ problem.prior_mean
        log = -0.5 * (sigma / prior.scale) ** 2
        for gram, cross, noise in zip(grams, statistics.cross, statistics.cross_variance, strict=True):
            covariance = wrong_variance * sigma**2 * gram + noise * np.eye(len(gram))
            design, rest = gram @ problem.effects, cross - gram @ problem.offset
            solved = np.linalg.solve(covariance, np.column_stack([design, rest]))
            precision, linear = precision + design.T @ solved[:, :-1], linear + design.T @ solved[:, -1]
            log += -0.5 * (np.linalg.slogdet(covariance)[1] + rest @ solved[:, -1])
        covariance = np.linalg.inv(precision)
        mean = covariance @ linear
        logs.append(log + 0.5 * linear @ mean - 0.5 * np.linalg.slogdet(precision)[1])
        means.append(np.append(mean, sigma))
        squares.append(np.append(np.diag(covariance) + mean**2, sigma**2))
    weights = np.exp(np.array(logs) - np.max(logs))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    return mean, np.sqrt(weights @ np.array(squares) - mean**2)


def worst_z(draws: Array, mean: Array, error: Array | float = 0.0) -> float:
    """The largest |z| of the means of (chains, draws, quantities); ``error`` is that of what they are compared with."""
    sd = draws.reshape(-1, draws.shape[2]).std(axis=0)
    own = sd / np.sqrt(ess_bulk(draws))
    return float(np.abs((draws.mean(axis=(0, 1)) - mean) / np.sqrt(own**2 + error**2)).max())


def disagreement(one: Array, other: Array) -> float:
    """The largest |z| between the first and second moments of two sets of draws (about a common centre)."""
    centre = other.mean(axis=(0, 1))
    both = [np.concatenate([draws, (draws - centre) ** 2], axis=-1) for draws in (one, other)]
    sd = both[1].reshape(-1, both[1].shape[2]).std(axis=0)
    return worst_z(both[0], both[1].mean(axis=(0, 1)), sd / np.sqrt(ess_bulk(both[1])))
