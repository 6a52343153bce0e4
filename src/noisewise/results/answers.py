"""Answers of a partition release: a point, an interval and a sentence each, in a table that people want to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Answer:
    """One answer. ``draws`` are from the distribution that the noise implies; ``raw`` is the released number, where it is one."""

    name: str
    kind: str
    point: float
    lower: float
    upper: float
    sentence: str
    draws: npt.NDArray[np.float64] = field(repr=False)
    raw: float | None = None


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

    def __str__(self) -> str:
        return "\n".join(one.sentence for one in self.answers)
