"""What the command line says about logistic, probit and Poisson regressions: what coefficients mean, and their ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import typer

from noisewise.cli.numbers import aligned, decimals_for, fixed
from noisewise.cli.tables import plain_table
from noisewise.cli.talk import Talk, visible

if TYPE_CHECKING:
    import pandas
    from rich.table import Table

    from noisewise.results import Posterior

LINKS: Final = {
    "logistic": "A coefficient is a change of the log odds of {response}{level}; --ratios shows odds ratios.",
    "probit": "A coefficient is a change of the normal quantile of the probability of {response}{level}.",
    "poisson": "A coefficient is a change of the log of the expected {response}; --ratios shows incidence-rate ratios.",
}


def read_steps(per: Sequence[str] | None) -> dict[str, float]:
    """``--per age=10`` as numbers by term; a term may hold an equals sign itself."""
    steps: dict[str, float] = {}
    for text in per or ():
        term, equals, number = text.rpartition("=")
        try:
            steps[term.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals or not term.strip():
            raise typer.BadParameter(f"--per is a term and by how much it changes: age=10, not {text!r}")
    return steps


def meaning(posterior: Posterior) -> str:
    """What a coefficient is, in one sentence; of a linear regression what sigma is."""
    if posterior.has_sigma:
        return "sigma is the residual standard deviation."
    column = posterior.design.basis.schema.column(posterior.design.response)
    levels: Sequence[object] = getattr(column, "levels", ())
    level = f" being {levels[1]}" if levels else ""
    return LINKS[posterior.info.family].format(response=visible(posterior.design.response), level=visible(level))


def tell_ratios(talk: Talk, posterior: Posterior, interval: float, per: Mapping[str, float]) -> None:
    """The table of odds ratios or incidence-rate ratios."""
    talk.result(_table(posterior.ratios(interval, per)))


def ratios_document(posterior: Posterior, interval: float, per: Mapping[str, float]) -> list[dict[str, Any]]:
    """The ratios for machines."""
    found = posterior.ratios(interval, per)
    _, name, low, high, above = found.columns
    keys = {"per": "per", name: "ratio", low: "lower", high: "upper", above: "probability_above_1"}
    return [{"term": str(term), "kind": str(name), **{key: float(row[column]) for column, key in keys.items()}}
            for term, row in found.iterrows()]


def _table(found: pandas.DataFrame) -> Table:
    table = plain_table("term")
    per, *names, above = map(str, found.columns)
    for heading in (per, *names, above):
        table.add_column(heading, justify="right", no_wrap=True)
    places = [decimals_for(float(width) / 4) for width in found[names[2]] - found[names[1]]]
    columns = [aligned([fixed(float(value), digits) for value, digits in zip(found[name], places, strict=True)])
               for name in names]
    for term, step, *cells, p in zip(map(str, found.index), found[per], *columns, found[above], strict=True):
        table.add_row(visible(term), f"{float(step):g}", *cells, fixed(float(p), 3))
    return table
