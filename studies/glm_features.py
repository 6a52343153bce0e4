"""Features that are not normal: bias and coverage of logistic and Poisson regression from simulated `gram` releases.

    python -m studies.glm_features --processes 8        # minutes on a GPU, hours on two cores
    python -m studies.glm_features --world rare --replicates 20 --output quick.csv

A release holds the features' first two moments; a generalised linear model needs more of their distribution, and the fit assumes
the least informative one. Declared categories are treated as such (model ``cells``, the default); ``normal`` treats every column
as a number with a normal distribution, as Kulkarni et al. (2021) do. Both are fitted to the same simulated releases.
"""

from __future__ import annotations

import argparse
import zlib
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from studies.glm_coverage import RESULTS, Cell
from studies.glm_many import CHAINS, measures, sample_many
from studies.glm_tables import KINDS, WORLDS, Study
from studies.workers import add_options, run_cells

NORMS = (1.0, 3.0)
GRID = tuple(Cell(rows, epsilon) for rows in (10_000, 100_000) for epsilon in (1.0, 10.0))


@dataclass(frozen=True)
class Job:
    """Cells that are sampled together and share a compiled program."""

    family: str
    world: str
    model: str
    """``cells`` or ``normal``."""

    def columns(self) -> dict[str, Any]:
        return asdict(self)


def has_categories(world: str) -> bool:
    return any("levels" in KINDS[kind].declared for kind in WORLDS[world].features)


def jobs(worlds: list[str] | None) -> list[Job]:
    """The tables with most cells and columns first: they take longest."""
    chosen = [world for world in reversed(WORLDS) if world in (worlds or WORLDS) and world != "independent"]
    chosen.sort(key=lambda world: world != "mixed")
    return [Job(family, world, model) for family in ("poisson", "logistic") for world in chosen
            for model in ("cells", "normal") if model == "cells" or has_categories(world)]


def run_job(job: Job, replicates: int, seed: int, draws: int, cells: tuple[Cell, ...] = GRID) -> list[dict[str, Any]]:
    study = Study.of(job.world, job.family)
    settings = [(norm, cell) for norm in NORMS for cell in cells]
    models = []
    for norm, cell in settings:
        # Not of the model: both see the same releases.
        rng = np.random.default_rng(zlib.crc32(repr((job.family, job.world, norm, cell, seed)).encode()))
        noise, beta = study.noise(cell.epsilon), study.coefficients(study.fixed_effects(norm))
        for _ in range(replicates):
            matrix = study.matrix(rng, cell.rows, beta)
            models.append(study.model(rng, matrix, cell.rows, noise, cells=job.model == "cells"))
    found = sample_many(models, draws=draws, seed=seed)
    prior = study.coefficients(study.prior_deviations() * np.random.default_rng(seed).normal(size=(100_000, len(study.terms))))
    lines = []
    for index, (norm, cell) in enumerate(settings):
        own = slice(index * replicates, (index + 1) * replicates)
        truth = np.tile(study.coefficients(study.fixed_effects(norm)), (replicates, 1))
        results = measures(found.coefficients[own], truth, prior.std(axis=0))
        for term, deviation, result in zip(study.terms, study.deviations, results, strict=True):
            lines.append({**job.columns(), "norm": norm, "rows": cell.rows, "epsilon": cell.epsilon, "term": term,
                          "deviation": float(deviation), **result, "replicates": replicates,
                          "draws": CHAINS * draws, "unsettled": float(found.unsettled[own].mean())})
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--world", nargs="*", choices=list(WORLDS), help="only these kinds of tables")
    parser.add_argument("--replicates", type=int, default=300)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=RESULTS / "features.csv")
    add_options(parser)
    arguments = parser.parse_args()
    work = partial(run_job, replicates=arguments.replicates, seed=arguments.seed, draws=arguments.draws)
    run_cells(work, jobs(arguments.world), arguments, arguments.output)


if __name__ == "__main__":
    main()
