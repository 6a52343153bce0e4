"""A plan of a regression: interval width, and power where effects are given, against epsilon; one row of panels for each term."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from noisewise.errors import ResultError
from noisewise.results.plots.sheet import FAINT, INK, PRIOR, REFERENCE_STYLES, Sheet, Words, heading, open_sheet, shorten

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noisewise.results.power_plan import PowerCell, PowerPlan

WIDTH: Final = 8.4
PANEL: Final = 1.9
BELOW: Final = 0.62
ABOVE: Final = 0.34
LEFT: Final = 0.75
BETWEEN: Final = 0.75
RIGHT: Final = 0.3
MOST_TERMS: Final = 20
STYLES: Final = (("#0072B2", "o"), *REFERENCE_STYLES)
INTERCEPT: Final = "Intercept"


def draw_power(plan: PowerPlan, path: str | os.PathLike[str] | None, terms: list[str] | None) -> Figure:
    """Curves for each number of rows against epsilon; against the rows where there is one epsilon only."""
    from noisewise.results.plots import write_figure

    shown = _terms(plan, terms)
    across = "epsilon" if len({cell.epsilon for cell in plan.cells}) > 1 or len(plan.cells) == 1 else "rows"
    curves = _curves(plan, across)
    top = heading(_words(plan, across), _legend(curves, across, shown), WIDTH)
    sheet = open_sheet(None, WIDTH, top.height + len(shown) * (ABOVE + PANEL + BELOW))
    top.draw(sheet)
    with_power = any(line.power is not None for line in plan.cells[0].lines if line.term in shown)
    for place, term in enumerate(shown):
        above = top.height + place * (ABOVE + PANEL + BELOW) + ABOVE
        _draw_term(sheet, curves, term, across, above, with_power)
    write_figure(sheet.figure, path)
    return sheet.figure


def _terms(plan: PowerPlan, terms: list[str] | None) -> list[str]:
    """What is drawn: what was asked for, or the terms with effects, or all but the intercept."""
    for term in terms or []:
        if term not in plan.terms:
            raise ResultError("a picture shows terms of the plan", found=repr(term), remedy="they are " + ", ".join(plan.terms))
    named = [line.term for line in plan.cells[0].lines if line.effect is not None]
    chosen = terms or named or [term for term in plan.terms if term != INTERCEPT] or list(plan.terms)
    return list(chosen)[:MOST_TERMS]


def _curves(plan: PowerPlan, across: str) -> dict[float, list[PowerCell]]:
    by: dict[float, list[PowerCell]] = {}
    for cell in plan.cells:
        by.setdefault(cell.rows if across == "epsilon" else cell.epsilon, []).append(cell)
    return {value: sorted(cells, key=lambda cell: getattr(cell, across)) for value, cells in sorted(by.items())}


def _words(plan: PowerPlan, across: str) -> Words:
    first = plan.cells[0]
    delta = f", δ = {first.delta:g}" if first.delta else ""
    holders = f", {plan.holders} holders" if plan.holders > 1 else ""
    budget = f"ε = {first.epsilon:g}" if across == "rows" else f"{first.mechanism} noise"
    return Words(f"{plan.formula}: {budget}{delta}{holders}",
                 f"{plan.interval:.0%} intervals to expect, from {plan.repeats} simulations; nothing was read or spent")


def _legend(curves: dict[float, list[PowerCell]], across: str, terms: list[str]) -> list[tuple[Artist, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[tuple[Artist, str]] = []
    for place, value in enumerate(curves):
        colour, mark = STYLES[place % len(STYLES)]
        label = f"{value:,.0f} rows" if across == "epsilon" else f"ε = {value:g}"
        entries.append((Line2D([], [], color=colour, marker=mark, markersize=4, linewidth=1.4), label))
    entries.append((Line2D([], [], color=FAINT, linestyle=(0, (1, 1.5)), linewidth=1.4), "without privacy"))
    if any(_prior_near(curves, term) for term in terms):
        entries.append((Patch(color=PRIOR), "the prior alone"))
    return entries


def _draw_term(sheet: Sheet, curves: dict[float, list[PowerCell]], term: str, across: str, above: float,
               with_power: bool) -> None:
    effect = next(iter(curves.values()))[0].line(term).effect
    title = shorten(term, 60) + (f", effect {effect:g}" if effect is not None else "")
    sheet.text(LEFT, above - 0.1, title, fontsize=10.0, color=INK, va="bottom")
    room = sheet.width - LEFT - RIGHT
    width = (room - BETWEEN) / 2 if with_power else room
    panel = sheet.panel(LEFT, above, width, PANEL)
    _frame(panel, curves, across)
    _draw_widths(panel, curves, term, across)
    if effect is not None:
        panel = sheet.panel(LEFT + width + BETWEEN, above, width, PANEL)
        _frame(panel, curves, across)
        _draw_powers(panel, curves, term, across)


def _draw_widths(panel: Axes, curves: dict[float, list[PowerCell]], term: str, across: str) -> None:
    every = []
    for place, cells in enumerate(curves.values()):
        colour, mark = STYLES[place % len(STYLES)]
        lines, x = [cell.line(term) for cell in cells], [getattr(cell, across) for cell in cells]
        panel.plot(x, [line.width for line in lines], color=colour, marker=mark, markersize=4, linewidth=1.4, zorder=3)
        panel.plot(_reaching(panel, x), _reaching_values([line.width_without_privacy for line in lines]), color=colour,
                   linestyle=(0, (1, 1.5)), linewidth=1.4, zorder=2)
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


def _prior_near(curves: dict[float, list[PowerCell]], term: str) -> float | None:
    """The width of the prior's interval, if the curves come near it."""
    lines = [cell.line(term) for cells in curves.values() for cell in cells]
    prior = lines[0].width_prior
    return prior if prior is not None and prior < 4 * max(line.width for line in lines) else None


def _draw_powers(panel: Axes, curves: dict[float, list[PowerCell]], term: str, across: str) -> None:
    for place, cells in enumerate(curves.values()):
        colour, mark = STYLES[place % len(STYLES)]
        lines, x = [cell.line(term) for cell in cells], [getattr(cell, across) for cell in cells]
        shares, errors = [line.power or 0.0 for line in lines], [1.96 * (line.power_error or 0.0) for line in lines]
        panel.errorbar(x, shares, yerr=errors, color=colour, marker=mark, markersize=4, linewidth=1.4, elinewidth=0.8, zorder=3)
        panel.plot(_reaching(panel, x), _reaching_values([line.power_without_privacy or 0.0 for line in lines]), color=colour,
                   linestyle=(0, (1, 1.5)), linewidth=1.4, zorder=2)
    panel.axhline(0.8, color="#DDDDDD", linewidth=0.8, zorder=1)
    panel.set_ylim(0.0, 1.05)
    panel.set_ylabel("chance to detect it", fontsize=8.5, color=FAINT, labelpad=3)


def _reaching(panel: Axes, x: list[float]) -> list[float]:
    """A single point has a reference line over the whole panel."""
    return list(panel.get_xlim()) if len(x) == 1 else x


def _reaching_values(values: list[float]) -> list[float]:
    return values * 2 if len(values) == 1 else values


def _frame(panel: Axes, curves: dict[float, list[PowerCell]], across: str) -> None:
    x = sorted({getattr(cell, across) for cells in curves.values() for cell in cells})
    panel.set_xscale("log")
    panel.set_xlim(x[0] / 1.25, x[-1] * 1.25)
    if len(x) <= 8:
        panel.set_xticks(x, [f"{value:,.4g}" if across == "epsilon" else f"{value:,.0f}" for value in x])
        panel.set_xticks([], minor=True)
    else:
        _plain_numbers(panel.xaxis)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["bottom", "left"]].set_color("#BBBBBB")
    panel.tick_params(which="both", labelsize=7.5, length=2, color="#BBBBBB", labelcolor=FAINT)
    panel.grid(axis="y", color="#EEEEEE", linewidth=0.8, zorder=0)
    label = "ε  (more privacy ←   → less privacy)" if across == "epsilon" else "rows"
    panel.set_xlabel(label, fontsize=8.5, color=FAINT, labelpad=2)


def _plain_numbers(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_formatter(NullFormatter())
