"""The sheet on which panels are placed, measured in inches, with title and legend.

A sheet covers a new figure or the area of existing axes, so one layout serves both.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisewise.errors import ResultError
from noisewise.whole_file import whole_file

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette keeps its contrasts for colour-blind readers; references also differ in shape.
POSTERIOR = "#0072B2"
PRIOR = "#DDDDDD"
PRIOR_EDGE = "#8A8A8A"
INK = "#222222"
FAINT = "#777777"
REFERENCE_STYLES = (("#D55E00", "D"), ("#009E73", "^"), ("#CC79A7", "s"), ("#E69F00", "v"), ("#000000", "X"))

RESOLUTION = 180
WIDTH = 8.4
MARGIN = 0.2
LINE_HEIGHT = 0.2
LEGEND_LINE = 0.22
TITLE_LINES = 3
TITLE_SIZE = 11.0
LABEL_SIZE = 10.0
NUMBER_SIZE = 9.0


@dataclass(frozen=True)
class Sheet:
    """Host axes without a frame, and their size in inches."""

    host: Axes
    width: float
    height: float

    @property
    def figure(self) -> Figure:
        """The figure that holds the sheet."""
        return _root(self.host)

    def panel(self, left: float, top: float, width: float, height: float) -> Axes:
        """Add a panel; its upper left corner is measured from that of the sheet."""
        bounds = (left / self.width, 1 - (top + height) / self.height, width / self.width, height / self.height)
        return self.host.inset_axes(bounds)

    def text(self, left: float, top: float, words: str, **style: Any) -> None:
        """Write text; column names are never parsed as mathematics."""
        self.host.text(left / self.width, 1 - top / self.height, words, transform=self.host.transAxes, parse_math=False, **style)

    def label(self, right: float, top: float, words: str, size: float = LABEL_SIZE) -> None:
        """Write a right-aligned name."""
        self.text(right, top, words, ha="right", va="center", fontsize=size, color=INK)

    def number(self, top: float, words: str) -> None:
        """Write a line's number at the right margin."""
        self.text(self.width - MARGIN, top, words, ha="right", va="center", fontsize=NUMBER_SIZE, color=INK)

    def finish(self, path: str | os.PathLike[str] | None) -> Figure:
        """Return the figure, and write it to `path` if given."""
        if path is not None:
            write_figure(self.figure, path)
        return self.figure


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file, whole or not at all."""
    try:
        with whole_file(path) as file:
            figure.savefig(file, dpi=RESOLUTION, format=Path(path).suffix.lstrip(".").lower() or None)
    except (OSError, ValueError) as error:
        raise ResultError(f"the plot could not be written to {os.fspath(path)}", found=str(error),
                          remedy="use an existing folder and the extension .png, .svg or .pdf") from error


def _root(ax: Axes) -> Figure:
    """The figure on whose canvas the axes are drawn, even if they are in a subfigure."""
    root = ax.figure.canvas.figure
    assert root is not None
    return root


def open_sheet(ax: Axes | None, width: float, height: float) -> Sheet:
    """A new figure of this size, or the area of `ax` whatever its size."""
    if ax is None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        figure.set_facecolor("white")
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        ax.set_axis_off()
        return Sheet(ax, width, height)
    root = _root(ax)
    ax.set_axis_off()
    box = ax.get_window_extent()
    return Sheet(ax, box.width / root.dpi, box.height / root.dpi)


@dataclass(frozen=True)
class Heading:
    """Title, subtitle and legend, laid out for a width; `height` is the space they need at the top."""

    title: str
    subtitle: str
    entries: list[tuple[Artist, str]]
    columns: int
    height: float

    def draw(self, sheet: Sheet) -> None:
        """Write the heading on the sheet."""
        lines = self.title.count("\n") + 1
        sheet.text(MARGIN, MARGIN, self.title, fontsize=TITLE_SIZE, fontweight="bold", color=INK, va="top")
        below = MARGIN + lines * LINE_HEIGHT + 0.04
        sheet.text(MARGIN, below, self.subtitle, fontsize=8.5, color=FAINT, va="top")
        legend = sheet.host.legend(
            [handle for handle, _ in self.entries],
            [label for _, label in self.entries],
            loc="upper left", bbox_to_anchor=(MARGIN / sheet.width, 1 - (below + LINE_HEIGHT + 0.06) / sheet.height),
            ncols=self.columns, frameon=False, fontsize=8.5, borderpad=0, borderaxespad=0, handlelength=1.8, handletextpad=0.6,
            columnspacing=1.6, labelcolor=INK)
        for words in legend.get_texts():
            words.set_parse_math(False)


def heading(title: str, subtitle: str, entries: list[tuple[Artist, str]], width: float) -> Heading:
    """Break the title into lines and the legend into rows so that both fit the width."""
    usable = width - 2 * MARGIN
    letter = max(0.098, 1.05 * text_width([title], TITLE_SIZE, "bold") / max(len(title), 1))  # some letters are wide
    title = textwrap.fill(title, max(20, int(usable / letter)), max_lines=TITLE_LINES, placeholder=" …")
    subtitle = textwrap.shorten(subtitle, max(30, int(usable / 0.066)), placeholder=" …")
    columns = _legend_columns([label for _, label in entries], usable)
    legend_rows = -(-len(entries) // columns)
    height = MARGIN + (title.count("\n") + 2) * LINE_HEIGHT + legend_rows * LEGEND_LINE + 0.2
    return Heading(title, subtitle, entries, columns, height)


def titled_sheet(title: str, subtitle: str, entries: list[tuple[Artist, str]], room: float, width: float = WIDTH,
                 ax: Axes | None = None) -> tuple[Sheet, float]:
    """A sheet with a heading and this much room below it, and where the room begins. In `ax`, it is whatever is left."""
    top = heading(title, subtitle, entries, width)
    sheet = open_sheet(ax, width, top.height + room)
    if ax is not None:
        top = heading(title, subtitle, entries, sheet.width)
    top.draw(sheet)
    return sheet, top.height


def _legend_columns(labels: list[str], usable: float) -> int:
    """The most columns that fit. Matplotlib fills column by column, and each is as wide as its longest label."""
    for columns in range(len(labels), 1, -1):
        rows = -(-len(labels) // columns)
        longest = [max(map(len, labels[start : start + rows])) for start in range(0, len(labels), rows)]
        if sum(0.5 + 0.072 * letters for letters in longest) <= usable:
            return columns
    return 1


def reference_entries(references: Collection[str]) -> list[tuple[Artist, str]]:
    """Legend entries of the references."""
    from matplotlib.lines import Line2D

    styles = [reference_style(place) for place in range(len(references))]
    return [(Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=6), name)
            for name, (colour, marker) in zip(references, styles, strict=True)]


def reference_style(place: int) -> tuple[str, str]:
    """Colour and marker of the reference at this place in the given order."""
    return REFERENCE_STYLES[place % len(REFERENCE_STYLES)]


def text_width(words: list[str], fontsize: float, weight: str = "normal") -> float:
    """The width in inches of the longest text, as Matplotlib will set it."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(size=fontsize, weight=weight)
    plain = [word.replace("$", r"\$") for word in words]  # a name with dollar signs is not mathematics
    return max((float(TextPath((0, 0), word, prop=font, usetex=False).get_extents().width) / 72) for word in plain)


def side_rooms(labels: list[str], numbers: list[str], gap: float) -> tuple[float, float]:
    """The room needed for names to the left of a panel, and for numbers to its right."""
    return MARGIN + text_width(labels, LABEL_SIZE) + gap, MARGIN + text_width(numbers, NUMBER_SIZE) + gap


def shorten(term: str, letters: int = 34) -> str:
    """A long term with its middle left out."""
    if len(term) <= letters:
        return term
    half = (letters - 1) // 2
    return f"{term[:half]}…{term[-half:]}"
