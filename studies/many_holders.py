"""Coverage of the default fit of thousands of small holders, each of whose noise hides its own rows.

    python -m studies.many_holders [--holders 10000] [--replicates 100] [--only equal varied hidden] [--output many_holders.csv]

Every replicate draws a table for each holder (three correlated predictors: yes/no, skewed, uniform), adds its holder's noise and
fits all of them together. For each cell it prints the coverage of nominal 95 % intervals of all coefficients, the lowest of
any one of them, and of sigma; the median width of the slopes' intervals relative to that without noise; and the noise relative
to the predictors' smallest moment, of one holder in its own rows and of all together.

- ``equal``: 50 rows and ε = 2 each; ``varied``: 10 to 90 rows, and ε = 1, 2 or 4, so that holders have different weights.
- ``replace-one``: numbers of rows are public; ``add-remove``: they are noisy.
- ``hidden``: so few holders that the noise of all together is of the order of the predictors' smallest moment.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import zlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.linear.conditional import ConditionalModel
from noisewise.posterior.linear.latent import LatentModel
from noisewise.posterior.linear.methods import default_model
from noisewise.releases.contents.gram import EntryNoise
from studies.batch import sample_batch
from studies.coverage import coverage_of, default_prior
from studies.tables import SIGMA, Setting, SimulatedPart, true_coefficients, truth_in_table

Array = npt.NDArray[np.float64]
D = 3
SKEW, SKEW_RANGE, YES = 0.6, 8.0, 0.3
"""The predictors of ``studies.tables``: a lognormal one within its range, and how many say yes."""


@dataclass(frozen=True)
class Cell:
    name: str
    adjacency: str
    holders: int
    rows: tuple[int, int]
    epsilons: tuple[float, ...]


def cells(holders: int) -> list[Cell]:
    return [
        Cell("equal", "replace-one", holders, (50, 50), (2.0,)),
        Cell("equal", "add-remove", holders, (50, 50), (2.0,)),
        Cell("varied", "replace-one", holders, (10, 90), (1.0, 2.0, 4.0)),
        Cell("varied", "add-remove", holders, (10, 90), (1.0, 2.0, 4.0)),
        Cell("hidden", "replace-one", max(holders // 25, 2), (50, 50), (2.0,)),
    ]


def setting_of(cell: Cell, epsilon: float) -> Setting:
    return Setting("mixed", D, cell.rows[1], epsilon, 1, cell.adjacency, "gaussian")


def tables(rng: np.random.Generator, rows: npt.NDArray[np.int64]) -> Array:
    """(holders, most rows, columns), rows beyond a holder's own being 0."""
    from scipy.special import ndtr, ndtri

    z = rng.normal(size=(len(rows), int(rows.max()), D))
    for column in range(1, D):
        z[..., column] = 0.4 * z[..., column - 1] + np.sqrt(1 - 0.16) * z[..., column]
    x = np.stack([np.where(z[..., 0] > ndtri(1 - YES), 1.0, -1.0),
                  np.clip(2.0 * np.exp(SKEW * z[..., 1]) / SKEW_RANGE - 1.0, -1.0, 1.0), 2.0 * ndtr(z[..., 2]) - 1.0], axis=-1)
    truth = truth_in_table(Setting("mixed", D, 1, 1.0, 1, "replace-one", "gaussian"))
    y = truth[0] + x @ truth[1:-1] + rng.normal(scale=SIGMA, size=x.shape[:2])
    table = np.concatenate([np.ones((*y.shape, 1)), x, np.clip(y, -1.0, 1.0)[..., None]], axis=-1)
    own: Array = table * (np.arange(table.shape[1]) < rows[:, None])[..., None]
    return own


def replicate(cell: Cell, rng: np.random.Generator) -> tuple[list[SimulatedPart], Array]:
    """The holders' releases, and the exact sum of their matrices."""
    rows = rng.integers(cell.rows[0], cell.rows[1], size=cell.holders, endpoint=True)
    noises = [setting_of(cell, epsilon).noise() for epsilon in cell.epsilons]
    whose = rng.integers(len(noises), size=cell.holders)
    table = tables(rng, rows)
    exact = np.transpose(table, (0, 2, 1)) @ table
    variances = np.stack([noise.variances(D + 2) for noise in noises])[whose]
    upper = np.triu(np.sqrt(variances) * rng.normal(size=exact.shape))
    noisy = exact + upper + np.transpose(np.triu(upper, 1), (0, 2, 1))
    public = noises[0].corner == 0
    parts = [SimulatedPart(matrix, int(count) if public else None, noises[place])
             for matrix, count, place in zip(noisy, rows, whose, strict=True)]
    return parts, exact.sum(axis=0)


def noise_over_moment(exact: Array, noises: list[EntryNoise], holders: int) -> tuple[float, float]:
    """Standard deviation of the noise over the predictors' smallest moment, for an average holder and for all together."""
    smallest = float(np.linalg.eigvalsh(exact[:-1, :-1])[0])
    noise = float(np.sqrt(np.mean([one.diagonal**2 for one in noises])))
    return noise / (smallest / holders), noise * np.sqrt(holders) / smallest


def sampled_by_shape(models: list[ConditionalModel | LatentModel], seed: int, draws: int) -> Array:
    """Draws of every model; those whose arrays have the same shapes side by side (with weights a model has other arrays)."""
    shapes = [tuple(sorted((name, value.shape) for name, value in model.data.items())) for model in models]
    found: dict[int, Array] = {}
    for shape in dict.fromkeys(shapes):
        places = [place for place, own in enumerate(shapes) if own == shape]
        with double_precision():
            of_shape = sample_batch([models[place] for place in places], seed=seed, draws=draws, warmup=200)
        found |= zip(places, of_shape, strict=True)
    return np.stack([found[place] for place in range(len(models))])


def run_cell(cell: Cell, replicates: int, seed: int, draws: int) -> dict[str, Any]:
    started = time.perf_counter()
    rng = np.random.default_rng(zlib.crc32(repr((cell, seed)).encode()))
    coordinates, prior = default_prior(D)
    models: list[ConditionalModel | LatentModel] = []
    errors = []
    for _ in range(replicates):
        parts, exact = replicate(cell, rng)
        models.append(default_model(parts, coordinates, prior))
        errors.append(SIGMA * np.sqrt(np.diag(np.linalg.inv(exact[:-1, :-1]))))
    sampled = sampled_by_shape(models, seed, draws)
    truth = truth_in_table(replace(setting_of(cell, 1.0), rows=1))
    assert len(truth) == len(true_coefficients("mixed", D)) + 1
    own, together = noise_over_moment(exact, [setting_of(cell, epsilon).noise() for epsilon in cell.epsilons], cell.holders)
    found = coverage_of(models, sampled, np.array(errors), truth)
    result = asdict(cell) | found | {"noise_of_one": own, "noise_of_all": together, "replicates": replicates,
                                     "latent": sum(isinstance(model, LatentModel) for model in models)}
    print(f"{cell.name}, {cell.adjacency}, {cell.holders:,} holders: coverage {found['coverage']:.3f} ± "
          f"{found['standard_error']:.3f} (lowest {found['lowest']:.2f}), sigma {found['sigma']:.2f}, width "
          f"{found['relative_width']:.1f}, noise over moment {own:.0f} of one and {together:.2f} of all; "
          f"{time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holders", type=int, default=10_000)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", choices=["equal", "varied", "hidden"], default=["equal", "varied", "hidden"])
    parser.add_argument("--adjacency", nargs="*", choices=["replace-one", "add-remove"], default=["replace-one", "add-remove"])
    parser.add_argument("--output", type=Path, default=Path("many_holders.csv"))
    given = parser.parse_args()
    with given.output.open("w", newline="") as file:
        writer: csv.DictWriter[str] | None = None
        for cell in (cell for cell in cells(given.holders) if cell.name in given.only and cell.adjacency in given.adjacency):
            result = run_cell(cell, given.replicates, given.seed, given.draws)
            if writer is None:
                writer = csv.DictWriter(file, fieldnames=list(result))
                writer.writeheader()
            writer.writerow(result)
            file.flush()


if __name__ == "__main__":
    main()
