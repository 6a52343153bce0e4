"""A plan of a partition release: the expected error of its answers for several numbers of parts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from noisewise.notebook import card, frame
from noisewise.schema.questions import Question

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MEASURES: Final[Mapping[str, str]] = {
    "error": "expected absolute error of the posterior probability, where b is so many standard deviations from the estimate",
    "power": "power of the calibrated test at level 0.05, where the effect is so many standard errors of the whole table",
    "width": "how far an answer may be off, by noise and clipping, as a multiple of the posterior's width without privacy",
    "noise": "standard deviation of the noise on the coefficient, as a share of the distance between its declared bounds",
}


@dataclass(frozen=True)
class Expected:
    """How good the answer to one question would be.

    ``measure`` is what is measured, one of ``MEASURES``; ``values`` are its values; ``question`` has the best limits.
    """

    name: str
    measure: str
    question: Question
    values: Mapping[str, float]
    loss: float

    def limits(self) -> str:
        """The clipping limits in words; empty where there are none to choose."""
        declared = self.question.to_dict()
        if "limit" in declared:
            return f"{declared['limit']:g}"
        return " to ".join(f"{end:g}" for end in declared.get("limits", ()))


@dataclass(frozen=True)
class PlanLine:
    """One number of parts. ``loss`` is the mean over the questions of the loss relative to the least one: 1 is best for all."""

    parts: int
    part_rows: float
    expected: tuple[Expected, ...]
    loss: float = 0.0


@dataclass(frozen=True)
class PartitionPlan:
    """Numbers of parts, what each would give, and the best of them."""

    rows: int
    predictors: int
    epsilon: float
    delta: float
    mechanism: str
    lines: tuple[PlanLine, ...]

    @property
    def best(self) -> PlanLine:
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
        """What is expected against the number of parts, one panel for each question."""
        from noisewise.results.plots.partition_plan import draw_plan

        return draw_plan(self, path)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
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
