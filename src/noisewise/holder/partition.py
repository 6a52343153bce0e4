"""The plan of a `Partition` release: questions answered by random parts of the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from noisewise.holder.plan import Plan, blank_release, head, protected, public_rows
from noisewise.kinds import Partition
from noisewise.privacy.mechanisms.partition import STEPS, PartitionMechanism
from noisewise.privacy.sensitivity.partition import PartitionSensitivity
from noisewise.releases.contents.partition import Number, PartitionContribution
from noisewise.run import Run
from noisewise.schema import Schema
from noisewise.schema.partition import on_scale
from noisewise.schema.questions import Limits, PosteriorQuantile, Question
from noisewise.schema.search_grid import centre_candidates, limits_about, width_candidates

if TYPE_CHECKING:
    from noisewise.data.parts.answers import PartAnswers

_STAND_IN: Final[Limits] = (0.0, 1.0)


class PartitionPlan(Plan[PartitionMechanism]):
    """Answers of random parts, summed, with noise."""

    @property
    def asked(self) -> Partition:
        """The kind, with its questions."""
        assert isinstance(self.blank.kind, Partition)
        return self.blank.kind

    def read(self, data: object, to: Path | None, run: Run) -> Callable[[], PartitionContribution]:
        """Split the rows at random and compute each part's moments."""
        from noisewise.data.parts.answers import PartAnswers
        from noisewise.data.statistics.partition import part_moments

        schema, kind = self.blank.schema, self.asked
        design = kind.design(schema)
        found = part_moments(data, schema, design, kind.parts, run=run)
        with np.errstate(all="ignore"):
            answers = PartAnswers(found.counts, found.products, found.shift, design, kind.part_prior)
        ready = replace(self.blank.contents, rows=public_rows(schema, found.rows), balanced=found.balanced)
        return lambda: self.answered(ready, answers)

    def answered(self, ready: PartitionContribution, answers: PartAnswers) -> PartitionContribution:
        """Select limits, then draw the noise. The budget is already charged."""
        with np.errstate(all="ignore"):
            limits = self.limits_of(answers)
            sums = self.part_values(answers, limits).sum(axis=1)
        noisy = self.mechanism.perturb(sums)
        numbers = tuple(Number(number.name, *limits[number.name], float(found))
                        for number, found in zip(ready.numbers, noisy, strict=True))
        return replace(ready, numbers=numbers)

    def limits_of(self, answers: PartAnswers) -> dict[str, Limits]:
        """The limits of every number: as declared, or selected from the data, which costs budget."""
        limits: dict[str, Limits] = {}
        selected = 0
        for question in self.asked.ask:
            if not isinstance(question, PosteriorQuantile):
                limits.update((name, found) for name, found in question.numbers() if found is not None)
                continue
            lower, upper = _location_limits(question, answers, self.mechanism, selected)
            selected += 2 * _is_open(question)
            location, scale = (name for name, _ in question.numbers())
            limits[location], limits[scale] = (lower, upper), (0.0, (upper - lower) / 2.0 / math.sqrt(self.asked.parts))
        return limits

    def part_values(self, answers: PartAnswers, limits: Mapping[str, Limits]) -> NDArray[np.int64]:
        """(numbers, parts): the answers of each part, clipped to the limits, in grid steps."""
        return np.array([on_scale(row, limits[name], STEPS) for question in self.asked.ask
                         for (name, _), row in zip(question.numbers(), answers.answers(question, limits), strict=True)])


def plan(kind: Partition, schema: Schema, epsilon: float, delta: float | None) -> PartitionPlan:
    """Plan the release."""
    kind = kind.expanded(schema)
    kind.design(schema)
    mechanism = plan_partition(schema, kind.ask, epsilon, delta, kind.mechanism)
    numbers = tuple(Number(name, *(limits or _STAND_IN), 0.0) for question in kind.ask for name, limits in question.numbers())
    sensitivity = mechanism.sensitivity.norm if mechanism.name == "gaussian" else mechanism.sensitivity.largest
    one = PartitionContribution(
        balanced=schema.rows_are_public, numbers=numbers, noise=mechanism.scale, noise_epsilon=mechanism.noise_epsilon,
        **head(mechanism, schema, sensitivity))
    return PartitionPlan(mechanism, blank_release(replace(kind, mechanism=mechanism.name), schema, one))


def plan_partition(schema: Schema, questions: Sequence[Question], epsilon: float, delta: float | None,
                   mechanism: str | None = None) -> PartitionMechanism:
    """Choose the mechanism and its noise from public declarations alone; this spends nothing."""
    sensitivity = PartitionSensitivity(numbers=sum(len(question.numbers()) for question in questions), **protected(schema))
    shares = tuple(share for question in questions if _is_open(question)
                   for share in (question.centre_share, question.width_share))  # type: ignore[union-attr]
    return PartitionMechanism.calibrate(sensitivity, epsilon, delta, mechanism, shares)


def _is_open(question: Question) -> bool:
    return isinstance(question, PosteriorQuantile) and question.bounds is None


def _location_limits(question: PosteriorQuantile, answers: PartAnswers, mechanism: PartitionMechanism, place: int) -> Limits:
    if question.bounds is not None:
        return question.bounds
    location, _, usable = answers.location_and_scale(question)
    centre = mechanism.select(place, np.where(usable, location, np.inf), centre_candidates())
    distance = mechanism.select(place + 1, np.where(usable, np.abs(location - centre), np.inf), width_candidates())
    return limits_about(centre, distance)
