"""Panels in rows and columns on one sheet, each with the same lines: what the check and the comparison of methods share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisewise.results.plots.sheet import FAINT, INK, Sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 9.6
TITLE_ROOM = 0.32
TICK_ROOM = 0.36


def name_lines(sheet: Sheet, left: float, above: float, height: float, labels: list[str], size: float) -> None:
    """The names of a panel's lines, to the left of it."""
    for place, label in enumerate(labels):
        sheet.text(left - 0.09, above + (place + 0.5) * height / len(labels), label, ha="right", va="center", fontsize=size,
                   color=INK)


def frame_lines(panel: Axes, count: int) -> None:
    """Room for so many lines, from top to bottom, on a bare axis."""
    panel.set_ylim(count - 0.5, -0.5)
    frame(panel, ticks=4)


def frame(panel: Axes, ticks: int) -> None:
    """Nothing but a faint axis below the panel, with about so many ticks."""
    from matplotlib.ticker import MaxNLocator

    panel.set_yticks([])
    panel.patch.set_alpha(0)
    panel.spines[["left", "right", "top"]].set_visible(False)
    panel.spines["bottom"].set_color("#BBBBBB")
    panel.xaxis.set_major_locator(MaxNLocator(nbins=ticks, steps=[1, 2, 2.5, 5, 10]))
    panel.tick_params(axis="x", labelsize=7, length=2, pad=1.5, color="#BBBBBB", labelcolor=FAINT)
    panel.xaxis.get_offset_text().set(fontsize=7, color=FAINT)  # the power of ten of very small or large numbers
