"""Coverage of nominal 95 % intervals of logistic and Poisson regression from simulated `gram` releases.

    python -m studies.glm_coverage --processes 8                 # the grid: minutes on a GPU, hours on two cores
    python -m studies.glm_coverage --only priors --output studies/results/glm/priors.csv
    python -m studies.glm_coverage --only quick --output quick.csv   # one cell

Three correlated normal features with bounds ±4 and an intercept; every replicate has a new table and new noise, seeded, of the
scale that a release would have. Truths are fixed (‖θ‖, in standard deviations of the predictors) or drawn from the prior, for
every replicate anew. Where a release says little, an interval is mostly the prior's, and only then must its coverage be 95 %.

``--only priors`` measures other widths of the prior, and ``--only scaled`` whether the normal approximation matters: tables
that are longer by a factor, with noise larger by the same factor. The output has a line per cell and coefficient, and for ‖θ‖.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.glm.families import FAMILIES
from studies.glm_many import CHAINS, measures, sample_many
from studies.glm_tables import Study, scaled_noise
from studies.workers import add_options, run_cells

Array = npt.NDArray[np.float64]

PRIOR = "prior"
NORMS = ("0.5", "1", "3", "5")
ROWS = (1_000, 10_000, 100_000)
EPSILONS = (0.1, 1.0, 10.0)
WIDTHS = {"logistic": (1.0, 1.5, 5.0), "poisson": (0.75, 2.5)}
"""Other prior standard deviations of an effect."""
LONGER = (1, 4, 16)
RESULTS = Path("studies/results/glm")


@dataclass(frozen=True)
class Cell:
    """One setting; ``longer``: the factor by which both rows and noise are larger."""

    rows: int
    epsilon: float
    longer: int = 1


GRID = tuple(Cell(rows, epsilon) for rows in ROWS for epsilon in EPSILONS)
SCALED = tuple(Cell(10_000, 1.0, longer) for longer in LONGER)
CELLS = {"grid": GRID, "scaled": SCALED, "quick": (Cell(10_000, 1.0),)}


@dataclass(frozen=True)
class Job:
    """Cells that are sampled together and share a compiled program."""

    family: str
    truth: str
    """A norm, or ``prior``."""
    slope_sd: float
    cells: str = "grid"
    world: str = "normal"

    def columns(self) -> dict[str, Any]:
        return asdict(self)


def jobs(only: str) -> list[Job]:
    """Poisson first: it takes longest."""
    families = ("poisson", "logistic")
    if only == "priors":
        return [Job(family, truth, width) for family in families for width in WIDTHS[family] for truth in (*NORMS, PRIOR)]
    if only == "scaled":
        return [Job("logistic", truth, width, "scaled", world) for world in ("independent", "normal") for width in (2.5, 1.5)
                for truth in ("3", PRIOR)]
    if only == "quick":
        return [Job("logistic", "1", FAMILIES["logistic"].slope_sd, "quick")]
    return [Job(family, truth, FAMILIES[family].slope_sd) for family in families for truth in (*NORMS, PRIOR)]


def simulate(study: Study, job: Job, cell: Cell, replicates: int, seed: int) -> Iterator[tuple[Any, Array]]:
    """Models of new releases, and their true effects."""
    rng = np.random.default_rng(zlib.crc32(repr((job, cell, seed)).encode()))
    noise = scaled_noise(study.noise(cell.epsilon), cell.longer)
    rows, deviations = cell.rows * cell.longer, study.prior_deviations(job.slope_sd)
    for _ in range(replicates):
        effects = deviations * rng.normal(size=len(deviations)) if job.truth == PRIOR else study.fixed_effects(float(job.truth))
        matrix = study.matrix(rng, rows, study.coefficients(effects))
        yield study.model(rng, matrix, rows, noise, slope_sd=job.slope_sd), effects


def run_job(job: Job, replicates: int, seed: int, draws: int) -> list[dict[str, Any]]:
    study = Study.of(job.world, job.family)
    cells = CELLS[job.cells]
    pairs = [pair for cell in cells for pair in simulate(study, job, cell, replicates, seed)]
    truth = study.coefficients(np.array([effects for _, effects in pairs]))
    found = sample_many([model for model, _ in pairs], draws=draws, seed=seed)
    prior = study.prior_deviations(job.slope_sd)
    users = study.coefficients(prior * np.random.default_rng(seed).normal(size=(100_000, len(prior))))
    prior_sd = with_norm(study, users).std(axis=0)
    lines = []
    for index, cell in enumerate(cells):
        own = slice(index * replicates, (index + 1) * replicates)
        results = measures(with_norm(study, found.coefficients[own]), with_norm(study, truth[own]), prior_sd)
        for term, result in zip((*study.terms, "norm"), results, strict=True):
            lines.append({**job.columns(), **asdict(cell), "term": term, **result, "replicates": replicates,
                          "draws": CHAINS * draws, "seed": seed, "unsettled": float(found.unsettled[own].mean())})
    return lines


def with_norm(study: Study, coefficients: Array) -> Array:
    """Add ‖θ‖ as a quantity."""
    effects = coefficients[..., 1:] * study.deviations[1:]
    return np.concatenate([coefficients, np.linalg.norm(effects, axis=-1, keepdims=True)], axis=-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", choices=["grid", "priors", "scaled", "quick"], default="grid")
    parser.add_argument("--replicates", type=int, default=500)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=RESULTS / "coverage.csv")
    add_options(parser)
    arguments = parser.parse_args()
    work = partial(run_job, replicates=arguments.replicates, seed=arguments.seed, draws=arguments.draws)
    run_cells(work, jobs(arguments.only), arguments, arguments.output)


if __name__ == "__main__":
    main()
