"""Is averaging rows worth its price? Coverage and error of the slopes with and without it.

    python -m studies.averaging [--replicates 300]      # writes studies/results/averaging.csv: an hour on one core
    python -m studies.averaging --table                 # the table of the documentation, from that file

Averaging is meant for methods that assume normal predictors, so these are far from normal: ``binary`` (10 % ones), ``rare`` (1 %
ones) and ``skewed`` (lognormal with log-sd 1, clipped). Every replicate has new tables and new noise; the noise is what the
library would add, which is more for averaged rows.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.holder.gram import plan_gram
from noisewise.releases.contents.gram import EntryNoise
from noisewise.schema import Basis, Schema
from studies.coverage import default_prior
from studies.many import Length, Units, ours
from studies.page import table
from studies.tables import DELTA, INTERCEPT, SIGMA, SimulatedPart, simulated_noise
from studies.workers import add_options, read, run_cells

Array = npt.NDArray[np.float64]

ROWS = 10_000
SLOPES = np.array([0.15, -0.15])  # small enough for responses to stay within their bounds
ONES = {"binary": 0.1, "rare": 0.01}
LARGEST = 20.0  # a lognormal with log-sd 1 exceeds it once in 700 times; it is clipped there
SETTINGS = [("binary", 1.0, 1), ("binary", 10.0, 1), ("binary", 100.0, 1), ("skewed", 1.0, 1), ("skewed", 10.0, 1),
            ("skewed", 100.0, 1), ("rare", 10.0, 1), ("binary", 10.0, 20)]
GROUPS = (1, 2, 5, 10)
METHODS = ("collapsed", "conditional")
LENGTH = Length(300, 600)
OUTPUT = Path("studies/results/averaging.csv")


@dataclass(frozen=True)
class AveragedPart(SimulatedPart):
    """A release of averaged rows."""

    average: int
    groups: int


@dataclass(frozen=True)
class Cell:
    """A method on rows averaged in groups of ``average``; the rows are divided among the holders."""

    predictors: str
    epsilon: float
    holders: int
    method: str
    average: int
    replicates: int

    def columns(self) -> dict[str, Any]:
        return asdict(self)


def entry_noise(epsilon: float, average: int) -> EntryNoise:
    """The noise of a release of two predictors and a response."""
    schema = Schema.from_dict({"adjacency": "replace-one", "unit": "row",
                               "columns": {name: {"bounds": [-1, 1]} for name in ("x1", "x2", "y")}})
    return EntryNoise("gaussian", *plan_gram(Basis.of(schema), epsilon, DELTA, average=average).entry_sd())


def scaled_rows(predictors: str, rows: int, rng: np.random.Generator) -> Array:
    """(1, x1, x2, y)."""
    if predictors in ONES:
        x = np.where(rng.random((rows, 2)) < ONES[predictors], 1.0, -1.0)
    else:
        x = np.clip(2.0 * np.exp(rng.normal(size=(rows, 2))) / LARGEST - 1.0, -1.0, 1.0)
    y = np.clip(INTERCEPT + x @ SLOPES + rng.normal(0, SIGMA, rows), -1.0, 1.0)
    return np.column_stack([np.ones(rows), x, y])


def averaged_gram(rows: Array, average: int) -> Array:
    """Σ (1/k)(Σa)(Σa)ᵀ; these rows are in random order already."""
    sums = np.add.reduceat(rows, np.arange(0, len(rows), average)) / np.sqrt(average)
    return np.asarray(sums.T @ sums)


def simulated(cell: Cell) -> list[list[AveragedPart]]:
    """The parts of every replicate: the same tables for every method and group size."""
    seed = zlib.crc32(repr((cell.predictors, cell.epsilon, cell.holders)).encode())
    rng, noise_rng = np.random.default_rng(seed), np.random.default_rng([seed, cell.average])
    noise, rows = entry_noise(cell.epsilon, cell.average), ROWS // cell.holders

    def one() -> AveragedPart:
        exact = averaged_gram(scaled_rows(cell.predictors, rows, rng), cell.average)
        return AveragedPart(exact + simulated_noise(noise_rng, noise, 4), rows, noise, cell.average, rows // cell.average)

    return [[one() for _ in range(cell.holders)] for _ in range(cell.replicates)]


def run_cell(cell: Cell) -> list[dict[str, Any]]:
    started = time.perf_counter()
    slopes = ours(cell.method, simulated(cell), Units(*default_prior(2)), LENGTH, 1)[:, :, 1:3]
    low, high = np.quantile(slopes, [0.025, 0.975], axis=1, method="weibull")
    inside = (low <= SLOPES) & (high >= SLOPES)
    squared = ((slopes.mean(axis=1) - SLOPES) ** 2).mean(axis=1)
    found = {
        "coverage": inside.mean(),
        "standard_error": inside.mean(axis=1).std() / np.sqrt(cell.replicates),
        "error": np.sqrt(squared.mean()),
        "error_standard_error": squared.std() / np.sqrt(cell.replicates) / 2 / np.sqrt(squared.mean()),
        "seconds": time.perf_counter() - started,
    }
    return [cell.columns() | {name: float(f"{value:.4g}") for name, value in found.items()}]


def cells(replicates: int, methods: Sequence[str] = METHODS) -> list[Cell]:
    # ``collapsed`` takes as long for each holder as for one.
    return [Cell(predictors, epsilon, holders, method, average, replicates if holders == 1 else max(20, replicates // 5))
            for method in methods for average in GROUPS for predictors, epsilon, holders in SETTINGS]


def printed(lines: Sequence[dict[str, str]]) -> str:
    """A table of coverage and of the error relative to ``collapsed`` without averaging."""
    found = {(line["predictors"], float(line["epsilon"]), int(line["holders"]), line["method"], int(line["average"])): line
             for line in lines}
    body = []
    for predictors, epsilon, holders in SETTINGS:
        one = found.get((predictors, epsilon, holders, METHODS[0], 1))
        for method in METHODS if one is not None else ():
            row = [found.get((predictors, epsilon, holders, method, average)) for average in GROUPS]
            body.append([predictors, f"{epsilon:g}", str(holders), f"`{method}`", *(_cell(line, one) for line in row)])
    return "\n".join(table(["predictors", "ε", "holders", "method", *(f"k = {average}" for average in GROUPS)], body))


def _cell(line: dict[str, str] | None, one: dict[str, str] | None) -> str:
    if line is None or one is None:
        return "–"
    return f"{100 * float(line['coverage']):.1f} % · {float(line['error']) / float(one['error']):.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage and error with and without averaging.")
    parser.add_argument("--replicates", type=int, default=300)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--table", action="store_true", help="print the table of an earlier run")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    add_options(parser)
    arguments = parser.parse_args()
    if not arguments.table:
        run_cells(run_cell, cells(arguments.replicates, arguments.methods), arguments, arguments.output)
    print(printed(read(arguments.output)))


if __name__ == "__main__":
    main()
