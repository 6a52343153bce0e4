"""Many simulated model releases for one regression, and the intervals of fits to them.

A simulated release goes through the holder's own search, with the sums of a hypothetical table and noise from a seed. Its fit is
the normal approximation at the mode of `noisewise.fit`'s posterior: with the noise of all rounds in it, that posterior is nearly
normal, and a sampler would take a hundred times as long.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, TypedDict

import numpy as np

from noisewise.arrays import Array
from noisewise.holder.model import ModelPlan
from noisewise.holder.model import plan as plan_model
from noisewise.kinds import Model
from noisewise.planning.intervals import Ends
from noisewise.planning.noise import noisy_round
from noisewise.planning.population import Population
from noisewise.planning.simulation import LIBRARY, STATEMENT, Fits, Found, Near, Promise, stacked
from noisewise.planning.tables import Regression
from noisewise.posterior.model.problem import ModelProblem
from noisewise.posterior.prior import Prior
from noisewise.releases.release import Release
from noisewise.schema import Design
from noisewise.scores.estimate import Estimate, NormalPrior
from noisewise.scores.families import FAMILIES
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Known
from noisewise.scores.next_round import FINDING, LOOK
from noisewise.scores.reference import Reference
from noisewise.scores.rounds import Look, Point
from noisewise.scores.search import Search


@dataclass(frozen=True)
class ModelSimulation:
    """Everything that is fixed while rows and epsilon vary."""

    METHODS: ClassVar[tuple[str, ...]] = ("auto", "fast")

    population: Population
    kind: Model
    delta: float | None
    holders: int
    prior: Prior | None
    interval: float
    repeats: int
    seed: int
    method: str = "fast"
    _plans: dict[float, ModelPlan] = field(default_factory=dict, repr=False)

    @property
    def family(self) -> str:
        """The family of the regression."""
        return self.kind.family

    @property
    def biased_by_clipping(self) -> bool:
        """Counts beyond their bounds are expected where they are cut off; numbers are not."""
        return self.regression.family.response == "number"

    def plan(self, epsilon: float) -> ModelPlan:
        """The planned release; refuses what `release` would refuse."""
        if epsilon not in self._plans:
            self._plans[epsilon] = plan_model(self.kind, self.population.design.basis.schema, epsilon, self.delta)
        return self._plans[epsilon]

    def promise(self, epsilon: float) -> Promise:
        """The mechanism and delta of the planned release."""
        part = self.plan(epsilon).blank.contents
        return Promise(part.mechanism, part.delta)

    @cached_property
    def regression(self) -> Regression:
        """The population as a model release sees it."""
        return Regression(self.population, FAMILIES[self.kind.family])

    @cached_property
    def design(self) -> Design:
        """The formula on the released columns."""
        return Design.of(self.kind.formula, self.regression.basis, self.kind.terms)

    def release(self, rows: int, epsilon: float, number: int) -> Release:
        """Simulation ``number`` of one cell. Cells share random numbers, which makes curves smooth."""
        random = np.random.default_rng([self.seed, number])
        made = self.plan(epsilon)
        part, public = made.blank.contents, made.blank.schema.rows_are_public
        parts = []
        for _ in range(self.holders):
            table, basis = self.regression.table(rows, random), self.regression.basis
            sums = table.look()
            look = Look(noise=part.look.noise, sums=sums + part.look.noise * random.normal(size=len(sums)),
                        rows=float(rows) if public else rows + part.look.rows_noise * float(random.normal()),
                        rows_noise=part.look.rows_noise)
            problem = Problem.of(basis, self.design, self.regression.family, look)
            search = Search.of(basis, problem, Known.of(basis, problem.family, look), 1.0 - LOOK, made.mechanism.noise_for)
            found = search.rounds(lambda point, noise, table=table, problem=problem: noisy_round(  # type: ignore[misc]
                random, table.round(problem, point, noise)), **_looking(self.kind))
            sensitivity = max(made.mechanism.sensitivity.of_round(one.point.spread) for one in found)
            parts.append(replace(part, look=look, rounds=found, rows=rows if public else None, sensitivity=sensitivity,
                                 statement=STATEMENT, library=LIBRARY))
        return made.blank.with_contributions(tuple(parts))

    def found(self, rows: int, epsilon: float, fits: Fits, near: Near | None = None) -> Found:
        """Intervals of one cell."""
        ends = []
        for number in range(self.repeats):
            ends.append(self._ends(self.release(rows, epsilon, number)))
            fits.count(1)
        return Found(stacked(ends), hidden=0.0, sampled=False)

    def _ends(self, release: Release) -> Ends:
        problem = ModelProblem.of(release, self.design, self.prior, robust=False)
        estimate = Estimate.of(problem.likelihoods, problem.prior)
        reach = self._reach * np.sqrt(np.diag(estimate.coefficient_covariance))
        return Ends(estimate.coefficients - reach, estimate.coefficients, estimate.coefficients + reach)

    @cached_property
    def _reach(self) -> float:
        from scipy.stats import norm

        return float(norm.ppf((1 + self.interval) / 2))

    def prior_widths(self) -> dict[str, float]:
        """The widths of the usual prior's intervals by term, for the population's own columns; empty for another prior."""
        if self.prior is not None:
            return {}
        one = self.regression
        rows = Reference(one.pool, np.full(len(one.pool), 1 / len(one.pool)))
        mean, square = self.population.law.moments(self.population.eta)
        spread = float(np.sqrt(np.mean(square) - np.mean(mean) ** 2))
        usual = NormalPrior.usual(one.problem(1.0, 0.0), [rows], spread)
        widths: Array = 2 * self._reach * np.sqrt(np.diag(np.linalg.inv(usual.precision)))
        return dict(zip(self.population.effects, map(float, widths), strict=True))


class _Looking(TypedDict):
    most: int
    start: Point | None


def _looking(kind: Model) -> _Looking:
    """How many rounds look for the coefficients, or where to start instead."""
    most = len(FINDING) if kind.rounds is None else kind.rounds
    start = kind.start
    return {"most": most, "start": None if start is None else Point(
        coefficients=np.array(start.coefficients), coordinates=start.matrix(), scale=start.scale, spread=False)}
