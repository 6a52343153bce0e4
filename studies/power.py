"""Do plans come true? The predictions of ``plan_power`` against the results of releases and fits of tables.

    python -m studies.power [--repeats 100] [--adult DIRECTORY] [--only patients ...]     # it holds adult.csv.gz
    python -m studies.power --methods [--repeats 48]              # is the fast method as wide as the default one?
    python -m studies.power --show                                                        # the page's table

A plan uses only means, standard deviations and shares of the columns, as a planner could know them. The tables' columns have
other shapes (uniform ages, skewed errors, and, with --adult, real rows, of which each table is a sample
with replacement). Then tables are drawn, released with real privacy noise and fitted by the default method. Widths are medians; z
is the difference of the logarithms of the two widths, or of the two powers, in units of their Monte Carlo error.

Columns of the results: table, rows, epsilon, term, width predicted and found, power predicted and found, both z.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

import noisewise as nw
from noisewise.errors import NoisewiseWarning
from noisewise.planning.intervals import FastFit
from noisewise.planning.power import PowerPlan
from noisewise.run import QUIET
from noisewise.schema import Design
from studies import page

Array = npt.NDArray[np.float64]
Rows = dict[str, Any]

RESULTS: Final = page.RESULTS / "power.csv"
METHODS: Final = page.RESULTS / "power_methods.csv"
METHOD_CELLS: Final = ((5_000, 1.0), (5_000, 0.3), (5_000, 0.1))
DELTA: Final = 1e-6
MEDIAN_ERROR: Final = 1.2533
"""The standard error of a median of normal numbers, relative to that of their mean."""


@dataclass(frozen=True)
class World:
    """A regression with known truth, tables of it, and a planner's knowledge about their columns."""

    name: str
    schema: nw.Schema
    formula: str
    family: str
    effects: dict[str, float]
    columns: dict[str, dict[str, Any]]
    sigma: float | None
    draw: Callable[[int, np.random.Generator], Rows]
    cells: tuple[tuple[int, float], ...]


def patients() -> World:
    """Uniform ages and skewed errors; the planner assumes that both are normal."""
    def draw(rows: int, random: np.random.Generator) -> Rows:
        age, ward = random.uniform(18, 98, rows), random.choice(["A", "B", "C"], rows, p=[0.5, 0.3, 0.2])
        stay = 8 + 0.05 * age + 1.0 * (ward == "B") + 2 * random.gamma(4.0, 1.0, rows) - 8
        return {"age": age, "ward": ward, "stay": stay}

    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
        "stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}}})
    return World("patients", schema, "stay ~ age + ward", "gaussian", {"age": 0.05, "ward[T.B]": 1.0},
                 {"age": {"mean": 58, "sd": 80 / math.sqrt(12)}, "ward": {"shares": [0.5, 0.3, 0.2]}, "stay": {"mean": 11.2}},
                 4.0, draw, ((2_000, 3.0), (5_000, 1.0), (20_000, 0.3)))


def readmitted() -> World:
    """A yes-or-no response, with uniform ages."""
    def draw(rows: int, random: np.random.Generator) -> Rows:
        age, ward = random.uniform(30, 90, rows), random.choice(["A", "B", "C"], rows, p=[0.5, 0.3, 0.2])
        chance = 1 / (1 + np.exp(1.2 - 0.03 * (age - 60) - 0.5 * (ward == "B")))
        return {"age": age, "ward": ward, "readmitted": np.where(random.random(rows) < chance, "yes", "no")}

    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
        "readmitted": {"levels": ["no", "yes"]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}}})
    return World("readmitted", schema, "readmitted ~ age + ward", "logistic", {"age": 0.03, "ward[T.B]": 0.5},
                 {"age": {"mean": 60, "sd": 60 / math.sqrt(12)}, "ward": {"shares": [0.5, 0.3, 0.2]},
                  "readmitted": {"shares": [0.726, 0.274]}}, None, draw, ((5_000, 1.0), (5_000, 3.0)))


def visits() -> World:
    """Counts, with uniform ages."""
    def draw(rows: int, random: np.random.Generator) -> Rows:
        age, ward = random.uniform(30, 90, rows), random.choice(["A", "B", "C"], rows, p=[0.5, 0.3, 0.2])
        return {"age": age, "ward": ward, "visits": random.poisson(np.exp(0.5 + 0.01 * (age - 60) + 0.2 * (ward == "B")))}

    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
        "visits": {"bounds": [0, 10]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}}})
    return World("visits", schema, "visits ~ age + ward", "poisson", {"age": 0.01, "ward[T.B]": 0.2},
                 {"age": {"mean": 60, "sd": 60 / math.sqrt(12)}, "ward": {"shares": [0.5, 0.3, 0.2]}, "visits": {"mean": 1.79}},
                 None, draw, ((5_000, 1.0), (5_000, 3.0)))


def adult(directory: Path) -> World:
    """Real rows: hours of work a week by age, years of education and sex; the truth is the whole table's least-squares line."""
    table = pd.read_csv(directory / "adult.csv.gz", skipinitialspace=True)
    named = {name.lower().replace("-", "_").replace(".", "_"): name for name in table.columns}
    hours, age, education, sex = (table[named[name]] for name in ("hours_per_week", "age", "education_num", "sex"))
    rows = pd.DataFrame({"hours": np.clip(hours, 0, 100), "age": np.clip(age, 17, 90), "education": np.clip(education, 1, 16),
                         "sex": sex.astype(str).str.strip().str.lower()})
    levels = ["female", "male"]
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
        "hours": {"bounds": [0, 100]}, "age": {"bounds": [17, 90]}, "education": {"bounds": [1, 16]}, "sex": {"levels": levels}}})
    features = np.column_stack([np.ones(len(rows)), rows["age"], rows["education"], rows["sex"] == "male"]).astype(float)
    truth, squares, *_ = np.linalg.lstsq(features, rows["hours"].to_numpy(float), rcond=None)
    share = float((rows["sex"] == "male").mean())
    arrays = {str(name): rows[name].to_numpy() for name in rows}

    def draw(count: int, random: np.random.Generator) -> Rows:
        chosen = random.integers(0, len(rows), count)
        return {name: values[chosen] for name, values in arrays.items()}

    return World("adult", schema, "hours ~ age + education + sex", "gaussian",
                 {"age": float(truth[1]), "education": float(truth[2]), "sex[T.male]": float(truth[3])},
                 {**{name: {"mean": float(rows[name].mean()), "sd": float(rows[name].std())} for name in ("age", "education")},
                  "sex": {"shares": [1 - share, share]}, "hours": {"mean": float(rows["hours"].mean())}},
                 float(np.sqrt(squares[0] / len(rows))), draw, ((3_000, 1.0), (10_000, 1.0), (20_000, 0.3)))


def predicted(world: World, rows: int, epsilon: float, repeats: int) -> PowerPlan:
    """The plan of one cell."""
    return nw.plan_power(world.schema, world.formula, rows=rows, epsilon=epsilon, delta=DELTA, effects=world.effects,
                         family=world.family, columns=world.columns, sigma=world.sigma, repeats=repeats,
                         compare=False, run=QUIET)


def happened(world: World, rows: int, epsilon: float, repeats: int, seed: int, method: str = "conditional") -> dict[str, Array]:
    """For each effect the ends of the intervals of ``repeats`` releases with real noise: (repeats, 2)."""
    random = np.random.default_rng(seed)
    releases = [nw.release(world.draw(rows, random), world.schema, epsilon=epsilon, delta=DELTA, run=QUIET)
                for _ in range(repeats)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisewiseWarning)
        if method == "conditional":
            fits = nw.fit_many(world.formula, releases, family=world.family, draws=500, seed=seed, run=QUIET)
        else:
            fits = [nw.fit(world.formula, release, family=world.family, method=method, seed=seed, run=QUIET)
                    for release in releases]
    ends = np.array([[np.quantile(fit.samples[..., fit.terms.index(term)], [0.025, 0.975]) for term in world.effects]
                     for fit in fits])
    return {term: ends[:, place] for place, term in enumerate(world.effects)}


def compared(world: World, plan: PowerPlan, found: dict[str, Array]) -> list[dict[str, Any]]:
    """One line for each effect."""
    lines, [cell] = [], plan.cells
    for term, ends in found.items():
        line = cell.line(term)
        assert line.power is not None and line.power_error is not None
        widths = np.log(ends[:, 1] - ends[:, 0])
        right = ends[:, 0] > 0 if world.effects[term] > 0 else ends[:, 1] < 0
        share = (right.sum() + 1) / (len(right) + 2)
        width_error = MEDIAN_ERROR * widths.std() * math.sqrt(1 / len(widths) + 1 / plan.repeats)
        power_error = math.hypot(line.power_error, math.sqrt(share * (1 - share) / len(right)))
        lines.append({
            "table": world.name, "rows": cell.rows, "epsilon": cell.epsilon, "term": term,
            "width predicted": line.width, "width": float(np.exp(np.median(widths))),
            "width z": (math.log(line.width) - float(np.median(widths))) / width_error,
            "power predicted": line.power, "power": float(right.mean()), "power z": (line.power - right.mean()) / power_error})
    return lines


def methods_compared(world: World, rows: int, epsilon: float, repeats: int) -> dict[str, Any]:
    """The widths of the fast method and the normal approximation, relative to the default sampler on the same releases."""
    random = np.random.default_rng(2)
    releases = [nw.release(world.draw(rows, random), world.schema, epsilon=epsilon, delta=DELTA, run=QUIET)
                for _ in range(repeats)]
    fast = FastFit(Design.of(world.formula, releases[0].basis), world.family, None, 0.95)
    found = [fast(release, number) for number, release in enumerate(releases)]
    widths = {"fast": np.array([ends.upper - ends.lower for ends, _ in found])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisewiseWarning)
        fits = {"sampled": nw.fit_many(world.formula, releases, family=world.family, draws=500, seed=1, run=QUIET)}
        if world.family == "gaussian":
            fits["laplace"] = [nw.fit(world.formula, release, method="laplace", seed=1, run=QUIET) for release in releases]
    terms = widths["fast"].shape[1]
    for method, posteriors in fits.items():
        draws = [fit.samples[..., :terms].reshape(-1, terms) for fit in posteriors]
        widths[method] = np.array([np.ptp(np.quantile(one, [0.025, 0.975], axis=0), axis=0) for one in draws])
    ratios = {method: float(np.median(widths[method] / widths["sampled"])) if method in widths else math.nan
              for method in ("laplace", "fast")}
    return {"table": world.name, "rows": rows, "epsilon": epsilon, "hidden": float(np.mean([latent for _, latent in found])),
            **ratios, "repeats": repeats}


def markdown(results: Path) -> list[str]:
    """The results as on the page about planning."""
    body = [[str(line["table"]), f"{line['rows']:,}", f"{line['epsilon']:g}", str(line["term"]), f"{line['width predicted']:.3g}",
             f"{line['width']:.3g}", f"{line['power predicted']:.2f}", f"{line['power']:.2f}", f"{line['power z']:+.1f}"]
            for line in pd.read_csv(results).to_dict("records")]
    return page.table(["table", "rows", "ε", "term", "width: plan", "found", "power: plan", "found", "z of power"], body)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The predictions of plans against what happens.")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--adult", type=Path, help="a folder with adult.csv.gz")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--methods", action="store_true", help="compare the fast method with the default one instead")
    parser.add_argument("--show", action="store_true", help="only print the results as Markdown")
    given = parser.parse_args(arguments)
    if given.show:
        print("\n".join(markdown(given.out)))
        return
    worlds = [patients(), *([adult(given.adult)] if given.adult else []), readmitted(), visits()]
    lines: list[dict[str, Any]] = []
    if given.methods:
        for rows, epsilon in METHOD_CELLS:
            lines.append(methods_compared(patients(), rows, epsilon, given.repeats))
            print(pd.DataFrame(lines[-1:]).round(3).to_string(), flush=True)
            pd.DataFrame(lines).to_csv(METHODS, index=False, float_format="%.4g", lineterminator="\n")
        return
    for world in worlds:
        if given.only and world.name not in given.only:
            continue
        for rows, epsilon in world.cells:
            plan = predicted(world, rows, epsilon, 2 * given.repeats)
            lines += compared(world, plan, happened(world, rows, epsilon, given.repeats, seed=1))
            print(pd.DataFrame(lines[-len(world.effects):]).round(3).to_string(), flush=True)
            pd.DataFrame(lines).to_csv(given.out, index=False, float_format="%.4g", lineterminator="\n")


if __name__ == "__main__":
    main()
