"""Which predictors matter, from a release: BAS on rows with the release's moments, and noisewise, which knows the noise.

BAS is not private and is not meant to be. A reader of a release can give it made-up rows that have the release's sums of
products; it then treats the noise as data. ``ridge`` is noisewise's own computation of the same. The study counts how often
a predictor without any effect gets a probability above 0.95, and how often all that have one do.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from noisewise.run import QUIET
from studies.other_systems_fits import Where, formula, our_release
from studies.other_systems_problem import Array, Problem, table
from studies.other_systems_r import NotRunError, bas_inclusion

BAS = "BAS"
METHODS = ("noise-aware", "ridge", BAS)
EPSILONS = (0.1, 1.0, 10.0)
ROWS = 100_000
SURE = 0.95


@dataclass(frozen=True)
class Cell:
    problem: Problem
    method: str
    replicates: int
    where: Where

    def columns(self) -> dict[str, Any]:
        return asdict(self.problem) | {"system": self.method, "replicates": self.replicates}


def cells(where: Where, replicates: int) -> list[Cell]:
    return [Cell(Problem("linear", ROWS, 5, epsilon), method, replicates, where) for method in METHODS for epsilon in EPSILONS]


def run_cell(cell: Cell) -> list[dict[str, Any]]:
    try:
        found = np.array([inclusion(cell, replicate) for replicate in range(cell.replicates)])
    except NotRunError as reason:
        return [cell.columns() | {"status": f"not run: {reason}"}]
    real = cell.problem.slopes != 0
    return [cell.columns() | {
        "status": "ran", "false": int(np.sum(found[:, ~real] > SURE)), "of": found[:, ~real].size,
        "all_found": int(np.sum(np.all(found[:, real] > SURE, axis=1)))}]


def inclusion(cell: Cell, replicate: int) -> Array:
    """The probability of each predictor."""
    import noisewise as nw
    from noisewise.literature.export import synthetic_rows

    release = our_release(cell.problem, table(cell.problem, replicate))
    terms = [f"x{number + 1}" for number in range(cell.problem.predictors)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nw.errors.NoisewiseWarning)
        if cell.method == BAS:
            blocks = [block.to_pandas() for block in synthetic_rows(formula(cell.problem), release)]
            rows = {name: np.concatenate([block[name].to_numpy() for block in blocks]) for name in blocks[0]}
            found = bas_inclusion(rows, cell.where.rscript)
            return np.array([found[term] for term in terms])
        compared = nw.compare(formula(cell.problem), release, method=cell.method, draws=200, seed=replicate, run=QUIET)
    table_of_terms = compared.inclusion()
    return np.asarray(table_of_terms.loc[terms].iloc[:, 0], dtype=float)
