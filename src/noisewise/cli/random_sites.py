"""What ``noisewise fit --site`` says about the sites: how much they differ, and each site's own coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from noisewise.cli.numbers import aligned, decimals_for, fixed
from noisewise.cli.tables import plain_table
from noisewise.cli.talk import Talk, visible

if TYPE_CHECKING:
    from noisewise.results.sites import SiteEffects


def tell_sites(talk: Talk, sites: SiteEffects, interval: float) -> None:
    """The standard deviations between sites; the table before it is of an average site."""
    summary = sites.summary(interval)
    names = [str(name) for name in summary.columns[:4]]
    places = [decimals_for(float(sd)) for sd in summary["sd"]]
    table = plain_table("differs between sites")
    columns = [aligned([fixed(float(value), digits) for value, digits in zip(summary[name], places, strict=True)])
               for name in (names[0], names[2], names[3])]
    for heading in ("standard deviation", names[2], names[3]):
        table.add_column(heading, justify="right", no_wrap=True)
    for term, *cells in zip(map(str, summary.index), *columns, strict=True):
        table.add_row(visible(term), *cells)
    talk.result(table)
    talk.explain(f"The first table is of an average site, the second says how much the {sites.count} sites differ around it: the "
                 "intercept in the middle of all predictors' ranges, sigma by so large a share of itself. --json has each site's "
                 "own coefficients.", style="dim")


def sites_document(sites: SiteEffects, names: Sequence[str], interval: float) -> dict[str, Any]:
    """The same for machines, with each site's own coefficients; ``names`` are those of the sites."""
    summary, own = sites.summary(interval), sites.table(interval)
    low, high = (str(name) for name in own.columns[1:])
    ends = {"lower": low, "upper": high}
    return {
        "between_sites": [
            {"term": str(term), "mean": float(row["mean"]), "sd": float(row["sd"]),
             **{key: float(row[name]) for key, name in ends.items()}, "r_hat": float(row["r_hat"])}
            for term, row in summary.iterrows()
        ],
        "site_coefficients": [
            {"site": names[site - 1], "term": str(term), "mean": float(row["mean"]),
             **{key: float(row[name]) for key, name in ends.items()}}
            for (site, term), (_, row) in zip(own.index, own.iterrows(), strict=True)
        ],
    }
