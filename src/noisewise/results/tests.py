"""Results of calibrated tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TestResult:
    """One test.

    ``critical``: for each level, where the null hypothesis is rejected: at or below the first number, at or above the second.
    ``uncalibrated``: the critical values of someone who ignores parts, clipping and noise, where there are such.
    """

    __test__ = False  # pytest would take it for tests

    name: str
    statistic: float
    p_value: float
    critical: Mapping[float, tuple[float | None, float | None]]
    sides: str
    uncalibrated: Mapping[float, float] | None = None

    def rejects(self, level: float) -> bool:
        """Whether the null hypothesis is rejected at this level."""
        return self.p_value <= level

    @property
    def sentence(self) -> str:
        words = {True: "is rejected", False: "is not rejected"}
        decisions = ", ".join(f"{words[self.rejects(level)]} at {level:g}" for level in self.critical)
        return f"{self.name} is {self.statistic:.3g}: p = {self.p_value:.3g}, the null hypothesis {decisions}."


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

    def __str__(self) -> str:
        return "\n".join(one.sentence for one in self.tests)
