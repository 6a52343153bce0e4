"""The sheet that panels are placed on, measured in inches, with title and legend.

A sheet covers a new figure or the room of an existing axes, so that one layout serves both.
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

# Okabe and Ito's palette keeps its contrasts for colour-blind readers; references differ in shape as well.
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
    """A host axes without frame and its size in inches."""

    host: Axes
    width: float
    height: float

    @property
    def figure(self) -> Figure:
        """The figure that holds the sheet."""
        return _root(self.host)

    def panel(self, left: float, top: float, width: float, height: float) -> Axes:
        """A panel whose upper left corner is given from the sheet's upper left corner."""
        bounds = (left / self.width, 1 - (top + height) / self.height, width / self.width, height / self.height)
        return self.host.inset_axes(bounds)

    def text(self, left: float, top: float, words: str, **style: Any) -> None:
        """Words at a place; names of columns are never read as mathematics."""
        self.host.text(left / self.width, 1 - top / self.height, words, transform=self.host.transAxes, parse_math=False, **style)

    def label(self, right: float, top: float, words: str, size: float = LABEL_SIZE) -> None:
        """A name that ends at a place."""
        self.text(right, top, words, ha="right", va="center", fontsize=size, color=INK)

    def number(self, top: float, words: str) -> None:
        """A line's number, at the right margin."""
        self.text(self.width - MARGIN, top, words, ha="right", va="center", fontsize=NUMBER_SIZE, color=INK)

    def finish(self, path: str | os.PathLike[str] | None) -> Figure:
        """The figure, written to `path` if there is one."""
        if path is not None:
            write_figure(self.figure, path)
        return self.figure


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a picture, whole or not at all."""
    try:
        with whole_file(path) as file:
            figure.savefig(file, dpi=RESOLUTION, format=Path(path).suffix.lstrip(".").lower() or None)
    except (OSError, ValueError) as error:
        raise ResultError(f"the picture could not be written to {os.fspath(path)}", found=str(error),
                          remedy="use a folder that exists and the ending .png, .svg or .pdf") from error


def _root(ax: Axes) -> Figure:
    """The figure on whose canvas the axes are drawn, also through subfigures."""
    root = ax.figure.canvas.figure
    assert root is not None
    return root


def open_sheet(ax: Axes | None, width: float, height: float) -> Sheet:
    """A new figure of the wished size, or the room of `ax` whatever its size."""
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
    """Title, subtitle and legend, laid out for a width; `height` is the room they take at the top."""

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
    """Break the title into lines and the legend into rows so that both fit into the width."""
    usable = width - 2 * MARGIN
    letter = max(0.098, 1.05 * text_width([title], TITLE_SIZE, "bold") / max(len(title), 1))  # some are wide
    title = textwrap.fill(title, max(20, int(usable / letter)), max_lines=TITLE_LINES, placeholder=" …")
    subtitle = textwrap.shorten(subtitle, max(30, int(usable / 0.066)), placeholder=" …")
    columns = _legend_columns([label for _, label in entries], usable)
    legend_rows = -(-len(entries) // columns)
    height = MARGIN + (title.count("\n") + 2) * LINE_HEIGHT + legend_rows * LEGEND_LINE + 0.2
    return Heading(title, subtitle, entries, columns, height)


def titled_sheet(title: str, subtitle: str, entries: list[tuple[Artist, str]], room: float, width: float = WIDTH,
                 ax: Axes | None = None) -> tuple[Sheet, float]:
    """A sheet with a heading and so much room below it, and where that begins; in `ax`, as much room as there is."""
    top = heading(title, subtitle, entries, width)
    sheet = open_sheet(ax, width, top.height + room)
    if ax is not None:
        top = heading(title, subtitle, entries, sheet.width)
    top.draw(sheet)
    return sheet, top.height


def _legend_columns(labels: list[str], usable: float) -> int:
    """The most columns that fit: matplotlib fills columns first and each is as wide as its longest label."""
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
    """Colour and marker of the reference at a place in the order given."""
    return REFERENCE_STYLES[place % len(REFERENCE_STYLES)]


def text_width(words: list[str], fontsize: float, weight: str = "normal") -> float:
    """The width in inches of the longest of some words, as matplotlib will set them."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(size=fontsize, weight=weight)
    plain = [word.replace("$", r"\$") for word in words]  # a name with dollars is no mathematics
    return max((float(TextPath((0, 0), word, prop=font, usetex=False).get_extents().width) / 72) for word in plain)


def side_rooms(labels: list[str], numbers: list[str], gap: float) -> tuple[float, float]:
    """The room that a panel's names need to its left, and its numbers to its right."""
    return MARGIN + text_width(labels, LABEL_SIZE) + gap, MARGIN + text_width(numbers, NUMBER_SIZE) + gap


def shorten(term: str, letters: int = 34) -> str:
    """A long term with its middle left out."""
    if len(term) <= letters:
        return term
    half = (letters - 1) // 2
    return f"{term[:half]}…{term[-half:]}"
