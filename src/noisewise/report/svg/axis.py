"""An axis: from numbers to places on a drawing, with round numbers below it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from noisewise.report.numbers import MINUS, number

Floats = NDArray[np.float64]

ZERO_WITHIN: Final = 1.5
"""Zero is shown if it is at most so many widths of the axis away."""


@dataclass(frozen=True)
class Tick:
    x: str
    label: str
    anchor: str = "middle"


@dataclass(frozen=True)
class Axis:
    """Numbers from ``low`` to ``high`` between two places."""

    low: float
    high: float
    left: float = 10.0
    right: float = 330.0

    @classmethod
    def around(cls, ends: Sequence[float], floor: float | None = None, zero: bool = True, margin: float = 0.06) -> Axis:
        """An axis that holds these numbers and, if it is near, zero; it does not begin below ``floor``.

        >>> axis = Axis.around([1.0, 3.0])
        >>> axis.low < 0.0 < 3.0 < axis.high
        True
        """
        low, high = min(ends), max(ends)
        width = (high - low) or abs(low) * 0.1 or 1.0
        if zero and min(abs(low), abs(high)) <= ZERO_WITHIN * width:
            low, high = min(low, 0.0), max(high, 0.0)
        pad = margin * max(high - low, width)
        low, high = low - pad, high + pad
        return cls(low if floor is None else max(low, floor), high)

    def x(self, value: float) -> float:
        """The place of a number; one beyond an end is put there."""
        share = (value - self.low) / (self.high - self.low)
        return self.left + (self.right - self.left) * min(max(share, 0.0), 1.0)

    def at(self, value: float) -> str:
        """The place as it is written into a drawing."""
        return place(self.x(value))

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def ticks(self, about: int = 4) -> list[Tick]:
        """Some round numbers."""
        step = _round_step((self.high - self.low) / about)
        first = math.ceil(self.low / step)
        values = [index * step for index in range(first, math.floor(self.high / step) + 1)]
        return [Tick(self.at(value), _label(value, step), self._anchor(value)) for value in values]

    def _anchor(self, value: float) -> str:
        """A number near an end is not cut off there."""
        x, edge = self.x(value), 18.0
        return "start" if x < self.left + edge else "end" if x > self.right - edge else "middle"

    def grid(self, count: int = 90) -> Floats:
        return np.linspace(self.low, self.high, count)


def place(value: float) -> str:
    """A coordinate with one decimal: a tenth of a pixel."""
    text = f"{value:.1f}"
    return text.removesuffix(".0")


def path(xs: Sequence[float], ys: Sequence[float]) -> str:
    """A line through points, as SVG writes it."""
    return "M" + "L".join(f"{place(x)} {place(y)}" for x, y in zip(xs, ys, strict=True))


def _round_step(size: float) -> float:
    power = 10.0 ** math.floor(math.log10(size))
    return next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= size * 0.999)


def _label(value: float, step: float) -> str:
    if value == 0 or abs(value) < step / 1000:
        return "0"
    if abs(value) >= 1e6 or step < 1e-5:
        return number(value, step)
    decimals = max(0, -math.floor(math.log10(step)) + (0 if f"{step:e}".startswith(("1.0", "2.0", "5.0")) else 1))
    return f"{value:,.{decimals}f}".replace("-", MINUS)
