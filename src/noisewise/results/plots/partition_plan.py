"""A plan of a partition release: what is expected against the number of parts, one panel for each question."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from noisewise.results.plots.sheet import FAINT, INK, REFERENCE_STYLES, Sheet, Words, heading, open_sheet, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noisewise.results.partition_plan import PartitionPlan

WIDTH: Final = 8.4
PANEL: Final = 1.7
BELOW: Final = 0.62
ABOVE: Final = 0.34
LEFT: Final = 0.62
RIGHT: Final = 1.25
BEST: Final = "#0072B2"
COLOURS: Final = (BEST, *(colour for colour, _ in REFERENCE_STYLES))
LABEL_HEIGHT: Final = 0.1
MOST_SHOWN: Final = 100.0
"""Multiples of the least width or noise, beyond which an axis does not reach."""
MARKS: Final = ("-o", "-D", "--^")
LABELS: Final = {"error": "expected error", "power": "power", "width": "width", "noise": "noise"}


def draw_plan(plan: PartitionPlan, path: str | os.PathLike[str] | None) -> Figure:
    """One line for each value of a question's measure; the suggested number of parts is marked."""
    from matplotlib.lines import Line2D

    from noisewise.results.plots import write_figure

    delta = f", δ = {plan.delta:g}" if plan.delta else ""
    words = Words(f"{plan.rows:,} rows, {plan.predictors} predictors, ε = {plan.epsilon:g}{delta}",
                  "what to expect, with the best limits for each number of parts")
    top = heading(words, [(Line2D([], [], color=FAINT, linestyle=(0, (2, 2))), f"suggested: {plan.parts:,} parts")], WIDTH)
    count = len(plan.best.expected)
    sheet = open_sheet(None, WIDTH, top.height + count * (ABOVE + PANEL + BELOW))
    top.draw(sheet)
    for place in range(count):
        above = top.height + place * (ABOVE + PANEL + BELOW) + ABOVE
        _draw(sheet, plan, place, above)
    write_figure(sheet.figure, path)
    return sheet.figure


def _draw(sheet: Sheet, plan: PartitionPlan, place: int, above: float) -> None:
    expected = plan.best.expected[place]
    sheet.text(LEFT, above - 0.1, shorten(expected.name, 90), fontsize=10.0, color=INK, va="bottom")
    panel = sheet.panel(LEFT, above, sheet.width - LEFT - RIGHT, PANEL)
    parts = [line.parts for line in plan.lines]
    series = {name: [line.expected[place].values[name] for line in plan.lines] for name in expected.values}
    every = [value for values in series.values() for value in values]
    _frame(panel, parts, expected.measure, min(every), max(every))
    for order, values in enumerate(series.values()):
        panel.plot(parts, values, MARKS[order % len(MARKS)], color=COLOURS[order % len(COLOURS)], markersize=4, linewidth=1.4,
                   zorder=3 + order)
    heights = _apart([_height(panel, values[-1]) for values in series.values()])
    for order, (name, height) in enumerate(zip(series, heights, strict=True)):
        label = name if expected.measure not in ("error", "power") else f"at {name}"
        sheet.text(sheet.width - RIGHT + 0.12, above + PANEL * (1.0 - height), label, fontsize=8.5,
                   color=COLOURS[order % len(COLOURS)], va="center")
    panel.axvline(plan.parts, color=FAINT, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1, gid="suggested")


def _frame(panel: Axes, parts: list[int], measure: str, smallest: float, largest: float) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    panel.set_xscale("log")
    panel.set_xlim(parts[0] / 1.15, parts[-1] * 1.15)
    panel.set_xticks(parts, [f"{size:,}" for size in parts])
    panel.set_xticks([], minor=True)
    if measure in ("width", "noise"):
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.minorticks_off()
        panel.set_ylim(0.8 * smallest, 1.25 * min(largest, MOST_SHOWN * smallest))
    else:
        panel.set_ylim(0.0, 1.05 if measure == "power" else 1.1 * largest)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["bottom", "left"]].set_color("#BBBBBB")
    panel.tick_params(labelsize=7.5, length=2, color="#BBBBBB", labelcolor=FAINT)
    panel.grid(axis="y", color="#EEEEEE", linewidth=0.8, zorder=0)
    panel.set_xlabel("number of parts", fontsize=8.5, color=FAINT, labelpad=2)
    panel.set_ylabel(LABELS[measure], fontsize=8.5, color=FAINT, labelpad=3)


def _height(panel: Axes, value: float) -> float:
    """Where a value lies between the bottom (0) and the top (1) of a panel."""
    return float(panel.transAxes.inverted().transform(panel.transData.transform((1.0, value)))[1])


def _apart(heights: list[float]) -> list[float]:
    """The same heights, moved so that labels do not cover one another."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    moved = list(heights)
    for below, above in pairwise(order):
        moved[above] = max(moved[above], moved[below] + LABEL_HEIGHT)
    excess = max(0.0, max(moved) - 1.0)
    return [height - excess for height in moved]
