"""A plot of the predictive check: one panel per statistic, one line per holder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from noisewise.plots.line_panels import TICK_ROOM, TITLE_ROOM, WIDTH, frame_lines, name_lines
from noisewise.plots.sheet import FAINT, INK, MARGIN, POSTERIOR, PRIOR, Sheet, shorten, text_width, titled_sheet

if TYPE_CHECKING:
    import pandas
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noisewise.results.checks import PredictiveCheck

MOST_COLUMNS = 4
GAP = 0.22
LINE = 0.2
"""The height of a holder's line in inches, unless there are many holders."""
TALLEST = 5.0
SMALLEST_LABELLED = 0.1
LABEL_SIZE = 8.5
STRIKING = "#D55E00"


def striking_p(holders: int) -> float:
    """The p below which a dot is marked. It is lower for many holders, because some will be far out by chance.

    >>> striking_p(5), striking_p(200)
    (0.01, 0.0005)
    """
    return min(0.01, 0.1 / holders)


def draw_check(check: PredictiveCheck, path: str | os.PathLike[str] | None) -> Figure:
    """Draw observed against expected statistics in the user's units; columns left out are in standard deviations."""
    from noisewise.results.check_findings import ALL, OVERALL

    table = check.table.reset_index()
    holders = list(dict.fromkeys(table.loc[table["holder"] != ALL, "holder"]))
    # A holder may lack a statistic: its line stays empty.
    panels = [(str(name), rows.set_index("holder").reindex(holders).reset_index())
              for name, rows in table[table["holder"] != ALL].groupby("statistic", sort=False)]
    left_out = table[(table["holder"] == ALL) & table["statistic"].str.startswith("residual")]
    line = min(LINE, TALLEST / len(holders))
    labels = [shorten(name, 24) for name in holders]
    left = MARGIN + text_width(labels, LABEL_SIZE) + 0.1 if line >= SMALLEST_LABELLED else MARGIN
    columns = min(MOST_COLUMNS, len(panels))
    room = TITLE_ROOM + TICK_ROOM
    body = max(0.34, line * len(holders))
    down = -(-len(panels) // columns)
    limit = striking_p(len(holders))
    entries = _legend(check.interval, limit)
    subtitle = "predictive check: the released statistics of each holder, per row, against what the fit expects"
    more = room + LINE * len(left_out) + 0.1 if len(left_out) else 0.0
    sheet, top = titled_sheet(check.formula, subtitle, entries, down * (body + room) + more + 0.1, WIDTH)
    width = (sheet.width - left - MARGIN - (columns - 1) * GAP) / columns
    for place, (name, rows) in enumerate(panels):
        above = top + (place // columns) * (body + room) + TITLE_ROOM
        across = left + (place % columns) * (width + GAP)
        panel = _panel(sheet, (across, above, width, body), name, rows, limit)
        if left == MARGIN and name == OVERALL:
            _name_striking(panel, rows, labels, limit)
        elif left > MARGIN and place % columns == 0:
            name_lines(sheet, across, above, body, labels, LABEL_SIZE)
    if len(left_out):
        _left_out(sheet, top + down * (body + room) + TITLE_ROOM, left_out, limit)
    return sheet.finish(path)


def _panel(sheet: Sheet, box: tuple[float, float, float, float], name: str, rows: pandas.DataFrame, limit: float) -> Axes:
    across, above, width, height = box
    sheet.text(across, above - 0.08, shorten(name, max(12, int(width / 0.075))), fontsize=9, color=INK, va="bottom")
    panel = sheet.panel(across, above, width, height)
    frame_lines(panel, len(rows))
    _lines(panel, rows, height / len(rows), limit)
    return panel


def _name_striking(panel: Axes, rows: pandas.DataFrame, labels: list[str], limit: float) -> None:
    """Name only striking holders if lines are too thin for all names. The distance panel has room to the left of its dots."""
    for place, (value, p) in enumerate(zip(rows["observed"], rows["p"], strict=True)):
        if p < limit:
            panel.annotate(labels[place], (value, place), xytext=(-4, 0), textcoords="offset points", ha="right", va="center",
                           fontsize=7, color=STRIKING, parse_math=False)


def _left_out(sheet: Sheet, above: float, rows: pandas.DataFrame, limit: float) -> None:
    """Draw columns that the formula leaves out on one axis, scaled because their units differ."""
    labels = [shorten(str(name).removesuffix(" (left out)"), 34) for name in rows["statistic"]]
    left = MARGIN + text_width(labels, LABEL_SIZE) + 0.1
    half = (rows["upper"] - rows["lower"]) / 2
    scaled = rows.assign(observed=rows["observed"] / half, expected=0.0, lower=-1.0, upper=1.0)
    words = "all holders: residuals and the columns that the formula leaves out (1 is the end of the interval)"
    sheet.text(MARGIN, above - 0.08, words, fontsize=9, color=INK, va="bottom")
    panel = sheet.panel(left, above, sheet.width - left - MARGIN, LINE * len(rows))
    frame_lines(panel, len(rows))
    _lines(panel, scaled, LINE, limit)
    name_lines(sheet, left, above, LINE * len(rows), labels, LABEL_SIZE)


def _lines(panel: Axes, rows: pandas.DataFrame, line: float, limit: float) -> None:
    places = range(len(rows))
    thick = max(0.8, min(6.0, 72 * 0.55 * line))
    panel.hlines(places, rows["lower"], rows["upper"], color=PRIOR, linewidth=thick, zorder=1)
    dot = max(1.6, min(5.0, 72 * 0.4 * line))
    for is_striking, colour in ((False, POSTERIOR), (True, STRIKING)):
        chosen = (rows["p"] < limit) == is_striking
        at = [place for place, wanted in zip(places, chosen, strict=True) if wanted]
        panel.plot(rows.loc[chosen, "observed"], at, "D" if is_striking else "o", color=colour, zorder=3, clip_on=False,
                   markersize=max(dot, 3.5) if is_striking else dot, gid="striking" if is_striking else "usual")
    if rows["expected"].nunique() == 1:
        panel.axvline(float(rows["expected"].max()), color=FAINT, linewidth=0.8, linestyle=(0, (2, 2)), zorder=2)


def _legend(interval: float, limit: float) -> list[tuple[Artist, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        (Patch(color=PRIOR, linewidth=0), f"expected, {100 * interval:g} %"),
        (Line2D([], [], marker="o", linestyle="none", color=POSTERIOR, markersize=5), "released"),
        (Line2D([], [], marker="D", linestyle="none", color=STRIKING, markersize=5), f"released, p below {limit:.1g}"),
    ]
