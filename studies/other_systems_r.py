"""The R packages of ``studies.other_systems``: ``other_systems.R`` gets a folder of CSV files and writes others to it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from studies.other_systems_problem import RESPONSE_BOUND, Array, Fit, Problem

SCRIPT = Path(__file__).with_name("other_systems.R")
MOST_ROWS = 5_000
"""For dapper, which keeps a made-up row for each row of the table and proposes a new one for each in every iteration."""
ITERATIONS = 2_000
NOT_INSTALLED = 3
"""The script's exit status where the R package is missing."""


class NotRunError(Exception):
    """The reason why a system has no figures in a row."""


def call_r(rscript: str, mode: str, folder: Path, limit: float = 3000) -> None:
    if shutil.which(rscript) is None:
        raise NotRunError("R is not installed")
    try:
        done = subprocess.run([rscript, "--vanilla", str(SCRIPT), mode, str(folder)], capture_output=True, text=True,
                              timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        raise NotRunError(f"took more than {limit:.0f} s") from error
    if done.returncode == NOT_INSTALLED:
        raise NotRunError(f"the R package {mode} is not installed")
    if done.returncode:
        raise NotRunError((done.stderr.strip().splitlines() or ["R failed"])[-1])


def write_numbers(path: Path, columns: dict[str, Array]) -> None:
    names = list(columns)
    np.savetxt(path, np.column_stack([columns[name] for name in names]), delimiter=",", header=",".join(names), comments="")


def read_numbers(path: Path) -> dict[str, Array]:
    with path.open() as file:
        names = file.readline().strip().replace('"', "").split(",")
    values = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    return {name: values[:, place] for place, name in enumerate(names)}


def write_release(problem: Problem, release: Any, folder: Path, seed: int) -> None:
    """The noisy sums of products of (1, y, x…) in scaled units and the noise of each, which is 0 for the number of rows."""
    part = release.contributions[0]
    size = problem.predictors + 2
    upper = np.triu_indices(size)
    noise = np.sqrt(part.noise.variances(size))
    write_numbers(folder / "statistic.csv", {"value": np.asarray(part.matrix)[upper], "noise": noise[upper]})
    settings = {"rows": problem.rows, "predictors": problem.predictors, "response_bound": RESPONSE_BOUND,
                "iterations": ITERATIONS, "seed": seed + 1}
    write_numbers(folder / "settings.csv", {name: np.array([value], dtype=float) for name, value in settings.items()})


def dapper_fit(problem: Problem, release: Any, seed: int, rscript: str) -> Fit:
    """dapper's posterior given the same release that noisewise fits."""
    if problem.rows > MOST_ROWS:
        raise NotRunError(f"an iteration visits every row: not tried with more than {MOST_ROWS:,}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_release(problem, release, folder, seed)
        call_r(rscript, "dapper", folder)
        draws = read_numbers(folder / "draws.csv")
    slopes = np.column_stack([draws[f"slope{number + 1}"] for number in range(problem.predictors)])
    low, high = np.quantile(slopes, [0.025, 0.975], axis=0)
    return Fit(slopes.mean(axis=0), low, high)


def row_microseconds(problem: Problem, release: Any, rscript: str) -> float:
    """A lower bound for dapper: the user's functions that it has to call for one row in one iteration, timed without it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_release(problem, release, folder, 0)
        call_r(rscript, "functions", folder)
        return float(read_numbers(folder / "time.csv")["microseconds"][0])


def bas_inclusion(rows: dict[str, Array], rscript: str) -> dict[str, float]:
    """Inclusion probabilities by BAS of the predictors of ``y`` in these rows, all models enumerated."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_numbers(folder / "rows.csv", rows)
        call_r(rscript, "BAS", folder)
        return {term: float(value[0]) for term, value in read_numbers(folder / "inclusion.csv").items()}
