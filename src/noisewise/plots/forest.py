"""Forest plot: one thin row per term, each with its own axis because coefficients have different units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisewise.plots.line_panels import draw_interval, frame, interval_entries
from noisewise.plots.picture import Estimate, Picture, visible_range
from noisewise.plots.sheet import (
    FAINT,
    PRIOR,
    PRIOR_EDGE,
    Sheet,
    reference_entries,
    reference_style,
    shorten,
    side_rooms,
    titled_sheet,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

ROW = 0.5
STRIP = 0.26  # the height of the coloured strip; the rest of the row is for tick labels
GAP = 0.22


def forest(picture: Picture, ax: Axes | None) -> Sheet:
    """Draw the mean, 50 % and 95 % intervals, prior and references of each term."""
    sheet, top = titled_sheet(picture.title, picture.subtitle, _legend(picture), ROW * len(picture.terms) + 0.12, ax=ax)
    labels = [shorten(term) for term in picture.terms]
    estimates = [picture.estimate(position) for position in range(len(picture.terms))]
    numbers = [estimate.label() for estimate in estimates]
    left, right = side_rooms(labels, numbers, GAP)
    row_height = (sheet.height - top - 0.12) / len(picture.terms)
    strip = min(STRIP, 0.5 * row_height)
    for place, term in enumerate(picture.terms):
        above = top + place * row_height
        panel = sheet.panel(left, above, max(0.5, sheet.width - left - right), strip)
        _row(panel, term, picture, estimates[place])
        middle = above + strip / 2
        sheet.label(left - GAP, middle, labels[place])
        sheet.number(middle, numbers[place])
    return sheet


def _row(panel: Axes, term: str, picture: Picture, estimate: Estimate) -> None:
    low, high = visible_range(term, picture, (estimate.lower, estimate.upper), margin=0.12)
    panel.set_xlim(low, high)
    panel.set_ylim(-1, 1)
    frame(panel, ticks=5)
    if picture.prior is not None and picture.prior.covers(term):
        _prior_bar(panel, picture.prior.interval(term, 0.95), low, high)
    if low <= 0 <= high:
        panel.axvline(0, color=FAINT, linewidth=0.9, linestyle=(0, (2, 2)), zorder=2, gid="zero")
    draw_interval(panel, 0, estimate)
    named = [(place, values[term]) for place, values in enumerate(picture.references.values()) if term in values]
    for order, (place, value) in enumerate(named):
        colour, marker = reference_style(place)
        # References are above and below the line, so that equal values and the mean stay visible.
        offset = 0.5 if len(named) == 1 else 0.5 - order / (len(named) - 1)
        panel.plot([value], [offset], marker, color=colour, markersize=5.5, markeredgecolor="white", markeredgewidth=0.7,
                   zorder=5, clip_on=False)


def _prior_bar(panel: Axes, interval: tuple[float, float], low: float, high: float) -> None:
    """Draw the prior's 95 % interval, with a wedge where it extends beyond the axis."""
    start, stop = max(interval[0], low), min(interval[1], high)
    if start < stop:
        panel.axvspan(start, stop, ymin=0.14, ymax=0.86, color=PRIOR, linewidth=0, zorder=1, gid="prior")
    for is_outside, edge, marker in ((interval[0] < low, 0.0, "<"), (interval[1] > high, 1.0, ">")):
        if is_outside:
            panel.plot([edge], [0.5], marker, transform=panel.transAxes, color=PRIOR_EDGE, markersize=3.5, clip_on=False,
                       zorder=2, gid="prior goes on")


def _legend(picture: Picture) -> list[tuple[Artist, str]]:
    from matplotlib.patches import Patch

    prior = [] if picture.prior is None else [(Patch(color=PRIOR, linewidth=0), "prior 95 %")]
    return [*interval_entries("posterior mean", "95 %"), *prior, *reference_entries(picture.references)]
