"""Answers of a partition release: a point, an interval and a sentence each, in a table that people want to look at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from noisewise.notebook import card, frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Answer:
    """One answer.

    ``draws`` are from the distribution that the noise implies; ``raw`` is the released number, where it is one; ``limits`` are
    those that the parts' values were clipped to, where the answer has their units.
    """

    name: str
    kind: str
    point: float
    lower: float
    upper: float
    sentence: str
    draws: npt.NDArray[np.float64] = field(repr=False)
    raw: float | None = None
    limits: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """For machines, without the draws."""
        return {"name": self.name, "kind": self.kind, "point": self.point, "lower": self.lower, "upper": self.upper,
                "released": self.raw, "limits": None if self.limits is None else list(self.limits), "sentence": self.sentence}


@dataclass(frozen=True, eq=False)
class Answers:
    """All answers of a release, in the order of its questions."""

    formula: str
    parts: int
    probability: float
    answers: tuple[Answer, ...]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, name: str) -> Answer:
        """An answer by its name."""
        for one in self.answers:
            if one.name == name:
                return one
        raise KeyError(name)

    def summary(self) -> pd.DataFrame:
        """One line for each answer."""
        import pandas as pd

        return pd.DataFrame(
            [(one.kind, one.point, one.lower, one.upper) for one in self.answers],
            columns=["kind", "point", "lower", "upper"], index=pd.Index([one.name for one in self.answers], name="answer"))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Points and intervals: probabilities on one axis from 0 to 1, everything else on an axis of its own."""
        from noisewise.results.plots.answers import draw_answers

        return draw_answers(self, path)

    def to_dict(self) -> dict[str, Any]:
        """For machines, without the draws."""
        return {"formula": self.formula, "parts": self.parts, "probability": self.probability,
                "answers": [one.to_dict() for one in self.answers]}

    def __repr__(self) -> str:
        return f"<Answers {self.formula!r}: {len(self)} from {self.parts} parts>"

    def _repr_html_(self) -> str:
        sentences = [one.sentence for one in self]
        return card(f"{self.formula}, from {self.parts} random parts", frame(self.summary()), notes=sentences)

    def __str__(self) -> str:
        return "\n".join(one.sentence for one in self.answers)
