"""Panels with lines, marks and axes, shared by several plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noisewise.plots.picture import Estimate
from noisewise.plots.sheet import FAINT, POSTERIOR, Sheet

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

WIDTH = 9.6
TITLE_ROOM = 0.32
TICK_ROOM = 0.36
ABOVE, BELOW = 0.34, 0.62
"""Room for the title and for the axis of a panel with curves."""
GUIDE = "#E6E6E6"


def name_lines(sheet: Sheet, left: float, above: float, height: float, labels: list[str], size: float) -> None:
    """Write the names of a panel's lines to its left."""
    for place, label in enumerate(labels):
        sheet.label(left - 0.09, above + (place + 0.5) * height / len(labels), label, size)


def frame_lines(panel: Axes, count: int) -> None:
    """Make room for this many lines, from top to bottom, on a bare axis."""
    panel.set_ylim(count - 0.5, -0.5)
    frame(panel, ticks=4)


def frame_probabilities(panel: Axes, count: int) -> None:
    """Make room for this many probabilities, with a guide for each and a line at one half."""
    panel.set_xlim(-0.02, 1.02)
    frame_lines(panel, count)
    panel.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "0.25", "0.5", "0.75", "1"])
    panel.hlines(np.arange(count), 0.0, 1.0, color=GUIDE, linewidth=0.8, zorder=0, gid="guide")
    panel.axvline(0.5, color=FAINT, linewidth=0.9, linestyle=(0, (2, 2)), zorder=1, gid="half")


def draw_interval(panel: Axes, line: float, estimate: Estimate, *, clip: bool = True, colour: str = POSTERIOR) -> None:
    """Draw a thin line, a thick one inside it, and a point."""
    panel.hlines(line, estimate.lower, estimate.upper, color=colour, linewidth=1.6, zorder=3)
    panel.hlines(line, estimate.inner_lower, estimate.inner_upper, color=colour, linewidth=5.0, zorder=3)
    panel.plot([estimate.mean], [line], "o", markersize=6, color="white", markeredgecolor=colour, markeredgewidth=1.6,
               zorder=4, clip_on=clip)


def interval_entries(point: str, interval: str) -> list[tuple[Artist, str]]:
    """Legend entries for intervals."""
    from matplotlib.lines import Line2D

    mark = Line2D([], [], marker="o", linestyle="none", color="white", markeredgecolor=POSTERIOR, markeredgewidth=1.6)
    return [
        (mark, point),
        (Line2D([], [], color=POSTERIOR, linewidth=5, solid_capstyle="butt"), "50 %"),
        (Line2D([], [], color=POSTERIOR, linewidth=1.6), f"{interval} interval"),
    ]


def frame_curves(panel: Axes, below: str) -> None:
    """Draw axes below and to the left, with a faint grid; ``below`` labels the horizontal axis."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["bottom", "left"]].set_color("#BBBBBB")
    panel.tick_params(which="both", labelsize=7.5, length=2, color="#BBBBBB", labelcolor=FAINT)
    panel.grid(axis="y", color="#EEEEEE", linewidth=0.8, zorder=0)
    panel.set_xlabel(below, fontsize=8.5, color=FAINT, labelpad=2)


def frame(panel: Axes, ticks: int) -> None:
    """Draw only a faint axis below the panel, with about this many ticks."""
    from matplotlib.ticker import MaxNLocator

    panel.set_yticks([])
    panel.patch.set_alpha(0)
    panel.spines[["left", "right", "top"]].set_visible(False)
    panel.spines["bottom"].set_color("#BBBBBB")
    panel.xaxis.set_major_locator(MaxNLocator(nbins=ticks, steps=[1, 2, 2.5, 5, 10]))
    panel.tick_params(axis="x", labelsize=7, length=2, pad=1.5, color="#BBBBBB", labelcolor=FAINT)
    panel.xaxis.get_offset_text().set(fontsize=7, color=FAINT)  # the power of ten of very small or large numbers
