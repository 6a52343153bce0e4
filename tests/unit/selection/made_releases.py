"""Releases of made-up tables with seeded noise, and what rows say about every model by least squares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import quad

import noisewise as nw
from noisewise.releases.contents.gram import EntryNoise, GramContribution

Array = npt.NDArray[np.float64]

WARDS = ("A", "B", "C")
TINY = 1e-6
"""Noise that is as good as none."""


@dataclass(frozen=True)
class Table:
    """Rows: numeric predictors x1, x2, … in [0, 1], a category, and a response in [−10, 10]."""

    numbers: Array
    ward: npt.NDArray[np.int64]
    y: Array

    @classmethod
    def made(cls, seed: int, rows: int, slopes: Sequence[float], ward: Sequence[float] = (0.0, 0.0), sigma: float = 1.0) -> Table:
        generator = np.random.default_rng(seed)
        numbers = generator.uniform(size=(rows, len(slopes)))
        level = generator.choice(3, rows)
        y = 1.0 + numbers @ np.array(slopes) + np.array([0.0, *ward])[level] + generator.normal(0, sigma, rows)
        return cls(numbers, level, y)

    def columns(self, terms: Sequence[str]) -> Array:
        """The columns of these terms, without an intercept."""
        found = [self.numbers[:, [int(term[1:]) - 1]] if term != "ward" else self.ward[:, None] == [1, 2] for term in terms]
        return np.column_stack([np.empty((len(self.y), 0)), *found]).astype(float)

    def schema(self) -> nw.Schema:
        numbers: dict[str, Any] = {f"x{k + 1}": {"bounds": [0, 1]} for k in range(self.numbers.shape[1])}
        return nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
            **numbers, "ward": {"levels": list(WARDS)}, "y": {"bounds": [-10, 10]}}})

    def part(self, seed: int, sd: float = TINY, distribution: str = "gaussian", average: int = 1) -> GramContribution:
        """``average``: so many rows are averaged in a group, as ``GramContribution`` explains."""
        rows = np.column_stack([np.ones(len(self.y)), 2 * self.numbers - 1, self.ward[:, None] == [1, 2], self.y / 10])
        rows = rows.reshape(-1, average, rows.shape[1]).sum(axis=1)
        size = rows.shape[1]
        off = sd / math.sqrt(2) if distribution == "gaussian" else sd
        noise = EntryNoise("gaussian" if distribution == "gaussian" else "laplace", sd, off, 0.0)
        generator = np.random.default_rng(seed)
        standard = generator.normal(size=(size, size)) if distribution == "gaussian" else generator.laplace(
            scale=math.sqrt(0.5), size=(size, size))
        upper = np.triu(standard * np.sqrt(noise.variances(size)))
        return GramContribution(
            rows=len(self.y), matrix=rows.T @ rows / average + upper + np.triu(upper, 1).T, noise=noise, epsilon=1.0,
            delta=1e-6 if distribution == "gaussian" else 0.0, mechanism=distribution, sensitivity=1.0, statement="made up",
            created="2026-01-01", library="tests", average=average)

    def release(self, seed: int = 0, sd: float = TINY, distribution: str = "gaussian", average: int = 1) -> nw.Release:
        return nw.Release(nw.Gram(), self.schema(), (self.part(seed, sd, distribution, average),))


@dataclass(frozen=True)
class Model:
    """One model as least squares sees it: its terms, the log Bayes factor, and its coefficients (intercept, kept, others)."""

    terms: tuple[str, ...]
    log_bayes_factor: float
    fitted: Array


def every_model(table: Table, terms: Sequence[str], prior: str, keep: Sequence[str] = ()) -> list[Model]:
    """All choices of the terms, each fitted to the rows."""
    base = np.column_stack([np.ones(len(table.y)), table.columns(keep)])
    smallest = _rest(base, table.y)
    found = []
    for count in range(len(terms) + 1):
        for chosen in itertools.combinations(terms, count):
            design = np.column_stack([base, table.columns(chosen)])
            unexplained = _rest(design, table.y) / smallest
            columns = design.shape[1] - base.shape[1]
            factor = log_bayes_factor(prior, unexplained, columns, len(table.y), base.shape[1]) if columns else 0.0
            found.append(Model(chosen, factor, np.linalg.lstsq(design, table.y, rcond=None)[0]))
    return found


def _rest(design: Array, y: Array) -> float:
    residuals = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(residuals @ residuals)


def log_bayes_factor(prior: str, unexplained: float, columns: int, rows: int, kept: int) -> float:
    """The formulas of Liang et al. (2008), by quadrature where there is an integral."""
    if prior == "bic":
        return -0.5 * rows * math.log(unexplained) - 0.5 * columns * math.log(rows)
    if prior == "aic":
        return -0.5 * rows * math.log(unexplained) - columns

    def given(g: float) -> float:
        return 0.5 * (rows - kept - columns) * math.log1p(g) - 0.5 * (rows - kept) * math.log1p(g * unexplained)

    if prior == "zellner":
        return given(float(rows))

    def log_integrand(log_g: float) -> float:
        g = math.exp(log_g)
        if prior == "hyper-g":
            density = math.log(0.5) - 1.5 * math.log1p(g)
        else:
            density = 0.5 * math.log(rows / (2 * math.pi)) - 1.5 * log_g - rows / (2 * g)
        return given(g) + density + log_g

    grid = np.linspace(-5, math.log(rows) + 25, 4000)
    top = max(map(log_integrand, grid))
    area = quad(lambda log_g: math.exp(log_integrand(log_g) - top), grid[0], grid[-1], limit=500,
                points=[float(grid[int(np.argmax([log_integrand(value) for value in grid]))])])[0]
    return top + math.log(area)
