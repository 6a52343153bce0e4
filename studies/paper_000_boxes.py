"""The box plots of ``studies.paper_000``, and what is measured of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from studies.paper_000_methods import SLOPE
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
        """By b; what has no noise is the same for all ε, and without noise "valid noise" is "as printed"."""
        if key in (TRUTH, HALF):
            epsilon = math.inf
        if math.isinf(epsilon) and key[1] == "valid noise":
            key = key[0], "as printed"
        return self._lines[rows, parts, epsilon, key]

    def error(self, rows: int, parts: int, epsilon: float, key: Key) -> float:
        """Mean absolute error against p(b), mean over b."""
        return float(np.mean([float(line["error"]) for line in self.of(rows, parts, epsilon, key).values()]))

    def away(self, rows: int, parts: int, epsilon: float, key: Key, other: Key = TRUTH, other_epsilon: float = math.inf) -> float:
        """The largest difference of a quartile or median to that of p(b), over all b: how unlike the box plots are."""
        mine, theirs = self.of(rows, parts, epsilon, key), self.of(rows, parts, other_epsilon, other)
        return max(abs(float(mine[b][name]) - float(theirs[b][name])) for b in mine for name in QUARTILES)

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
