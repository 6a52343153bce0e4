"""Results of calibrated tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noisewise.notebook import card, frame

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TestResult:
    """One test.

    ``critical``: for each level, where the null hypothesis is rejected: at or below the first number, at or above the second.
    ``uncalibrated``: the critical values of someone who ignores parts, clipping and noise, where there are such.
    ``hypothesis`` is what is tested, ``measure`` what the statistic is, both in words.
    """

    __test__ = False  # pytest would take it for tests

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


@dataclass(frozen=True)
class TestResults:
    """All tests of a release."""

    __test__ = False

    formula: str
    parts: int
    tests: tuple[TestResult, ...]

    def __iter__(self) -> Iterator[TestResult]:
        return iter(self.tests)

    def __len__(self) -> int:
        return len(self.tests)

    def __getitem__(self, name: str) -> TestResult:
        for one in self.tests:
            if one.name == name:
                return one
        raise KeyError(name)

    def summary(self) -> pd.DataFrame:
        """One line for each test."""
        import pandas as pd

        def lines() -> Iterator[dict[str, object]]:
            for one in self.tests:
                critical = {f"critical {level:g}": " and ".join(f"{bound:.3g}" for bound in bounds if bound is not None)
                            for level, bounds in one.critical.items()}
                yield {"statistic": one.statistic, "p": one.p_value, **critical}

        return pd.DataFrame(list(lines()), index=pd.Index([one.name for one in self.tests], name="test"))

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"formula": self.formula, "parts": self.parts, "tests": [one.to_dict() for one in self.tests]}

    def __repr__(self) -> str:
        return f"<TestResults {self.formula!r}: {len(self)} from {self.parts} parts>"

    def _repr_html_(self) -> str:
        sentences = [one.sentence for one in self]
        return card(f"{self.formula}, from {self.parts} random parts", frame(self.summary()), notes=sentences)

    def __str__(self) -> str:
        return "\n".join(one.sentence for one in self.tests)
