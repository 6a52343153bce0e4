"""The diabetes study of Peña and Barrientos (paper 004), section 4.1.2: 73,800 patients, 8 predictors of a third diagnosis.

    noisewise reproduce 004 diabetes --data DIRECTORY [--quick]      # DIRECTORY holds strack_73800.csv.gz

The data are those of Strack et al. (2014), which are public. The bounds are those of their published description (and ICD-9 codes
from 1 to 999), not taken from the rows. Neighbours differ by one replaced row, δ = exp(−10), the constant is released
and partialled out after the noise; the paper centres with the rows' own means, which costs privacy that it does not count. Noise
is drawn anew for each repeat; the table stays. hLM and hWM take long and are repeated less often.
"""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from studies.model_averaging import (
    PLUG_INS,
    Noise,
    Table,
    as_if_exact,
    draws_of,
    evidence_of,
    noise_aware,
    noise_of,
    oracle_draws,
    plug_in,
    region_analyses,
)

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

FILE: Final = "strack_73800.csv.gz"
BOUNDS: Final = {  # of the columns; the last is the response
    "gender_male": (0, 1), "age": (1, 10), "time_in_hospital": (1, 14), "num_lab_procedures": (1, 132), "num_procedures": (0, 6),
    "num_medications": (1, 81), "diag_1": (1, 999), "diag_2": (1, 999), "diag_3": (1, 999),
}
TERMS: Final = tuple(BOUNDS)[:-1]
EPSILONS: Final = (0.1, 0.5, 1.0)
RELEASES: Final = ("laplace", "wishart-paper", "wishart", "gaussian")
ORACLES: Final = ("zellner-siow", "zellner-siow-laplace", "bic")
BANDS_IN: Final = 40
"""The number of repeats in which the band is computed."""
DRAWS, BAND_DRAWS, REGION_DRAWS = 1000, 100, 100
HISTOGRAM: Final = "histogram"


@dataclass(frozen=True)
class Cell:
    directory: str
    prior: str
    epsilon: float
    release: str
    methods: str
    repeats: int

    def columns(self) -> Line:
        return {name: value for name, value in asdict(self).items() if name != "directory"}


@lru_cache(maxsize=1)
def table_in(directory: str) -> Table:
    """The exact moments of the constant, the predictors and the response."""
    with gzip.open(Path(directory) / FILE, "rt", newline="") as file:
        names, *rows = csv.reader(file)
    if names != list(BOUNDS):
        raise SystemExit(f"{FILE} must have the columns {list(BOUNDS)}, not {names}")
    low, high = np.array(list(BOUNDS.values()), dtype=float).T
    values = np.clip(np.array(rows, dtype=float), low, high)
    columns = np.column_stack([np.ones(len(values)), 2.0 * (values - low) / (high - low) - 1.0])
    return Table(columns.T @ columns, len(values), np.zeros(len(TERMS)), True)


def oracle_lines(table: Table) -> list[Line]:
    """The result from the exact table."""
    return [{"prior": prior, "term": term, "probability": probability} for prior in ORACLES
            for term, probability in zip(TERMS, as_if_exact(table, table.matrix, prior).inclusion.tolist(), strict=True)]


def run_cell(cell: Cell) -> list[Line]:
    table = table_in(cell.directory)
    noise = noise_of(cell.release, len(BOUNDS), True, cell.epsilon)
    oracle = as_if_exact(table, table.matrix, cell.prior).inclusion
    said: dict[str, list[Array]] = {}
    bands: dict[str, list[Array]] = {}
    for repeat in range(cell.repeats):
        seed = zlib.crc32(f"{cell.release} {cell.epsilon} {repeat}".encode())
        matrix = table.matrix + noise.draw(np.random.default_rng(seed))
        if cell.methods == HISTOGRAM:
            found = _region(table, matrix, noise, cell.prior, seed)
            said.setdefault(HISTOGRAM, []).append(found.mean(axis=0))
            bands.setdefault(HISTOGRAM, []).append(np.quantile(found, [0.025, 0.975], axis=0))
            continue
        for kind in PLUG_INS:
            said.setdefault(kind, []).append(plug_in(table, matrix, noise, kind, cell.prior).inclusion)
        evidence = evidence_of(table, matrix, noise.variances, cell.prior)
        ours = noise_aware(evidence)
        said.setdefault("noise-aware", []).append(ours.inclusion)
        if repeat < BANDS_IN:
            drawn = oracle_draws(evidence, ours, draws_of(evidence, ours, DRAWS, seed), BAND_DRAWS, seed)
            bands.setdefault("noise-aware", []).append(np.quantile(drawn, [0.025, 0.975], axis=0))
    return [cell.columns() | line for method in said
            for line in _lines(method, np.array(said[method]), np.array(bands.get(method, [])), oracle)]


def _region(table: Table, matrix: Array, noise: Noise, prior: str, seed: int) -> Array:
    return np.array([one.inclusion for one in region_analyses(table, matrix, noise, prior, REGION_DRAWS, seed)])


def _lines(method: str, said: Array, bands: Array, oracle: Array) -> list[Line]:
    """Means over repeats, the first repeat, and how often a band holds the oracle's probability (to three digits)."""
    result = []
    for k, term in enumerate(TERMS):
        line: Line = {"method": method, "term": term, "mean": said[:, k].mean(), "sd": said[:, k].std(), "first": said[0, k],
                      "distance": math.sqrt(np.mean((said[:, k] - oracle[k]) ** 2))}
        if len(bands):
            low, high = bands[:, 0, k], bands[:, 1, k]
            line |= {"low": low.mean(), "high": high.mean(), "first_low": low[0], "first_high": high[0], "bands": len(bands),
                     "covered": np.mean((oracle[k] >= low - 5e-4) & (oracle[k] <= high + 5e-4))}
        result.append(line)
    return result


def cells(directory: str, repeats: int, histograms: int) -> list[Cell]:
    """All cells. BIC gives much the same and is repeated a fifth as often."""
    main, slow, other = [], [], []
    for epsilon in EPSILONS:
        for release in RELEASES:
            main.append(Cell(directory, "zellner-siow", epsilon, release, "all", repeats))
            other.append(Cell(directory, "bic", epsilon, release, "all", max(repeats // 5, 1)))
            if histograms and release in ("laplace", "wishart"):
                slow.append(Cell(directory, "zellner-siow", epsilon, release, HISTOGRAM, histograms))
    return main + slow + other


def cell(**fields: Any) -> dict[str, list[Line]]:
    return {"diabetes": run_cell(Cell(**fields))}


def oracle_cell(directory: str) -> dict[str, list[Line]]:
    return {"diabetes_oracle": oracle_lines(table_in(directory))}
