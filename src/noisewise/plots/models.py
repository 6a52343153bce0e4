"""A comparison of models: inclusion probabilities, one line per term, and the model space as an image."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import numpy as np

from noisewise.arrays import Array
from noisewise.plots.line_panels import TICK_ROOM, frame_lines, frame_probabilities, name_lines
from noisewise.plots.sheet import (
    FAINT,
    LABEL_SIZE,
    POSTERIOR,
    Sheet,
    reference_entries,
    reference_style,
    shorten,
    side_rooms,
    text_width,
    titled_sheet,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noisewise.results.comparison import Comparison

LINE = 0.3
CROWDED_LINE = 0.4
OFFSETS = (0.28, -0.28, 0.43)
"""Positions of other methods' marks, in lines: above and below the probability, so that equal values stay visible."""
BINS = 40
DARKEST = 0.8
"""The opacity of a bin that contains all draws."""
RANK_SIZE = 7.5
RANK_ROOM = 0.22
OUT = "#F1F1F1"


def draw_inclusion(comparison: Comparison, interval: float, path: str | os.PathLike[str] | None) -> Figure:
    """Draw each inclusion probability with the band in which an analysis without privacy noise would put it.

    Shades show the draws behind the band, and marks show other methods.
    """
    table = comparison.inclusion(interval)
    line = LINE if len(comparison.others) < 3 else CROWDED_LINE
    sheet, top = titled_sheet(comparison.design.formula, comparison.describe(), _inclusion_legend(comparison, interval),
                              line * len(table) + TICK_ROOM + 0.24)
    panel, _, _ = _panel(sheet, top, line, list(map(str, table.index)), [_number(*row) for row in table.to_numpy()])
    _draw_inclusion(panel, comparison, table.to_numpy())
    panel.set_xlabel("probability that the term belongs in the model", fontsize=8.5, color=FAINT, labelpad=3)
    return sheet.finish(path)


def _panel(sheet: Sheet, top: float, line: float, terms: list[str], numbers: list[str]) -> tuple[Axes, float, float]:
    """Make a panel with a line per term, names on the left and numbers on the right. Also return its left edge and width."""
    labels = [shorten(term) for term in terms]
    left, right = side_rooms(labels, numbers, 0.13)
    width = max(1.0, sheet.width - left - right)
    name_lines(sheet, left, top, line * len(labels), labels, LABEL_SIZE)
    for place, words in enumerate(numbers):
        sheet.number(top + (place + 0.5) * line, words)
    return sheet.panel(left, top, width, line * len(labels)), left, width


def _draw_inclusion(panel: Axes, comparison: Comparison, rows: Array) -> None:
    frame_probabilities(panel, len(rows))
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


def _shades(panel: Axes, draws: Array) -> None:
    """Shade the distribution of the draws: an interval from 0 to 1 does not show whether they are in between or at both ends."""
    from matplotlib.colors import to_rgba

    edges = np.linspace(0.0, 1.0, BINS + 1)
    for line, column in enumerate(draws.T):
        share = np.histogram(np.clip(column, 0.0, 1.0), edges)[0] / len(column)
        colours = [to_rgba(POSTERIOR, DARKEST * float(part) ** 0.5) for part in share]
        panel.bar(edges[:-1], 0.7, width=1 / BINS, bottom=line - 0.35, align="edge", color=colours, linewidth=0, zorder=2)


def _number(probability: float, lower: float, upper: float) -> str:
    words = f"{probability:.3f}"
    return words if np.isnan(lower) else f"{words} [{lower:.2f}, {upper:.2f}]"


def _inclusion_legend(comparison: Comparison, interval: float) -> list[tuple[Artist, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    point = Line2D([], [], marker="o", linestyle="none", color="white", markeredgecolor=POSTERIOR, markeredgewidth=1.8)
    entries: list[tuple[Artist, str]] = [(point, "given the release")]
    if comparison.without_noise is not None:
        band = "without privacy noise" if comparison.question.method == "noise-aware" else "matrices of the region"
        entries += [(Line2D([], [], color=POSTERIOR, linewidth=1.2), f"{band}: {100 * interval:g} % band"),
                    (Patch(color=POSTERIOR, alpha=0.35, linewidth=0), "and its draws")]
    return entries + reference_entries(comparison.others)


def draw_models(comparison: Comparison, top: int, path: str | os.PathLike[str] | None) -> Figure:
    """Draw the ``top`` most probable models from left to right, each as wide as its probability.

    The number next to each term is its inclusion probability over all models.
    """
    shown = min(top, int(np.sum(comparison.probabilities > 0)))
    terms = list(comparison.question.terms)
    sheet, above = titled_sheet(comparison.design.formula, _subtitle(comparison, shown), _models_legend(),
                                RANK_ROOM + LINE * len(terms) + TICK_ROOM + 0.24)
    start = above + RANK_ROOM
    panel, left, width = _panel(sheet, start, LINE, terms, [f"{share:.3f}" for share in comparison.inclusion_probabilities])
    edges = np.concatenate([[0.0], np.cumsum(comparison.probabilities[:shown])])
    _draw_models(panel, comparison, edges)
    for rank, (low, high) in enumerate(itertools.pairwise(edges), start=1):
        if (high - low) / edges[-1] * width > text_width([str(rank)], RANK_SIZE) + 0.08:
            sheet.text(left + width * (low + high) / 2 / edges[-1], start - 0.05, str(rank), ha="center", va="bottom",
                       fontsize=RANK_SIZE, color=FAINT)
    panel.set_xlabel("probability, starting with the most probable model", fontsize=8.5, color=FAINT, labelpad=3)
    return sheet.finish(path)


def _draw_models(panel: Axes, comparison: Comparison, edges: Array) -> None:
    from matplotlib.colors import ListedColormap

    count = len(comparison.question.terms)
    frame_lines(panel, count)
    panel.set_xlim(0.0, float(edges[-1]))
    inside = comparison.members[:len(edges) - 1].T.astype(float)
    panel.pcolormesh(edges, np.arange(count + 1) - 0.5, inside, cmap=ListedColormap([OUT, POSTERIOR]), vmin=0.0, vmax=1.0,
                     edgecolors="white", linewidth=0.6, zorder=1)


def _subtitle(comparison: Comparison, shown: int) -> str:
    if shown == len(comparison.members):
        return f"all {shown} models"
    together = float(comparison.probabilities[:shown].sum())
    return f"the {shown} most probable of {comparison.models_in_words()}: {100 * together:.1f} % together"


def _models_legend() -> list[tuple[Artist, str]]:
    from matplotlib.patches import Patch

    words = {POSTERIOR: "the term is in the model", OUT: "it is not"}
    return [(Patch(facecolor=colour, linewidth=0), label) for colour, label in words.items()]
