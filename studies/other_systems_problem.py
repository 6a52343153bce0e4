"""The problem for all systems of ``studies.other_systems``: made-up tables, public bounds, known coefficients.

This imports only NumPy, so that workers in environments with other packages make the same tables from the same seeds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SLOPES = np.array([1.0, -0.5, 0.25, 0.0, 0.5])
INTERCEPT = 0.2
SIGMA = 0.5
RESPONSE_BOUND = 4.0
"""Public: a linear response outside ±4 is clipped. With these coefficients hardly any is."""
DELTA = 1e-6
Z95 = 1.959963984540054


@dataclass(frozen=True)
class Problem:
    """Family ``linear`` or ``logistic``, size of the table, and the budget; rows are replaced, their number is public."""

    family: str
    rows: int
    predictors: int
    epsilon: float

    @property
    def slopes(self) -> Array:
        return SLOPES[:self.predictors]


@dataclass(frozen=True)
class Table:
    x: Array
    y: Array
    """Within the bounds if linear, 0 or 1 if logistic."""


@dataclass(frozen=True)
class Fit:
    """Slopes and the ends of their 95 % intervals."""

    estimate: Array
    low: Array
    high: Array
    seconds: float | None = None
    """Given only if the time was measured elsewhere, by a worker."""


def table(problem: Problem, replicate: int) -> Table:
    """The same for all systems and all budgets."""
    rng = np.random.default_rng([problem.rows, problem.predictors, problem.family == "logistic", replicate])
    x = rng.uniform(-1.0, 1.0, (problem.rows, problem.predictors))
    mean = INTERCEPT + x @ problem.slopes
    if problem.family == "logistic":
        return Table(x, (rng.random(problem.rows) < 1 / (1 + np.exp(-mean))).astype(float))
    return Table(x, np.clip(mean + rng.normal(0.0, SIGMA, problem.rows), -RESPONSE_BOUND, RESPONSE_BOUND))


def with_constant(x: Array) -> Array:
    return np.column_stack([np.ones(len(x)), x])


def exact_fit(family: str, data: Table) -> Array:
    """Least squares or maximum likelihood on the rows, without privacy: intercept and slopes."""
    design = with_constant(data.x)
    beta: Array = np.zeros(design.shape[1])
    for _ in range(25 if family == "logistic" else 1):
        curvature, gradient = _information(family, design, beta), design.T @ (data.y - _mean(family, design, beta))
        step = np.linalg.solve(curvature, gradient)
        beta = beta + step
        if np.max(np.abs(step)) < 1e-10:
            break
    return beta


def textbook_interval(family: str, data: Table, beta: Array) -> Fit:
    """Slopes and intervals as if ``beta`` (intercept first) were the maximum of the likelihood of these rows.

    Around the exact fit these are the textbook's intervals. Around a private estimate they are *naive*: they know nothing about
    the noise. They are not private either, because their width comes from the rows. Nobody could print
    shorter ones in good faith.
    """
    design = with_constant(data.x)
    variance = np.linalg.inv(_information(family, design, beta))
    if family == "linear":
        variance = variance * np.sum((data.y - design @ beta) ** 2) / (len(design) - design.shape[1])
    half = Z95 * np.sqrt(np.diag(variance))[1:]
    return Fit(beta[1:], beta[1:] - half, beta[1:] + half)


def _mean(family: str, design: Array, beta: Array) -> Array:
    value: Array = design @ beta
    return 1 / (1 + np.exp(-np.clip(value, -700, 700))) if family == "logistic" else value


def _information(family: str, design: Array, beta: Array) -> Array:
    if family == "linear":
        return design.T @ design
    mean = _mean(family, design, beta)
    return (design * np.maximum(mean * (1 - mean), 1e-12)[:, None]).T @ design
