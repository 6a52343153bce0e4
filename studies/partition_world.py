"""Moments of the random parts of made-up tables, and releases of them with seeded noise: many tables at once.

The moments of a part of normal rows are drawn from their Wishart distribution, so a table of a million rows costs as much as
one of a hundred. Tables that are not normal are drawn row by row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.answers.asked import Asked
from noisewise.data.parts.answers import PartAnswers
from noisewise.holder.partition import PartitionPlan
from noisewise.holder.plan import plan_of
from noisewise.kinds import Partition
from noisewise.privacy.mechanisms.partition import STEPS, PartitionMechanism
from noisewise.privacy.sensitivity.bounds import rank_scores
from noisewise.releases.release import Release
from noisewise.schema import Design, Schema
from noisewise.schema.partition import PartPrior, part_design
from noisewise.schema.questions import Question

Array = npt.NDArray[np.float64]

SLOPES = (2.0, -1.0, 0.5)
"""Of predictors with standard deviation 1; the errors too have standard deviation 1."""
INTERCEPT = 1.0
CORRELATION = 0.4
"""The correlation of any two predictors."""
SHAPES = ("normal", "heavy", "skewed")
DELTA = 1e-6


@dataclass(frozen=True, eq=False)
class Moments:
    """The parts' numbers of rows and sums of products of (1, predictors, response)."""

    counts: Array
    products: Array

    @property
    def shift(self) -> Array:
        return np.zeros((len(self.counts), self.products.shape[1]))

    def whole(self) -> tuple[Array, Array]:
        """Estimates and the standard deviations of their posteriors in a fit of the whole table, with a flat prior."""
        total, rows = self.products.sum(axis=0), self.counts.sum()
        inverse = np.linalg.inv(total[:-1, :-1])
        estimate = inverse @ total[:-1, -1]
        rest = (total[-1, -1] - estimate @ total[:-1, -1]) / (rows - len(estimate))
        return estimate, np.sqrt(rest * np.diag(inverse))


def formula_of(predictors: int) -> str:
    return "y ~ " + " + ".join(f"x{index}" for index in range(1, predictors + 1))


@cache
def schema_of(predictors: int) -> Schema:
    names = ["y", *(f"x{index}" for index in range(1, predictors + 1))]
    return Schema.from_dict({"adjacency": "replace-one", "columns": {name: {"bounds": "unknown"} for name in names}})


@cache
def design_of(predictors: int) -> Design:
    return part_design(schema_of(predictors), formula_of(predictors), ())


def slopes_of(predictors: int, null: bool = False) -> Array:
    """With ``null`` the last one is zero."""
    slopes = np.array([SLOPES[index % 3] for index in range(predictors)])
    if null:
        slopes[-1] = 0.0
    return slopes


def draw(rng: np.random.Generator, parts: int, rows: int, slopes: Array, shape: str = "normal") -> Moments:
    """A table of ``parts`` equal parts."""
    if shape == "normal":
        return _normal(rng, parts, rows, slopes)
    return _from_rows(rng, parts, rows, slopes, shape)


def _covariance(size: int) -> Array:
    return (1.0 - CORRELATION) * np.eye(size) + CORRELATION


def _normal(rng: np.random.Generator, parts: int, rows: int, slopes: Array) -> Moments:
    size = len(slopes)
    root = np.zeros((size + 1, size + 1))
    root[:size, :size] = np.linalg.cholesky(_covariance(size))
    root[size] = [*(slopes @ root[:size, :size]), 1.0]
    means = np.concatenate([np.zeros(size), [INTERCEPT]]) + rng.normal(size=(parts, size + 1)) @ root.T / np.sqrt(rows)
    bartlett = np.tril(rng.normal(size=(parts, size + 1, size + 1)), -1)
    places = np.arange(size + 1)
    bartlett[:, places, places] = np.sqrt(rng.chisquare(rows - 1 - places, size=(parts, size + 1)))
    factor = root @ bartlett
    products = np.empty((parts, size + 2, size + 2))
    products[:, 0, 0] = rows
    products[:, 0, 1:] = products[:, 1:, 0] = rows * means
    products[:, 1:, 1:] = factor @ np.swapaxes(factor, 1, 2) + rows * means[:, :, None] * means[:, None, :]
    return Moments(np.full(parts, float(rows)), products)


def _from_rows(rng: np.random.Generator, parts: int, rows: int, slopes: Array, shape: str) -> Moments:
    size = len(slopes)

    def standard(count: int) -> Array:
        if shape == "heavy":  # t with 4 degrees of freedom
            return rng.standard_t(4, size=(parts, rows, count)) / np.sqrt(2.0)
        return rng.exponential(size=(parts, rows, count)) - 1.0

    x = standard(size) @ np.linalg.cholesky(_covariance(size)).T
    y = INTERCEPT + x @ slopes[:, None] + standard(1)
    table = np.concatenate([np.ones((parts, rows, 1)), x, y], axis=2)
    return Moments(np.full(parts, float(rows)), np.swapaxes(table, 1, 2) @ table)


class Seeded:
    """The mechanism of a release with seeded noise, of the same distribution except for the grid's rounding."""

    def __init__(self, mechanism: PartitionMechanism, rng: np.random.Generator) -> None:
        self._mechanism, self._rng = mechanism, rng

    def perturb(self, sums: npt.NDArray[np.int64]) -> Array:
        scale, count = self._mechanism.scale, len(sums)
        if self._mechanism.name == "gaussian":
            return np.asarray(sums / STEPS + self._rng.normal(0.0, scale, count))
        return np.asarray(sums / STEPS + self._rng.gamma(count + 1, scale) * self._rng.uniform(-1.0, 1.0, count))

    def select(self, which: int, values: Array, grid: Array) -> float:
        """Permute and flip is the largest score with exponential noise."""
        beyond = len(values) - np.searchsorted(np.sort(values), grid, side="right")
        scores = rank_scores(beyond.astype(np.int64), len(values), len(values) // 2)
        return float(grid[np.argmax(scores + self._rng.exponential(2.0 / self._mechanism.selections[which], len(grid)))])


@dataclass(frozen=True, eq=False)
class Plan:
    """A release for any table of this kind, with everything but its numbers."""

    planned: PartitionPlan
    design: Design

    @classmethod
    def of(cls, predictors: int, parts: int, rows: int, questions: tuple[Question, ...], epsilon: float, *,
           mechanism: str = "k-norm", prior: PartPrior | None = None) -> Plan:
        kind = Partition(formula_of(predictors), parts, questions, prior, mechanism)
        made = plan_of(kind, schema_of(predictors), epsilon, DELTA if mechanism == "gaussian" else None)
        assert isinstance(made, PartitionPlan)
        blank = made.filled(replace(made.blank.contents, rows=parts * rows))
        return cls(replace(made, blank=blank), design_of(predictors))

    @property
    def blank(self) -> Release:
        return self.planned.blank

    @property
    def asked(self) -> Asked:
        """The questions, with zeros for answers."""
        return Asked.of_release(self.blank)

    def answers(self, moments: Moments) -> PartAnswers:
        return PartAnswers(moments.counts, moments.products, moments.shift, self.design, self.asked.kind.part_prior)

    def release(self, moments: Moments, rng: np.random.Generator) -> Release:
        seeded: Any = Seeded(self.planned.mechanism, rng)
        plan = replace(self.planned, mechanism=seeded)
        return plan.filled(plan.answered(self.blank.contents, self.answers(moments)))
