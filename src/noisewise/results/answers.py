"""Answers and tests from a partition release, each with a name and a sentence, and as a table."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from noisewise.arrays import Array
from noisewise.notebook import card, frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

One = TypeVar("One", "Answer", "HypothesisTest")


@dataclass(frozen=True, eq=False)
class PartitionResults(Generic[One]):
    """Results of a partition release, in the order of its questions; ``parts`` is the number of random parts of the table."""

    formula: str
    parts: int

    @property
    def items(self) -> tuple[One, ...]:
        """The answers or tests."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[One]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, name: str) -> One:
        """Return the item with this name."""
        for one in self.items:
            if one.name == name:
                return one
        raise KeyError(name)

    def summary(self) -> pd.DataFrame:
        """Tabulate the items, one line each."""
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

    ``draws`` come from the distribution that the noise implies. ``raw`` is the released number, if the answer is one. ``limits``
    are the limits that the parts' values were clipped to, if the answer has their units.
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

    def to_dict(self) -> dict[str, object]:
        """Return the answer as JSON-ready data, without the draws."""
        return {"name": self.name, "kind": self.kind, "point": self.point, "lower": self.lower, "upper": self.upper,
                "released": self.raw, "limits": None if self.limits is None else list(self.limits), "sentence": self.sentence}


@dataclass(frozen=True, eq=False, repr=False)
class Answers(PartitionResults[Answer]):
    """All answers of a release, in the order of its questions."""

    probability: float
    answers: tuple[Answer, ...]

    @property
    def items(self) -> tuple[Answer, ...]:
        """The answers."""
        return self.answers

    def summary(self) -> pd.DataFrame:
        """Tabulate the answers, one line each."""
        import pandas as pd

        return pd.DataFrame(
            [(one.kind, one.point, one.lower, one.upper) for one in self.answers],
            columns=["kind", "point", "lower", "upper"], index=pd.Index([one.name for one in self.answers], name="answer"))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot points and intervals: probabilities share one axis from 0 to 1, everything else has its own axis."""
        from noisewise.plots.answers import draw_answers

        return draw_answers(self, path)

    def to_dict(self) -> dict[str, object]:
        """Return the answers as JSON-ready data, without the draws."""
        return {"formula": self.formula, "parts": self.parts, "probability": self.probability,
                "answers": [one.to_dict() for one in self.answers]}


@dataclass(frozen=True)
class HypothesisTest:
    """One test.

    ``critical`` gives two numbers for each level: the null hypothesis is rejected at or below the first, or at or above the
    second. ``uncalibrated`` gives the critical values one would use when ignoring parts, clipping and noise, if there are any.
    ``hypothesis`` and ``measure`` describe the hypothesis and the statistic.
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
        """True if the null hypothesis is rejected at this level."""
        return self.p_value <= level

    def to_dict(self) -> dict[str, object]:
        """Return the test as JSON-ready data. A critical value of None means that nothing is rejected on that side."""
        known = self.uncalibrated or {}
        return {"name": self.name, "hypothesis": self.hypothesis, "measure": self.measure, "statistic": self.statistic,
                "p_value": self.p_value, "sides": self.sides,
                "levels": [{"level": level, "reject_at_or_below": _finite(below), "reject_at_or_above": _finite(above),
                            "uncalibrated": known.get(level), "rejected": self.rejects(level)}
                           for level, (below, above) in self.critical.items()],
                "sentence": self.sentence}

    @property
    def sentence(self) -> str:
        """The decision at each level, the p-value and the statistic, in words."""
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
        """The tests."""
        return self.tests

    def summary(self) -> pd.DataFrame:
        """Tabulate the tests, one line each."""
        import pandas as pd

        lines = [{"statistic": one.statistic, "p": one.p_value,
                  **{f"critical {level:g}": " and ".join(f"{bound:.3g}" for bound in bounds if bound is not None)
                     for level, bounds in one.critical.items()}} for one in self.tests]
        return pd.DataFrame(lines, index=pd.Index([one.name for one in self.tests], name="test"))

    def to_dict(self) -> dict[str, object]:
        """Return the tests as JSON-ready data."""
        return {"formula": self.formula, "parts": self.parts, "tests": [one.to_dict() for one in self.tests]}
