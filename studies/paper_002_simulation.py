"""Figures 2, 3 and 4 of Alparslan, Yıldırım and Birbil (2023): error against ε, time against d, distance to the true posterior.

    noisewise reproduce 002 figure-2 [--quick]      # Figures 2 and 4
    noisewise reproduce 002 figure-3                # times; alone on one core (taskset -c 0)

As in the paper: n = 100,000 rows, Σ_x ~ inverse Wishart(VᵀV, d + 1), x ~ N(0, Σ_x), θ ~ N(0, I), residuals N(0, 1),
no constant, bounds that are the largest norms of the rows (NOT private), one table, new noise in each run, δ = 1/n. The table is
not published; ours is chosen to be as informative without privacy as theirs (`seed_like_theirs`).
Estimation error is the mean of (θ̂ − θ)² over the coefficients, prediction error that of (xᵀθ̂ − xᵀθ)² over new rows. MMD² is
the unbiased estimate between draws and the posterior without privacy, with the kernel exp(−|a − b|²/2).
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from studies import many
from studies.many import Length
from studies.paper_002 import (
    ITERATIONS,
    METHODS,
    OURS,
    OWN_PRIOR,
    PRIOR_VARIANCE,
    RATE,
    SHAPE,
    Budget,
    Tables,
    halves,
    iterations_of,
    noisy_problem,
    posterior_draws,
    random_scale,
)

Array = npt.NDArray[np.float64]

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
ROWS, TEST_ROWS = 100_000, 20_000
COMPARED = 200
SEED = 2
PRINTED_ERROR = {2: 2.92e-5, 5: 1.54e-5}
SHOWN = tuple(method for method in METHODS if method != "normal-x as run")  # that one: the table only
TIMED = ("normal-x", "fixed-s", "clt-gibbs")


@dataclass(frozen=True)
class Cell:
    """A method at all ε."""

    d: int
    holders: int
    noise: str
    method: str
    runs: int
    iterations: int = ITERATIONS

    def columns(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Simulation:
    theta: Array
    x: Array
    y: Array
    test_x: Array
    scale: Array


def drawn_features(d: int, seed: int) -> tuple[np.random.Generator, Array, Array]:
    """Λ and Σ_x⁻¹ ~ Wishart(Λ⁻¹, d + 1), and the generator as it is then."""
    rng = np.random.default_rng([seed, d])
    scale = random_scale(d, rng)
    half = rng.normal(size=(d + 1, d)) @ np.linalg.cholesky(np.linalg.inv(scale)).T
    return rng, scale, half.T @ half


def seed_like_theirs(d: int) -> int:
    """Of 200 seeds the one whose estimation error without privacy, tr(Σ_x⁻¹)/(dn), is closest to the one that they print."""
    def distance(seed: int) -> float:
        return abs(math.log(np.trace(drawn_features(d, seed)[2]) / d / (ROWS * PRINTED_ERROR[d])))

    return min(range(200), key=distance) if d in PRINTED_ERROR else SEED


@cache
def simulation(d: int, rows: int = ROWS) -> Simulation:
    """The one table."""
    rng, scale, precision = drawn_features(d, seed_like_theirs(d))
    root = np.linalg.cholesky(np.linalg.inv(precision))
    theta = rng.normal(size=d)
    x, test_x = (rng.normal(size=(number, d)) @ root.T for number in (rows, TEST_ROWS))
    return Simulation(theta, x, x @ theta + rng.normal(size=rows), test_x, scale)


def posterior_without_privacy(made: Simulation, draws: int, rng: np.random.Generator) -> Array:
    """The posterior with the paper's priors. σ² is known so well that its posterior mean replaces it."""
    s, z = made.x.T @ made.x, made.x.T @ made.y
    rest = made.y @ made.y - z @ np.linalg.solve(s, z)
    variance = (RATE + rest / 2) / (SHAPE + len(made.y) / 2 - 1)
    precision = s / variance + np.eye(len(z)) / PRIOR_VARIANCE
    covariance = np.linalg.inv(precision)
    return covariance @ z / variance + rng.normal(size=(draws, len(z))) @ np.linalg.cholesky(covariance).T


def mmd2(first: Array, second: Array) -> float:
    """Gretton et al. (2012), equation 3."""
    def kernel(a: Array, b: Array) -> Array:
        return np.exp(-0.5 * np.sum((a[:, None] - b[None]) ** 2, axis=2))

    def within(a: Array) -> float:
        return float((kernel(a, a).sum() - len(a)) / (len(a) * (len(a) - 1)))

    return within(first) + within(second) - 2 * float(kernel(first, second).mean())


def run_cell(cell: Cell, our_length: Length = OURS, rows: int = ROWS) -> list[dict[str, Any]]:
    started = time.perf_counter()
    made = simulation(cell.d, rows)
    tables = Tables.of(made.x, made.y, cell.holders, made.scale)
    budgets = [Budget(cell.noise, epsilon, 1 / rows) for epsilon in EPSILONS for _ in range(cell.runs)]
    draws = posterior_draws(cell.method, tables, budgets, SEED, halves(cell.iterations), our_length)[..., :-1]
    estimates = draws.mean(axis=1)
    estimation = np.mean((estimates - made.theta) ** 2, axis=1).reshape(len(EPSILONS), cell.runs)
    prediction = np.mean(((estimates - made.theta) @ made.test_x.T) ** 2, axis=1).reshape(len(EPSILONS), cell.runs)
    target = posterior_without_privacy(made, COMPARED, np.random.default_rng(SEED))
    every = max(1, draws.shape[1] // COMPARED)
    distance = np.full((len(EPSILONS), cell.runs), math.nan)
    if cell.method != "adassp":
        distance = np.array([mmd2(chain[::every], target) for chain in draws]).reshape(distance.shape)
    seconds = round(time.perf_counter() - started, 1)
    return [cell.columns() | {
        "epsilon": epsilon, "estimation": estimation[k].mean(), "estimation_error": standard_error(estimation[k]),
        "prediction": prediction[k].mean(), "prediction_error": standard_error(prediction[k]), "mmd2": distance[k].mean(),
        "mmd2_error": standard_error(distance[k]), "seconds": seconds,
    } for k, epsilon in enumerate(EPSILONS)]


def standard_error(values: Array) -> float:
    return float(values.std() / math.sqrt(len(values)))


def cells(runs: int, iterations: int, holders: list[int], methods: list[str], noises: list[str]) -> list[Cell]:
    """All cells, long ones first. Our own prior for d = 2 only: for d = 5 and a small ε a batch of its chains does not mix."""
    grid = [Cell(d, number, noise, method, runs, iterations_of(method, iterations)) for d, number, noise, method in
            itertools.product((5, 2), holders, noises, methods) if not (d == 5 and method == OWN_PRIOR)]
    order = {"normal-x": 10, "clt-gibbs": 9, "conditional": 8, OWN_PRIOR: 8, "collapsed": 7, "fixed-s": 2}
    times = {"conditional": 2, OWN_PRIOR: 2}  # others are the slower the more holders there are
    return sorted(grid, key=lambda cell: -order.get(cell.method, 0) * times.get(cell.method, cell.holders))


def measure_times(sizes: Sequence[int], steps: int) -> list[dict[str, Any]]:
    """Microseconds of the processor per iteration of one chain, J = 1, compiled before the clock starts.

    Run it on one core (``taskset -c 0``): it counts the time of all threads, but not that of other programs.
    """
    lines = []
    for d, method in itertools.product(sizes, TIMED):
        made = simulation(d, 10_000)
        tables = Tables.of(made.x, made.y, 1, made.scale)
        problem = [noisy_problem(tables, Budget("correct", 1.0, 1e-4), np.random.default_rng(d), method == "clt-gibbs")]
        run = {"normal-x": many.normal_x, "fixed-s": many.fixed_s, "clt-gibbs": many.clt_gibbs}[method]
        length = Length(steps, steps)
        run(problem, length, 0)
        seconds = []
        for seed in range(1, 4):
            started = time.process_time()
            run(problem, length, seed)
            seconds.append(time.process_time() - started)
        lines.append({"d": d, "method": method, "microseconds": min(seconds) / (2 * steps) * 1e6})
    return lines


def cell(**fields: Any) -> dict[str, list[dict[str, Any]]]:
    return {"errors": run_cell(Cell(**fields))}


def times_cell(sizes: Sequence[int], steps: int) -> dict[str, list[dict[str, Any]]]:
    return {"times": measure_times(sizes, steps)}
