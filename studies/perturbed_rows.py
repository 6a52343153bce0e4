"""Simulated tables in scaled units, perturbed as a `rows` release perturbs them: problems for the sampler, with their truth.

Numbers have a standard deviation of a quarter and bounds at −1 and 1, four standard deviations away, and are clipped there. The
noise is the one that the library's own calibration requires at ε. It comes from a seeded generator, which a release never uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from noisewise.posterior.rows.problem import Answers, RegressionPrior, RowProblem
from noisewise.privacy.mechanisms.rows import RowsMechanism, calibrate

Array = npt.NDArray[np.float64]

SD = 0.25
CORRELATION = 0.5
EXPLAINED = 0.8
"""The share of the response's variance that the predictors explain."""
SHARE, SHIFT = 0.4, 0.15
"""The binary predictor: how often it is 1, and how far it shifts each number."""
CODING = np.array([[-1.0], [1.0]])


@dataclass(frozen=True)
class Table:
    """The columns of a table: perturbed numbers, exact ones, a binary predictor; and whether the response is exact."""

    numbers: int
    exact: int = 0
    binary: bool = False
    exact_response: bool = False

    @property
    def predictors(self) -> int:
        return self.numbers + self.exact + self.binary

    @property
    def perturbed(self) -> dict[str, int | None]:
        """The columns that are published with noise: names, and numbers of levels."""
        found: dict[str, int | None] = {f"x{k}": None for k in range(self.numbers)}
        if not self.exact_response:
            found["y"] = None
        return found | ({"b": 2} if self.binary else {})

    def mechanism(self, epsilon: float, copies: int) -> RowsMechanism:
        columns = self.perturbed
        return calibrate(columns, epsilon=epsilon, delta=None, mechanism=None, copies=copies,
                         weights=dict.fromkeys(columns, Fraction(1)))

    def epsilon_for(self, scale: float, copies: int = 1) -> float:
        """ε at which each copy of a number has Laplace noise of this scale."""
        return 2.0 * copies * len(self.perturbed) / scale


def slopes(predictors: int) -> Array:
    """Alternating signs, all of one size."""
    distance = np.abs(np.subtract.outer(np.arange(predictors), np.arange(predictors)))
    sign = np.where(np.arange(predictors) % 2 == 0, 1.0, -1.0)
    return sign * np.sqrt(EXPLAINED / (sign @ CORRELATION**distance @ sign))


def correlated(count: int, rows: int, rng: np.random.Generator) -> Array:
    """(rows, count): neighbours have the correlation ``CORRELATION``, standard deviations are 1."""
    found = rng.normal(size=(rows, count))
    for k in range(1, count):
        found[:, k] = CORRELATION * found[:, k - 1] + np.sqrt(1 - CORRELATION**2) * found[:, k]
    return found


def laplace_copies(values: Array, scales: Array, copies: int, rng: np.random.Generator) -> Array:
    """(copies, rows, numbers)."""
    return values + scales * rng.laplace(size=(copies, *values.shape))


@dataclass(frozen=True)
class Cells:
    """A table without noise: numbers (rows, predictors), exact ones first, the binary predictor as ±1, the response."""

    x: Array
    one: Array
    y: Array
    truth: Array
    """Of (g, σ): constant, exact numbers, binary predictor, perturbed numbers, σ."""


def make_cells(table: Table, rows: int, rng: np.random.Generator) -> Cells:
    count = table.exact + table.numbers
    beta = slopes(count)
    x = SD * correlated(count, rows, rng)
    constant, effect, sigma = 0.05, 0.0, SD * np.sqrt(1 - EXPLAINED)
    one = np.zeros(rows)
    if table.binary:
        one = np.where(rng.random(rows) < SHARE, 1.0, -1.0)
        x, effect = x + SHIFT * one[:, None] / 2, 0.5 * SD
    y = constant + x @ beta + effect * one + sigma * rng.normal(size=rows)
    truth = np.concatenate([[constant], beta[: table.exact], [effect] * table.binary, beta[table.exact:], [sigma]])
    return Cells(np.clip(x, -1, 1), one, np.clip(y, -1, 1), truth)


def perturb(table: Table, cells: Cells, epsilon: float, copies: int, rng: np.random.Generator) -> RowProblem:
    """The published rows of the table, with the library's default priors."""
    mechanism = table.mechanism(epsilon, copies)
    rows = len(cells.y)
    numbers = np.column_stack([cells.x[:, table.exact:], cells.y])
    scales = np.array([mechanism.scales.get(name, 0.0) for name in (*(f"x{k}" for k in range(table.numbers)), "y")])
    answers: tuple[Answers, ...] = ()
    if table.binary:
        keep = mechanism.keep_probability("b")
        kept = rng.random((copies, rows)) < keep
        answers = (Answers(np.where(kept, cells.one > 0, cells.one <= 0).astype(np.int32), keep, CODING),)
    known = np.vstack([np.ones(rows), cells.x[:, : table.exact].T])
    return RowProblem(laplace_copies(numbers, scales, copies, rng), scales, known, answers)


def simulate(table: Table, rows: int, epsilon: float, copies: int, rng: np.random.Generator) -> tuple[RowProblem, Array]:
    """A problem, and the truth of (g, σ)."""
    cells = make_cells(table, rows, rng)
    return perturb(table, cells, epsilon, copies, rng), cells.truth


def simulate_from_prior(table: Table, rows: int, epsilon: float, copies: int, rng: np.random.Generator
                        ) -> tuple[RowProblem, Array]:
    """Like `simulate` with numbers only, all parameters from the prior and no clipping: a test of the sampler alone."""
    scales = np.array(list(table.mechanism(epsilon, copies).scales.values()))
    columns: list[Array] = [np.ones(rows)]
    truth = np.zeros(0)
    for k in range(table.numbers + 1):
        prior = RegressionPrior.default(1 + k)
        effects = np.linalg.solve(prior.slope, rng.normal(size=1 + k))
        tau = abs(prior.scale * rng.normal())
        columns.append(np.column_stack(columns) @ effects + tau * rng.normal(size=rows))
        truth = np.append(effects, tau)
    numbers = np.column_stack(columns[1:])
    return RowProblem(laplace_copies(numbers, scales, copies, rng), scales, np.ones((1, rows))), truth
