"""Features that are not normal: coverage of logistic and Poisson regression from simulated model releases.

    python -m studies.model_features --processes 2
    python -m studies.model_features --world rare --replicates 20 --output quick.csv

The tables are those of ``studies.glm_features``, which measures gram releases.
"""

from __future__ import annotations

import argparse
import zlib
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from studies.glm_coverage import RESULTS
from studies.glm_features import GRID, NORMS
from studies.glm_tables import DELTA, LARGEST_COUNT, WORLDS, Study, basis_rows
from studies.model_tables import SimulatedModel
from studies.workers import add_options, run_cells

OUTPUT = RESULTS.parent / "model" / "features.csv"


@dataclass(frozen=True)
class Job:
    family: str
    world: str
    norm: float
    rows: int
    epsilon: float

    def columns(self) -> dict[str, Any]:
        return asdict(self)


def jobs(worlds: list[str] | None, families: list[str]) -> list[Job]:
    chosen = [world for world in WORLDS if world in (worlds or WORLDS) and world not in ("independent", "normal")]
    return [Job(family, world, norm, cell.rows, cell.epsilon)
            for family in families for world in chosen for norm in NORMS for cell in GRID]


def run_job(job: Job, replicates: int, seed: int, draws: int) -> list[dict[str, Any]]:
    study = Study.of(job.world, job.family)
    model = SimulatedModel.of(study.design, job.family, job.epsilon, DELTA)
    truth = study.coefficients(study.fixed_effects(job.norm))
    rng = np.random.default_rng(zlib.crc32(repr((job, seed)).encode()))
    held, widths, doubted = [], [], 0
    for replicate in range(replicates):
        table = basis_rows(study.design, study.world.draw(rng, job.rows))
        scaled = study.response(rng, table @ (study.design.features @ truth))
        table[:, int(np.flatnonzero(study.design.target)[-1])] = scaled
        response = (scaled + 1) / 2 * (1 if job.family == "logistic" else LARGEST_COUNT)
        released = model.release(table[:, model.columns_of(study.design.basis.names)], response, rng)
        fitted = model.fit([released], draws=draws, seed=replicate)
        low, high = fitted.interval()
        held.append((low <= truth) & (truth <= high))
        widths.append(high - low)
        doubted += bool(fitted.doubts)
    cover, width = np.mean(held, axis=0), np.median(widths, axis=0)
    return [{**job.columns(), "term": term, "deviation": float(deviation), "coverage": float(one), "width": float(wide),
             "replicates": replicates, "doubted": doubted / replicates}
            for term, deviation, one, wide in zip(study.terms, study.deviations, cover, width, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--world", nargs="*", choices=list(WORLDS), help="only these kinds of tables")
    parser.add_argument("--family", nargs="*", choices=["logistic", "poisson"], default=["logistic", "poisson"])
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--draws", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    add_options(parser)
    asked = parser.parse_args()
    work = partial(run_job, replicates=asked.replicates, seed=asked.seed, draws=asked.draws)
    run_cells(work, jobs(asked.world, asked.family), asked, asked.output)


if __name__ == "__main__":
    main()
