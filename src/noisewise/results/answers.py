"""What a partition release says: answers and tests, each with a name and a sentence, in a table that people want to look at."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from noisewise.arrays import Array
from noisewise.notebook import card, frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

One = TypeVar("One", "Answer", "HypothesisTest")


@dataclass(frozen=True, eq=False)
class PartitionResults(Generic[One]):
    """What a partition release says, in the order of its questions; ``parts`` is the number of random parts of the table."""

    formula: str
    parts: int

    @property
    def items(self) -> tuple[One, ...]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[One]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, name: str) -> One:
        """An item by its name."""
        for one in self.items:
            if one.name == name:
                return one
        raise KeyError(name)

    def summary(self) -> pd.DataFrame:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.formula!r}: {len(self)} from {self.parts} parts>"

    def _repr_html_(self) -> str:
        sentences = [one.sentence for one in self]
        return card(f"{self.formula}, from {self.parts} random parts", frame(self.summary()), notes=sentences)

    def __str__(self) -> str:
        return "\n".join(one.sentence for one in self)


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
    draws: Array = field(repr=False)
    raw: float | None = None
    limits: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """For machines, without the draws."""
        return {"name": self.name, "kind": self.kind, "point": self.point, "lower": self.lower, "upper": self.upper,
                "released": self.raw, "limits": None if self.limits is None else list(self.limits), "sentence": self.sentence}


@dataclass(frozen=True, eq=False, repr=False)
class Answers(PartitionResults[Answer]):
    """All answers of a release, in the order of its questions."""

    probability: float
    answers: tuple[Answer, ...]

    @property
    def items(self) -> tuple[Answer, ...]:
        return self.answers

    def summary(self) -> pd.DataFrame:
        """One line for each answer."""
        import pandas as pd

        return pd.DataFrame(
            [(one.kind, one.point, one.lower, one.upper) for one in self.answers],
            columns=["kind", "point", "lower", "upper"], index=pd.Index([one.name for one in self.answers], name="answer"))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Points and intervals: probabilities on one axis from 0 to 1, everything else on an axis of its own."""
        from noisewise.plots.answers import draw_answers

        return draw_answers(self, path)

    def to_dict(self) -> dict[str, Any]:
        """For machines, without the draws."""
        return {"formula": self.formula, "parts": self.parts, "probability": self.probability,
                "answers": [one.to_dict() for one in self.answers]}


@dataclass(frozen=True)
class HypothesisTest:
    """One test.

    ``critical``: for each level, where the null hypothesis is rejected: at or below the first number, at or above the second.
    ``uncalibrated``: the critical values of someone who ignores parts, clipping and noise, where there are such.
    ``hypothesis`` is what is tested, ``measure`` what the statistic is, both in words.
    """

    name: str
    statistic: float
    p_value: float
    critical: Mapping[float, tuple[float | None, float | None]]
    sides: str
    uncalibrated: Mapping[float, float] | None = None
    hypothesis: str = "the null hypothesis"
    measure: str = "statistic"

    def rejects(self, level: float) -> bool:
        """Whether the null hypothesis is rejected at this level."""
        return self.p_value <= level

    def to_dict(self) -> dict[str, Any]:
        """For machines. A critical value of None: nothing is rejected on that side."""
        known = self.uncalibrated or {}
        return {"name": self.name, "hypothesis": self.hypothesis, "measure": self.measure, "statistic": self.statistic,
                "p_value": self.p_value, "sides": self.sides,
                "levels": [{"level": level, "reject_at_or_below": _finite(below), "reject_at_or_above": _finite(above),
                            "uncalibrated": known.get(level), "rejected": self.rejects(level)}
                           for level, (below, above) in self.critical.items()],
                "sentence": self.sentence}

    @property
    def sentence(self) -> str:
        decisions = ", ".join(f"{'rejected' if self.rejects(level) else 'not rejected'} at {level:g}" for level in self.critical)
        return (f"{self.hypothesis}: {decisions}; p = {self.p_value:.3g}. The {self.measure} over the parts is "
                f"{self.statistic:.3g}.")


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True, repr=False)
class HypothesisTests(PartitionResults[HypothesisTest]):
    """All tests of a release."""

    tests: tuple[HypothesisTest, ...]

    @property
    def items(self) -> tuple[HypothesisTest, ...]:
        return self.tests

    def summary(self) -> pd.DataFrame:
        """One line for each test."""
        import pandas as pd

        lines = [{"statistic": one.statistic, "p": one.p_value,
                  **{f"critical {level:g}": " and ".join(f"{bound:.3g}" for bound in bounds if bound is not None)
                     for level, bounds in one.critical.items()}} for one in self.tests]
        return pd.DataFrame(lines, index=pd.Index([one.name for one in self.tests], name="test"))

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"formula": self.formula, "parts": self.parts, "tests": [one.to_dict() for one in self.tests]}
