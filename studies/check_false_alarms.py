"""The predictive check: how often it raises an alarm where the model holds, and where it does not.

    python -m studies.check_false_alarms [--replicates 400]    # writes studies/results/check.csv
    python -m studies.check_false_alarms --table               # the table of the documentation, from that file

Every replicate has new tables and new noise, is fitted by the default method as ``y ~ x`` and checked against its own release.
Holders differ in the mean of x, which the model allows. A third column z, correlated with x, is released and left out of the
formula. What may be wrong (`MISFITS`): the last holder's slope is 0.4 instead of 0.3; its residuals have the standard
deviation 0.25 instead of 0.2; y depends on x² as well, at every holder; y depends on z. For each of these a fifth of the
replicates is made. The p-values of all holders together are also looked at where the mean of x is the same everywhere.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import noisewise as nw
from noisewise.errors import ConvergenceWarning
from noisewise.holder.gram import plan_gram
from noisewise.releases.contents.gram import EntryNoise, GramContribution
from noisewise.results.check_findings import ALL, OVERALL
from noisewise.run import QUIET
from noisewise.schema import Basis, Schema
from studies.page import table
from studies.tables import DELTA, simulated_noise
from studies.workers import add_options, read, run_cells

Array = npt.NDArray[np.float64]

ALIKE = "none, alike"
"""The model holds, and x has the same mean everywhere."""
MISFITS = {"none": "", "slope": "one slope", "spread": "one sigma", "curve": "x²", "left out": "z"}
SETTINGS: list[tuple[int, int, float, str, str]] = [
    (3, 10_000, 1.0, "replace-one", "gaussian"),
    (10, 10_000, 1.0, "replace-one", "gaussian"),
    (10, 10_000, 10.0, "replace-one", "gaussian"),
    (10, 2_000, 1.0, "replace-one", "gaussian"),
    (10, 10_000, 1.0, "add-remove", "gaussian"),
    (10, 10_000, 1.0, "replace-one", "laplace"),
    (50, 2_000, 1.0, "replace-one", "gaussian"),
]
KIND_OF_P = {(False, False): "single", (False, True): "overall", (True, True): "together", (True, False): "left_out"}
"""Of all holders? Of all statistics?"""
OUTPUT = Path("studies/results/check.csv")


@dataclass(frozen=True)
class Cell:
    """The numbers of holders and of rows each, and what is wrong with the model."""

    holders: int
    rows: int
    epsilon: float
    adjacency: str
    mechanism: str
    misfit: str
    replicates: int

    def columns(self) -> dict[str, Any]:
        return asdict(self)


def scaled_rows(cell: Cell, holder: int, rng: np.random.Generator) -> Array:
    """(1, x, z, y) of one holder."""
    odd = holder == cell.holders - 1
    mean = 0.0 if cell.misfit == ALIKE else 0.4 * (2 * holder / (cell.holders - 1) - 1)
    x = np.clip(mean + 0.25 * rng.normal(size=cell.rows), -1, 1)
    z = np.clip(0.5 * x + 0.3 * rng.normal(size=cell.rows), -1, 1)
    slope = 0.4 if odd and cell.misfit == "slope" else 0.3
    sigma = 0.25 if odd and cell.misfit == "spread" else 0.2
    extra = {"curve": 0.1 * x**2, "left out": 0.05 * z}.get(cell.misfit, 0.0)
    y = np.clip(slope * x + extra + sigma * rng.normal(size=cell.rows), -1, 1)
    return np.column_stack([np.ones(cell.rows), x, z, y])


def releases(cell: Cell) -> list[nw.Release]:
    """One release per replicate, with the noise that the library would add."""
    schema = Schema.from_dict({"adjacency": cell.adjacency, "columns": {name: {"bounds": [-1, 1]} for name in ("x", "z", "y")}})
    delta = DELTA if cell.mechanism == "gaussian" else None
    mechanism = plan_gram(Basis.of(schema), cell.epsilon, delta)
    noise = EntryNoise("gaussian" if delta else "laplace", *mechanism.entry_sd())
    rng = np.random.default_rng(zlib.crc32(repr(cell).encode()))

    def contribution(holder: int) -> GramContribution:
        rows = scaled_rows(cell, holder, rng)
        return GramContribution(
            rows=None if noise.corner else cell.rows, matrix=rows.T @ rows + simulated_noise(rng, noise, 4), noise=noise,
            epsilon=cell.epsilon, delta=delta or 0.0, mechanism=cell.mechanism, sensitivity=1.0, statement="made up",
            created="2026-01-01", library="a study")

    return [nw.Release(nw.Gram(), schema, tuple(map(contribution, range(cell.holders)))) for _ in range(cell.replicates)]


def run_cell(cell: Cell) -> list[dict[str, Any]]:
    started = time.perf_counter()
    made = releases(cell)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = nw.fit_many("y ~ x", made, draws=300, chains=2, seed=1, run=QUIET)
    p: dict[str, list[float]] = {kind: [] for kind in KIND_OF_P.values()}
    named = []
    for fit, release in zip(fits, made, strict=True):
        check = fit.check(release)
        named.append(bool(check.problems()))
        for holder, statistic, value in check.table["p"].reset_index().itertuples(index=False):
            p[KIND_OF_P[holder == ALL, statistic == OVERALL]].append(float(value))
    shares = {f"{name}_{level}": float(np.mean(np.array(values) < level)) for name, values in p.items() for level in (0.05, 0.01)}
    found = {"named": float(np.mean(named))} | {name: float(f"{share:.4g}") for name, share in shares.items()}
    return [cell.columns() | found | {"seconds": round(time.perf_counter() - started, 1)}]


def cells(replicates: int) -> list[Cell]:
    return [Cell(*setting, misfit, replicates if misfit in ("none", ALIKE) else max(1, replicates // 5))
            for misfit in (*MISFITS, ALIKE) for setting in SETTINGS]


def printed(lines: Sequence[dict[str, str]]) -> str:
    """For each setting, the share of p-values below 0.05 where the model holds, and of replicates in which anything is named."""
    names = ("holders", "rows", "epsilon", "adjacency", "mechanism")
    by_setting: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
    for line in lines:
        by_setting.setdefault(tuple(line[name] for name in names), {})[line["misfit"]] = line
    body = []
    for (holders, rows, epsilon, adjacency, mechanism), found in by_setting.items():
        right = found["none"]
        error = math.sqrt(0.01 * 0.99 / int(right["replicates"]))
        body.append([f"{holders} × {int(rows):,}", f"{float(epsilon):g}", f"{adjacency}, {mechanism}",
                     *(f"{100 * float(right[name + '_0.05']):.1f}" for name in KIND_OF_P.values()),
                     f"{100 * float(found[ALIKE]['together_0.05']):.1f}" if ALIKE in found else "",
                     f"{100 * float(right['named']):.1f} ± {100 * error:.1f}",
                     *(f"{100 * float(found[name]['named']):.0f}" if name in found else "" for name in list(MISFITS)[1:])])
    head = ["holders × rows", "ε", "", *(kind.replace("_", " ") for kind in KIND_OF_P.values()), "together, alike", "named",
            *list(MISFITS.values())[1:]]
    return "\n".join(table(head, body))


def main() -> None:
    parser = argparse.ArgumentParser(description="False alarms and power of the predictive check.")
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--table", action="store_true", help="print the table of an earlier run")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    add_options(parser)
    arguments = parser.parse_args()
    if not arguments.table:
        run_cells(run_cell, cells(arguments.replicates), arguments, arguments.output)
    print(printed(read(arguments.output)))


if __name__ == "__main__":
    main()
