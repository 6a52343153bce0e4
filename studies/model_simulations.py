"""Coverage of regressions from simulated model releases, in settings of the literature and in hard ones.

    python -m studies.model_simulations                                # a first batch of every setting, then a second, …
    python -m studies.model_simulations --batches 10 --limit 3600      # more of them, for an hour
    python -m studies.model_simulations --only holders --output quick.csv

Every replicate has a new table and a new release, with noise from a seeded generator. Neighbours replace one row, the number of
rows is public, δ = 10⁻⁶. A line is what one batch says about the slopes, the intercept or the scale.
"""

from __future__ import annotations

import argparse
import math
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.schema import Basis, Design, Schema
from studies.glm_tables import DELTA, KINDS, Kind, basis_rows
from studies.model_features import OUTPUT as FEATURES
from studies.model_tables import Fitted, SimulatedModel, blocks
from studies.workers import add_options, run_cells

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

OUTPUT = FEATURES.with_name("simulations.csv")
MU_1: Final = 4.8866
"""The ε at which (ε, 10⁻⁶) is as much as Gaussian differential privacy with μ = 1."""
DISPERSION = 0.5
LARGEST_COUNT = 50
NORMAL_95 = 1.959963984540054

ALL_KINDS = {**KINDS, "ten": Kind({"bounds": [0, 10]}, lambda z: 10.0 * KINDS["uniform"].values(z))}


@dataclass(frozen=True)
class Law:
    """The law of the response, given its linear predictor.

    ``weights``: minus the slope of a row's score and the score's mean square, for a fit without privacy. ``scale``: the true one.
    """

    declared: dict[str, Any]
    draw: Callable[[np.random.Generator, Array], Array]
    weights: Callable[[Array], tuple[Array, Array]]
    scale: float | None = None


def logistic() -> Law:
    def weights(eta: Array) -> tuple[Array, Array]:
        mean = 1 / (1 + np.exp(-eta))
        return mean * (1 - mean), mean * (1 - mean)

    return Law({"levels": [0, 1]}, lambda rng, eta: (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float), weights)


def numbers(sd: float, bounds: tuple[float, float], freedom: float | None = None) -> Law:
    """Residuals with this standard deviation: normal, or t with so many degrees of freedom. Responses are clipped to bounds."""
    def draw(rng: np.random.Generator, eta: Array) -> Array:
        residual = rng.normal(size=len(eta)) if freedom is None else (
            rng.standard_t(freedom, size=len(eta)) * math.sqrt((freedom - 2) / freedom))
        return np.clip(eta + sd * residual, *bounds)

    return Law({"bounds": list(bounds)}, draw, lambda eta: (np.ones_like(eta), np.full_like(eta, sd**2)), sd)


def overdispersed(family: str) -> Law:
    """Negative binomial counts, fitted as what they are or as Poisson's."""
    def draw(rng: np.random.Generator, eta: Array) -> Array:
        shape = 1 / DISPERSION
        return np.minimum(rng.poisson(np.exp(eta) * rng.gamma(shape, 1 / shape, size=len(eta))), LARGEST_COUNT).astype(float)

    def weights(eta: Array) -> tuple[Array, Array]:
        mean = np.exp(eta)
        if family == "poisson":
            return mean, mean + DISPERSION * mean**2
        return mean / (1 + DISPERSION * mean), mean / (1 + DISPERSION * mean)

    return Law({"bounds": [0, LARGEST_COUNT]}, draw, weights, DISPERSION)


@dataclass(frozen=True)
class World:
    """A kind of table and the regression that is fitted to it.

    ``effects``: of one standard deviation of each predictor; ``centre``: the linear predictor's mean. ``correlation`` is that of
    neighbours, of the normal variables that predictors are made from. ``robust``: whether robust intervals are measured too.
    """

    family: str
    law: Law
    features: tuple[str, ...]
    effects: tuple[float, ...]
    centre: float
    correlation: float = 0.4
    robust: bool = False

    def columns(self, rng: np.random.Generator, rows: int) -> dict[str, Array]:
        found, z = {}, rng.normal(size=rows)
        for number, kind in enumerate(self.features):
            if number:
                z = self.correlation * z + math.sqrt(1 - self.correlation**2) * rng.normal(size=rows)
            found[f"x{number + 1}"] = ALL_KINDS[kind].values(z)
        return found

    def coefficients(self) -> Array:
        """In the user's units, the intercept first."""
        moments = np.array([moments_of(kind) for kind in self.features])
        slopes = np.array(self.effects) / moments[:, 1]
        return np.append(self.centre - slopes @ moments[:, 0], slopes)

    def model(self, epsilon: float) -> SimulatedModel:
        declared = {f"x{number + 1}": ALL_KINDS[kind].declared for number, kind in enumerate(self.features)}
        schema = Schema.from_dict({"adjacency": "replace-one", "columns": {**declared, "y": self.law.declared}})
        return SimulatedModel.of(Design.of("y ~ " + " + ".join(declared), Basis.of(schema)), self.family, epsilon, DELTA)

    def table(self, rng: np.random.Generator, rows: int, design: Design) -> tuple[npt.NDArray[np.float32], Array]:
        """Released columns, the response last, and the response in the user's units. Single precision: some tables are large."""
        table, response = np.empty((rows, design.basis.size), dtype=np.float32), np.empty(rows)
        truth, declared = self.coefficients(), self.law.declared
        low, high = declared["bounds"] if "bounds" in declared else (0.0, 1.0)
        for part in blocks(rows):
            block = basis_rows(design, self.columns(rng, len(response[part])))
            response[part] = self.law.draw(rng, block @ (design.features @ truth))
            block[:, -1] = (2 * response[part] - low - high) / (high - low)
            table[part] = block
        return table, response

    def exact_widths(self, table: npt.NDArray[np.float32], design: Design) -> Array:
        """Of 95 % intervals without privacy, from the true law."""
        truth, terms = self.coefficients(), len(design.terms)
        slope, square = np.zeros((terms, terms)), np.zeros((terms, terms))
        for part in blocks(len(table)):
            x = table[part].astype(float) @ design.features
            one, other = self.law.weights(x @ truth)
            slope += (x * one[:, None]).T @ x
            square += (x * other[:, None]).T @ x
        inverse = np.linalg.inv(slope)
        return np.asarray(2 * NORMAL_95 * np.sqrt(np.diag(inverse @ square @ inverse)))


@cache
def moments_of(kind: str) -> tuple[float, float]:
    """The mean and the standard deviation of a kind of predictor."""
    values = ALL_KINDS[kind].values(np.random.default_rng(0).normal(size=1_000_000))
    return float(values.mean()), float(values.std())


def _newton(family: str) -> World:
    law = logistic() if family == "logistic" else numbers(1.0, (-8.0, 8.0))
    return World(family, law, ("normal",) * 3, (0.5,) * 3, 0.5, correlation=0.0)


def _ten(sd: float, bounds: tuple[float, float]) -> World:
    """Slopes of 1, and no intercept."""
    return World("gaussian", numbers(sd, bounds), ("ten",) * 3, (10 / math.sqrt(12),) * 3, 15.0, correlation=0.0)


def _many(kind: str, count: int) -> World:
    signs = np.random.default_rng(count).choice([-1.0, 1.0], size=count)
    return World("logistic", logistic(), (kind,) * count, tuple(1.5 / math.sqrt(count) * signs), 0.3)


def _counts(family: str) -> World:
    return World(family, overdispersed(family), ("normal", "skewed", "binary"), (0.4, -0.3, 0.3), 0.5, robust=True)


MIXED = ("normal", "skewed", "binary")
WORLDS: dict[str, World] = {
    "newton linear": _newton("gaussian"),
    "newton logistic": _newton("logistic"),
    "ten, sd 1": _ten(1.0, (0.0, 30.0)),
    "ten, sd 5": _ten(5.0, (-15.0, 45.0)),
    "50 normal": _many("normal", 50),
    "50 skewed": _many("skewed", 50),
    "100 normal": _many("normal", 100),
    "100 skewed": _many("skewed", 100),
    "counts, negative binomial": _counts("negative-binomial"),
    "counts, Poisson": _counts("poisson"),
    "normal errors": World("gaussian", numbers(1.0, (-20.0, 20.0)), MIXED, (0.5, -0.4, 0.4), 0.3, robust=True),
    "heavy tails": World("gaussian", numbers(1.0, (-20.0, 20.0), freedom=3.0), MIXED, (0.5, -0.4, 0.4), 0.3, robust=True),
    "holders logistic": World("logistic", logistic(), MIXED, (0.5, -0.4, 0.4), 0.3),
    "holders linear": World("gaussian", numbers(1.0, (-8.0, 8.0)), MIXED, (0.5, -0.4, 0.4), 0.3),
}


@dataclass(frozen=True)
class Cell:
    """One batch of one setting. ``rows`` are those of each holder."""

    world: str
    rows: int
    epsilon: float
    holders: int = 1
    batch: int = 0

    def columns(self) -> Line:
        return asdict(self)


SIZES = (250, 500, 1000, 4000)
PLAN: dict[str, tuple[tuple[int, tuple[Cell, ...]], ...]] = {
    "newton": ((50, tuple(Cell("newton logistic", rows, MU_1) for rows in SIZES)),
               (15, tuple(Cell("newton linear", rows, MU_1) for rows in SIZES))),
    "ten": ((15, (Cell("ten, sd 1", 2000, MU_1), Cell("ten, sd 5", 2000, MU_1))),),
    "counts": ((20, (Cell("counts, Poisson", 20_000, 1.0),)), (10, (Cell("counts, negative binomial", 20_000, 1.0),))),
    "tails": ((10, tuple(Cell(world, rows, 1.0) for world in ("normal errors", "heavy tails") for rows in (2_000, 20_000))),),
    "holders": ((30, tuple(Cell("holders logistic", 3000, 1.0, holders) for holders in (1, 3, 10))),
                (10, tuple(Cell("holders linear", 3000, 1.0, holders) for holders in (1, 3)))),
    "many": ((4, tuple(Cell(f"{count} {kind}", 100_000, 1.0) for count in (50, 100) for kind in ("normal", "skewed"))),),
    "large": ((1, tuple(Cell(f"{count} {kind}", 1_000_000, 1.0) for count in (50, 100) for kind in ("normal", "skewed"))),),
}
"""The replicates of a batch, for each setting."""


@dataclass(frozen=True)
class Job:
    cell: Cell
    replicates: int

    def columns(self) -> Line:
        return self.cell.columns()


def jobs(only: Sequence[str], batches: int) -> list[Job]:
    """First the first batch of all settings."""
    found = [Job(cell, replicates) for name in only for replicates, own in PLAN[name] for cell in own]
    return [Job(Cell(**{**asdict(job.cell), "batch": batch}), job.replicates) for batch in range(batches) for job in found]


def run_job(job: Job, draws: int) -> list[Line]:
    cell, world = job.cell, WORLDS[job.cell.world]
    model = world.model(cell.epsilon)
    truth, started = world.coefficients(), time.perf_counter()
    if model_has_scale(model):
        truth = np.append(truth, world.law.scale)
    rng = np.random.default_rng(zlib.crc32(repr(cell).encode()))
    fits: dict[str, list[Fitted]] = {"usual": [], "robust": []} if world.robust else {"usual": []}
    exact = np.zeros(0)
    for replicate in range(job.replicates):
        released = []
        for _ in range(cell.holders):
            table, response = world.table(rng, cell.rows, model.design)
            released.append(model.release(table, response, rng))
        for name, found in fits.items():
            found.append(model.fit(released, draws=draws, seed=replicate, robust=name == "robust"))
        if not len(exact):
            exact = world.exact_widths(table, model.design) / math.sqrt(cell.holders)
    seconds = {"seconds": round((time.perf_counter() - started) / job.replicates, 2)}
    return [{**cell.columns(), "fit": name, **line, **seconds}
            for name, found in fits.items() for line in lines_of(found, truth, exact)]


def model_has_scale(model: SimulatedModel) -> bool:
    return model.family in ("gaussian", "negative-binomial")


def lines_of(fits: Sequence[Fitted], truth: Array, exact: Array) -> list[Line]:
    """What fits say about the intercept, the slopes and the scale.

    ``held``: how many intervals hold the truth, for each coefficient; ``squares``: the sum over fits of the squared share of
    their intervals that do.
    """
    low, high = (np.array(ends) for ends in zip(*(fit.interval() for fit in fits), strict=True))
    middle = np.array([fit.draws.mean(axis=0) for fit in fits])
    parts = {"intercept": slice(0, 1), "slopes": slice(1, len(exact)), "scale": slice(len(exact), len(truth))}
    lines = []
    for what, part in parts.items():
        if part.start == part.stop:
            continue
        held, width = ((low <= truth) & (truth <= high))[:, part], (high - low)[:, part]
        lines.append({
            "what": what, "replicates": len(fits), "held": " ".join(map(str, held.sum(axis=0))),
            "squares": float(np.sum(held.mean(axis=1) ** 2)), "coverage": float(held.mean()), "width": float(np.median(width)),
            "exact": float(np.median(exact[part])) if what != "scale" else "",
            "ratio": float(np.median(width / exact[part])) if what != "scale" else "",
            "mse": float(np.mean((middle - truth)[:, part] ** 2)), "doubted": float(np.mean([bool(fit.doubts) for fit in fits])),
            "rounds": float(np.mean([fit.rounds for fit in fits]))})
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="*", choices=list(PLAN), default=list(PLAN))
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--draws", type=int, default=200, help="of each of four chains")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    add_options(parser)
    asked = parser.parse_args()
    run_cells(partial(run_job, draws=asked.draws), jobs(asked.only, asked.batches), asked, asked.output)


if __name__ == "__main__":
    main()
