"""How many parts a partition release should have, and which clipping limits: before anything is spent, without any data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.answers.noise import MeanNoise
from noisewise.answers.planning import PlannedParts, powers, probability_errors
from noisewise.errors import DeclarationError
from noisewise.holder.partition import plan_partition
from noisewise.parts.limits import centre_candidates, limits_about, width_candidates
from noisewise.privacy.partition import PartitionMechanism
from noisewise.privacy.sensitivity.bounds import rank_scores
from noisewise.progress import Tick, progress_bar
from noisewise.release.parts import LARGEST_COUNT
from noisewise.results.partition_plan import Expected, PartitionPlan, PlanLine
from noisewise.schema import Schema
from noisewise.schema.partition import MOST_PARTS
from noisewise.schema.questions import (
    BayesFactor,
    Criterion,
    PosteriorProbability,
    PosteriorQuantile,
    Question,
    question_from_dict,
    written,
)

Array: TypeAlias = npt.NDArray[np.float64]

FEWEST_ROWS: Final = 30
"""Of a part, beside one for each coefficient: with fewer a part is hardly normal."""
MOST_PREDICTORS: Final = 10_000
SCORE_LIMITS: Final = (0.75, 1.0, 1.5, 2.0, 3.0)
PROBABILITY_LIMITS: Final = (0.2, 0.1, 0.05, 0.01, 0.001)
BAYES_LIMITS: Final = tuple(round(math.log(odds), 2) for odds in (3.0, 9.0, 19.0, 99.0, 999.0))
TAILS: Final = (0.2, 0.05, 0.01, 0.001, 0.0001)
"""Of a likelihood ratio under the null hypothesis, beyond its upper limit."""
LOCATION: Final = 10.0
"""A coefficient that is planned for, in standard deviations of its posterior."""
REPEATS: Final = 200
RARELY: Final = 0.95
_ANYTHING: Final = Schema.from_dict({"adjacency": "replace-one", "columns": {"any": {"bounds": "unknown"}}})


def suggest_parts(
    *,
    rows: int,
    predictors: int,
    epsilon: float,
    delta: float | None = None,
    questions: Sequence[Question | Mapping[str, Any]] | Question | Mapping[str, Any] | None = None,
    mechanism: str | None = None,
    parts: Sequence[int] | None = None,
    progress: Tick | bool | None = None,
) -> PartitionPlan:
    """Plan a release of kind partition: the expected error of its answers for several numbers of parts, and the best of them.

    No data are read and nothing is spent. ``rows`` is about how many the table has, ``predictors`` how many columns the formula
    has beside the intercept (a category has one less than levels). Without ``questions`` one posterior probability is planned
    for. Limits that a question leaves at their default are chosen too; the plan's ``questions`` have them. ``parts``: compare
    these numbers instead. ``progress``: True or False, or None for a bar on a terminal.

    >>> suggest_parts(rows=100_000, predictors=3, epsilon=1.0, parts=[10, 500])
    <PartitionPlan: 500 parts of 200 rows, epsilon 1>
    """
    coefficients = _whole(predictors, "predictors", 1, MOST_PREDICTORS) + 1
    count = _whole(rows, "rows", 1, LARGEST_COUNT)
    asked = _questions(questions)
    chosen = plan_partition(_ANYTHING, asked, epsilon, delta, mechanism)
    sizes, lines = _sizes(count, coefficients, parts), []
    with progress_bar(progress, "Simulating releases", "numbers of parts") as tick:
        for size in sizes:
            lines.append(_line(asked, PlannedParts(count, size, coefficients), chosen))
            tick(len(lines), len(sizes))
    least = np.min([[one.loss for one in line.expected] for line in lines], axis=0)
    lines = [replace(line, loss=float(np.mean([one.loss for one in line.expected] / np.maximum(least, 1e-3)))) for line in lines]
    return PartitionPlan(rows=count, predictors=coefficients - 1, epsilon=chosen.epsilon, delta=chosen.delta,
                         mechanism=chosen.name, lines=tuple(lines))


def _whole(value: object, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise DeclarationError(f"{name} is a whole number from {least} to {most}", found=repr(value),
                               remedy="give about how many there are")
    return int(value)


def _questions(given: object) -> tuple[Question, ...]:
    if given is None:
        return (PosteriorProbability((("coefficient", 1.0),), (0.0,)),)
    kinds = (PosteriorProbability, PosteriorQuantile, BayesFactor, Criterion)
    many = [given] if isinstance(given, (*kinds, Mapping)) else list(given) if isinstance(given, (list, tuple)) else []
    if not many:
        raise DeclarationError("a plan is for questions", found=repr(given)[:200],
                               remedy="leave them out to plan for one posterior probability")
    return tuple(one if isinstance(one, kinds) else question_from_dict(one) for one in many)


def _sizes(rows: int, coefficients: int, given: Sequence[int] | None) -> list[int]:
    """Numbers of parts to compare: 2, 5, 10, 20, 50 and so on, while parts have rows enough."""
    most = min(rows // (FEWEST_ROWS + coefficients), MOST_PARTS)
    if most < 2:
        raise DeclarationError(f"a part needs about {FEWEST_ROWS} rows and one for each coefficient, and there are at least two",
                               found=f"{rows} rows, {coefficients} coefficients",
                               remedy="a release of kind gram serves small tables, if bounds are known")
    if given is None:
        return [size * 10**power for power in range(6) for size in (1, 2, 5) if 2 <= size * 10**power <= most]
    if not given or not all(not isinstance(size, bool) and isinstance(size, int) and 2 <= size <= most for size in given):
        raise DeclarationError(f"numbers of parts to compare are whole numbers from 2 to {most}, so that a part has about "
                               f"{FEWEST_ROWS} rows and one for each coefficient", found=repr(given), remedy="leave them out")
    return sorted(set(given))


def _line(questions: tuple[Question, ...], plan: PlannedParts, mechanism: PartitionMechanism) -> PlanLine:
    return PlanLine(plan.parts, plan.part_rows, tuple(_best(question, plan, mechanism) for question in questions))


def _best(question: Question, plan: PlannedParts, mechanism: PartitionMechanism) -> Expected:
    """The least loss among the limits to choose from."""
    found = [_expected(one, plan, mechanism) for one in _candidates(question, plan)]
    return min(found, key=lambda one: one.loss)


def _candidates(question: Question, plan: PlannedParts) -> Iterator[Question]:
    """The question with each limit that it may have; with its own if that was chosen."""
    from scipy.stats import chi2

    if isinstance(question, PosteriorProbability) and question == replace(question, limit=None) and question.limit is not None:
        limits = SCORE_LIMITS if question.combine == "stouffer" else PROBABILITY_LIMITS
        yield from (replace(question, limit=limit) for limit in limits)
    elif isinstance(question, BayesFactor) and question == BayesFactor(question.of, question.prior):
        yield from (replace(question, limits=(-limit, limit)) for limit in BAYES_LIMITS)
    elif isinstance(question, Criterion) and question == Criterion(question.name, question.of):
        tested = len(question.of)
        lowest = {"likelihood-ratio": 0.0, "aic": -2.0 * tested, "bic": -tested * math.log(plan.part_rows)}[question.name]
        for tail in TAILS:
            upper = float(f"{chi2.isf(tail, tested):.2g}")
            yield replace(question, limits=(float(f"{lowest:.2g}"), upper))
    else:
        yield question


def _expected(question: Question, plan: PlannedParts, mechanism: PartitionMechanism) -> Expected:
    if isinstance(question, PosteriorQuantile):
        return _width(question, plan, mechanism)
    limits = question.limits
    assert limits is not None
    noise = _noise(mechanism, plan.parts, limits[1] - limits[0])
    if isinstance(question, PosteriorProbability):
        errors = probability_errors(question, plan, noise)
        name = f"P({written(question.of)} <= b), {question.combine}"
        return Expected(name, "error", question, {f"{score:+g} sd" if score else "0": error for score, error in errors.items()},
                        float(np.mean(list(errors.values()))))
    found = powers(question, plan, noise)
    return Expected(question.numbers()[0][0], "power", question, {f"{effect:g} se": power for effect, power in found.items()},
                    1.0 - float(np.mean(list(found.values()))))


def _noise(mechanism: PartitionMechanism, parts: int, width: float = 1.0) -> MeanNoise:
    return MeanNoise(mechanism.name, width * mechanism.scale / parts, mechanism.sensitivity.numbers)


def _width(question: PosteriorQuantile, plan: PlannedParts, mechanism: PartitionMechanism) -> Expected:
    """Of a coefficient's interval, by simulation; with declared bounds, the noise as a share of their distance."""
    noise, name = _noise(mechanism, plan.parts).sd, written(question.of)
    if question.bounds is not None:
        return Expected(name, "noise", question, {"share": noise}, noise)
    random = np.random.default_rng(0)
    variances, misses = [], []
    for _ in range(REPEATS):
        spread = math.sqrt(plan.parts / (1.0 - plan.loss))
        medians = spread * random.standard_normal(plan.parts)
        medians += LOCATION - medians.mean()
        centre = _selected(medians, centre_candidates(), mechanism.epsilon * question.centre_share, random)
        distance = _selected(np.abs(medians - centre), width_candidates(), mechanism.epsilon * question.width_share, random)
        lower, upper = limits_about(centre, distance)
        clipped = np.clip(medians, lower, upper)
        variances.append(1.0 / (1.0 - plan.loss) + ((upper - lower) * noise) ** 2)
        misses.append(clipped.mean() - LOCATION)
    # An interval must allow for a search that misses, unless that is rare.
    width = math.sqrt(np.median(variances) + np.quantile(np.abs(misses), RARELY) ** 2)
    return Expected(name, "width", question, {"width": width}, width)


def _selected(values: Array, grid: Array, epsilon: float, random: np.random.Generator) -> float:
    """Permute-and-flip in distribution: the largest score with exponential noise."""
    beyond = len(values) - np.searchsorted(np.sort(values), grid, side="right")
    scores = rank_scores(beyond.astype(np.int64), len(values), len(values) // 2)
    return float(grid[np.argmax(scores + random.exponential(2.0 / epsilon, len(grid)))])
