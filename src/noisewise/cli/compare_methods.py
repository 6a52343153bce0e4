"""``noisewise fit --compare-methods``: every method on the same release, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisewise.cli.csv_text import csv_text
from noisewise.cli.files import write_text
from noisewise.cli.numbers import aligned, decimals_for, fixed
from noisewise.cli.tables import plain_table
from noisewise.cli.talk import Talk, visible

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.results.comparison import MethodComparison


def write_comparison(found: MethodComparison, interval: float, plot: Path | None, csv: Path | None) -> None:
    """The picture and the table, where they are wanted."""
    if csv is not None:
        write_text(csv, csv_text(found.table(interval)))
    if plot is not None:
        found.plot(plot)


def tell_comparison(talk: Talk, found: MethodComparison, interval: float) -> None:
    """Two tables, one of terms and one of methods, and what is to be said about each method."""
    if not talk.quiet:
        talk.line(found.formula, style="bold")
    talk.result(_terms(found, interval))
    talk.result(_methods(found))
    for name in (*found.posteriors, *found.refused):
        for note in found.notes(name):
            talk.explain(f"{name}: {note}", style="dim" if name in found.posteriors else "yellow")


def _terms(found: MethodComparison, interval: float) -> Table:
    table = _empty("term", "method")
    rows = found.table(interval)
    names = [str(name) for name in rows.columns if name != "sd"]
    for heading in names:
        table.add_column(heading, justify="right", no_wrap=True)
    before = None
    for term, group in rows.groupby(level="term", sort=False):
        places = [decimals_for(float(sd)) for sd in group["sd"]]
        columns = [aligned([fixed(float(value), digits) for value, digits in zip(group[name], places, strict=True)])
                   for name in names]
        if before is not None:
            table.add_section()
        for place, (method, *cells) in enumerate(zip(group.index.get_level_values("method"), *columns, strict=True)):
            mark = f"{method} *" if method == found.default else str(method)
            table.add_row("" if place else visible(str(term)), mark, *cells)
        before = term
    return table


def _methods(found: MethodComparison) -> Table:
    table = _empty("method")
    for heading in ("seconds", "ESS", "ESS per second"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, row in found.methods().iterrows():
        mark = f"{name} *" if name == found.default else str(name)
        table.add_row(mark, fixed(float(row["seconds"]), 2), fixed(float(row["ess"]), 0), fixed(float(row["ess_per_second"]), 0))
    return table


def _empty(*columns: str) -> Table:
    table = plain_table()
    for place, name in enumerate(columns):
        table.add_column(name, style="bold" if place == 0 else None, overflow="fold")
    return table


def comparison_document(found: MethodComparison, interval: float) -> dict[str, Any]:
    """A comparison for machines."""
    rows = found.table(interval)
    low, high = (str(name) for name in rows.columns[2:4])
    keys = {"mean": "mean", "sd": "sd", low: "lower", high: "upper", "width": "width"}
    methods = found.methods()
    info = next(iter(found.posteriors.values())).info
    return {
        "formula": found.formula,
        "holders": info.holders,
        "chains": info.chains,
        "draws": info.draws,
        "seed": info.seed,
        "interval": interval,
        "default": found.default,
        "terms": [
            {"term": str(term), "method": str(method), **{key: float(row[name]) for name, key in keys.items()}}
            for (term, method), (_, row) in zip(rows.index, rows.iterrows(), strict=True)
        ],
        "methods": [
            {"method": str(name), "seconds": float(row["seconds"]), "ess": float(row["ess"]),
             "ess_per_second": float(row["ess_per_second"]), "refused": found.refused.get(str(name)),
             "caution": found.cautions.get(str(name)), "notes": row["notes"]}
            for name, row in methods.iterrows()
        ],
    }
