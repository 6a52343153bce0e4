"""Model releases whose noise comes from a seeded generator, for tests whose outcome must not depend on the day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import noisewise as nw
from noisewise.holder.plan import plan_of
from noisewise.planning.noise import noisy_round
from noisewise.run import QUIET
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.scores.rounds import Look, Noise, Point, Round


class SeededDraws:
    """In place of the mechanism's own draws."""

    def __init__(self, seed: int, public: bool) -> None:
        self.random, self.public = np.random.default_rng(seed), public

    def perturb_look(self, sums: Any, rows: int, noise: float) -> Look:
        found = sums * STATISTIC_GRID + noise * self.random.normal(size=len(sums))
        return Look(noise=noise, sums=found, rows=float(rows) if self.public else rows + noise * float(self.random.normal()),
                    rows_noise=0.0 if self.public else noise)

    def perturb_round(self, point: Point, noise: Noise, score: Any, matrix: Any, square: Any = None, spread: Any = None) -> Round:
        score, matrix, square, spread = (None if one is None else one * STATISTIC_GRID for one in (score, matrix, square, spread))
        return noisy_round(self.random, Round(point=point, noise=noise, score=score, matrix=matrix, square=square, spread=spread))


class SeededMechanism:
    """A mechanism, but for its draws."""

    def __init__(self, mechanism: Any, draws: SeededDraws) -> None:
        self._mechanism, self._draws = mechanism, draws

    def draws(self) -> SeededDraws:
        return self._draws

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mechanism, name)


def seeded_model(table: Mapping[str, Any], schema: nw.Schema, kind: nw.Model, seed: int, epsilon: float = 1.0,
                 delta: float = 1e-6) -> nw.Release:
    """``nw.release`` with seeded noise of the same size."""
    made = plan_of(kind, schema, epsilon, delta)
    draws = SeededDraws(seed, made.blank.schema.rows_are_public)
    seeded = replace(made, mechanism=SeededMechanism(made.mechanism, draws))
    return made.blank.with_contributions((seeded.read(table, None, QUIET)(),))
