"""The model space as an image: terms from top to bottom, models from left to right, each as wide as it is probable."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noisewise.results.plots.line_panels import TICK_ROOM, frame_lines, name_lines
from noisewise.results.plots.sheet import FAINT, INK, MARGIN, POSTERIOR, Words, heading, open_sheet, shorten, text_width

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noisewise.results.model_comparison import Comparison

WIDTH = 8.4
LINE = 0.28
LABEL_SIZE = 10.0
NUMBER_SIZE = 9.0
RANK_SIZE = 7.5
RANK_ROOM = 0.22
OUT = "#F1F1F1"


def draw_models(comparison: Comparison, top: int, path: str | os.PathLike[str] | None) -> Figure:
    """The ``top`` most probable models; beside each term its inclusion probability over all models."""
    from noisewise.results.plots import write_figure

    shown = min(top, int(np.sum(comparison.probabilities > 0)))
    labels = [shorten(term) for term in comparison.question.terms]
    numbers = [f"{probability:.3f}" for probability in comparison.inclusion_probabilities]
    above = heading(Words(comparison.design.formula, _subtitle(comparison, shown)), _legend(), WIDTH)
    height = LINE * len(labels)
    start = above.height + RANK_ROOM
    sheet = open_sheet(None, WIDTH, start + height + TICK_ROOM + 0.24)
    above.draw(sheet)
    left = MARGIN + text_width(labels, LABEL_SIZE) + 0.12
    right = MARGIN + text_width(numbers, NUMBER_SIZE) + 0.15
    width = max(1.0, sheet.width - left - right)
    panel = sheet.panel(left, start, width, height)
    edges = np.concatenate([[0.0], np.cumsum(comparison.probabilities[:shown])])
    _draw(panel, comparison, edges)
    name_lines(sheet, left, start, height, labels, LABEL_SIZE)
    for line, words in enumerate(numbers):
        sheet.text(sheet.width - MARGIN, start + (line + 0.5) * LINE, words, ha="right", va="center", fontsize=NUMBER_SIZE,
                   color=INK)
    for rank, (low, high) in enumerate(itertools.pairwise(edges), start=1):
        if (high - low) / edges[-1] * width > text_width([str(rank)], RANK_SIZE) + 0.08:
            sheet.text(left + width * (low + high) / 2 / edges[-1], start - 0.05, str(rank), ha="center", va="bottom",
                       fontsize=RANK_SIZE, color=FAINT)
    panel.set_xlabel("probability, from the most probable model on", fontsize=8.5, color=FAINT, labelpad=3)
    write_figure(sheet.figure, path)
    return sheet.figure


def _draw(panel: Axes, comparison: Comparison, edges: NDArray[np.float64]) -> None:
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


def _legend() -> list[tuple[Artist, str]]:
    from matplotlib.patches import Patch

    words = {POSTERIOR: "the term is in the model", OUT: "it is not"}
    return [(Patch(facecolor=colour, linewidth=0), label) for colour, label in words.items()]
