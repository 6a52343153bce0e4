"""The data holder's side of a `partition` release: questions answered by random parts, in `noisewise.holder`'s order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from noisewise.errors import DeclarationError
from noisewise.holder.ledger import released
from noisewise.parts.limits import centre_candidates, limits_about, width_candidates
from noisewise.parts.statistics import PartAnswers, on_scale
from noisewise.privacy.ledger import BudgetLedger
from noisewise.privacy.partition import STEPS, PartitionMechanism
from noisewise.privacy.sensitivity.partition import PartitionSensitivity
from noisewise.progress import Tick
from noisewise.release.model import today
from noisewise.release.partition import Number, PartitionRelease
from noisewise.schema import Design, Schema
from noisewise.schema.partition import MOST_PARTS, PartPrior, expand_terms, part_design
from noisewise.schema.questions import (
    BayesFactor,
    Criterion,
    Limits,
    PosteriorProbability,
    PosteriorQuantile,
    Question,
    question_from_dict,
)
from noisewise.version import __version__

_STAND_IN: Final[Limits] = (0.0, 1.0)


def release_partition(
    data: Any,
    schema: Schema,
    *,
    formula: str | None,
    questions: Sequence[Question | Mapping[str, Any]] | Question | Mapping[str, Any] | None,
    parts: int | None,
    prior: PartPrior | Mapping[str, Any] | str | None = None,
    epsilon: float,
    delta: float | None,
    mechanism: str | None,
    ledger: BudgetLedger | None,
    edition: str = "",
    progress: Tick | bool | None,
) -> PartitionRelease:
    """Release the answers of random parts of a table: see `noisewise.release` with ``kind="partition"``.

    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
    ...     "y": {"bounds": "unknown"}, "x": {"bounds": "unknown"}}})
    >>> x = np.arange(100.0)
    >>> release_partition({"y": 2 * x + x % 7, "x": x}, schema, formula="y ~ x", parts=10, epsilon=1.0, delta=None,
    ...     questions=[{"ask": "posterior-probability", "of": "x", "at": [0]}], mechanism=None, ledger=None, progress=False)
    <Release partition: y ~ x, 1 question in 10 parts, replace-one, (epsilon, delta) = (1.0, 0.0)>
    """
    blank, chosen = planned(schema, formula=formula, questions=questions, parts=parts, prior=prior, epsilon=epsilon, delta=delta,
                            mechanism=mechanism)
    design = part_design(schema, blank.formula, ())

    def read() -> Callable[[], PartitionRelease]:
        from noisewise.data.part_grams import part_moments

        found = part_moments(data, schema, design, blank.parts, progress=progress)
        with np.errstate(all="ignore"):
            answers = PartAnswers(found.counts, found.products, found.shift, design, blank.prior)
        ready = replace(blank, rows=found.rows if schema.rows_are_public else None, balanced=found.balanced)
        return lambda: _filled(ready, answers, chosen)

    return released(ledger, blank, chosen.cost(), edition, read)


def planned(schema: Schema, *, formula: object, questions: object, parts: object, prior: object, epsilon: float,
            delta: float | None, mechanism: str | None) -> tuple[PartitionRelease, PartitionMechanism]:
    """The release as it will be, but for its numbers, and its mechanism; or what is wrong with the request."""
    if not isinstance(formula, str):
        raise DeclarationError("a release of kind partition is for one regression, and needs its formula", found=repr(formula),
                               remedy='give formula="response ~ predictor + predictor"')
    formula = formula.strip()
    count = _checked_parts(parts)
    design = part_design(schema, formula, ())
    asked = _checked_questions(questions, design)
    part_design(schema, formula, asked)
    chosen = plan_partition(schema, asked, epsilon, delta, mechanism)
    return _blank(schema, formula, PartPrior.from_dict(prior), count, asked, chosen), chosen


def plan_partition(schema: Schema, questions: Sequence[Question], epsilon: float, delta: float | None,
                   mechanism: str | None = None) -> PartitionMechanism:
    """The mechanism that a release would use, with its noise; from public declarations alone, and it spends nothing."""
    sensitivity = PartitionSensitivity(
        numbers=sum(len(question.numbers()) for question in questions), adjacency=schema.adjacency,
        unit_is_row=schema.unit.is_row, max_rows=schema.unit.max_rows,
    )
    shares = tuple(share for question in questions if _is_open(question)
                   for share in (question.centre_share, question.width_share))  # type: ignore[union-attr]
    return PartitionMechanism.calibrate(sensitivity, epsilon, delta, mechanism, shares)


def _is_open(question: Question) -> bool:
    return isinstance(question, PosteriorQuantile) and question.bounds is None


def _checked_parts(parts: object) -> int:
    if isinstance(parts, bool) or not isinstance(parts, int) or not 2 <= parts <= MOST_PARTS:
        raise DeclarationError(f"parts, the number of random parts, is a whole number from 2 to {MOST_PARTS}", found=repr(parts),
                               remedy="`noisewise plan partition` suggests one")
    return parts


def _checked_questions(given: object, design: Design) -> tuple[Question, ...]:
    kinds = (PosteriorProbability, PosteriorQuantile, BayesFactor, Criterion)
    many = [given] if isinstance(given, (*kinds, Mapping)) else list(given) if isinstance(given, (list, tuple)) else []
    if not many:
        raise DeclarationError("a partition release answers questions, and needs at least one", found=repr(given)[:200],
                               remedy='for example questions=[{"ask": "posterior-probability", "of": "age", "at": [0]}], '
                                      'on the command line --ask "posterior-probability of=age at=0"')
    asked = [one if isinstance(one, kinds) else question_from_dict(one) for one in many]
    asked = [replace(one, of=expand_terms(design, one.of)) if isinstance(one, (BayesFactor, Criterion)) else one for one in asked]
    names = [name for one in asked for name, _ in one.numbers()]
    if len(set(names)) < len(names):
        repeated = next(name for index, name in enumerate(names) if name in names[:index])
        raise DeclarationError("each question is asked once", found=repeated, remedy="remove the repetition")
    return tuple(asked)


def _blank(schema: Schema, formula: str, prior: PartPrior, parts: int, questions: tuple[Question, ...],
           mechanism: PartitionMechanism) -> PartitionRelease:
    """The release as it will be, with zeros for numbers, and proof that it can be written."""
    from noisewise.release.format import encode

    numbers = [Number(name, *(limits or _STAND_IN), 0.0) for question in questions for name, limits in question.numbers()]
    blank = PartitionRelease(
        schema=schema, rows=0 if schema.rows_are_public else None, epsilon=mechanism.epsilon, delta=mechanism.delta,
        mechanism=mechanism.name, statement=mechanism.statement(schema.unit.column), created=today(),
        library=f"noisewise {__version__}", formula=formula, prior=prior, parts=parts, balanced=schema.rows_are_public,
        questions=questions, numbers=tuple(numbers), noise=mechanism.scale,
    )
    encode(blank)
    return blank


def _filled(blank: PartitionRelease, answers: PartAnswers, mechanism: PartitionMechanism) -> PartitionRelease:
    """Select limits, then draw the noise. The budget has been charged."""
    with np.errstate(all="ignore"):
        limits = limits_of(blank, answers, mechanism)
        sums = part_values(blank, answers, limits).sum(axis=1)
    noisy = mechanism.perturb(sums)
    numbers = tuple(Number(number.name, *limits[number.name], float(found))
                    for number, found in zip(blank.numbers, noisy, strict=True))
    return replace(blank, numbers=numbers)


def limits_of(blank: PartitionRelease, answers: PartAnswers, mechanism: PartitionMechanism) -> dict[str, Limits]:
    """The limits of every number: as they were declared, or selected, which costs."""
    limits: dict[str, Limits] = {}
    selected = 0
    for question in blank.questions:
        if not isinstance(question, PosteriorQuantile):
            limits.update((name, found) for name, found in question.numbers() if found is not None)
            continue
        lower, upper = _location_limits(question, answers, mechanism, selected)
        selected += 2 * _is_open(question)
        location, scale = (name for name, _ in question.numbers())
        limits[location], limits[scale] = (lower, upper), (0.0, (upper - lower) / 2.0 / math.sqrt(blank.parts))
    return limits


def part_values(blank: PartitionRelease, answers: PartAnswers, limits: Mapping[str, Limits]) -> NDArray[np.int64]:
    """(numbers, parts): what each part says, clipped to the limits, in steps of the grid."""
    return np.array([on_scale(row, limits[name], STEPS) for question in blank.questions
                     for (name, _), row in zip(question.numbers(), answers.answers(question, limits), strict=True)])


def _location_limits(question: PosteriorQuantile, answers: PartAnswers, mechanism: PartitionMechanism, place: int) -> Limits:
    if question.bounds is not None:
        return question.bounds
    location, _, usable = answers.location_and_scale(question)
    centre = mechanism.select(place, np.where(usable, location, np.inf), centre_candidates())
    distance = mechanism.select(place + 1, np.where(usable, np.abs(location - centre), np.inf), width_candidates())
    return limits_about(centre, distance)
