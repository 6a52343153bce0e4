"""Coverage of nominal 95 % intervals from simulated `rows` releases, with everything unknown.

    python -m studies.microdata_coverage                 # the grid: minutes on a GPU, hours on two cores
    python -m studies.microdata_coverage --only p=1 --rows 500
    python -m studies.microdata_report                   # docs/rows-calibration.md from the results

Tables are those of ``studies.perturbed_rows``; every replicate has new rows and new noise. Truths are fixed; in cells ``prior``
they are drawn from the prior, and nothing is clipped: that tests the sampler alone, and there coverage has to be 95 % whatever
the noise. ε is chosen by the scale of one copy's noise, in scaled units, where numbers have a standard deviation of 0.25.
Written: one line for each cell and quantity.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from noisewise.posterior.prior import COEFFICIENT_SCALE, SIGMA_SCALE
from studies.perturbed_rows import Table, simulate, simulate_from_prior
from studies.rows_many import AT_ONCE, Found, Length, sample_many
from studies.workers import Line, read, write

RESULTS: Final = Path("studies/results/microdata")
PRIOR: Final = "prior"
TABLES: Final = {
    "p=1": Table(1),
    "p=3": Table(3),
    "p=10": Table(10),
    "2 numbers, 1 binary": Table(2, binary=True),
    "3 numbers, 1 of them exact": Table(2, exact=1),
    "2 numbers, exact response": Table(2, exact_response=True),
    "p=1, prior": Table(1),
    "p=3, prior": Table(3),
}
FEW: Final = 500
MANY: Final = 10_000
SETTINGS: Final[dict[str, dict[int, tuple[tuple[float, int], ...]]]] = {
    "p=1": {FEW: ((0.1, 1), (0.1, 2), (0.2, 1), (0.2, 2)), MANY: ((0.2, 1), (0.4, 1), (0.4, 2))},
    "p=3": {FEW: ((0.1, 1), (0.1, 2), (0.2, 1), (0.2, 2)), MANY: ((0.2, 1), (0.4, 1), (0.4, 2))},
    "p=10": {FEW: ((0.05, 1), (0.1, 1), (0.1, 2)), MANY: ((0.1, 1), (0.3, 1))},
    "2 numbers, 1 binary": {FEW: ((0.1, 1), (0.1, 2)), MANY: ((0.2, 1),)},
    "3 numbers, 1 of them exact": {FEW: ((0.2, 1),)},
    "2 numbers, exact response": {FEW: ((0.2, 1),)},
    "p=1, prior": {FEW: ((0.1, 1), (1.0, 1))},
    "p=3, prior": {FEW: ((0.1, 1), (1.0, 1))},
}
"""For each table and number of rows: the scale of the noise if there is one copy, and the number of copies; two copies with
the same ε together have twice that scale each."""
REPLICATES: Final = {("p=10", FEW): 300, ("p=10", MANY): 100}


def replicates_of(table: str, rows: int) -> int:
    return REPLICATES.get((table, rows), 500 if rows == FEW else 200)


@dataclass(frozen=True)
class Cell:
    """One setting."""

    table: str
    rows: int
    scale: float
    copies: int

    @property
    def epsilon(self) -> float:
        return TABLES[self.table].epsilon_for(self.scale)

    @property
    def terms(self) -> list[str]:
        table = TABLES[self.table]
        return ["constant", *(f"exact {k + 1}" for k in range(table.exact)), *["binary"] * table.binary,
                *(f"x{k + 1}" for k in range(table.numbers)), "sigma"]

    def columns(self) -> dict[str, Any]:
        return asdict(self) | {"epsilon": self.epsilon}


def cells(rows: Collection[int], tables: Collection[str]) -> list[Cell]:
    return [Cell(table, n, *setting) for n in rows for table in tables for setting in SETTINGS[table].get(n, ())]


def run_cell(cell: Cell, replicates: int, length: Length, seed: int = 1, at_once: int = AT_ONCE) -> list[Line]:
    rng = np.random.default_rng(zlib.crc32(repr((cell, seed)).encode()))
    make = simulate_from_prior if cell.table.endswith(PRIOR) else simulate
    pairs = [make(TABLES[cell.table], cell.rows, cell.epsilon, cell.copies, rng) for _ in range(replicates)]
    started = time.perf_counter()
    found = sample_many([problem for problem, _ in pairs], seed=seed, length=length, chains=1, at_once=at_once)
    return measures(cell, found, np.array([truth for _, truth in pairs]), time.perf_counter() - started, length)


def measures(cell: Cell, found: Found, truth: Any, seconds: float, length: Length) -> list[Line]:
    """One line for each quantity; ``information``: its posterior's standard deviation over its prior's."""
    covers = found.covers(truth)
    lines = []
    for place, term in enumerate(cell.terms):
        prior = SIGMA_SCALE * np.sqrt(1 - 2 / np.pi) if term == "sigma" else COEFFICIENT_SCALE
        error = found.mean[:, place] - truth[:, place]
        lines.append({**cell.columns(), "term": term, "coverage": covers[:, place].mean(), "replicates": len(truth),
                      "information": np.median(found.sd[:, place]) / prior, "sd": np.median(found.sd[:, place]),
                      "bias": error.mean(), "rmse": np.sqrt(np.mean(error**2)), "truth": truth[:, place].mean(),
                      "ess": np.median(found.ess[:, place]), "least_ess": found.ess[:, place].min(),
                      "unsettled": np.mean(found.r_hat[:, place] > 1.05), "seconds": seconds,
                      "sweeps": length.warmup + length.draws * length.thin})
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", choices=[*TABLES], nargs="*", default=[*TABLES])
    parser.add_argument("--rows", type=int, nargs="*", choices=[FEW, MANY], default=[FEW, MANY])
    parser.add_argument("--replicates", type=int, help="by default 500 of 500 rows and 200 of 10,000, for p = 10 300 and 100")
    parser.add_argument("--warmup", type=int, default=600)
    parser.add_argument("--draws", type=int, default=600)
    parser.add_argument("--thin", type=int, default=8)
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="rows times numbers² in one call; 2**26 fill a large GPU")
    parser.add_argument("--scale", type=float, nargs="*", help="only these scales of the noise")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds; a second call does the rest")
    parser.add_argument("--output", type=Path, default=RESULTS / "coverage.csv")
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    lines: list[Line] = list(read(arguments.output)) if arguments.output.exists() else []
    done = {(line["table"], str(line["rows"]), str(line["scale"]), str(line["copies"])) for line in lines}
    end = time.monotonic() + arguments.limit
    for cell in cells(arguments.rows, arguments.only):
        key = (cell.table, str(cell.rows), str(cell.scale), str(cell.copies))
        if key in done or (arguments.scale and cell.scale not in arguments.scale) or time.monotonic() > end:
            continue
        started = time.perf_counter()
        lines += run_cell(cell, arguments.replicates or replicates_of(cell.table, cell.rows),
                          Length(arguments.warmup, arguments.draws, arguments.thin), at_once=arguments.at_once)
        write(lines, arguments.output)
        print(f"{cell}: {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
