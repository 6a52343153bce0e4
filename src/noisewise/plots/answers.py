"""Answers of a partition release: probabilities share an axis from 0 to 1, everything else has its own axis."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import numpy as np

from noisewise.plots.line_panels import TICK_ROOM, draw_interval, frame, frame_probabilities, interval_entries, name_lines
from noisewise.plots.picture import PROBABILITIES, Estimate
from noisewise.plots.sheet import FAINT, LABEL_SIZE, PRIOR, shorten, side_rooms, titled_sheet

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noisewise.results.answers import Answer, Answers

LINE: Final = 0.34
STRIP: Final = 0.26
ROW: Final = 0.52
GAP: Final = 0.16
KINDS_OF_PROBABILITY: Final = ("probability", "hypothesis probability")


def draw_answers(answers: Answers, path: str | os.PathLike[str] | None) -> Figure:
    """Draw the point, 50 % interval and outer interval of each answer, with the clipping limits as a bar behind them."""
    chances = [one for one in answers if one.kind in KINDS_OF_PROBABILITY]
    others = [one for one in answers if one.kind not in KINDS_OF_PROBABILITY]
    subtitle = f"answers from {answers.parts} random parts of the table"
    first = LINE * len(chances) + TICK_ROOM + 0.12 if chances else 0.0
    sheet, top = titled_sheet(answers.formula, subtitle, _legend(answers), first + ROW * len(others) + 0.12)
    labels = {one.name: shorten(one.name, 44) for one in answers}
    numbers = {one.name: _number(one) for one in answers}
    left, right = side_rooms(list(labels.values()), list(numbers.values()), GAP)
    width = max(1.0, sheet.width - left - right)
    if chances:
        panel = sheet.panel(left, top, width, LINE * len(chances))
        frame_probabilities(panel, len(chances))
        for line, one in enumerate(chances):
            _draw_interval(panel, one, float(line))
        name_lines(sheet, left - GAP + 0.09, top, LINE * len(chances), [labels[one.name] for one in chances], LABEL_SIZE)
    for place, one in enumerate(chances + others):
        middle = top + ((place + 0.5) * LINE if place < len(chances) else
                               first + (place - len(chances)) * ROW + STRIP / 2)
        sheet.number(middle, numbers[one.name])
        if place >= len(chances):
            sheet.label(left - GAP, middle, labels[one.name])
            _draw_other(sheet.panel(left, middle - STRIP / 2, width, STRIP), one)
    return sheet.finish(path)


def _draw_other(panel: Axes, one: Answer) -> None:
    low, high = one.limits or (one.lower, one.upper)
    if one.limits is None and min(abs(low), abs(high)) <= 2.0 * (high - low):  # show zero if it is near
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
    draw_interval(panel, line, Estimate(one.point, one.lower, float(inner[0]), float(inner[1]), one.upper), clip=False)


def _number(one: Answer) -> str:
    if one.kind in KINDS_OF_PROBABILITY:
        return f"{one.point:.3f} [{one.lower:.3f}, {one.upper:.3f}]"
    return Estimate(one.point, one.lower, one.lower, one.upper, one.upper).label()


def _legend(answers: Answers) -> list[tuple[Artist, str]]:
    from matplotlib.patches import Patch

    entries = interval_entries("answer", f"{100 * answers.probability:g} %")
    if any(one.limits is not None for one in answers):
        entries.append((Patch(color=PRIOR, linewidth=0), "clipping limits"))
    return entries
