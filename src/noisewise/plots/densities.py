"""Densities: one small panel per term with posterior, prior and references."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noisewise.arrays import Array
from noisewise.plots.line_panels import frame
from noisewise.plots.picture import Picture, visible_range
from noisewise.plots.sheet import (
    FAINT,
    INK,
    MARGIN,
    POSTERIOR,
    PRIOR_EDGE,
    Sheet,
    reference_entries,
    reference_style,
    shorten,
    titled_sheet,
)
from noisewise.results.fit_info import SCALES

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

WIDTH = 9.0
PANEL_HEIGHT = 1.25
TITLE_ROOM = 0.5
TICK_ROOM = 0.32
GAP = 0.3
GRID = 512


def densities(picture: Picture, ax: Axes | None) -> Sheet:
    """Draw the posterior densities as small multiples."""
    count = len(picture.terms)
    columns = count if count <= 3 else 4 if count > 9 or count in (4, 7, 8) else 3
    rows = -(-count // columns)
    sheet, top = titled_sheet(picture.title, picture.subtitle, _legend(picture),
                              rows * (TITLE_ROOM + PANEL_HEIGHT + TICK_ROOM) + 0.1, WIDTH, ax)
    width = (sheet.width - 2 * MARGIN - (columns - 1) * GAP) / columns
    cell = (sheet.height - top - 0.1) / rows
    for place, term in enumerate(picture.terms):
        row, column = divmod(place, columns)
        left, above = MARGIN + column * (width + GAP), top + row * cell
        panel = sheet.panel(left, above + TITLE_ROOM, width, max(0.1, cell - TITLE_ROOM - TICK_ROOM))
        _panel(panel, term, place, picture)
        name = shorten(term, max(8, int(width / 0.085)))
        sheet.text(left, above + 0.19, name, va="center", fontsize=10, color=INK)
        numbers = picture.estimate(place).label()
        sheet.text(left, above + 0.37, numbers, va="center", fontsize=8, color=FAINT)
    return sheet


def _panel(panel: Axes, term: str, place: int, picture: Picture) -> None:
    draws = picture.draws[:, place]
    estimate = picture.estimate(place)
    outer = (float(np.quantile(draws, 0.002)), float(np.quantile(draws, 0.998)))
    low, high = visible_range(term, picture, outer, margin=0.06)
    grid = np.linspace(low, high, GRID)
    height = kernel_density(draws, grid, floor=0.0 if term in SCALES else None)
    inside = (grid >= estimate.lower) & (grid <= estimate.upper)
    panel.fill_between(grid, height, where=inside, color=POSTERIOR, alpha=0.28, linewidth=0)
    panel.plot(grid, height, color=POSTERIOR, linewidth=1.5, gid="posterior")
    if picture.prior is not None and picture.prior.covers(term):
        prior = picture.prior.density(term, grid)
        panel.plot(grid, prior, color=PRIOR_EDGE, linewidth=1.3, linestyle=(0, (4, 2)), gid="prior")
    if low <= 0 <= high:
        panel.axvline(0, color=FAINT, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1, gid="zero")
    ceiling = 1.2 * float(height.max())
    for order, values in enumerate(picture.references.values()):
        if term in values:
            colour, marker = reference_style(order)
            top = ceiling * (1 - 0.08 * order)  # at different heights, so that equal values stay visible
            panel.plot([values[term]] * 2, [0, top], color=colour, linewidth=1.2, gid="reference")
            panel.plot([values[term]], [top], marker, color=colour, markersize=5.5, clip_on=False, markeredgecolor="white",
                       markeredgewidth=0.7, zorder=5)
    panel.set_xlim(low, high)
    panel.set_ylim(0, ceiling)
    frame(panel, ticks=4)


def kernel_density(draws: Array, grid: Array, floor: float | None = None) -> Array:
    """Normal kernel density on an evenly spaced grid, reflected at `floor` if the values end there.

    Draws are first counted in fine bins, so the cost does not grow with draws times grid points.
    """
    quartiles = np.quantile(draws, [0.25, 0.75])
    deviation = float(draws.std())
    spread = min(deviation, float(quartiles[1] - quartiles[0]) / 1.349) or deviation
    bandwidth = 1.06 * spread * len(draws) ** -0.2  # Silverman's rule for a normal shape
    bandwidth = max(bandwidth, 1.5 * float(grid[1] - grid[0]))
    low, high = float(draws.min()), float(draws.max())
    slack = 0.5 * bandwidth if high - low < bandwidth else 0.0  # draws that are all equal still need a width
    counts, edges = np.histogram(draws, bins=1024, range=(low - slack, high + slack))
    centres = 0.5 * (edges[1:] + edges[:-1])
    density = _kernel_sum(grid, centres, counts, bandwidth)
    if floor is not None:
        density = density + _kernel_sum(grid, 2 * floor - centres, counts, bandwidth)
        density = np.where(grid >= floor, density, 0.0)
    return np.asarray(density / len(draws))


def _kernel_sum(grid: Array, centres: Array, counts: NDArray[np.int64], bandwidth: float) -> Array:
    kernel = np.exp(-0.5 * ((grid[:, None] - centres) / bandwidth) ** 2)
    return np.asarray(kernel @ counts / (bandwidth * np.sqrt(2 * np.pi)))


def _legend(picture: Picture) -> list[tuple[Artist, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[tuple[Artist, str]] = [
        (Line2D([], [], color=POSTERIOR, linewidth=1.5), "posterior"),
        (Patch(color=POSTERIOR, alpha=0.28, linewidth=0), "95 % interval"),
    ]
    if picture.prior is not None:
        entries.append((Line2D([], [], color=PRIOR_EDGE, linewidth=1.3, linestyle=(0, (4, 2))), "prior"))
    return entries + reference_entries(picture.references)
