"""Plots of plans: of a regression against epsilon, and of a partition release against the number of parts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from noisewise.errors import ResultError
from noisewise.plots.line_panels import ABOVE, BELOW, frame_curves
from noisewise.plots.sheet import FAINT, INK, POSTERIOR, PRIOR, REFERENCE_STYLES, Sheet, shorten, titled_sheet

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from noisewise.planning.partition import PartitionPlan
    from noisewise.planning.power import PowerCell, PowerLine, PowerPlan

    Curves: TypeAlias = dict[float, list[PowerCell]]

HEIGHT, LEFT, BETWEEN, RIGHT = 1.9, 0.75, 0.75, 0.3
"""Height of a regression's panel, its left margin, the gap to the next panel, and the right margin."""
PARTS_HEIGHT, PARTS_LEFT, PARTS_RIGHT = 1.7, 0.62, 1.25
STYLES: Final = ((POSTERIOR, "o"), *REFERENCE_STYLES)
MARKS: Final = ("-o", "-D", "--^")
DOTTED, DASHED = (0, (1, 1.5)), (0, (2, 2))
MOST_TERMS: Final = 20
LABEL_HEIGHT: Final = 0.1
MOST_SHOWN: Final = 100.0
"""An axis ends at this multiple of the least width or noise."""
LABELS: Final = {"error": "expected error", "power": "power", "width": "width", "noise": "noise"}


def draw_power(plan: PowerPlan, path: str | os.PathLike[str] | None, terms: list[str] | None) -> Figure:
    """Plot interval width, and power if effects are given, with one row of panels for each term.

    There is a curve against epsilon for each number of rows, or a curve against rows if there is only one epsilon.
    """
    shown = _terms(plan, terms)
    across = "epsilon" if len({cell.epsilon for cell in plan.cells}) > 1 or len(plan.cells) == 1 else "rows"
    curves: Curves = {}
    for cell in sorted(plan.cells, key=lambda cell: getattr(cell, across)):
        curves.setdefault(cell.rows if across == "epsilon" else cell.epsilon, []).append(cell)
    curves = dict(sorted(curves.items()))
    sheet, top = titled_sheet(*_words(plan, across), _legend(curves, across, shown), len(shown) * (ABOVE + HEIGHT + BELOW))
    with_power = any(line.power is not None for line in plan.cells[0].lines if line.term in shown)
    for place, term in enumerate(shown):
        _draw_term(sheet, curves, term, across, top + place * (ABOVE + HEIGHT + BELOW) + ABOVE, with_power)
    return sheet.finish(path)


def _terms(plan: PowerPlan, terms: list[str] | None) -> list[str]:
    """The terms to draw: those asked for, or those with effects, or all but the intercept."""
    for term in terms or []:
        if term not in plan.terms:
            raise ResultError("a plot can only show terms of the plan", argument="term", found=repr(term), known=plan.terms)
    named = [line.term for line in plan.cells[0].lines if line.effect is not None]
    return list(terms or named or [term for term in plan.terms if term != "Intercept"] or plan.terms)[:MOST_TERMS]


def _words(plan: PowerPlan, across: str) -> tuple[str, str]:
    first = plan.cells[0]
    delta = f", δ = {first.delta:g}" if first.delta else ""
    holders = f", {plan.holders} holders" if plan.holders > 1 else ""
    budget = f"ε = {first.epsilon:g}" if across == "rows" else f"{first.mechanism} noise"
    return (f"{plan.formula}: {budget}{delta}{holders}",
            f"{plan.interval:.0%} intervals to expect, from {plan.repeats} simulations; nothing was read or spent")


def _legend(curves: Curves, across: str, terms: list[str]) -> list[tuple[Artist, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[tuple[Artist, str]] = []
    for place, value in enumerate(curves):
        colour, mark = STYLES[place % len(STYLES)]
        label = f"{value:,.0f} rows" if across == "epsilon" else f"ε = {value:g}"
        entries.append((Line2D([], [], color=colour, marker=mark, markersize=4, linewidth=1.4), label))
    entries.append((Line2D([], [], color=FAINT, linestyle=DOTTED, linewidth=1.4), "without privacy"))
    if any(_prior_near(curves, term) for term in terms):
        entries.append((Patch(color=PRIOR), "the prior alone"))
    return entries


def _draw_term(sheet: Sheet, curves: Curves, term: str, across: str, above: float, with_power: bool) -> None:
    effect = next(iter(curves.values()))[0].line(term).effect
    title = shorten(term, 60) + (f", effect {effect:g}" if effect is not None else "")
    sheet.text(LEFT, above - 0.1, title, fontsize=10.0, color=INK, va="bottom")
    room = sheet.width - LEFT - RIGHT
    width = (room - BETWEEN) / 2 if with_power else room
    panel = sheet.panel(LEFT, above, width, HEIGHT)
    _frame(panel, curves, across)
    _draw_widths(panel, curves, term, across)
    if effect is not None:
        panel = sheet.panel(LEFT + width + BETWEEN, above, width, HEIGHT)
        _frame(panel, curves, across)
        _draw_powers(panel, curves, term, across)


def _styled(curves: Curves, term: str, across: str) -> Iterator[tuple[str, str, list[float], list[PowerLine]]]:
    """Colour, mark, places and values of each curve."""
    for place, cells in enumerate(curves.values()):
        yield *STYLES[place % len(STYLES)], [getattr(cell, across) for cell in cells], [cell.line(term) for cell in cells]


def _draw_widths(panel: Axes, curves: Curves, term: str, across: str) -> None:
    every = []
    for colour, mark, x, lines in _styled(curves, term, across):
        panel.plot(x, [line.width for line in lines], color=colour, marker=mark, markersize=4, linewidth=1.4, zorder=3)
        _without_privacy(panel, x, [line.width_without_privacy for line in lines], colour)
        every += [value for line in lines for value in (line.width, line.width_without_privacy)]
    panel.set_yscale("log")
    low, high = 0.7 * min(every), 1.4 * max(every)
    prior = _prior_near(curves, term)
    if prior is not None:
        panel.axhspan(0.93 * prior, 1.07 * prior, color=PRIOR, zorder=1)
        high = max(high, 1.4 * prior)
    panel.set_ylim(low, high)
    _plain_numbers(panel.yaxis)
    panel.set_ylabel("width of the interval", fontsize=8.5, color=FAINT, labelpad=3)


def _prior_near(curves: Curves, term: str) -> float | None:
    """The width of the prior's interval, if the curves come near it."""
    lines: list[PowerLine] = [cell.line(term) for cells in curves.values() for cell in cells]
    prior = lines[0].width_prior
    return prior if prior is not None and prior < 4 * max(line.width for line in lines) else None


def _draw_powers(panel: Axes, curves: Curves, term: str, across: str) -> None:
    for colour, mark, x, lines in _styled(curves, term, across):
        shares, errors = [line.power or 0.0 for line in lines], [1.96 * (line.power_error or 0.0) for line in lines]
        panel.errorbar(x, shares, yerr=errors, color=colour, marker=mark, markersize=4, linewidth=1.4, elinewidth=0.8, zorder=3)
        _without_privacy(panel, x, [line.power_without_privacy or 0.0 for line in lines], colour)
    panel.axhline(0.8, color="#DDDDDD", linewidth=0.8, zorder=1)
    panel.set_ylim(0.0, 1.05)
    panel.set_ylabel("chance to detect it", fontsize=8.5, color=FAINT, labelpad=3)


def _without_privacy(panel: Axes, x: list[float], values: list[float], colour: str) -> None:
    """A reference line; for a single point it spans the whole panel."""
    single = len(x) == 1
    panel.plot(list(panel.get_xlim()) if single else x, values * 2 if single else values, color=colour, linestyle=DOTTED,
               linewidth=1.4, zorder=2)


def _frame(panel: Axes, curves: Curves, across: str) -> None:
    x = sorted({getattr(cell, across) for cells in curves.values() for cell in cells})
    _log_axis(panel, x, 1.25, [f"{value:,.4g}" if across == "epsilon" else f"{value:,.0f}" for value in x] if len(x) <= 8 else [])
    frame_curves(panel, "ε  (more privacy ←   → less privacy)" if across == "epsilon" else "rows")


def _log_axis(panel: Axes, x: Sequence[float], room: float, labels: list[str]) -> None:
    panel.set_xscale("log")
    panel.set_xlim(x[0] / room, x[-1] * room)
    if labels:
        panel.set_xticks(x, labels)
        panel.set_xticks([], minor=True)
    else:
        _plain_numbers(panel.xaxis)


def _plain_numbers(axis: Axis) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_formatter(NullFormatter())


def draw_parts(plan: PartitionPlan, path: str | os.PathLike[str] | None) -> Figure:
    """One panel for each question, with a line for each value of its measure; the suggested number of parts is marked."""
    from matplotlib.lines import Line2D

    delta = f", δ = {plan.delta:g}" if plan.delta else ""
    title = f"{plan.rows:,} rows, {plan.predictors} predictors, ε = {plan.epsilon:g}{delta}"
    suggested = Line2D([], [], color=FAINT, linestyle=DASHED), f"suggested: {plan.parts:,} parts"
    count, room = len(plan.best.expected), ABOVE + PARTS_HEIGHT + BELOW
    sheet, top = titled_sheet(title, "what to expect, with the best limits for each number of parts", [suggested], count * room)
    for place in range(count):
        _draw_question(sheet, plan, place, top + place * room + ABOVE)
    return sheet.finish(path)


def _draw_question(sheet: Sheet, plan: PartitionPlan, place: int, above: float) -> None:
    expected = plan.best.expected[place]
    sheet.text(PARTS_LEFT, above - 0.1, shorten(expected.name, 90), fontsize=10.0, color=INK, va="bottom")
    panel = sheet.panel(PARTS_LEFT, above, sheet.width - PARTS_LEFT - PARTS_RIGHT, PARTS_HEIGHT)
    parts = [line.parts for line in plan.lines]
    series = {name: [line.expected[place].values[name] for line in plan.lines] for name in expected.values}
    colours = [STYLES[order % len(STYLES)][0] for order in range(len(series))]
    every = [value for values in series.values() for value in values]
    _frame_parts(panel, parts, expected.measure, min(every), max(every))
    for order, values in enumerate(series.values()):
        panel.plot(parts, values, MARKS[order % len(MARKS)], color=colours[order], markersize=4, linewidth=1.4, zorder=3 + order)
    to_panel = panel.transData + panel.transAxes.inverted()
    heights = _apart([float(to_panel.transform((1.0, values[-1]))[1]) for values in series.values()])
    for name, height, colour in zip(series, heights, colours, strict=True):
        label = name if expected.measure not in ("error", "power") else f"at {name}"
        sheet.text(sheet.width - PARTS_RIGHT + 0.12, above + PARTS_HEIGHT * (1.0 - height), label, fontsize=8.5, color=colour,
                   va="center")
    panel.axvline(plan.parts, color=FAINT, linewidth=1.0, linestyle=DASHED, zorder=1, gid="suggested")


def _frame_parts(panel: Axes, parts: list[int], measure: str, smallest: float, largest: float) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    _log_axis(panel, parts, 1.15, [f"{size:,}" for size in parts])
    if measure in ("width", "noise"):
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.minorticks_off()
        panel.set_ylim(0.8 * smallest, 1.25 * min(largest, MOST_SHOWN * smallest))
    else:
        panel.set_ylim(0.0, 1.05 if measure == "power" else 1.1 * largest)
    frame_curves(panel, "number of parts")
    panel.set_ylabel(LABELS[measure], fontsize=8.5, color=FAINT, labelpad=3)


def _apart(heights: list[float]) -> list[float]:
    """Move heights in a panel (bottom 0, top 1) apart so that labels do not overlap."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    moved = list(heights)
    for below, above in pairwise(order):
        moved[above] = max(moved[above], moved[below] + LABEL_HEIGHT)
    excess = max(0.0, max(moved) - 1.0)
    return [height - excess for height in moved]
