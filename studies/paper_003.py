"""Kulkarni, Jälkö, Koskela, Kaski and Honkela (2021, paper 003), Figures 3 to 5 as numbers, and where the Taylor series fails.

    noisewise reproduce 003 --data DIRECTORY [--quick]      # DIRECTORY holds pima.csv.gz and adult.csv.gz

Distances are Kolmogorov–Smirnov distances of each coefficient's posterior to that of the rows themselves, with the same model and
the same prior. The paper asks for ‖x‖ ≤ 1, says that the data were "pre-processed", and names no public bounds. So predictors are
scaled in three ways:

- ``divided``: to mean 0 and standard deviation 1, and all divided by the largest norm of a row. NOT private: means, deviations
  and the largest norm are the data's own.
- ``shortened``: to mean 0 and standard deviation 1, and rows longer than 1 shortened to 1, which are most of them. NOT private:
  means and deviations are the data's own.
- ``public``: from declared bounds to [−1, 1]; for the paper's statistic divided by √d, so that ‖x‖ ≤ 1 whatever the rows are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.prior import Prior
from studies.dp_sgld import batch_size, dp_sgld, noise_multiplier
from studies.paper_003_models import (
    DELTA,
    Reference,
    Rows,
    entry_variances,
    fitted,
    ks_distance,
    model_of,
    noisy_part,
    reference,
    sample_models,
)
from studies.paper_003_taylor import growing_norms

Array = npt.NDArray[np.float64]
Line = dict[str, Any]
Bounds = Mapping[str, tuple[float, float]]

PIMA_ROWS: Final = 758
PIMA: Final = {"age": (21, 90), "pregnancies": (0, 20), "pedigree": (0, 2.5), "insulin": (0, 900)}
"""Women aged 21 or more; the rest are round numbers. Half of the insulin values are 0, not measured. With 758 rows the paper
must have kept them."""
ADULT_ROWS: Final = 8000
ADULT: Final = {"age": (17, 90), "workclass": (0, 6), "education": (0, 15), "marital_status": (0, 6), "occupation": (0, 13),
                "relationship": (0, 5), "sex": (0, 1)}
"""Codes are the alphabetical positions of the levels that the census publishes; its ages are 17 to 90."""
SYNTHETIC: Final = np.array([-0.9, -0.5, 0.3])
SYNTHETIC_EPSILONS: Final = tuple(np.linspace(0.001, 1.1, 10).round(4).tolist())
DIVIDED, SHORTENED, PUBLIC = "divided", "shortened", "public"
WAYS: Final = (DIVIDED, SHORTENED, PUBLIC, "gram", "moments")
"""The paper's statistic in three scalings, and our two in the last of them."""
LEVELS: Final = np.linspace(0.01, 0.99, 33)


@dataclass(frozen=True)
class Problem:
    """One table, scaled in one way: the release, the model and its prior, and the posterior of the rows themselves."""

    statistic: str
    scaling: str
    rows: Rows
    formula: str
    prior: Prior | None
    exact: Reference
    shown: tuple[int, ...]
    """The coefficients to compare: all but the intercept."""
    unconditional: Array
    """Draws from the prior: the answer of someone who sees no data."""

    @classmethod
    def of_paper(cls, rows: Rows, scaling: str, radius: float) -> Problem:
        """The paper's prior: no intercept, standard normal coefficients within a ball."""
        d = len(rows.names)
        free = np.random.default_rng(1).normal(size=(20_000, d))
        inside = free[np.linalg.norm(free, axis=1) <= radius]
        exact = reference(rows.x, rows.y, np.ones(d), radius=radius)
        prior = Prior(largest_norm=radius, correlation=2.0)
        return cls("paper", scaling, rows, f"y ~ 0 + {' + '.join(rows.names)}", prior, exact, tuple(range(d)), inside)

    @classmethod
    def of_product(cls, rows: Rows, statistic: str) -> Problem:
        """Our prior: an intercept and the default prior, for effects of one standard deviation of each predictor."""
        d, family = len(rows.names), FAMILIES["logistic"]
        deviations, means = rows.x.std(axis=0), rows.x.mean(axis=0)
        sd = np.append(family.intercept_sd, np.full(d, family.slope_sd * min(1.0, 2.0 / math.sqrt(d))))
        standard = reference(np.column_stack([np.ones(len(rows.y)), (rows.x - means) / deviations]), rows.y, sd)
        slopes = standard.draws[:, 1:] / deviations
        exact = Reference(np.column_stack([standard.draws[:, 0] - slopes @ means, slopes]), standard.weights)
        free = np.random.default_rng(1).normal(size=(20_000, d)) * sd[1:] / deviations
        return cls(statistic, PUBLIC, rows, f"y ~ {' + '.join(rows.names)}", None, exact, tuple(range(1, d + 1)),
                   np.column_stack([np.zeros(20_000), free]))

    def models(self, epsilons: Sequence[float], repeats: int) -> list[Any]:
        schema, exact, result = self.rows.schema(), self.rows.matrix(), []
        for epsilon in epsilons:
            variances = entry_variances(self.statistic, len(self.rows.names), epsilon, DELTA)
            for repeat in range(repeats):
                part = noisy_part(exact, variances, np.random.default_rng([round(1e6 * epsilon), repeat]))
                centred = self.statistic == "paper" and self.scaling != PUBLIC
                result.append(model_of(schema, part, self.formula, "logistic", self.prior, centred=centred)[0])
        return result

    def lines(self, draws: Array, first: Line) -> list[Line]:
        """The distance of a posterior's draws (draws, terms) from the posterior of the rows."""
        mean, sd = self.exact.mean, self.exact.sd
        result = []
        for name, k in zip(self.rows.names, self.shown, strict=True):
            low, high = np.quantile(draws[:, k], [0.025, 0.975])
            below, above = self.exact.quantiles(k, np.array([0.025, 0.975]))
            result.append(first | {"term": name, "ks": ks_distance(draws[:, k], self.exact.draws[:, k], self.exact.weights),
                                   "mean": draws[:, k].mean(), "sd": draws[:, k].std(), "low": low, "high": high,
                                   "exact_mean": mean[k], "exact_sd": sd[k], "exact_low": below, "exact_high": above})
        return result

    def curves(self, draws: Array | None, first: Line) -> list[Line]:
        """Quantiles, for pictures of distribution functions; those of the rows' own posterior without draws."""
        result = []
        for name, k in zip(self.rows.names, self.shown, strict=True):
            values = self.exact.quantiles(k, LEVELS) if draws is None else np.quantile(draws[:, k], LEVELS)
            result += [first | {"term": name, "level": level, "value": value}
                       for level, value in zip(LEVELS, values, strict=True)]
        return result


def own_scaling(names: Sequence[str], values: Array, y: Array, scaling: str) -> Rows:
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    norms = np.linalg.norm(standard, axis=1, keepdims=True)
    return Rows(tuple(names), standard / (norms.max() if scaling == DIVIDED else np.maximum(norms, 1.0)), y)


def public_scaling(bounds: Bounds, values: Array, y: Array, largest: float) -> Rows:
    low, high = np.array(list(bounds.values()), dtype=float).T
    return Rows(tuple(bounds), largest * (2.0 * (np.clip(values, low, high) - low) / (high - low) - 1.0), y)


def pima(directory: Path, rows: int | None) -> tuple[Array, Array]:
    """758 of the 768 rows, drawn at random: the paper does not say which ten it leaves out."""
    table = pd.read_csv(directory / "pima.csv.gz").sample(rows or PIMA_ROWS, random_state=1)
    return table[list(PIMA)].to_numpy(float), np.where(table["outcome"] == 1, 1.0, -1.0)


def adult(directory: Path, rows: int | None) -> tuple[Array, Array]:
    """8000 random rows of those without missing values."""
    table = pd.read_csv(directory / "adult.csv.gz")
    table = table[(table != "?").all(axis=1)]
    coded = [table[name] if name == "age" else table[name].astype("category").cat.codes for name in ADULT]
    chosen = np.random.default_rng(1).choice(len(table), rows or ADULT_ROWS, replace=False)
    values = np.column_stack(coded).astype(float)[chosen]
    return values, np.where(table["income"].str.startswith(">50K").to_numpy()[chosen], 1.0, -1.0)


def problem_of(way: str, bounds: Bounds, values: Array, y: Array) -> Problem:
    if way in (DIVIDED, SHORTENED):
        rows = own_scaling(tuple(bounds), values, y, way)
        ml, _ = fitted(rows.x, y, np.full(len(bounds), 1e3))
        # NOT private: the paper's radius is taken from a fit to the rows. With public bounds it is a round number.
        return Problem.of_paper(rows, way, math.sqrt(3.0) * float(np.linalg.norm(ml)))
    if way == PUBLIC:
        return Problem.of_paper(public_scaling(bounds, values, y, 1 / math.sqrt(len(bounds))), PUBLIC, 20.0)
    return Problem.of_product(public_scaling(bounds, values, y, 1.0), way)


def real_table(name: str, problem: Problem, epsilons: Sequence[float], rate: float, repeats: int, draws: int
               ) -> tuple[list[Line], list[Line]]:
    """Figures 3 and 4: lines of distances, and curves of the first release of each kind."""
    lines: list[Line] = []
    curves: list[Line] = []
    first: Line = {"data": name, "scaling": problem.scaling}
    fits = sample_models(problem.models(epsilons, repeats), seed=1, draws=draws)
    ours, y = f"noisewise, {problem.statistic}", problem.rows.y
    found: dict[str, Array] = {ours: fits.draws.reshape(len(epsilons), repeats, *fits.draws.shape[1:])}
    if problem.scaling != PUBLIC:
        found["DP-SGLD"] = np.stack([dp_sgld(
            problem.rows.x, y, batch=batch_size(len(y)), rate=rate, seed=round(100 * epsilon), repeats=repeats,
            multiplier=noise_multiplier(batch_size(len(y)), len(y), epsilon, DELTA)) for epsilon in epsilons])
    for epsilon_index, epsilon in enumerate(epsilons):
        here = first | {"epsilon": epsilon}
        for method, sampled in found.items():
            for repeat in range(repeats):
                r_hat = fits.r_hat[epsilon_index * repeats + repeat] if method == ours else ""
                lines += problem.lines(sampled[epsilon_index, repeat],
                                       here | {"method": method, "repeat": repeat, "r_hat": r_hat})
            curves += problem.curves(sampled[epsilon_index, 0], here | {"method": method})
        of_prior = f"prior, {problem.statistic}"
        lines += problem.lines(problem.unconditional, here | {"method": of_prior, "repeat": 0})
        curves += problem.curves(None, here | {"method": f"not private, {problem.statistic}"})
    return lines, curves


def synthetic(repeats: int, draws_each: int, rows: int = 1000) -> tuple[list[Line], list[Line]]:
    """Figure 5: one table, releases of it at each ε; the covariance is a Wishart draw, and rows longer than 1 are shortened."""
    rng = np.random.default_rng(3)
    root = np.linalg.cholesky(np.cov(rng.normal(size=(3, 10))))
    x = rng.normal(size=(rows, 3)) @ root.T
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0)
    y = np.where(rng.uniform(size=rows) < 1.0 / (1.0 + np.exp(-x @ SYNTHETIC)), 1.0, -1.0)
    table = Rows(("x1", "x2", "x3"), x, y)
    problem = Problem.of_paper(table, SHORTENED, math.sqrt(3.0) * float(np.linalg.norm(SYNTHETIC)))
    fits = sample_models(problem.models(SYNTHETIC_EPSILONS, repeats), seed=1, draws=draws_each)
    shape = len(SYNTHETIC_EPSILONS), repeats
    lines: list[Line] = []
    curves: list[Line] = problem.curves(None, {"epsilon": math.inf})
    draws_at, r_hat_at = fits.draws.reshape(*shape, -1, 3), fits.r_hat.reshape(shape)
    for epsilon, group, worst in zip(SYNTHETIC_EPSILONS, draws_at, r_hat_at, strict=True):
        for repeat, draws in enumerate(group):
            lines += problem.lines(draws, {"epsilon": epsilon, "repeat": repeat, "r_hat": worst[repeat]})
        together = group.reshape(-1, 3)
        lines += problem.lines(together, {"epsilon": epsilon, "repeat": "all"})
        curves += problem.curves(together, {"epsilon": epsilon})
    lines += problem.lines(problem.unconditional, {"epsilon": 0.0, "repeat": "prior"})
    return lines, curves


def _rounded(lines: Sequence[Line]) -> list[Line]:
    """Round to five digits, to keep the files small."""
    return [{key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in line.items()} for line in lines]


def table_cell(part: str, directory: str, way: str, releases: int, draws: int, rows: int | None = None
               ) -> dict[str, list[Line]]:
    """One of ``WAYS``; ``rows`` of the table, all that the paper uses if None; ``draws`` of each of two chains."""
    if part == "pima":
        problem, epsilons, rate = problem_of(way, PIMA, *pima(Path(directory), rows)), [0.1, 0.3], 0.1
    else:
        problem, epsilons, rate = problem_of(way, ADULT, *adult(Path(directory), rows)), [0.1], 0.01
    lines, curves = real_table(part.capitalize(), problem, epsilons, rate, releases, draws)
    return {part: _rounded(lines), f"{part}_curves": _rounded(curves)}


def synthetic_cell(releases: int, draws: int) -> dict[str, list[Line]]:
    lines, curves = synthetic(releases, draws)
    return {"synthetic": _rounded(lines), "synthetic_curves": _rounded(curves)}


def growth_cell(method: str, tables: int, norms: Sequence[float], draws: int) -> dict[str, list[Line]]:
    return {"growth": _rounded(growing_norms(tables, norms, draws=draws, methods=(method,)))}
