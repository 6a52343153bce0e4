"""noisewise compared with diffprivlib, OpenDP, d3p, dp-statsmodels, dapper and BAS, on one problem.

    python -m studies.other_systems [--d3p-python PATH] [--rscript PATH] [--quick]   # writes studies/results/other_systems
    python -m studies.other_systems --report                                         # writes docs/other-systems.md from there

A system that is not installed gets the row "not run" with the reason. diffprivlib 0.6.6 and noisewise share an environment
(``pip install '.[other-systems]'``); d3p needs one of its own (``studies/other_systems_d3p_requirements.txt``), named by
``--d3p-python``. The problem is in ``other_systems_problem``, what each system is asked in ``other_systems_fits``.
Rows already in the files are kept, except those that were not run. The tables have seeds; privacy noise has none, so
figures vary by their Monte Carlo errors.
"""

from __future__ import annotations

import argparse
import datetime
import math
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from studies.other_systems_fits import (
    D3P,
    DAPPER,
    DIFFPRIVLIB,
    DIFFPRIVLIB_RIDGE,
    EXACT,
    OURS,
    OURS_MODEL,
    OURS_PURE,
    SYSTEMS,
    THEIL_SEN,
    Where,
    versions,
)
from studies.other_systems_problem import Fit, Problem
from studies.other_systems_r import NotRunError
from studies.workers import add_options, read, run_cells, write

RESULTS = Path("studies/results/other_systems")
EPSILONS = (0.1, 1.0, 10.0)
SIZES = (100_000, 2_000)
REPLICATES = {D3P: 20, DAPPER: 10}
MOST = 200
OUR_MOST = {("linear", 2_000): 40, ("logistic", 100_000): 20, ("logistic", 2_000): 20}
"""Where our sampler takes longer."""
MODEL_MOST = {("linear", 2_000): 60, ("linear", 100_000): 30, ("logistic", 2_000): 120, ("logistic", 100_000): 60}
"""Tables for model releases, whose rounds take turns with their fits."""
ROUNDS = 5
STAGES = ("claims", "figures", "times", "selection")
NOT_RUN = "not run: "
DATE_OF = "date of "
Line = dict[str, Any]


def problems(epsilons: Sequence[float] = EPSILONS, sizes: Sequence[int] = SIZES) -> list[Problem]:
    """Five predictors, linear and logistic; and one predictor with many rows, for OpenDP's regression."""
    kinds = [("linear", 5, rows) for rows in sizes] + [("logistic", 5, rows) for rows in sizes] + [("linear", 1, sizes[0])]
    return [Problem(family, rows, predictors, epsilon) for family, predictors, rows in kinds for epsilon in epsilons]


@dataclass(frozen=True)
class Cell:
    """One system on one problem."""

    problem: Problem
    system: str
    replicates: int
    where: Where

    def columns(self) -> Line:
        return asdict(self.problem) | {"system": self.system, "replicates": self.replicates}


def run_cell(cell: Cell) -> list[Line]:
    system = SYSTEMS[cell.system]
    try:
        return [cell.columns() | {"intervals": system.intervals, "status": "ran"}
                | figures(system.fits(cell.problem, cell.replicates, cell.where), cell.problem)]
    except NotRunError as reason:
        return [cell.columns() | {"intervals": system.intervals, "status": f"{NOT_RUN}{reason}"}]


def figures(fits: Sequence[Fit], problem: Problem) -> Line:
    """Errors, coverage and widths over slopes and replicates; their Monte Carlo errors are over replicates."""
    estimate, low, high = (np.array([getattr(fit, name) for fit in fits]) for name in ("estimate", "low", "high"))
    squared = np.mean((estimate - problem.slopes) ** 2, axis=1)
    covered = np.mean((low <= problem.slopes) & (problem.slopes <= high), axis=1)
    return {"mse": squared.mean(), "mse_error": _error(squared), "median": float(np.median(squared)),
            "coverage": covered.mean(), "coverage_error": _error(covered), "width": float(np.median(high - low))}


def _error(values: Any) -> float:
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def asked_of(system: str, problem: Problem) -> bool:
    """Laplace noise serves one comparison, pure ε; one predictor serves OpenDP and the plainest of the others."""
    if system == OURS_PURE:
        return (problem.family, problem.predictors) == ("linear", 5)
    if system == DIFFPRIVLIB_RIDGE:
        return problem.family == "logistic"
    return problem.predictors > 1 or system in (OURS, DIFFPRIVLIB, THEIL_SEN, EXACT)


def timed(system: str, problem: Problem) -> bool:
    return system not in (OURS, OURS_PURE, OURS_MODEL, EXACT, DIFFPRIVLIB_RIDGE) and asked_of(system, problem)


def replicates(system: str, problem: Problem, quick: bool) -> int:
    ours = OUR_MOST.get((problem.family, problem.rows), MOST) if system in (OURS, OURS_PURE) else MOST
    most = MODEL_MOST.get((problem.family, problem.rows), MOST) if system == OURS_MODEL else REPLICATES.get(system, ours)
    return min(most, 10) if quick else most


@dataclass(frozen=True)
class TimeCell:
    """One system and noisewise on one problem."""

    problem: Problem
    system: str
    rounds: int
    where: Where

    def columns(self) -> Line:
        return asdict(self.problem) | {"system": self.system, "rounds": self.rounds}


def run_time_cell(cell: TimeCell) -> list[Line]:
    """The time from the rows to slopes and intervals, as a ratio to noisewise's, in turns; a first turn compiles."""
    def seconds(name: str, replicate: int) -> float:
        started = time.perf_counter()
        fit = SYSTEMS[name].one(cell.problem, replicate, cell.where)
        return fit.seconds if fit.seconds is not None else time.perf_counter() - started

    try:
        turns = [(seconds(cell.system, replicate), seconds(OURS, replicate)) for replicate in range(cell.rounds + 1)][1:]
    except NotRunError as reason:
        return [cell.columns() | {"status": f"{NOT_RUN}{reason}"}]
    ratios = [theirs / ours for theirs, ours in turns]
    return [cell.columns() | {"status": "ran", "ratio": float(np.median(ratios)), "least": min(ratios), "most": max(ratios)}]


def forget_not_run(path: Path, systems: Sequence[str]) -> None:
    """Forget cells that were not run: what was missing may be installed now."""
    lines = read(path) if path.exists() else []
    kept = [line for line in lines if not (line["status"].startswith(NOT_RUN) and line.get("system") in systems)]
    if lines and not kept:
        path.unlink()
    elif len(kept) < len(lines):
        write(kept, path)


def describe(where: Where, systems: Sequence[str], output: Path) -> None:
    """Where and when this ran. If only some of the systems ran, only their date is entered."""
    today = datetime.date.today().isoformat()
    if set(systems) == set(SYSTEMS) or not output.exists():
        facts = {"date": today, "cores": str(os.cpu_count()), "Python": platform.python_version()} | versions(where)
    else:
        facts = {line["name"]: line["value"] for line in read(output)} | {f"{DATE_OF}{system}": today for system in systems}
    write([{"name": name, "value": value} for name, value in facts.items()], output)


def main() -> None:
    parser = argparse.ArgumentParser(description="noisewise compared with other systems, on one problem.")
    parser.add_argument("--quick", action="store_true", help="at most 10 replicates and ε = 1 only, in a separate folder")
    parser.add_argument("--report", action="store_true", help="only write the page and its picture from the results")
    parser.add_argument("--stages", nargs="*", default=list(STAGES), choices=STAGES)
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--families", nargs="*", default=["linear", "logistic"])
    parser.add_argument("--rows", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--epsilons", type=float, nargs="*", default=list(EPSILONS))
    parser.add_argument("--d3p-python", default=Where.d3p_python, help="a Python with d3p, if not this one")
    parser.add_argument("--rscript", default=Where.rscript)
    parser.add_argument("--results", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/other-systems.md"))
    add_options(parser)
    arguments = parser.parse_args()
    results: Path = arguments.results or (RESULTS.with_name("other_systems_quick") if arguments.quick else RESULTS)
    if arguments.report:
        from studies.other_systems_report import write_report

        return write_report(results, arguments.output)
    run_all(arguments, results)


def run_all(arguments: argparse.Namespace, results: Path) -> None:
    from studies.other_systems_claims import claims
    from studies.other_systems_selection import BAS
    from studies.other_systems_selection import cells as selection_cells
    from studies.other_systems_selection import run_cell as run_selection

    where = Where(arguments.d3p_python, arguments.rscript)
    quick: bool = arguments.quick
    asked = [problem for problem in problems((1.0,) if quick else arguments.epsilons)
             if problem.family in arguments.families and problem.rows in arguments.rows]
    results.mkdir(parents=True, exist_ok=True)
    describe(where, arguments.systems, results / "versions.csv")
    for stage in arguments.stages:
        forget_not_run(results / f"{stage}.csv", [*arguments.systems, BAS])
    if "claims" in arguments.stages:
        write(claims(where), results / "claims.csv")
    if "figures" in arguments.stages:
        run_cells(run_cell, [Cell(problem, system, replicates(system, problem, quick), where) for system in arguments.systems
                             for problem in asked if asked_of(system, problem)], arguments, results / "figures.csv")
    if "times" in arguments.stages:
        run_cells(run_time_cell, [TimeCell(problem, system, 2 if quick else ROUNDS, where) for system in arguments.systems
                                  for problem in asked if problem.epsilon == 1.0 and timed(system, problem)],
                  arguments, results / "times.csv")
    if "selection" in arguments.stages:
        run_cells(run_selection, selection_cells(where, 5 if quick else 20), arguments, results / "selection.csv")


if __name__ == "__main__":
    main()
