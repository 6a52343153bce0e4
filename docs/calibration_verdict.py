"""Verdicts on the settings of a study, judged against chance: for ``docs/calibration_summary.py``.

A setting is low if an exactly nominal method would rarely come out as it did. With many settings a few are low by chance: the
number of low ones is compared with its law under exactly nominal coverage.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

NOMINAL, LOWER, UPPER = 0.95, 0.93, 0.97
"""What an interval says, and what counts as calibrated, as on the detailed pages."""
WORSE = 0.92
"""A true coverage that a study must be able to notice before it may say that intervals hold."""
LEVEL, FAMILY_LEVEL, POWER = 0.025, 0.05, 0.8


@cache
def highest_low(trials: int) -> int:
    """The largest number of intervals that hold the truth with which a setting still counts as low, or −1."""
    below = np.arange(int(np.ceil(LOWER * trials)))
    return int(below[binom.cdf(below, trials, NOMINAL) <= LEVEL].max(initial=-1))


@cache
def chance_of_low(trials: int, coverage: float) -> float:
    """The probability that a setting counts as low at this true coverage."""
    return float(binom.cdf(highest_low(trials), trials, coverage))


@dataclass(frozen=True)
class Cell:
    """One setting of a study: the coverage, from how many fits, and how many independent intervals these are worth."""

    coverage: float
    replicates: int
    worth: int

    @classmethod
    def of(cls, coverage: float, replicates: float, error: float | None = None) -> Cell:
        """With an ``error`` that has the fits as clusters, a cell is worth as many intervals as would have that error. Without
        one it is worth its fits: as if coefficients of one fit always held together."""
        inside = coverage * (1 - coverage)
        worth = inside / error**2 if error and inside > 0 else replicates
        return cls(coverage, int(replicates), max(round(worth), 1))

    @property
    def variance(self) -> float:
        return self.coverage * (1 - self.coverage) / self.worth

    @property
    def low(self) -> bool:
        return round(self.coverage * self.worth) <= highest_low(self.worth)


@dataclass(frozen=True)
class Verdict:
    """The settings of a study together. ``together``: so many of them are from the same fits."""

    cells: tuple[Cell, ...]
    together: int = 1

    @property
    def low(self) -> int:
        return sum(cell.low for cell in self.cells)

    @property
    def by_chance(self) -> float:
        """How many would be low on average if all were at the nominal coverage."""
        return float(sum(self._chances(NOMINAL)))

    @property
    def words(self) -> str:
        """``holds`` and its opposites."""
        tail = _at_least(self._chances(NOMINAL))
        if tail[self.low] <= FAMILY_LEVEL:
            names = ((1 / 20, "mostly holds"), (1 / 3, "*fails in places*"), (1, "**fails**"))
            return next(name for share, name in names if self.low <= share * len(self.cells))
        needed = int(np.argmax(np.append(tail, 0.0) <= FAMILY_LEVEL))
        noticed = np.append(_at_least(self._chances(WORSE)), 0.0)[needed]
        return "holds" if noticed >= POWER else "not enough replicates to tell"

    def pooled(self) -> tuple[float, float]:
        """The coverage of all settings, each with the weight of its fits, and its standard error."""
        weights = np.array([cell.replicates for cell in self.cells], float)
        weights /= weights.sum()
        variance = self.together * np.sum(weights**2 * [cell.variance for cell in self.cells])
        return float(weights @ [cell.coverage for cell in self.cells]), float(np.sqrt(variance))

    def counts(self) -> tuple[int, int, int]:
        """How many settings are within 93–97 %, above and below."""
        below, above = sum(cell.coverage < LOWER for cell in self.cells), sum(cell.coverage > UPPER for cell in self.cells)
        return len(self.cells) - below - above, above, below

    def _chances(self, coverage: float) -> list[float]:
        """Those of all settings."""
        return [chance_of_low(cell.worth, coverage) for cell in self.cells]


def _at_least(chances: Iterable[float]) -> npt.NDArray[np.float64]:
    """Of 0, 1, 2, …: the probability that at least so many of independent events happen."""
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    return np.asarray(law[::-1].cumsum()[::-1])
