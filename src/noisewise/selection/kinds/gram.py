"""Models of a gram release: linear regression, weighed by noisy moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise.posterior.asked import GAUSSIAN
from noisewise.posterior.contributions import residual_rows
from noisewise.progress import Tick
from noisewise.selection.methods import DEFAULT_METHOD, METHODS, Asked, Found
from noisewise.selection.moments import Moments
from noisewise.selection.question import Units
from noisewise.selection.task import Solution, Task

__all__ = ["METHODS", "GramSolver", "hidden", "solver"]

HIDDEN: Final = 4.0
"""A direction of the predictors is hidden if its moment is below this many standard deviations of its noise.

Near this limit, probabilities start to be too low: the likelihood mistakes some noise for information about the coefficients.
"""


def solver(task: Task) -> GramSolver:
    """The moments of the task's columns; refuse tables with too few rows."""
    task.check_rows(sum(residual_rows(part) for part in task.release.contributions))
    units = Units.of(task.design, task.terms.places)
    return GramSolver(task, units, Moments.of(task.release.contributions, units))


@dataclass(frozen=True)
class GramSolver:
    """A task, and the release's moments for it."""

    task: Task
    units: Units
    moments: Moments

    @property
    def family(self) -> str:
        """Linear regression."""
        return GAUSSIAN

    def asked(self, draws: int, seeds: Sequence[int], tick: Tick) -> Asked:
        """The task as a method takes it."""
        return Asked(self.moments, self.task.release.contributions, self.units, self.task.terms.groups, self.task.prior,
                     self.task.log_prior, draws, seeds, tick)

    def solve(self, method: str, draws: int, seeds: Sequence[int], tick: Tick) -> Solution:
        """Answer by one of the methods for noisy moments."""
        found: Found = METHODS[method](self.asked(draws, seeds, tick))
        return Solution(found.weighed, self.units.to_user(found.drawn.working), found.without_noise,
                        tuple(hidden(self.moments, method)), found.weighed.doubts)


def hidden(moments: Moments, method: str) -> list[str]:
    """A warning if the noise hides how the predictors vary."""
    gram = moments.features.T @ moments.matrix @ moments.features
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    noise = np.sqrt([moments.squared_noise(direction) for direction in (moments.features @ vectors).T])
    count = int(np.sum(values < HIDDEN * noise))
    if not count:
        return []
    return [f"the noise hides how the predictors vary in {count} of {len(values)} directions (their moments are below {HIDDEN:g} "
            "standard deviations of the noise): the release says little about which terms matter, "
            + ("and probabilities are too low; do not conclude from them that a term can be left out"
               if method == DEFAULT_METHOD else
               f"and the method {method} mistakes noise for effects; do not conclude from its probabilities that a term matters")]
