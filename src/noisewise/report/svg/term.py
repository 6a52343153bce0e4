"""One term: its density and intervals, the same of its prior, and the numbers that a script reads out under the pointer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from noisewise.report.numbers import chance, number
from noisewise.report.svg.axis import Axis, Tick, path, place
from noisewise.results.plots.densities import kernel_density
from noisewise.results.records import SIGMA, PriorSummary, check_interval

Floats = NDArray[np.float64]

BASE: Final = 64.0
TOP: Final = 8.0
SHOWN: Final = (0.002, 0.998)
READ: Final = (0.001, 0.005, *(round(0.01 * step, 2) for step in range(1, 100)), 0.995, 0.999)
"""The quantiles that a reader of the page can look up."""


@dataclass(frozen=True)
class Bar:
    """An interval on the axis; ``text`` are its ends in words; ``cut`` names the ends that lie beyond the axis."""

    level: str
    x1: str
    x2: str
    text: str
    cut: str = ""


@dataclass(frozen=True)
class TermChart:
    """All that a template needs to draw one term."""

    name: str
    words: str
    mean: str
    mean_x: str
    bars: tuple[Bar, ...]
    prior_bars: tuple[Bar, ...]
    density: str
    area: str
    prior_density: str
    zero_x: str | None
    ticks: tuple[Tick, ...]
    quantiles: str
    low: float
    high: float
    sd: float
    rest: str
    """What is read out while nobody points at anything."""


def level_name(level: float) -> str:
    """How a level is called in class names and on buttons: 95, 99.5."""
    return f"{100 * level:.6g}"


def term_chart(name: str, draws: Floats, levels: Sequence[float], prior: PriorSummary | None = None) -> TermChart:
    """The drawing of a coefficient: its mean, and the interval of every level."""
    ends = {level: _ends(draws, level) for level in levels}
    axis = Axis.around(np.quantile(draws, SHOWN).tolist(), 0.0 if name == SIGMA else None, zero=name != SIGMA)
    return _chart(name, draws, axis, float(draws.mean()), ends, prior if prior is not None and prior.covers(name) else None,
                  zero=None if name == SIGMA else 0.0)


def answer_chart(name: str, draws: Floats, level: float, point: float, ends: tuple[float, float], share: bool) -> TermChart:
    """The drawing of an answer that has a point and an interval of its own; ``share``: it lies between 0 and 1."""
    axis = Axis.around([*np.quantile(draws, SHOWN).tolist(), *ends, point])
    if share:
        axis = Axis(max(axis.low, 0.0), min(axis.high, 1.0))
    return _chart(name, draws, axis, point, {level: ends}, None, zero=None)


def _chart(name: str, draws: Floats, axis: Axis, point: float, ends: dict[float, tuple[float, float]], prior: PriorSummary | None,
           zero: float | None) -> TermChart:
    sd = float(np.subtract(*np.quantile(draws, (0.8413, 0.1587)))) / 2  # of a distribution whose tails may have none
    bars = tuple(_bar(axis, level, pair, sd) for level, pair in ends.items())
    prior_bars = () if prior is None else tuple(_bar(axis, level, prior.interval(name, level), None) for level in ends)
    xs = [axis.x(float(value)) for value in axis.grid()]
    heights = kernel_density(draws, axis.grid(), axis.low if name == SIGMA and axis.low == 0 else None)
    ceiling = 1.08 * float(heights.max()) or 1.0
    curve = path(xs, _ys(heights, ceiling))
    before = "" if prior is None else path(xs, _ys(np.minimum(prior.density(name, axis.grid()), ceiling), ceiling))
    return TermChart(
        name=name, words=_words(name, point, sd, bars, prior_bars), mean=number(point, sd), mean_x=axis.at(point), bars=bars,
        prior_bars=prior_bars, density=curve, area=f"{curve}L{place(xs[-1])} {place(BASE)}L{place(xs[0])} {place(BASE)}Z",
        prior_density=before, zero_x=axis.at(0.0) if axis.holds(0.0) and name != SIGMA else None, ticks=tuple(axis.ticks()),
        quantiles=json.dumps([float(f"{value:.5g}") for value in np.quantile(draws, READ)], separators=(",", ":")),
        low=float(f"{axis.low:.6g}"), high=float(f"{axis.high:.6g}"), sd=float(f"{sd:.3g}"),
        rest="" if zero is None else f"Above {zero:g} with probability {chance(float((draws > zero).mean()))}",
    )


def _ends(draws: Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(draws, check_interval(level)).tolist()
    return low, high


def _bar(axis: Axis, level: float, ends: tuple[float, float], sd: float | None) -> Bar:
    low, high = ends
    cut = " ".join(side for side, beyond in (("left", low < axis.low), ("right", high > axis.high)) if beyond)
    return Bar(level_name(level), axis.at(low), axis.at(high), f"{number(low, sd)} to {number(high, sd)}", cut)


def _ys(heights: Floats, ceiling: float) -> list[float]:
    return [float(BASE - (BASE - TOP) * height / ceiling) for height in heights]


def _words(name: str, point: float, sd: float, bars: Sequence[Bar], prior: Sequence[Bar]) -> str:
    """The text alternative of the drawing."""
    intervals = "; ".join(f"{bar.level} % interval {bar.text}" for bar in bars)
    before = f"; prior: {prior[-1].level} % interval {prior[-1].text}" if prior else ""
    return f"{name}: {number(point, sd)}; {intervals}{before}."


@dataclass(frozen=True)
class SharedRow:
    """One fit's interval of a term that several fits have."""

    letter: str
    y: str
    mean: str
    mean_x: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class SharedChart:
    """A term of several fits on one axis."""

    name: str
    words: str
    rows: tuple[SharedRow, ...]
    ticks: tuple[Tick, ...]
    zero_x: str | None
    base: str
    height: str


def shared_chart(name: str, draws_by_letter: dict[str, Floats], levels: Sequence[float]) -> SharedChart:
    """The same term of several fits, one line each."""
    ends = [float(end) for draws in draws_by_letter.values() for end in np.quantile(draws, check_interval(max(levels)))]
    axis = Axis.around(ends, 0.0 if name == SIGMA else None, zero=name != SIGMA)
    axis = Axis(axis.low, axis.high, left=34.0)
    rows, said = [], []
    for place_, (letter, draws) in enumerate(draws_by_letter.items()):
        sd, mean = float(draws.std()), float(draws.mean())
        bars = tuple(_bar(axis, level, _ends(draws, level), sd) for level in levels)
        rows.append(SharedRow(letter, place(16.0 + 22.0 * place_), number(mean, sd), axis.at(mean), bars))
        said.append(f"fit {letter} mean {number(mean, sd)}, {bars[-1].level} % interval {bars[-1].text}")
    base = 16.0 + 22.0 * len(rows)
    return SharedChart(name, f"{name}: {'; '.join(said)}.", tuple(rows), tuple(axis.ticks()),
                       axis.at(0.0) if axis.holds(0.0) and name != SIGMA else None, place(base), place(base + 20.0))
