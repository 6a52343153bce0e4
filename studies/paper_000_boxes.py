"""The box plots of ``studies.paper_000``, and measurements of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from studies.paper_000 import BATCHES
from studies.paper_000_methods import SLOPE
from studies.verdicts import Condition
from studies.workers import read

Line = dict[str, str]
Key = tuple[str, str]
"""How parts are combined, and the version of it."""

QUARTILES: Final = ("quartile_1", "median", "quartile_3")
RN, FISHER, STOUFFER = "rescaled-normal", "fisher", "stouffer"
TRUTH: Final = ("whole table", "p(b)")
HALF: Final = ("nothing", "always 1/2")


class Boxes:
    """The box plots of all figures."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines: dict[tuple[int, int, float, Key], dict[float, Line]] = {}
        for line in lines:
            key = int(line["rows"]), int(line["parts"]), float(line["epsilon"]), (line["combine"], line["version"])
            self._lines.setdefault(key, {})[float(line["b"])] = line
        self.rows = sorted({key[0] for key in self._lines})
        self.parts = sorted({key[1] for key in self._lines})
        self.epsilons = sorted({key[2] for key in self._lines})

    def of(self, rows: int, parts: int, epsilon: float, key: Key) -> dict[float, Line]:
        """Box plots by b. Without noise they are the same for all ε, and "valid noise" is "as printed"."""
        if key in (TRUTH, HALF):
            epsilon = math.inf
        if math.isinf(epsilon) and key[1] == "valid noise":
            key = key[0], "as printed"
        return self._lines[rows, parts, epsilon, key]

    def error(self, rows: int, parts: int, epsilon: float, key: Key) -> float:
        """Mean absolute error against p(b), mean over b."""
        return float(np.mean([float(line["error"]) for line in self.of(rows, parts, epsilon, key).values()]))

    def away(self, rows: int, parts: int, epsilon: float, key: Key) -> float:
        """How unlike the box plots are: the largest difference of a quartile or median from that of p(b), over all b."""
        return self._farthest(rows, parts, epsilon, key)[0]

    def _farthest(self, rows: int, parts: int, epsilon: float, key: Key) -> tuple[float, float]:
        """That difference, and its standard error."""
        mine, theirs = self.of(rows, parts, epsilon, key), self.of(rows, parts, math.inf, TRUTH)
        return max((abs(float(mine[b][name]) - float(theirs[b][name])), float(mine[b]["quartile_se"]))
                   for b in mine for name in QUARTILES)

    def like(self, rows: int, parts: int, epsilon: float, key: Key, limit: float) -> Condition:
        """The condition that no quartile differs by as much as the limit."""
        away, error = self._farthest(rows, parts, epsilon, key)
        return Condition(limit - away, error, BATCHES - 1.0)

    def accurate(self, rows: int, parts: int, epsilon: float, key: Key, limit: float) -> Condition:
        """The condition that the mean absolute error is below the limit; errors at different b are treated as one."""
        lines = self.of(rows, parts, epsilon, key).values()
        error = float(np.mean([float(line["error_se"]) for line in lines]))
        return Condition(limit - self.error(rows, parts, epsilon, key), error)

    def better(self, rows: int, parts: int, epsilon: float, key: Key, other: Key) -> Condition:
        """The condition that the mean absolute error is below another's; the errors are treated as independent."""
        mine, theirs = (self.accurate(rows, parts, epsilon, one, 0.0) for one in (key, other))
        return Condition(mine.margin - theirs.margin, math.hypot(mine.error, theirs.error))

    def biased(self, rows: int, parts: int, epsilon: float, key: Key, limit: float) -> Condition:
        """The condition that expectations differ by more than the limit, somewhere."""
        largest = max(self.of(rows, parts, epsilon, key).values(), key=lambda line: abs(float(line["bias"])))
        return Condition(abs(float(largest["bias"])) - limit, float(largest["bias_se"]))

    def bias(self, rows: int, parts: int, epsilon: float, key: Key) -> float:
        """The largest difference of expectations."""
        return max(abs(float(line["bias"])) for line in self.of(rows, parts, epsilon, key).values())

    def at(self, rows: int, parts: int, epsilon: float, key: Key, name: str, b: float = SLOPE) -> float:
        return float(self.of(rows, parts, epsilon, key)[b][name])

    def spread(self, rows: int, parts: int, epsilon: float, key: Key) -> float:
        """The distance of the quartiles, mean over b."""
        return float(np.mean([float(line["quartile_3"]) - float(line["quartile_1"])
                              for line in self.of(rows, parts, epsilon, key).values()]))


@lru_cache(maxsize=4)
def boxes_of(results: Path) -> Boxes:
    return Boxes(read(results / "figures.csv"))
