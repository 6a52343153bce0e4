"""Models of a model release: choices of its formula's terms, weighed by the quadratic log likelihood of its rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise.errors import FitError
from noisewise.kinds import Model
from noisewise.posterior.methods import Method, by_name
from noisewise.posterior.model.fit import doubts_about, estimand_of
from noisewise.posterior.model.problem import ModelProblem
from noisewise.progress import Tick
from noisewise.selection.averaged import averaged_draws
from noisewise.selection.methods import DEFAULT_METHOD, WEIGHED, percent
from noisewise.selection.probabilities import weigh
from noisewise.selection.quadratic import QuadraticEvidence, table_inclusion
from noisewise.selection.rounds import RoundsQuadratic
from noisewise.selection.task import Solution, Task

LITTLE: Final = 16.0
"""A release says little about a direction of the predictors if this many rows would say as much, without noise.

Below it the likelihood is far from quadratic over the coefficients that the prior expects.
"""


def solver(task: Task) -> ModelSolver:
    """The quadratic log likelihood of the release; refuse a formula that is not its own, and tables with too few rows."""
    kind = task.release.kind
    assert isinstance(kind, Model)
    if not kind.same_regression(task.design.formula, task.release.schema):
        raise FitError("a model release weighs the terms of its own formula", argument="formula", found=task.design.formula,
                       remedy=f"leave the formula out to weigh the terms of {kind.formula!r}; the data holder can make a release "
                       "of another formula")
    problem = ModelProblem.of(task.release, task.design, None, False)
    task.check_rows(sum(one.problem.rows for one in problem.likelihoods))
    return ModelSolver(task, kind.family, RoundsQuadratic.of(problem, task.terms.places))


@dataclass(frozen=True, eq=False)
class ModelSolver:
    """A task, and the release's likelihood for it."""

    task: Task
    family: str
    rounds: RoundsQuadratic

    def solve(self, method: str, draws: int, seeds: Sequence[int], tick: Tick) -> Solution:
        """Answer by the one method."""
        return METHODS[method](self, draws, seeds, tick)  # type: ignore[no-any-return]


def noise_aware(asked: ModelSolver, draws: int, seeds: Sequence[int], tick: Tick) -> Solution:
    """Weigh each model by its evidence, noise included."""
    task, rounds = asked.task, asked.rounds
    evidence = QuadraticEvidence(rounds.quadratic, task.terms.groups, task.prior)
    weighed = weigh(evidence, task.log_prior, seeds[0], percent(tick, 0, WEIGHED))
    drawn = averaged_draws(evidence, weighed.members, weighed.probabilities, draws, seeds[1])
    band = table_inclusion(evidence, rounds.without_noise, weighed, drawn, task.log_prior, seeds[2], percent(tick, WEIGHED, 100))
    return Solution(weighed, rounds.to_user(drawn.working), band, little_said(rounds),
                    (*weighed.doubts, *doubts_about(rounds.estimate)), estimand_of(rounds.estimate))


METHODS: Final = by_name([Method(DEFAULT_METHOD, "accounts for the privacy noise; the default", noise_aware, kind=Model.name)])


def little_said(rounds: RoundsQuadratic) -> tuple[str, ...]:
    """A warning if the release says next to nothing about some directions."""
    known = rounds.rows_known()
    count = int(np.sum(known < LITTLE))
    if not count:
        return ()
    return (f"the release says less about {count} of {len(known)} directions of the predictors than {LITTLE:g} rows without "
            "noise would: probabilities are near the prior ones, or too low; do not conclude from them that a term can be left "
            "out",)
