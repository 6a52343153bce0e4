"""Inclusion probabilities: one line for each term, with the band in which the analysis without privacy noise would put it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noisewise.results.plots.line_panels import TICK_ROOM, frame_lines, name_lines
from noisewise.results.plots.sheet import (
    FAINT,
    INK,
    MARGIN,
    POSTERIOR,
    Words,
    heading,
    open_sheet,
    reference_entries,
    reference_style,
    shorten,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noisewise.results.model_comparison import Comparison

WIDTH = 8.4
LINE = 0.3
CROWDED_LINE = 0.4
OFFSETS = (0.28, -0.28, 0.43)
"""Where other methods are marked, in lines: above and below the probability, so that equal values stay visible."""
LABEL_SIZE = 10.0
NUMBER_SIZE = 9.0
GUIDE = "#E6E6E6"
BINS = 40
DARKEST = 0.8
"""Opacity of a bin that has all draws."""


def draw_inclusion(comparison: Comparison, interval: float, path: str | os.PathLike[str] | None) -> Figure:
    """Probability, band and, as shades, the draws that the band is made of; other methods as marks."""
    from noisewise.results.plots import write_figure

    table = comparison.inclusion(interval)
    labels = [shorten(str(term)) for term in table.index]
    numbers = [_number(*row) for row in table.to_numpy()]
    top = heading(Words(comparison.design.formula, comparison.describe()), _legend(comparison, interval), WIDTH)
    line_height = LINE if len(comparison.others) < 3 else CROWDED_LINE
    height = line_height * len(labels)
    sheet = open_sheet(None, WIDTH, top.height + height + TICK_ROOM + 0.24)
    top.draw(sheet)
    left = MARGIN + text_width(labels, LABEL_SIZE) + 0.12
    right = MARGIN + text_width(numbers, NUMBER_SIZE) + 0.15
    panel = sheet.panel(left, top.height, max(1.0, sheet.width - left - right), height)
    _draw(panel, comparison, table.to_numpy())
    name_lines(sheet, left, top.height, height, labels, LABEL_SIZE)
    for line, words in enumerate(numbers):
        middle = top.height + (line + 0.5) * line_height
        sheet.text(sheet.width - MARGIN, middle, words, ha="right", va="center", fontsize=NUMBER_SIZE, color=INK)
    panel.set_xlabel("probability that the term belongs in the model", fontsize=8.5, color=FAINT, labelpad=3)
    write_figure(sheet.figure, path)
    return sheet.figure


def _draw(panel: Axes, comparison: Comparison, rows: NDArray[np.float64]) -> None:
    panel.set_xlim(-0.02, 1.02)
    frame_lines(panel, len(rows))
    panel.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "0.25", "0.5", "0.75", "1"])
    panel.hlines(np.arange(len(rows)), 0.0, 1.0, color=GUIDE, linewidth=0.8, zorder=0, gid="guide")
    panel.axvline(0.5, color=FAINT, linewidth=0.9, linestyle=(0, (2, 2)), zorder=1, gid="half")
    if comparison.without_noise is not None:
        _shades(panel, comparison.without_noise)
    for line, (probability, lower, upper) in enumerate(rows):
        if np.isfinite(lower):
            panel.hlines(line, lower, upper, color=POSTERIOR, linewidth=1.2, zorder=3)
        panel.plot([probability], [line], "o", markersize=7, color="white", markeredgecolor=POSTERIOR, markeredgewidth=1.8,
                   zorder=5, clip_on=False)
    for place, other in enumerate(comparison.others.values()):
        colour, marker = reference_style(place)
        lines = np.arange(len(rows)) + OFFSETS[place % len(OFFSETS)]
        panel.plot(other.inclusion_probabilities, lines, marker, color=colour, markersize=5, markeredgecolor="white",
                   markeredgewidth=0.6, linestyle="none", zorder=4, clip_on=False)


def _shades(panel: Axes, draws: NDArray[np.float64]) -> None:
    """How the draws are spread: an interval from 0 to 1 looks the same whether they are between or at both ends."""
    from matplotlib.colors import to_rgba

    edges = np.linspace(0.0, 1.0, BINS + 1)
    for line, column in enumerate(draws.T):
        share = np.histogram(np.clip(column, 0.0, 1.0), edges)[0] / len(column)
        colours = [to_rgba(POSTERIOR, DARKEST * float(part) ** 0.5) for part in share]
        panel.bar(edges[:-1], 0.7, width=1 / BINS, bottom=line - 0.35, align="edge", color=colours, linewidth=0, zorder=2)


def _number(probability: float, lower: float, upper: float) -> str:
    words = f"{probability:.3f}"
    return words if np.isnan(lower) else f"{words} [{lower:.2f}, {upper:.2f}]"


def _legend(comparison: Comparison, interval: float) -> list[tuple[Artist, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    point = Line2D([], [], marker="o", linestyle="none", color="white", markeredgecolor=POSTERIOR, markeredgewidth=1.8)
    entries: list[tuple[Artist, str]] = [(point, "given the release")]
    if comparison.without_noise is not None:
        band = "without privacy noise" if comparison.question.method == "noise-aware" else "matrices of the region"
        entries += [(Line2D([], [], color=POSTERIOR, linewidth=1.2), f"{band}: {100 * interval:g} % band"),
                    (Patch(color=POSTERIOR, alpha=0.35, linewidth=0), "and its draws")]
    return entries + reference_entries({name: {} for name in comparison.others})
