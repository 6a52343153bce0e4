"""What ``noisewise fit`` says about a posterior: the table, in words whether to trust it, and both for machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from noisewise.cli.families import meaning, tell_ratios
from noisewise.cli.numbers import aligned, decimals_for, fixed
from noisewise.cli.random_sites import tell_sites
from noisewise.cli.tables import plain_table
from noisewise.cli.talk import Talk, visible

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.results import Posterior


def tell_fit(talk: Talk, posterior: Posterior, interval: float, ratios: Mapping[str, float] | None = None) -> None:
    """The table, and in words whether to trust it. ``ratios``: also those, for changes that are not 1."""
    from noisewise.posterior.compare import CAUTIONS
    from noisewise.results.posterior import INDEPENDENT

    info = posterior.info
    holders = "one holder" if info.holders == 1 else f"{info.holders} holders together"
    if not talk.quiet:
        talk.line(info.formula, style="bold")
        differ = "" if posterior.sites is None else ", coefficients of an average one"
        kind = f"method {info.method}" if posterior.has_sigma else f"{info.family} regression"
        talk.line(f"release of {holders}{differ}, {kind}, {info.chains} × {info.draws:,} draws in "
                  f"{info.seconds:.1f} s, seed {info.seed}", style="dim")
    talk.result(_table(posterior, interval))
    if ratios is not None:
        tell_ratios(talk, posterior, interval, ratios)
    if posterior.sites is not None:
        tell_sites(talk, posterior.sites, interval)
    problems, caution = posterior.diagnose(), CAUTIONS.get(info.method)
    if problems:
        found = (("found", problem) for problem in problems)
        talk.warn("do not trust these draws yet", *found, ("remedy", f"fit again with {_remedy(posterior)}"))
    elif info.method not in INDEPENDENT:
        talk.explain(_all_well(posterior), style="dim")
    if caution is not None:
        talk.explain(f"{info.method}: {caution}. For final results leave --method out.", style="dim")
    if not problems and (caution is None or info.method == "laplace"):  # others are known not to hold what they promise
        talk.explain(
            f"Each interval holds its coefficient with probability {100 * interval:g} %, given the release: it accounts for the "
            f"privacy noise as well as for the number of rows. {meaning(posterior)}",
            style="dim",
        )
    if info.holders > 1:
        talk.note("Note: the parts are taken to be of different rows. Two releases of the same rows may not be fitted together: "
                  "each row would count twice and the intervals would be too narrow.")


def _remedy(posterior: Posterior) -> str:
    from noisewise.posterior.compare import CAUTIONS

    info = posterior.info
    remedy = f"--draws {4 * info.draws}"
    if info.doubts and posterior.sites is not None:
        remedy = f"{remedy}, or with no --site"
    elif info.doubts and not posterior.has_sigma:
        remedy = ("fewer predictors and no powers or products, or a release with less noise and no norm bound"
                  f"{_and_more(posterior, remedy)}")
    elif info.doubts and info.method in CAUTIONS and not _shared_by_the_default(posterior):
        remedy = "no --method"
    elif info.doubts:
        remedy = ("fewer predictors, or a release with a larger epsilon, tighter bounds or more rows"
                  f"{_and_more(posterior, remedy)}")
    if info.divergences:
        remedy += "; if divergent transitions remain, a simpler formula (the data may say too little for this one)"
    return remedy


def _shared_by_the_default(posterior: Posterior) -> bool:
    """Whether the default method would have the same doubt: laplace approximates it, and takes as little of it as unknown."""
    return posterior.info.method == "laplace" and any("too many predictors" in doubt for doubt in posterior.info.doubts)


def _and_more(posterior: Posterior, draws: str) -> str:
    """More draws only where the draws are what is wrong."""
    return f"; and {draws}" if len(posterior.diagnose()) > len(posterior.info.doubts) else ""


def _all_well(posterior: Posterior) -> str:
    table = posterior.summary()
    least = min(table["ess_bulk"].min(), table["ess_tail"].min())
    words = f"The chains agree (R-hat at most {table['r_hat'].max():.3f}) and are worth at least {least:,.0f} independent draws"
    if posterior.diverging is None:  # a sampler that knows no divergences
        return f"{words}."
    count = posterior.info.divergences
    diverged = f"{count} transition{'s' * (count > 1)} diverged, too few to matter" if count else "no transition diverged"
    return f"{words}; {diverged}."


def _table(posterior: Posterior, interval: float) -> Table:
    summary = posterior.summary(interval)
    names = [str(name) for name in summary.columns]
    decimals = [decimals_for(float(sd)) for sd in summary["sd"]]
    table = plain_table("term")
    columns = []
    for name in ("mean", "sd", names[2], names[3]):
        columns.append(aligned([fixed(float(value), places) for value, places in zip(summary[name], decimals, strict=True)]))
    columns.append([fixed(float(value), 3) for value in summary["P(>0)"]])
    columns.append([fixed(float(value), 0) for value in summary[["ess_bulk", "ess_tail"]].min(axis=1)])
    columns.append([fixed(float(value), 3) for value in summary["r_hat"]])
    for heading in ("mean", "sd", names[2], names[3], "P(>0)", "ESS", "R-hat"):
        table.add_column(heading, justify="right", no_wrap=True)
    for term, *cells in zip(map(str, summary.index), *columns, strict=True):
        table.add_row(visible(term), *cells)
    return table


def fit_document(posterior: Posterior, interval: float) -> dict[str, Any]:
    """A fit for machines."""
    summary = posterior.summary(interval)
    low, high = (str(name) for name in summary.columns[2:4])
    info = posterior.info
    keys = {"mean": "mean", "sd": "sd", low: "lower", high: "upper", "ess_bulk": "ess_bulk", "ess_tail": "ess_tail",
            "r_hat": "r_hat", "P(>0)": "probability_positive"}
    return {
        "formula": info.formula,
        "family": info.family,
        "method": info.method,
        "holders": info.holders,
        "chains": info.chains,
        "draws": info.draws,
        "seed": info.seed,
        "seconds": info.seconds,
        "interval": interval,
        "terms": [
            {"term": str(term), **{key: float(row[name]) for name, key in keys.items()}} for term, row in summary.iterrows()
        ],
        "divergences": info.divergences,
        "problems": posterior.diagnose(),
    }
