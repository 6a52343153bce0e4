"""Coverage of nominal 95 % intervals of every method, at the correct noise, in the setting of a release.

    python -m studies.method_coverage [--processes 16] [--replicates 200] [--output studies/results/paper_002/coverage.csv]

Tables with an intercept from ``studies.tables`` (normal features, and a mixture of binary, skewed, uniform and normal ones),
replace-one, Gaussian noise, δ = 1e-6. Every replicate has new tables and new noise; holders have tables of their own. Written:
the coverage of the coefficients, intercept included, its standard error over replicates, the lowest of a single
coefficient, that of sigma, the median width of the slopes' intervals relative to those without privacy, and the root mean
square error of the slopes' posterior means.
"""

from __future__ import annotations

import argparse
import itertools
import time
import zlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.literature.fixed_moments import rough_sigma
from noisewise.literature.statistics import LinearProblem
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.request import Request
from studies import many
from studies.coverage import default_prior
from studies.many import Length, Units
from studies.paper_002 import RESULTS
from studies.tables import SIGMA, Setting, SimulatedPart, exact_matrices, simulated_noise, truth_in_table
from studies.workers import add_options, run_cells

Array = npt.NDArray[np.float64]

METHODS = ("normal-x", "normal-x-nuts", "fixed-s", "fast", "clt-gibbs", "collapsed", "conditional-flat", "conditional")
OURS = ("collapsed", "conditional-flat", "conditional")
GRID: dict[str, list[Any]] = {
    "features": ["normal", "mixed"], "d": [2, 5], "rows": [10_000, 100_000], "epsilon": [0.1, 1.0, 10.0], "holders": [1, 10],
}
CHAIN = Length(2_000, 2_000)
HMC = Length(300, 600)


@dataclass(frozen=True)
class Part(SimulatedPart):
    """A setting as in a request's release."""

    average: int = 1


@dataclass(frozen=True)
class Cell:
    """A method in a setting."""

    setting: Setting
    method: str
    replicates: int

    def columns(self) -> dict[str, Any]:
        return asdict(self.setting) | {"method": self.method, "replicates": self.replicates}


def simulated(setting: Setting, replicates: int) -> tuple[list[list[Part]], Array]:
    """The parts of every replicate, and the standard errors that the exact matrices would give."""
    seed = zlib.crc32(repr(setting).encode())  # the same tables and noise for every method
    each = replace(setting, rows=setting.rows // setting.holders)
    with double_precision():
        exact = exact_matrices(seed, each, replicates * setting.holders)
    exact = exact.reshape(replicates, setting.holders, *exact.shape[1:])
    rng, noise = np.random.default_rng(seed), setting.noise()
    size = exact.shape[-1]
    parts = [[Part(matrix + simulated_noise(rng, noise, size), each.rows, noise) for matrix in holders] for holders in exact]
    errors = [SIGMA * np.sqrt(np.diag(np.linalg.inv(total[:-1, :-1]))) for total in exact.sum(axis=1)]
    return parts, np.array(errors)


def posterior_draws(method: str, parts: list[list[Part]], d: int, seed: int, chain: Length = CHAIN, hmc: Length = HMC) -> Array:
    """Draws of (coefficients, sigma): (replicates, draws, d + 2)."""
    coordinates, prior = default_prior(d)
    if method in OURS:
        return many.ours(method, parts, Units(coordinates, prior), hmc, seed)
    problems = [LinearProblem.of(_request(each, coordinates, prior)) for each in parts]
    draws = {
        "normal-x": lambda: many.normal_x(problems, chain, seed),
        "normal-x-nuts": lambda: many.normal_x_hmc(problems, hmc, seed),
        "fixed-s": lambda: many.fixed_s(problems, chain, seed),
        "fast": lambda: many.fast(problems, rough_sigma(problems[0]), chain.draws, seed),
        "clt-gibbs": lambda: many.clt_gibbs(problems, chain, seed),
    }[method]()
    draws[..., -1] *= problems[0].sigma_scale
    return coordinates.to_user(draws)


def _request(parts: list[Part], coordinates: Any, prior: Any) -> Request:
    release: Any = SimpleNamespace(contributions=parts)
    return Request(release, coordinates, prior, 1, 1, 0, lambda done, total: None)


def run_cell(cell: Cell, chain: Length = CHAIN, hmc: Length = HMC) -> list[dict[str, Any]]:
    started = time.perf_counter()
    parts, errors = simulated(cell.setting, cell.replicates)
    draws = posterior_draws(cell.method, parts, cell.setting.d, 1, chain, hmc)
    result = coverage_of(draws, errors, truth_in_table(cell.setting))
    return [cell.columns() | result | {"seconds": round(time.perf_counter() - started, 1)}]


def coverage_of(draws: Array, errors: Array, truth: Array) -> dict[str, float]:
    low, high = np.quantile(draws, [0.025, 0.975], axis=1)
    inside = (low <= truth) & (truth <= high)
    coefficients = inside[:, :-1]
    return {
        "coverage": float(coefficients.mean()),
        "standard_error": float(coefficients.mean(axis=1).std() / np.sqrt(len(draws))),
        "lowest": float(coefficients.mean(axis=0).min()),
        "sigma": float(inside[:, -1].mean()),
        "relative_width": float(np.median((high - low)[:, 1:-1] / (2 * 1.96 * errors[:, 1:]))),
        "error": float(np.sqrt(np.mean((draws.mean(axis=1) - truth)[:, 1:-1] ** 2))),
    }


def cells(replicates: int, methods: list[str], rows: list[int] = GRID["rows"]) -> list[Cell]:
    """The long ones first; where a method is expensive, fewer replicates."""
    grid = GRID | {"rows": rows}
    settings = [Setting(**dict(zip(grid, values, strict=True)), adjacency="replace-one", mechanism="gaussian")
                for values in itertools.product(*grid.values())]
    chosen = [Cell(setting, method, _affordable(setting, method, replicates)) for setting in settings for method in methods]
    chosen = [cell for cell in chosen if cell.replicates]
    return sorted(chosen, key=lambda cell: -_cost(cell.setting, cell.method) * cell.replicates)


def _cost(setting: Setting, method: str) -> float:
    shares = {"normal-x": 1.0, "normal-x-nuts": 1.5, "clt-gibbs": 0.5, "conditional": 0.5, "collapsed": 0.5}
    return shares.get(method, 0.1) * setting.d * (setting.holders if method.startswith("normal-x") else 1) + setting.rows * 1e-6


def _affordable(setting: Setting, method: str, replicates: int) -> int:
    if method in ("conditional", "collapsed"):  # the longest
        return min(replicates, 100)
    if setting.holders == 1 or not method.startswith("normal-x"):
        return replicates
    if setting.d == 2:
        return min(replicates, 100)
    return 0 if method == "normal-x" else min(replicates, 40)  # ten matrices of 5 × 5 each: hundreds of parameters


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage of every method's 95 % intervals at the correct noise.")
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--rows", type=int, nargs="*", default=GRID["rows"])
    add_options(parser)
    parser.add_argument("--output", type=Path, default=RESULTS / "coverage.csv")
    arguments = parser.parse_args()
    run_cells(run_cell, cells(arguments.replicates, arguments.methods, arguments.rows), arguments, arguments.output)


if __name__ == "__main__":
    main()
