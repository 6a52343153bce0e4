"""Answers of a partition release: probabilities on one axis from 0 to 1, everything else on an axis of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import numpy as np

from noisewise.results.plots.line_panels import TICK_ROOM, frame, frame_lines, name_lines
from noisewise.results.plots.picture import PROBABILITIES, Estimate
from noisewise.results.plots.sheet import FAINT, INK, MARGIN, POSTERIOR, PRIOR, Words, heading, open_sheet, shorten, text_width

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noisewise.results.answers import Answer, Answers

WIDTH: Final = 8.4
LINE: Final = 0.34
STRIP: Final = 0.26
ROW: Final = 0.52
GAP: Final = 0.16
LABEL_SIZE: Final = 10.0
NUMBER_SIZE: Final = 9.0
GUIDE: Final = "#E6E6E6"
KINDS_OF_PROBABILITY: Final = ("probability", "hypothesis probability")


def draw_answers(answers: Answers, path: str | os.PathLike[str] | None) -> Figure:
    """Point, 50 % and outer interval of each answer; the limits of clipped values as a bar behind them."""
    from noisewise.results.plots import write_figure

    chances = [one for one in answers if one.kind in KINDS_OF_PROBABILITY]
    others = [one for one in answers if one.kind not in KINDS_OF_PROBABILITY]
    subtitle = f"answers from {answers.parts} random parts of the table"
    top = heading(Words(answers.formula, subtitle), _legend(answers), WIDTH)
    first = LINE * len(chances) + TICK_ROOM + 0.12 if chances else 0.0
    sheet = open_sheet(None, WIDTH, top.height + first + ROW * len(others) + 0.12)
    top.draw(sheet)
    labels = {one.name: shorten(one.name, 44) for one in answers}
    numbers = {one.name: _number(one) for one in answers}
    left = MARGIN + text_width(list(labels.values()), LABEL_SIZE) + GAP
    right = MARGIN + text_width(list(numbers.values()), NUMBER_SIZE) + GAP
    width = max(1.0, sheet.width - left - right)
    if chances:
        panel = sheet.panel(left, top.height, width, LINE * len(chances))
        _draw_chances(panel, chances)
        name_lines(sheet, left - GAP + 0.09, top.height, LINE * len(chances), [labels[one.name] for one in chances], LABEL_SIZE)
    for place, one in enumerate(chances + others):
        middle = top.height + ((place + 0.5) * LINE if place < len(chances) else
                               first + (place - len(chances)) * ROW + STRIP / 2)
        sheet.text(sheet.width - MARGIN, middle, numbers[one.name], ha="right", va="center", fontsize=NUMBER_SIZE, color=INK)
        if place >= len(chances):
            sheet.text(left - GAP, middle, labels[one.name], ha="right", va="center", fontsize=LABEL_SIZE, color=INK)
            _draw_other(sheet.panel(left, middle - STRIP / 2, width, STRIP), one)
    write_figure(sheet.figure, path)
    return sheet.figure


def _draw_chances(panel: Axes, chances: list[Answer]) -> None:
    panel.set_xlim(-0.02, 1.02)
    frame_lines(panel, len(chances))
    panel.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "0.25", "0.5", "0.75", "1"])
    panel.hlines(np.arange(len(chances)), 0.0, 1.0, color=GUIDE, linewidth=0.8, zorder=0, gid="guide")
    panel.axvline(0.5, color=FAINT, linewidth=0.9, linestyle=(0, (2, 2)), zorder=1, gid="half")
    for line, one in enumerate(chances):
        _draw_interval(panel, one, float(line))


def _draw_other(panel: Axes, one: Answer) -> None:
    low, high = one.limits or (one.lower, one.upper)
    if one.limits is None and min(abs(low), abs(high)) <= 2.0 * (high - low):  # zero is shown where it is near
        low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.06 * (high - low) or 0.05 * abs(low) or 1.0
    panel.set_xlim(low - margin, high + margin)
    panel.set_ylim(-1.0, 1.0)
    frame(panel, ticks=5)
    if one.limits is not None:
        panel.axvspan(*one.limits, ymin=0.14, ymax=0.86, color=PRIOR, linewidth=0, zorder=1, gid="limits")
    if low <= 0.0 <= high:
        panel.axvline(0.0, color=FAINT, linewidth=0.9, linestyle=(0, (2, 2)), zorder=2, gid="zero")
    _draw_interval(panel, one, 0.0)


def _draw_interval(panel: Axes, one: Answer, line: float) -> None:
    inner = np.quantile(one.draws, PROBABILITIES[1:3])
    panel.hlines(line, one.lower, one.upper, color=POSTERIOR, linewidth=1.6, zorder=3)
    panel.hlines(line, *inner, color=POSTERIOR, linewidth=5.0, zorder=3)
    panel.plot([one.point], [line], "o", markersize=6, color="white", markeredgecolor=POSTERIOR, markeredgewidth=1.6, zorder=4,
               clip_on=False)


def _number(one: Answer) -> str:
    if one.kind in KINDS_OF_PROBABILITY:
        return f"{one.point:.3f} [{one.lower:.3f}, {one.upper:.3f}]"
    return Estimate(one.point, one.lower, one.lower, one.upper, one.upper).label()


def _legend(answers: Answers) -> list[tuple[Artist, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    point = Line2D([], [], marker="o", linestyle="none", color="white", markeredgecolor=POSTERIOR, markeredgewidth=1.6)
    entries: list[tuple[Artist, str]] = [
        (point, "answer"),
        (Line2D([], [], color=POSTERIOR, linewidth=5, solid_capstyle="butt"), "50 %"),
        (Line2D([], [], color=POSTERIOR, linewidth=1.6), f"{100 * answers.probability:g} % interval"),
    ]
    if any(one.limits is not None for one in answers):
        entries.append((Patch(color=PRIOR, linewidth=0), "clipping limits"))
    return entries
