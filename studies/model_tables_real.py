"""Real tables: do intervals of simulated model releases hold what the rows themselves say, and how much wider are they?

    python -m studies.model_tables_real DIRECTORY        # it holds adult.csv.gz, DoctorVisits.csv.gz and the tables of paper 002

Each release of a table has new noise, from a seeded generator; the rows stay the same. An interval should hold the estimate
without privacy in *more* than 95 of 100 releases, because the rows' own error is in both. Bounds are public knowledge about the
columns, except those of paper 002's tables, which are the columns' own, as in the paper, and NOT private. Neighbours replace one
row, δ = 10⁻⁶ (paper 002: 10⁻⁵).
"""

from __future__ import annotations

import argparse
import math
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from noisewise.schema import Basis, Design, Schema
from studies.doctor_visits import BOUNDS, FACTORS, LARGEST
from studies.model_features import OUTPUT as FEATURES
from studies.model_tables import SimulatedModel
from studies.paper_002_table import FILES
from studies.workers import add_options, run_cells

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

OUTPUT = FEATURES.with_name("real.csv")
EPSILONS = (0.5, 1.0, 4.0)
NORMAL_95: Final = 1.959963984540054
TRAINING: Final = 0.8


@dataclass(frozen=True)
class Case:
    """A table, its schema and one regression. ``test``: rows that are kept back to measure the prediction error."""

    table: pd.DataFrame
    columns: dict[str, Any]
    formula: str
    family: str
    delta: float = 1e-6
    test: pd.DataFrame | None = None

    def model(self, epsilon: float) -> SimulatedModel:
        schema = Schema.from_dict({"adjacency": "replace-one", "columns": self.columns})
        return SimulatedModel.of(Design.of(self.formula, Basis.of(schema)), self.family, epsilon, self.delta)

    @property
    def response(self) -> str:
        return self.formula.split(" ~ ")[0]

    def values(self, table: pd.DataFrame) -> Array:
        """The response in the user's units; a second level is 1."""
        declared = self.columns[self.response]
        if "levels" in declared:
            return (table[self.response] == declared["levels"][1]).to_numpy(float)
        return np.clip(table[self.response].to_numpy(float), *declared["bounds"])


def adult(directory: Path) -> Case:
    """Income above 50,000 dollars: seven predictors, of which capital gains are 0 for nine in ten and up to 99,999."""
    table = pd.read_csv(directory / "adult.csv.gz")
    table = table.assign(married=np.where(table["marital_status"].str.startswith("Married-civ"), "yes", "no"))
    columns: dict[str, Any] = {
        "age": {"bounds": [17, 90]}, "education_num": {"bounds": [1, 16]}, "hours_per_week": {"bounds": [1, 99]},
        "capital_gain": {"bounds": [0, 100_000]}, "capital_loss": {"bounds": [0, 5_000]},
        "sex": {"levels": ["Female", "Male"]}, "married": {"levels": ["no", "yes"]}}
    return Case(table, {**columns, "income": {"levels": ["<=50K", ">50K"]}}, "income ~ " + " + ".join(columns), "logistic")


def visits(directory: Path, family: str) -> Case:
    """Visits to a doctor; the columns as in ``studies.doctor_visits``."""
    names = ("gender", "age", "income", "illness", "reduced", "health")
    columns = {name: {"levels": list(FACTORS[name])} if name in FACTORS else {"bounds": list(BOUNDS[name])} for name in names}
    table = pd.read_csv(directory / "DoctorVisits.csv.gz")
    return Case(table, {**columns, "visits": {"bounds": [0, LARGEST]}}, "visits ~ " + " + ".join(names), family)


def paper_002(directory: Path, name: str) -> Case:
    """The first 80 % of the rows train, the rest test; there is a constant, unlike in the paper."""
    table = pd.read_csv(directory / FILES[name])
    table.columns = [*(f"x{number}" for number in range(table.shape[1] - 1)), "y"]
    columns: dict[str, Any] = {
        str(column): {"bounds": [math.floor(table[column].min()), math.ceil(table[column].max())]} for column in table}
    first = math.ceil(TRAINING * len(table))
    return Case(table[:first], {**columns, "y": {"bounds": [-1, 1]}}, "y ~ " + " + ".join(table.columns[:-1]), "gaussian", 1e-5,
                table[first:])


CASES: dict[str, Callable[[Path], Case]] = {
    "Adult": adult,
    "visits, Poisson": partial(visits, family="poisson"),
    "visits, negative binomial": partial(visits, family="negative-binomial"),
    "power": partial(paper_002, name="power"),
    "bike": partial(paper_002, name="bike"),
    "air": partial(paper_002, name="air"),
}
RELEASES = {"Adult": 20, "visits, Poisson": 20, "visits, negative binomial": 6, "power": 8, "bike": 5, "air": 4}
COUNTS = ("poisson", "negative-binomial")


@dataclass(frozen=True)
class Exact:
    """Estimates without privacy, with the usual standard errors and robust ones."""

    estimate: Array
    usual: Array
    robust: Array


def exact_fit(family: str, x: Array, y: Array) -> Exact:
    """Maximum likelihood. For the negative binomial, at the dispersion that is most likely."""
    if family == "gaussian":
        inverse = np.linalg.inv(x.T @ x)
        estimate = inverse @ (x.T @ y)
        residual = y - x @ estimate
        return Exact(estimate, np.sqrt(np.diag(inverse) * np.sum(residual**2) / (len(y) - x.shape[1])),
                     _sandwich(inverse, x * residual[:, None]))
    if family == "negative-binomial":
        from scipy.optimize import minimize_scalar

        dispersion = math.exp(minimize_scalar(lambda log: -_negative_binomial(x, y, math.exp(log)), bounds=(-6, 3),
                                              method="bounded").x)
    else:
        dispersion = 0.0
    estimate = newton(family, x, y, dispersion)
    mean, slope, factor = _mean(family, x @ estimate, dispersion)
    inverse = np.linalg.inv((x * (slope * factor)[:, None]).T @ x)
    return Exact(estimate, np.sqrt(np.diag(inverse)), _sandwich(inverse, x * ((y - mean) * factor)[:, None]))


def newton(family: str, x: Array, y: Array, dispersion: float) -> Array:
    estimate: Array = np.zeros(x.shape[1])
    if family != "logistic":
        estimate = np.linalg.lstsq(x, np.log(y + 0.5), rcond=None)[0]
    for _ in range(50):
        mean, slope, factor = _mean(family, x @ estimate, dispersion)
        step = np.linalg.solve((x * (slope * factor)[:, None]).T @ x, x.T @ ((y - mean) * factor))
        estimate = estimate + step
        if np.max(np.abs(step)) < 1e-9:
            return estimate
    raise ArithmeticError("no maximum was found")


def _mean(family: str, eta: Array, dispersion: float) -> tuple[Array, Array, Array]:
    """The mean, its derivative, and what a residual is multiplied by."""
    if family == "logistic":
        mean = 1 / (1 + np.exp(-eta))
        return mean, mean * (1 - mean), np.ones_like(mean)
    mean = np.exp(eta)
    return mean, mean, 1 / (1 + dispersion * mean)


def _sandwich(inverse: Array, scores: Array) -> Array:
    return np.asarray(np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse)))


def _negative_binomial(x: Array, y: Array, dispersion: float) -> float:
    from scipy.stats import nbinom

    mean = np.exp(x @ newton("negative-binomial", x, y, dispersion))
    return float(np.sum(nbinom.logpmf(y, 1 / dispersion, 1 / (1 + dispersion * mean))))


@dataclass(frozen=True)
class Cell:
    case: str
    epsilon: float

    def columns(self) -> Line:
        return asdict(self)


def run_cell(cell: Cell, directory: Path, draws: int, most: int | None) -> list[Line]:
    """The usual intervals of each release, and for counts robust ones too."""
    started = time.perf_counter()
    case = CASES[cell.case](directory)
    model = case.model(cell.epsilon)
    rows = model.basis.evaluate({name: case.table[name].to_numpy() for name in case.columns})
    y, x = case.values(case.table), rows @ model.design.features
    exact = exact_fit(case.family, x, y)
    rng = np.random.default_rng(zlib.crc32(repr(cell).encode()))
    releases = [model.release(rows, y, rng) for _ in range(min(RELEASES[cell.case], most or 10**9))]
    errors = {"usual": exact.usual, "robust": exact.robust} if case.family in COUNTS else {"usual": exact.usual}
    lines = []
    for name, error in errors.items():
        fits = [model.fit([one], draws=draws, seed=number, robust=name == "robust") for number, one in enumerate(releases)]
        low, high = (np.array(ends)[:, :len(exact.estimate)] for ends in zip(*(fit.interval() for fit in fits), strict=True))
        held = (low <= exact.estimate) & (exact.estimate <= high)
        means = np.array([fit.draws[:, :len(exact.estimate)].mean(axis=0) for fit in fits])
        lines.append({
            **cell.columns(), "fit": name, "rows": len(y), "coefficients": len(exact.estimate), "replicates": len(fits),
            "held": " ".join(map(str, held.sum(axis=0))), "squares": float(np.sum(held.mean(axis=1) ** 2)),
            "coverage": float(held.mean()), "ratio": float(np.median((high - low) / (2 * NORMAL_95 * error))),
            "wrong": float(np.mean((np.sign(exact.estimate) == -1) & (low > 0) | (np.sign(exact.estimate) == 1) & (high < 0))),
            "doubted": float(np.mean([bool(fit.doubts) for fit in fits])),
            "rounds": float(np.mean([fit.rounds for fit in fits])), **_test_errors(case, model, exact, means),
            "seconds": round(time.perf_counter() - started, 1)})
    return lines


def _test_errors(case: Case, model: SimulatedModel, exact: Exact, means: Array) -> Line:
    """Mean squared prediction errors on the rows that were kept back."""
    if case.test is None:
        return {}
    features = model.basis.evaluate({name: case.test[name].to_numpy() for name in case.columns}) @ model.design.features
    y = case.test[case.response].to_numpy(float)
    found = np.mean((y[:, None] - features @ means.T) ** 2, axis=0)
    return {"error": float(found.mean()), "error_median": float(np.median(found)), "error_worst": float(found.max()),
            "error_exact": float(np.mean((y - features @ exact.estimate) ** 2)), "error_zero": float(np.mean(y**2))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("directory", type=Path, help="where the tables are")
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--most", type=int, help="at most so many releases of each")
    parser.add_argument("--draws", type=int, default=200, help="of each of four chains")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    add_options(parser)
    asked = parser.parse_args()
    work = partial(run_cell, directory=asked.directory, draws=asked.draws, most=asked.most)
    run_cells(work, [Cell(name, epsilon) for name in asked.only for epsilon in EPSILONS], asked, asked.output)


if __name__ == "__main__":
    main()
