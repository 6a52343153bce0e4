"""Coverage of nominal 95 % intervals of the default method, over a grid of settings.

    python -m studies.coverage --processes 2       # the full grid: hours on two cores
    python -m studies.coverage --quick             # a few cells
    python -m studies.coverage --again FIRST.csv … --seed 3 --replicates 500
                                                   # measure anew what the first run found overconfident

Each cell draws new tables and new noise for every replicate. The output has one line per cell: the coverage of the
coefficients (all of them, intercept included), the lowest coverage of any one of them, that of sigma, and the median width
of the slopes' intervals relative to the non-private ones.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
import time
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.linear.conditional import ConditionalModel
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.linear.latent import LatentModel
from noisewise.posterior.linear.methods import default_model
from noisewise.posterior.prior import COEFFICIENT_SCALE, SIGMA_SCALE, ResolvedPrior
from studies.batch import sample_batch
from studies.tables import SIGMA, Setting, SimulatedPart, exact_matrices, simulated_noise, truth_in_table

Array = npt.NDArray[np.float64]
Pool = get_context("spawn").Pool

GRID: dict[str, list[Any]] = {
    "features": ["normal", "mixed"],
    "d": [2, 5, 20],
    "rows": [1_000, 10_000, 100_000],
    "epsilon": [0.1, 1.0, 10.0],
    "holders": [1, 5],
    "adjacency": ["replace-one", "add-remove"],
    "mechanism": ["gaussian", "laplace"],
}
QUICK: dict[str, list[Any]] = GRID | {"d": [2], "rows": [10_000], "holders": [1], "adjacency": ["replace-one"]}


def settings(grid: dict[str, list[Any]]) -> list[Setting]:
    return [Setting(*values) for values in itertools.product(*grid.values())]


def default_prior(d: int) -> tuple[Coordinates, ResolvedPrior]:
    """What ``fit`` would use for y on d predictors, all declared with bounds [−1, 1]."""
    size = d + 2
    coordinates = Coordinates.from_arrays(np.eye(size)[:, : d + 1], np.eye(size)[-1], 1.0)
    prior = ResolvedPrior(np.eye(d + 1), np.zeros(d + 1), np.full(d + 1, COEFFICIENT_SCALE), SIGMA_SCALE)
    return coordinates, prior


def simulated_models(setting: Setting, replicates: int, seed: int) -> tuple[list[ConditionalModel | LatentModel], Array]:
    """One model per replicate, and the standard errors that the exact matrix would give."""
    # A seed from the setting itself, so that a cell's result does not depend on which other cells run.
    own_seed = zlib.crc32(repr((setting, seed)).encode())
    exact = exact_matrices(own_seed, setting, replicates)
    rng = np.random.default_rng(own_seed)
    noise = setting.noise()
    coordinates, prior = default_prior(setting.d)
    models, errors = [], []
    for matrix in exact:
        share = matrix / setting.holders  # holders with equal tables: only their sum matters to the fit
        rows = None if noise.corner else setting.rows // setting.holders
        parts = [SimulatedPart(share + simulated_noise(rng, noise, len(share)), rows, noise) for _ in range(setting.holders)]
        models.append(default_model(parts, coordinates, prior))
        errors.append(SIGMA * np.sqrt(np.diag(np.linalg.inv(matrix[:-1, :-1]))))
    return models, np.array(errors)


def coverage_of(models: list[ConditionalModel | LatentModel], draws: Array, errors: Array, truth: Array) -> dict[str, float]:
    """Coverage and widths from draws in working units."""
    users = np.stack([model.coordinates.to_user(chain) for model, chain in zip(models, draws, strict=True)])
    low, high = np.quantile(users, [0.025, 0.975], axis=1)
    inside = (low <= truth) & (truth <= high)
    coefficients = inside[:, :-1]
    width = (high - low)[:, 1:-1] / (2 * 1.96 * errors[:, 1:])
    return {
        "coverage": float(coefficients.mean()),
        "standard_error": float(coefficients.mean(axis=1).std() / np.sqrt(len(models))),
        "lowest": float(coefficients.mean(axis=0).min()),
        "sigma": float(inside[:, -1].mean()),
        "relative_width": float(np.median(width)),
    }


def run_cell(cell: Setting, replicates: int, seed: int, draws: int) -> dict[str, Any]:
    """One cell: simulate, fit, count."""
    started = time.perf_counter()
    with double_precision():
        models, errors = simulated_models(cell, replicates, seed)
        sampled = sample_batch(models, seed=seed, draws=draws, warmup=200)
    result = asdict(cell) | coverage_of(models, sampled, errors, truth_in_table(cell)) | {"replicates": replicates}
    print(f"{cell}: {result['coverage']:.3f} ({time.perf_counter() - started:.0f} s)", file=sys.stderr, flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a few cells only")
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--d", type=int, nargs="*", help="only these numbers of predictors")
    parser.add_argument("--mechanism", nargs="*", help="only these mechanisms")
    parser.add_argument("--again", type=Path, nargs="*", help="only the settings that are overconfident in these files")
    parser.add_argument("--output", type=Path, default=Path("coverage.csv"))
    arguments = parser.parse_args()
    grid = QUICK if arguments.quick else GRID
    grid = grid | {key: value for key in ("d", "mechanism") if (value := getattr(arguments, key))}
    # Cells with many rows take longest to simulate. They go first, so that none is left running alone at the end.
    chosen = settings(grid) if arguments.again is None else suspicious(arguments.again)
    cells = sorted(chosen, key=lambda cell: -cell.rows * cell.d)
    work = partial(run_cell, replicates=arguments.replicates, seed=arguments.seed, draws=arguments.draws)
    results = []
    with arguments.output.open("w", newline="") as file, Pool(arguments.processes) as pool:
        for result in pool.imap_unordered(work, cells):
            results.append(result)
            writer = csv.DictWriter(file, fieldnames=list(result))
            if len(results) == 1:
                writer.writeheader()
            writer.writerow(result)
            file.flush()
    print_summary(results)


def overconfident(cell: Mapping[str, Any]) -> bool:
    """Below 93 %, and by more than two standard errors below 95 %."""
    coverage, error = float(cell["coverage"]), float(cell["standard_error"])
    return coverage < 0.93 and coverage + 2 * error < 0.95


def suspicious(files: list[Path]) -> list[Setting]:
    """The settings of overconfident cells in files of an earlier run."""
    rows = [row for file in files for row in csv.DictReader(file.open(newline=""))]
    return [
        Setting(row["features"], int(row["d"]), int(row["rows"]), float(row["epsilon"]), int(row["holders"]), row["adjacency"],
                row["mechanism"])
        for row in rows
        if overconfident(row)
    ]


def print_summary(results: list[dict[str, Any]]) -> None:
    """The numbers of calibrated, conservative and overconfident cells."""
    narrow = [cell for cell in results if overconfident(cell)]
    wide = [cell for cell in results if cell["coverage"] > 0.97]
    print(f"{len(results)} cells: {len(results) - len(wide) - len(narrow)} within 93-97 %, {len(wide)} wider, "
          f"{len(narrow)} overconfident")
    for cell in narrow:
        print("overconfident:", cell)


if __name__ == "__main__":
    main()
