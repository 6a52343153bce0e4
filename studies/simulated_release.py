"""Releases of simulated tables with noise from a seed: for studies and tests only, and never for real rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.holder.model import ModelPlan
from noisewise.holder.plan import plan_of
from noisewise.kinds import Gram, Model
from noisewise.planning.noise import noisy_round
from noisewise.releases.release import Release
from noisewise.schema import Basis, Numeric, Schema
from noisewise.scores.likelihood import Problem, View, matrix_of
from noisewise.scores.looks import Known, Layout, range_starts, response_bounds
from noisewise.scores.next_round import LOOK
from noisewise.scores.rounds import Look, Noise, Point, Round
from noisewise.scores.search import Search
from studies.tables import simulated_noise


def simulated_release(rows: Mapping[str, npt.NDArray[Any]], schema: Schema, rng: np.random.Generator, *, epsilon: float,
                      delta: float | None = None) -> Release:
    """The gram release that ``noisewise.release`` would give, with noise of the same distribution from a seeded generator."""
    blank = plan_of(Gram(), schema, epsilon, delta).blank
    values = {name: np.clip(cells, *(float(end) for end in (column.lower, column.upper)))
              if isinstance(column := schema.column(name), Numeric) else cells for name, cells in rows.items()}
    a = blank.basis.evaluate(values)
    one = blank.contents
    matrix = a.T @ a + simulated_noise(rng, one.noise, one.size)
    count = len(a) if schema.rows_are_public else None
    if count is not None:
        matrix[0, 0] = count
    return blank.with_contributions((replace(one, matrix=matrix, rows=count),))


def simulated_model_release(rows: Mapping[str, npt.NDArray[Any]], schema: Schema, kind: Model, rng: np.random.Generator, *,
                            epsilon: float, delta: float) -> Release:
    """The model release that ``noisewise.release`` would give, but for its rounding, with noise from a seeded generator."""
    made = plan_of(kind, schema, epsilon, delta)
    assert isinstance(made, ModelPlan)
    part, basis, family = made.blank.contents, made.design.basis, made.family
    layout = Layout.of(basis, family)
    columns, first = basis.evaluate(rows), Basis(schema, layout.columns).evaluate(rows)
    low, high = response_bounds(basis)
    response = (columns[:, -1] + 1.0) / 2.0 * (high - low) + low
    ranges = np.zeros(0)
    if layout.ranges:
        places = np.searchsorted(range_starts(high), response, side="right") - 1
        ranges = np.bincount(places, minlength=layout.ranges).astype(float)
    sums = np.concatenate([first.sum(axis=0), np.sum(first[:, list(layout.squared)] ** 2, axis=0), ranges])
    look = Look(noise=part.look.noise, sums=sums + part.look.noise * rng.normal(size=len(sums)), rows=float(len(columns)),
                rows_noise=0.0)
    problem = Problem.of(basis, made.design, family, look)

    def measure(point: Point, noise: Noise) -> Round:
        size = problem.terms
        blank = Round(point=point, noise=noise, score=np.zeros(size), matrix=np.zeros((size, size)))
        view = View.of(problem, blank, columns[:, :-1])
        residual = view.factor * (np.clip(response, view.low, view.high) - view.mean)
        scores = view.directions * (view.weight * residual)[:, None]
        return noisy_round(rng, replace(
            blank, score=scores.sum(axis=0), matrix=symmetric(matrix_of(view.directions, view.weight * view.rate)),
            square=None if noise.square is None else float(np.sum((residual / view.bound) ** 2)),
            spread=None if noise.spread is None else symmetric(scores.T @ scores)))

    def symmetric(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return (matrix + matrix.T) / 2

    known = Known.of(basis, family, look)
    rounds = Search.of(basis, problem, known, 1.0 - LOOK, made.mechanism.noise_for).rounds(measure)
    return made.blank.with_contributions((replace(part, look=look, rounds=rounds, rows=len(columns),
                                                      sensitivity=made.mechanism.sensitivity.of_rounds(rounds)),))
