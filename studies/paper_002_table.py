"""Tables 1 and 2 of Alparslan, Yıldırım and Birbil (2023): prediction error on real data, all methods, at two sizes of noise.

    noisewise reproduce 002 table-1 --data DIRECTORY [--quick]

DIRECTORY holds ``power_plant_energy.csv.gz``, ``bike_sharing.csv.gz`` and ``air_quality.csv.gz`` after the paper's preprocessing
(last column is the response; columns standardised over all rows, the response centred and divided by its largest value).

The setting is the paper's: no intercept, the first 80 % of the rows train and the rest test, holders are contiguous blocks,
ε = 1, δ = 1 / (training rows), the sensitivity for adding or removing a row, and bounds that are the maxima over the training
rows. Bounds taken from the data are NOT private: this compares estimators and is not for confidential rows. With
``noise = theirs`` the noise is not what ε = 1 needs either (``studies.paper_002``).

Written: for each data set, number of holders, noise and method the mean of the test error over the runs and its 90 % interval.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from studies.many import Length
from studies.paper_002 import (
    NOISES,
    OURS,
    OWN_PRIOR,
    Budget,
    Tables,
    halves,
    iterations_of,
    posterior_draws,
    random_scale,
)

Array = npt.NDArray[np.float64]

FILES = {"power": "power_plant_energy.csv.gz", "bike": "bike_sharing.csv.gz", "air": "air_quality.csv.gz"}
NORMAL_90 = 1.645
REFERENCES = ("least squares without privacy", "zero")


@dataclass(frozen=True)
class Cell:
    """One entry of the table."""

    directory: str
    data: str
    holders: int
    noise: str
    method: str
    runs: int
    iterations: int
    epsilon: float = 1.0

    def columns(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key != "directory"}


def read(path: Path) -> tuple[Array, Array, Array, Array]:
    """Training and test rows."""
    with gzip.open(path, "rt") as file:
        table = np.array([[float(cell) for cell in row] for row in list(csv.reader(file))[1:]])
    split = math.ceil(0.8 * len(table))
    return table[:split, :-1], table[:split, -1], table[split:, :-1], table[split:, -1]


def run_cell(cell: Cell, our_length: Length = OURS) -> list[dict[str, Any]]:
    started = time.perf_counter()
    x, y, test_x, test_y = read(Path(cell.directory) / FILES[cell.data])
    if cell.method in REFERENCES:
        theta = np.linalg.lstsq(x, y, rcond=None)[0] if cell.method == REFERENCES[0] else np.zeros(x.shape[1])
        estimates = theta[None]
    else:
        tables = Tables.of(x, y, cell.holders, random_scale(x.shape[1], np.random.default_rng(0)))
        budgets = [Budget(cell.noise, cell.epsilon, 1 / len(y))] * cell.runs
        estimates = posterior_draws(cell.method, tables, budgets, 1, halves(cell.iterations), our_length).mean(axis=1)[:, :-1]
    errors = np.mean((test_y - estimates @ test_x.T) ** 2, axis=1)
    half = NORMAL_90 * errors.std(ddof=1) / math.sqrt(len(errors)) if len(errors) > 1 else 0.0
    return [cell.columns() | {"mse": errors.mean(), "low": errors.mean() - half, "high": errors.mean() + half,
                              "median": float(np.median(errors)), "seconds": round(time.perf_counter() - started, 1)}]


def cells(directory: str, runs: int, iterations: int, data: list[str], holders: list[int], methods: list[str]) -> list[Cell]:
    """The long ones first."""
    grid = itertools.product(methods, data, holders, NOISES)
    chosen = [Cell(directory, name, number, noise, method, runs, iterations_of(method, iterations))
              for method, name, number, noise in grid if not (method == "normal-x as run" and noise == "correct")]
    order = {"normal-x": 20, "normal-x as run": 20, "conditional": 60, OWN_PRIOR: 60, "clt-gibbs": 10, "collapsed": 8}
    wide = {"power": 1, "air": 4, "bike": 5}
    chosen.sort(key=lambda cell: -order.get(cell.method, 0) * wide[cell.data]
                * (cell.holders if cell.method.startswith(("normal-x", "collapsed")) else 1))
    return chosen + [Cell(directory, name, 1, "none", method, 1, 0) for name in data for method in REFERENCES]


def cell(**fields: Any) -> dict[str, list[dict[str, Any]]]:
    return {"table": run_cell(Cell(**fields))}
