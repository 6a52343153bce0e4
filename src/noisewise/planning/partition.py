"""Suggest how many parts a partition release should have, and which clipping limits, without any data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from noisewise.checks import is_whole
from noisewise.errors import DeclarationError
from noisewise.notebook import card, frame
from noisewise.planning.assumptions import whole_number
from noisewise.planning.partition_answers import PlanLine, PlannedParts, best_answer
from noisewise.releases.checks import LARGEST_COUNT
from noisewise.run import DEFAULT, Run
from noisewise.schema import Schema
from noisewise.schema.partition import MOST_PARTS
from noisewise.schema.questions import PosteriorProbability, Question, questions_from

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FEWEST_ROWS: Final = 30
"""Per part, plus one for each coefficient: with fewer, the answers of a part are hardly normal."""
MOST_PREDICTORS: Final = 10_000
ONE: Final = (PosteriorProbability((("coefficient", 1.0),), (0.0,)),)
"""Planned for when no questions are given."""
_ANYTHING: Final = Schema.from_dict({"adjacency": "replace-one", "columns": {"any": {"bounds": "unknown"}}})


@dataclass(frozen=True)
class PartitionPlan:
    """Numbers of parts, the answers to expect from each, and the best number."""

    rows: int
    predictors: int
    epsilon: float
    delta: float
    mechanism: str
    lines: tuple[PlanLine, ...]

    @property
    def best(self) -> PlanLine:
        """The line with the least loss."""
        return min(self.lines, key=lambda line: line.loss)

    @property
    def parts(self) -> int:
        """The suggested number of parts."""
        return self.best.parts

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions with the suggested limits."""
        return tuple(one.question for one in self.best.expected)

    def table(self) -> pd.DataFrame:
        """One row for each number of parts and question."""
        import pandas as pd

        rows = [{"parts": line.parts, "question": one.name, "rows per part": line.part_rows, "limits": one.limits(),
                 "measure": one.measure, **one.values} for line in self.lines for one in line.expected]
        return pd.DataFrame(rows).set_index(["parts", "question"])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot what to expect against the number of parts, one panel for each question."""
        from noisewise.planning.pictures import draw_parts

        return draw_parts(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "rows": self.rows, "predictors": self.predictors, "epsilon": self.epsilon, "delta": self.delta,
            "mechanism": self.mechanism, "parts": self.parts,
            "questions": [question.to_dict() for question in self.questions],
            "lines": [{"parts": line.parts, "part_rows": line.part_rows, "relative_loss": line.loss,
                       "expected": [{"name": one.name, "measure": one.measure, "values": dict(one.values), "loss": one.loss,
                                     "question": one.question.to_dict()} for one in line.expected]} for line in self.lines],
        }

    def __repr__(self) -> str:
        return f"<PartitionPlan: {self.parts} parts of {self.rows / self.parts:,.0f} rows, epsilon {self.epsilon:g}>"

    def _repr_html_(self) -> str:
        return card(f"{self.parts} parts are suggested", frame(self.table(), digits=3))


def suggest_parts(*, rows: int, predictors: int, epsilon: float, delta: float | None = None,
                  questions: Sequence[Question | Mapping[str, Any]] | Question | Mapping[str, Any] | None = None,
                  mechanism: str | None = None, parts: Sequence[int] | None = None, run: Run = DEFAULT) -> PartitionPlan:
    """Plan a release of kind partition: the expected error of its answers for several numbers of parts, and the best of them.

    No data are read and nothing is spent. ``rows`` is the approximate number of rows. ``predictors`` is the number of columns
    of the formula besides the intercept (a category has one fewer than its levels). Without ``questions``, one posterior
    probability is planned for. Limits that a question leaves at their default are chosen too, and returned in the plan's
    ``questions``. ``parts``: compare these numbers instead. ``run``: see `Run`.

    >>> suggest_parts(rows=100_000, predictors=3, epsilon=1.0, parts=[10, 500])
    <PartitionPlan: 500 parts of 200 rows, epsilon 1>
    """
    from noisewise.holder.partition import plan_partition

    coefficients = whole_number("predictors", predictors, 1, MOST_PREDICTORS, "an approximate number will do") + 1
    count = whole_number("rows", rows, 1, LARGEST_COUNT, "an approximate number will do")
    asked = ONE if questions is None else questions_from(questions)
    if not asked:
        raise DeclarationError("a plan needs at least one question", found=repr(questions)[:200],
                               remedy="leave questions out to plan for one posterior probability")
    chosen = plan_partition(_ANYTHING, asked, epsilon, delta, mechanism)
    sizes, lines = _sizes(count, coefficients, parts), []
    with run.bar("Simulating releases", "numbers of parts") as tick:
        for size in sizes:
            plan = PlannedParts(count, size, coefficients)
            lines.append(PlanLine(size, plan.part_rows, tuple(best_answer(question, plan, chosen) for question in asked)))
            tick(len(lines), len(sizes))
    least = np.min([[one.loss for one in line.expected] for line in lines], axis=0)
    lines = [line._replace(loss=float(np.mean([one.loss for one in line.expected] / np.maximum(least, 1e-3)))) for line in lines]
    return PartitionPlan(rows=count, predictors=coefficients - 1, epsilon=chosen.epsilon, delta=chosen.delta,
                         mechanism=chosen.name, lines=tuple(lines))


def _sizes(rows: int, coefficients: int, given: Sequence[int] | None) -> list[int]:
    """Numbers of parts to compare: 2, 5, 10, 20, 50 and so on, while parts have enough rows."""
    most = min(rows // (FEWEST_ROWS + coefficients), MOST_PARTS)
    if most < 2:
        raise DeclarationError(f"each of at least two parts needs about {FEWEST_ROWS} rows plus one for each coefficient",
                               found=f"{rows} rows, {coefficients} coefficients",
                               remedy="for small tables use a release of kind gram, if bounds are known")
    if given is None:
        return [size * 10**power for power in range(6) for size in (1, 2, 5) if 2 <= size * 10**power <= most]
    if not given or not all(is_whole(size, 2, most) for size in given):
        raise DeclarationError(f"numbers of parts to compare must be whole numbers from 2 to {most}, so that a part has about "
                               f"{FEWEST_ROWS} rows plus one for each coefficient", found=repr(given), remedy="leave them out")
    return sorted(set(given))
