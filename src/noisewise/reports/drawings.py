"""Drawings as numbers and words. Templates turn them into SVG, and the style sheet adds the colours.

There are axes, the density and intervals of a term with those of its prior, the same term of several fits, and ranks of chains.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from noisewise.arrays import Array
from noisewise.plots.densities import kernel_density
from noisewise.reports.numbers import MINUS, chance, number
from noisewise.results.fit_info import SCALES, PriorSummary, check_interval

ZERO_WITHIN: Final = 1.5
"""Show zero if it is at most this many widths of the axis away."""
BASE, TOP = 64.0, 8.0
SHOWN: Final = (0.002, 0.998)
READ: Final = (0.001, 0.005, *(round(0.01 * step, 2) for step in range(1, 100)), 0.995, 0.999)
"""The quantiles that readers of the page can look up."""
BINS, RANKS_WIDTH, RANKS_HEIGHT = 16, 160.0, 56.0


class Tick(NamedTuple):
    """A mark on an axis: its coordinate, its label, and the label's ``text-anchor`` in SVG."""

    x: str
    label: str
    anchor: str


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``, drawn between two coordinates."""

    low: float
    high: float
    left: float = 10.0
    right: float = 330.0

    @classmethod
    def around(cls, ends: Sequence[float], name: str = "") -> Axis:
        """An axis that contains these numbers and, if it is near, zero. An axis for sigma does not start below zero.

        >>> axis = Axis.around([1.0, 3.0])
        >>> axis.low < 0.0 < 3.0 < axis.high
        True
        """
        low, high = min(ends), max(ends)
        width = (high - low) or abs(low) * 0.1 or 1.0
        if name not in SCALES and min(abs(low), abs(high)) <= ZERO_WITHIN * width:
            low, high = min(low, 0.0), max(high, 0.0)
        pad = 0.06 * max(high - low, width)
        return cls(max(low - pad, 0.0) if name in SCALES else low - pad, high + pad)

    def x(self, value: float) -> float:
        """The coordinate of a number; numbers beyond an end are drawn at that end."""
        share = (value - self.low) / (self.high - self.low)
        return self.left + (self.right - self.left) * min(max(share, 0.0), 1.0)

    def at(self, value: float) -> str:
        """The coordinate as text."""
        return place(self.x(value))

    def zero(self, name: str) -> str | None:
        """The coordinate of zero, if it is on the axis and meaningful for this term."""
        return self.at(0.0) if self.low <= 0.0 <= self.high and name not in SCALES else None

    def ticks(self) -> tuple[Tick, ...]:
        """Some round numbers. Labels near an end are aligned so that they are not cut off."""
        size, edge = (self.high - self.low) / 4, 18.0
        power = 10.0 ** math.floor(math.log10(size))
        step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= size * 0.999)
        values = [index * step for index in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
        return tuple(Tick(place(x), _label(value, step),
                          "start" if x < self.left + edge else "end" if x > self.right - edge else "middle")
                     for value, x in ((value, self.x(value)) for value in values))


def place(value: float) -> str:
    """A coordinate with one decimal: a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def _path(xs: Iterable[float], ys: Iterable[float]) -> str:
    """A line through points, in SVG syntax."""
    return "M" + "L".join(f"{place(x)} {place(y)}" for x, y in zip(xs, ys, strict=True))


def _label(value: float, step: float) -> str:
    if value == 0 or abs(value) < step / 1000:
        return "0"
    if abs(value) >= 1e6 or step < 1e-5:
        return number(value, step)
    decimals = max(0, -math.floor(math.log10(step)) + (0 if f"{step:e}".startswith(("1.0", "2.0", "5.0")) else 1))
    return f"{value:,.{decimals}f}".replace("-", MINUS)


class Bar(NamedTuple):
    """An interval on the axis. ``text`` states its ends, and ``cut`` names the ends that lie beyond the axis."""

    level: str
    x1: str
    x2: str
    text: str
    cut: str = ""


class TermChart(NamedTuple):
    """Everything that a template needs to draw one term."""

    name: str
    words: str
    mean: str
    mean_x: str
    zero_x: str | None
    ticks: tuple[Tick, ...]
    density: str
    area: str
    prior_density: str
    bars: tuple[Bar, ...]
    quantiles: str
    prior_bars: tuple[Bar, ...]
    low: float
    high: float
    sd: float
    rest: str
    """The text shown while nobody points at the drawing."""


def level_name(level: float) -> str:
    """A level as text for class names and buttons: 95, 99.5."""
    return f"{100 * level:.6g}"


def term_chart(name: str, draws: Array, levels: Sequence[float], prior: PriorSummary | None = None) -> TermChart:
    """The drawing of a coefficient: its mean, and the interval of every level."""
    known = prior if prior is not None and prior.covers(name) else None
    chart = _chart(name, draws, Axis.around(np.quantile(draws, SHOWN).tolist(), name), float(draws.mean()),
                   {level: ends_of(draws, level) for level in levels}, known)
    return chart if name in SCALES else chart._replace(rest=f"Above 0 with probability {chance(float((draws > 0.0).mean()))}")


def answer_chart(name: str, draws: Array, level: float, point: float, ends: tuple[float, float], share: bool) -> TermChart:
    """The drawing of an answer with its own point and interval; ``share`` limits the axis to 0 to 1."""
    axis = Axis.around([*np.quantile(draws, SHOWN).tolist(), *ends, point])
    if share:
        axis = Axis(max(axis.low, 0.0), min(axis.high, 1.0))
    return _chart(name, draws, axis, point, {level: ends}, None)


def _chart(name: str, draws: Array, axis: Axis, point: float, ends: dict[float, tuple[float, float]],
           prior: PriorSummary | None) -> TermChart:
    sd = float(np.subtract(*np.quantile(draws, (0.8413, 0.1587)))) / 2  # of a distribution whose tails may have none
    bars = tuple(_bar(axis, level, pair, sd) for level, pair in ends.items())
    prior_bars = () if prior is None else tuple(_bar(axis, level, prior.interval(name, level), None) for level in ends)
    grid = np.linspace(axis.low, axis.high, 90)
    xs = [axis.x(float(value)) for value in grid]
    heights = kernel_density(draws, grid, axis.low if name in SCALES and axis.low == 0 else None)
    ceiling = 1.08 * float(heights.max()) or 1.0

    def curve(heights: Array) -> str:
        return _path(xs, (float(BASE - (BASE - TOP) * height / ceiling) for height in heights))

    intervals = "; ".join(f"{bar.level} % interval {bar.text}" for bar in bars)
    before = f"; prior: {prior_bars[-1].level} % interval {prior_bars[-1].text}" if prior_bars else ""
    return TermChart(
        name=name, words=f"{name}: {number(point, sd)}; {intervals}{before}.", mean=number(point, sd), mean_x=axis.at(point),
        bars=bars, prior_bars=prior_bars, density=curve(heights),
        area=f"{curve(heights)}L{place(xs[-1])} {place(BASE)}L{place(xs[0])} {place(BASE)}Z",
        prior_density="" if prior is None else curve(np.minimum(prior.density(name, grid), ceiling)), zero_x=axis.zero(name),
        ticks=axis.ticks(),
        quantiles=json.dumps([float(f"{value:.5g}") for value in np.quantile(draws, READ)], separators=(",", ":")),
        low=float(f"{axis.low:.6g}"), high=float(f"{axis.high:.6g}"), sd=float(f"{sd:.3g}"), rest="",
    )


def ends_of(draws: Array, level: float) -> tuple[float, float]:
    """The ends of the central interval."""
    low, high = np.quantile(draws, check_interval(level)).tolist()
    return low, high


def _bar(axis: Axis, level: float, ends: tuple[float, float], sd: float | None) -> Bar:
    low, high = ends
    cut = " ".join(side for side, beyond in (("left", low < axis.low), ("right", high > axis.high)) if beyond)
    return Bar(level_name(level), axis.at(low), axis.at(high), f"{number(low, sd)} to {number(high, sd)}", cut)


class SharedRow(NamedTuple):
    """One fit's interval of a term that several fits have."""

    letter: str
    y: str
    mean_x: str
    bars: tuple[Bar, ...]


class SharedChart(NamedTuple):
    """A term of several fits on one axis."""

    name: str
    words: str
    rows: tuple[SharedRow, ...]
    ticks: tuple[Tick, ...]
    zero_x: str | None
    base: str
    height: str


def shared_chart(name: str, draws_by_letter: dict[str, Array], levels: Sequence[float]) -> SharedChart:
    """Draw the same term of several fits, one line each."""
    ends = [end for draws in draws_by_letter.values() for end in ends_of(draws, max(levels))]
    axis = replace(Axis.around(ends, name), left=34.0)
    rows, said = [], []
    for order, (letter, draws) in enumerate(draws_by_letter.items()):
        sd, mean = float(draws.std()), float(draws.mean())
        bars = tuple(_bar(axis, level, ends_of(draws, level), sd) for level in levels)
        rows.append(SharedRow(letter, place(16.0 + 22.0 * order), axis.at(mean), bars))
        said.append(f"fit {letter} mean {number(mean, sd)}, {bars[-1].level} % interval {bars[-1].text}")
    base = 16.0 + 22.0 * len(rows)
    return SharedChart(name, f"{name}: {'; '.join(said)}.", tuple(rows), axis.ticks(), axis.zero(name), place(base),
                       place(base + 20.0))


class RankChart(NamedTuple):
    """Ranks of the draws of a term: one line per chain, and the band that holds 95 % of independent counts.

    If the chains agree, every line stays near the middle (Vehtari et al. 2021, section 4).
    """

    name: str
    words: str
    lines: tuple[str, ...]
    band_y: str
    band_height: str


def rank_chart(name: str, draws: Array) -> RankChart:
    """``draws`` has the shape (chains, draws)."""
    chains, length = draws.shape
    ranks = np.argsort(np.argsort(draws.reshape(-1), kind="stable"), kind="stable").reshape(draws.shape)
    bins = min(BINS, max(2, length // 5))
    expected, middle = length / bins, RANKS_HEIGHT / 2
    spread = 2.0 * math.sqrt(expected * (1 - 1 / bins)) / expected
    scale = (middle - 4.0) / max(3.0 * spread, 1e-9)
    excess = np.array([np.bincount(chain * bins // draws.size, minlength=bins)[:bins] / expected - 1.0 for chain in ranks])
    xs = [RANKS_WIDTH * edge / bins for edge in np.repeat(np.arange(bins + 1), 2)[1:-1].tolist()]
    lines = tuple(_path(xs, np.repeat(np.clip(middle - scale * chain, 1.0, RANKS_HEIGHT - 1.0), 2).tolist()) for chain in excess)
    words = (f"Ranks of {name} in {chains} chains: counts differ from equal ones by at most {100 * np.abs(excess).max():.0f} %. "
             f"By chance, 95 % of them are expected to differ by less than about {100 * spread:.0f} %.")
    return RankChart(name, words, lines, place(middle - scale * spread), place(2 * scale * spread))
