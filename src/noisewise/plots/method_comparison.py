"""Several methods side by side: one panel per term, one line per method."""

from __future__ import annotations

import os
from dataclasses import astuple
from typing import TYPE_CHECKING

from noisewise.plots.line_panels import TICK_ROOM, TITLE_ROOM, WIDTH, draw_interval, frame_lines, name_lines
from noisewise.plots.picture import Estimate
from noisewise.plots.sheet import FAINT, INK, MARGIN, POSTERIOR, shorten, text_width, titled_sheet
from noisewise.results.fit_info import SCALES

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noisewise.results.method_comparison import MethodComparison

MOST_COLUMNS = 3
GAP = 0.3
LINE = 0.24
LABEL_SIZE = 9.0
OTHER = "#E69F00"
WIDEST = 4.0
"""An axis extends at most this many of the default's interval widths beyond its interval. A wedge marks what is cut off."""


def draw_comparison(comparison: MethodComparison, path: str | os.PathLike[str] | None) -> Figure:
    """Draw the mean, 50 % and 95 % intervals of each method."""
    names = list(comparison.posteriors)
    terms = next(iter(comparison.posteriors.values())).terms
    labels = [shorten(name, 24) for name in names]
    left = MARGIN + text_width(labels, LABEL_SIZE) + 0.12
    columns = min(MOST_COLUMNS, len(terms))
    cell = TITLE_ROOM + LINE * len(names) + TICK_ROOM
    down = -(-len(terms) // columns)
    sheet, top = titled_sheet(comparison.formula, "the same release by every method", _legend(comparison),
                              down * cell + 0.1, WIDTH)
    width = (sheet.width - left - MARGIN - (columns - 1) * GAP) / columns
    for place, term in enumerate(terms):
        across, above = left + (place % columns) * (width + GAP), top + (place // columns) * cell + TITLE_ROOM
        sheet.text(across, above - 0.08, shorten(term), fontsize=9.5, color=INK, va="bottom")
        panel = sheet.panel(across, above, width, LINE * len(names))
        _draw_term(panel, comparison, term)
        if place % columns == 0:
            name_lines(sheet, left, above, LINE * len(names), labels, LABEL_SIZE)
    return sheet.finish(path)


def _draw_term(panel: Axes, comparison: MethodComparison, term: str) -> None:
    names = list(comparison.posteriors)
    estimates = [Estimate.of(posterior.draws(term)) for posterior in comparison.posteriors.values()]
    # Compare with the default, or without it with the first method whose interval has a width (the sigma of "fast" has none).
    wide = [estimate for estimate in estimates if estimate.upper > estimate.lower]
    reference = estimates[names.index(comparison.default)] if comparison.default in names else (wide or estimates)[0]
    low, high = _range(term, estimates, reference)
    panel.set_xlim(low, high)
    frame_lines(panel, len(names))
    if low <= 0 <= high and term not in SCALES:
        panel.axvline(0, color=FAINT, linewidth=0.9, linestyle=(0, (2, 2)), zorder=1, gid="zero")
    panel.axvspan(reference.lower, reference.upper, color=POSTERIOR, alpha=0.1, linewidth=0, zorder=0, gid="default")
    for line, (name, estimate) in enumerate(zip(names, estimates, strict=True)):
        colour = _colour(comparison, name)
        ends = (min(max(end, low), high) for end in astuple(estimate)[1:])
        draw_interval(panel, line, Estimate(estimate.mean, *ends), colour=colour)
        for outside, edge, marker in ((estimate.lower < low, low, "<"), (estimate.upper > high, high, ">")):
            if outside:
                panel.plot([edge], [line], marker, color=colour, markersize=4, clip_on=False, zorder=4, gid="goes on")


def _range(term: str, estimates: list[Estimate], reference: Estimate) -> tuple[float, float]:
    width = reference.upper - reference.lower or 0.1 * abs(reference.mean) or 1.0
    low = max(min(estimate.lower for estimate in estimates), reference.lower - WIDEST * width)
    high = min(max(estimate.upper for estimate in estimates), reference.upper + WIDEST * width)
    pad = 0.06 * max(high - low, width)
    return (max(low - pad, 0.0) if term in SCALES else low - pad), high + pad


def _colour(comparison: MethodComparison, name: str) -> str:
    if name == comparison.default:
        return POSTERIOR
    return OTHER if name in comparison.cautions else INK


def _legend(comparison: MethodComparison) -> list[tuple[Artist, str]]:
    from matplotlib.lines import Line2D

    words = {POSTERIOR: f"{comparison.default} (the default)", INK: "other methods",
             OTHER: "methods with a caution: see the notes"}
    used = [_colour(comparison, name) for name in comparison.posteriors]
    return [(Line2D([], [], color=colour, linewidth=3, marker="o", markersize=5, markerfacecolor="white"), label)
            for colour, label in words.items() if colour in used]
