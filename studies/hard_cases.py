"""Coverage and width of the default's 95 % intervals in deliberately hard cases.

    python -m studies.hard_cases [--kinds "rare level" …] [--most 1000]   # writes studies/results/hard_cases.csv
    python -m studies.hard_cases --table                                       # the table of the documentation, from that file

Kinds of tables (`KINDS` draws them):

- ``t errors``: errors with a t distribution of 3 degrees of freedom; the response is clipped to its bounds.
- ``rare level``: a category of three levels, the last of which is rare.
- ``rare reference``: the same with a rare first level, so that the two indicators nearly add up to the intercept.
- ``small holders``, ``very noisy``: two ordinary predictors; many holders with few rows, or one with much noise.
- ``very noisy, d = 5``: five ordinary predictors.
- ``different predictors``: each holder's predictors have another distribution.

Where the response is clipped, a release can only show the least-squares line of the clipped population (from ten million
rows), which need not be the line that the rows were drawn from. Coverage of both is counted, and that of ordinary
intervals from the confidential rows. A relative width is the median over the slopes and replicates.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.holder.gram import plan_gram
from noisewise.posterior.linear.conditional import weighted_model
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.linear.methods import needs_latent
from noisewise.posterior.prior import ResolvedPrior
from noisewise.releases.contents.gram import EntryNoise
from noisewise.schema import Basis, Design, Schema
from studies.many import Length, Units, ours
from studies.page import table
from studies.tables import DELTA, SimulatedPart, simulated_noise
from studies.workers import add_options, read, run_cells

Array = npt.NDArray[np.float64]
Draw = Callable[["Case", int, np.random.Generator], Array]

SIGMA = 0.2
LENGTH = Length(300, 1000)
POPULATION = 10_000_000
OUTPUT = Path("studies/results/hard_cases.csv")


@dataclass(frozen=True)
class Case:
    """``rows`` at each of ``holders``; ε rises geometrically from ``epsilon`` at the first to ``last_epsilon`` at the last."""

    kind: str
    share: float
    rows: int
    holders: int
    epsilon: float
    last_epsilon: float
    replicates: int = 1000
    method: str = "conditional"

    def columns(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def slopes(self) -> Array:
        if self.kind.startswith("rare"):
            return np.array([0.3, 0.2, -0.2])
        return np.array([0.3, -0.1]) if self.kind != "very noisy, d = 5" else np.array([0.3, -0.1, 0.2, -0.2, 0.1])

    @property
    def intercept(self) -> float:
        return 0.1

    def epsilons(self) -> list[float]:
        return [float(each) for each in np.geomspace(self.epsilon, self.last_epsilon, self.holders)]


def ordinary(case: Case, rows: int, rng: np.random.Generator) -> Array:
    """Normal predictors and, at odd places, binary ones."""
    d = len(case.slopes)
    z = rng.normal(size=(case.holders, rows, d))
    return np.where(np.arange(d) % 2 == 0, np.clip(0.3 * z, -1, 1), np.where(z > 0.5, 1.0, -1.0))


def level(case: Case, rows: int, rng: np.random.Generator) -> Array:
    """A uniform predictor and two indicators of three levels."""
    shares = [0.6, 0.4 - case.share, case.share] if case.kind == "rare level" else [case.share, 0.6, 0.4 - case.share]
    drawn = np.searchsorted(np.cumsum(shares)[:-1], rng.random((case.holders, rows)), side="right")
    return np.stack([rng.uniform(-1, 1, drawn.shape), drawn == 1, drawn == 2], axis=-1)


def different(case: Case, rows: int, rng: np.random.Generator) -> Array:
    """Other means, other spreads, other shares of ones at every holder."""
    place = np.linspace(-1, 1, case.holders)[:, None]
    x = np.clip(0.5 * place + (0.05 + 0.25 * np.abs(place)) * rng.normal(size=(case.holders, rows)), -1, 1)
    return np.stack([x, np.where(rng.random(x.shape) < 0.5 + 0.48 * place, 1.0, -1.0)], axis=-1)


KINDS: dict[str, Draw] = {"t errors": ordinary, "rare level": level, "rare reference": level, "small holders": ordinary,
                          "different predictors": different, "very noisy": ordinary, "very noisy, d = 5": ordinary}


def tables(case: Case, rows: int, rng: np.random.Generator) -> Array:
    """Released columns (1, x, y) of every holder: (holders, rows, columns)."""
    x = KINDS[case.kind](case, rows, rng)
    shape = x.shape[:2]
    error = rng.standard_t(3, shape) / np.sqrt(3) if case.kind == "t errors" else rng.normal(size=shape)
    y = np.clip(case.intercept + x @ case.slopes + SIGMA * error, -1, 1)
    return np.concatenate([np.ones((*shape, 1)), x, y[..., None]], axis=-1)


def grams(case: Case, rows: int, rng: np.random.Generator) -> Array:
    found = tables(case, rows, rng)
    return np.asarray(found.transpose(0, 2, 1) @ found)


def declared(case: Case) -> tuple[Basis, Units]:
    """The schema, and working units and prior as ``fit`` would have them."""
    names = ["x"] if case.kind.startswith("rare") else [f"x{number + 1}" for number in range(len(case.slopes))]
    columns: dict[str, Any] = {name: {"bounds": [-1, 1]} for name in names}
    if case.kind.startswith("rare"):
        columns["level"] = {"levels": ["a", "b", "c"]}
    schema = {"adjacency": "replace-one", "unit": "row", "columns": columns | {"y": {"bounds": [-1, 1]}}}
    basis = Basis.of(Schema.from_dict(schema))
    design = Design.of("y ~ " + " + ".join(columns), basis, None)
    return basis, Units(Coordinates.of(design), ResolvedPrior.of(design, None))


def least_squares(gram: Array) -> Array:
    """Coefficients and residual standard deviation."""
    beta = np.linalg.solve(gram[:-1, :-1], gram[:-1, -1])
    return np.append(beta, np.sqrt((gram[-1, -1] - beta @ gram[:-1, -1]) / gram[0, 0]))


@cache
def projection(case: Case) -> Array:
    """Coefficients and sigma of the clipped population, with as many rows of every holder."""
    rng = np.random.default_rng(zlib.crc32(repr((case.kind, case.share, case.holders)).encode()))
    rows = max(1, min(500_000, POPULATION) // case.holders)
    return least_squares(sum(grams(case, rows, rng).sum(axis=0) for _ in range(max(1, POPULATION // rows // case.holders))))


def simulated(case: Case) -> tuple[list[list[SimulatedPart]], Array]:
    """The parts of every replicate, and the exact matrices of all holders together."""
    rng = np.random.default_rng(zlib.crc32(repr(case.columns() | {"method": ""}).encode()))  # the same for every method
    basis = declared(case)[0]
    noises = [EntryNoise("gaussian", *plan_gram(basis, each, DELTA).entry_sd()) for each in case.epsilons()]
    replicates, exact = [], []
    for _ in range(case.replicates):
        own = grams(case, case.rows, rng)
        exact.append(own.sum(axis=0))
        replicates.append([SimulatedPart(gram + simulated_noise(rng, noise, len(gram)), case.rows, noise)
                           for gram, noise in zip(own, noises, strict=True)])
    return replicates, np.array(exact)


def run_case(case: Case) -> list[dict[str, Any]]:
    started = time.perf_counter()
    parts, exact = simulated(case)
    units = declared(case)[1]
    draws = ours(case.method, parts, units, LENGTH, 1)
    latent = [needs_latent(weighted_model(each, units.coordinates, units.prior)) for each in parts[:50]]
    stated, projected = np.concatenate([[case.intercept], case.slopes, [SIGMA]]), projection(case)
    found = measures(draws, exact, stated, projected) | {"latent": float(np.mean(latent))}
    return [case.columns() | found | {"seconds": round(time.perf_counter() - started, 1)}]


def measures(draws: Array, exact: Array, stated: Array, projected: Array) -> dict[str, float]:
    """Coverage of the stated coefficients and of the projection, by the draws and by ordinary intervals from the exact rows."""
    low, high = np.quantile(draws, [0.025, 0.975], axis=1, method="weibull")
    inside = {"": (low <= stated) & (stated <= high), "projected_": (low <= projected) & (projected <= high)}
    ordinary_fit = np.array([least_squares(gram) for gram in exact])
    errors = ordinary_fit[:, -1:] * np.sqrt(np.array([np.diag(np.linalg.inv(gram[:-1, :-1])) for gram in exact]))
    found: dict[str, Any] = {}
    for name, hits in inside.items():
        coefficients = hits[:, :-1]
        found |= {f"{name}coverage": coefficients.mean(), f"{name}lowest": coefficients.mean(axis=0).min(),
                  f"{name}lowest_at": int(coefficients.mean(axis=0).argmin()), f"{name}sigma": hits[:, -1].mean()}
    found["standard_error"] = inside[""][:, :-1].mean(axis=1).std() / np.sqrt(len(draws))
    found["rows_coverage"] = np.mean(np.abs(ordinary_fit - stated)[:, :-1] < 1.96 * errors)
    found["clipping"] = np.max(np.abs(stated - projected)[:-1] / np.median(errors, axis=0))  # in ordinary standard errors
    found["relative_width"] = np.median((high - low)[:, 1:-1] / (2 * 1.96 * errors[:, 1:]))
    found["widest"] = np.median((high - low)[:, 1:-1] / (2 * 1.96 * errors[:, 1:]), axis=0).max()
    return {name: float(f"{value:.4g}") for name, value in found.items()}


FEW, FEWER = 200, 100  # replicates where S is sampled, which takes ten times as long
NOISY = ((10_000, 1.0), (10_000, 10.0), (100_000, 1.0), (100_000, 10.0))
CASES = [
    *(Case("t errors", 0, rows, 1, epsilon, epsilon) for rows, epsilon in NOISY),
    *(Case("rare level", share, rows, 1, epsilon, epsilon, FEW) for share in (0.01, 0.001) for rows, epsilon in NOISY),
    *(Case("rare reference", share, rows, 1, epsilon, epsilon, FEWER) for share in (0.01, 0.001) for rows, epsilon in NOISY),
    Case("different predictors", 0, 10_000, 5, 1.0, 1.0), Case("different predictors", 0, 10_000, 5, 0.1, 10.0),
    Case("different predictors", 0, 10_000, 5, 10.0, 0.1), Case("different predictors", 0, 1_000, 20, 1.0, 10.0),
    *(Case("small holders", 0, 100, holders, epsilon, epsilon, FEWER) for holders in (100, 1_000) for epsilon in (10.0, 1.0)),
    Case("very noisy", 0, 1_000, 1, 0.1, 0.1, FEW), Case("very noisy, d = 5", 0, 1_000, 1, 0.1, 0.1, FEWER),
]


PERCENT = ("coverage", "standard_error", "lowest", "projected_coverage", "rows_coverage", "projected_sigma", "latent")
HEAD = ("case", "holders × rows", "ε", "coverage", "lowest", "of the projection", "from the rows", "sigma", "width", "widest",
        "S unknown")


def printed(lines: Sequence[dict[str, str]]) -> str:
    """The lines in the order of the kinds."""
    body = []
    for line in sorted(lines, key=lambda line: (list(KINDS).index(line["kind"]), -float(line["share"]))):
        share, epsilon, last = (float(line[name]) for name in ("share", "epsilon", "last_epsilon"))
        percent = {name: f"{100 * float(line[name]):.1f}" for name in PERCENT}
        size = f"{int(line['holders']):,} × {int(line['rows']):,}"
        body.append([line["kind"] + (f", {100 * share:g} %" if share else ""), size,
                     f"{epsilon:g}" if epsilon == last else f"{epsilon:g} to {last:g}",
                     f"{percent['coverage']} ± {percent['standard_error']}", *(percent[name] for name in PERCENT[2:-1]),
                     *(f"{float(line[name]):.3g}" for name in ("relative_width", "widest")), percent["latent"].split(".")[0]])
    return "\n".join(table(HEAD, body))


def main() -> None:
    parser = argparse.ArgumentParser(description="The default's intervals in hard cases.")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--most", type=int, default=1000, help="replicates of a case, at most")
    parser.add_argument("--method", default="conditional", help="or conditional-flat, collapsed, for comparison")
    parser.add_argument("--table", action="store_true", help="print the table of an earlier run")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    add_options(parser)
    arguments = parser.parse_args()
    if not arguments.table:
        chosen = [Case(**case.columns() | {"replicates": min(case.replicates, arguments.most), "method": arguments.method})
                  for case in CASES if case.kind in arguments.kinds]
        run_cells(run_case, chosen, arguments, arguments.output)
    print(printed(read(arguments.output)))


if __name__ == "__main__":
    main()
