"""Print what ``noisewise fit`` found: a posterior, a point estimate, or a comparison of methods. Also return it for --json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, isfinite, log10
from pathlib import Path
from typing import TYPE_CHECKING, Final

from noisewise.cli.output import Output, visible
from noisewise.cli.tables import column, columns, plain_table, records
from noisewise.errors import ResultError

if TYPE_CHECKING:
    import pandas
    from rich.table import Table

    from noisewise.releases.release import Release
    from noisewise.results import Posterior
    from noisewise.results.method_comparison import MethodComparison
    from noisewise.results.point_estimate import PointEstimate
    from noisewise.results.sites import SiteEffects

LINKS: Final = {
    "gaussian": "sigma is the residual standard deviation.",
    "logistic": "A coefficient is a change in the log odds of {response}{level}; --ratios shows odds ratios.",
    "probit": "A coefficient is a change in the normal quantile of the probability of {response}{level}.",
    "poisson": "A coefficient is a change in the log of the expected {response}; --ratios shows incidence-rate ratios.",
    "negative-binomial": "A coefficient is a change in the log of the expected {response}; --ratios shows incidence-rate ratios. "
                         "With mean m, counts have the variance m + dispersion × m².",
}
"""The meaning of a coefficient; for linear regression, of sigma."""


def tell_fit(out: Output, posterior: Posterior, interval: float, ratios: Mapping[str, float] | None) -> None:
    """Print the table and whether to trust it. ``ratios``: if given, print ratios too, for these changes (1 for all others)."""
    from noisewise.posterior.methods import CAUTIONS
    from noisewise.results.posterior import INDEPENDENT

    info = posterior.info
    holders = "one holder" if info.holders == 1 else f"{info.holders} holders together"
    differ = "" if posterior.sites is None else ", coefficients of an average site"
    kind = f"method {info.method}" if posterior.has_sigma else f"{info.family} regression"
    out.heading(info.formula)
    out.heading(f"release of {holders}{differ}, {kind}, {info.chains} × {info.draws:,} draws in {info.seconds:.1f} s, seed "
                f"{info.seed}", style="dim")
    out.result(_table(posterior.summary(interval)))
    if info.estimand:
        robust = " The intervals are robust: they do not rely on the variance that the family implies." if info.robust else ""
        out.explain(f"The coefficients describe {info.estimand}.{robust}")
    if ratios is not None:
        out.result(_ratios(posterior.ratios(interval, ratios)))
    if posterior.sites is not None:
        _tell_sites(out, posterior.sites, interval)
    problems, caution = posterior.diagnose(), CAUTIONS.get(info.method)
    if problems:
        found = (("found", problem) for problem in problems)
        out.warn("do not trust these draws yet", *found, ("remedy", f"fit again with {_remedy(posterior)}"))
    elif info.method not in INDEPENDENT:
        out.explain(_all_well(posterior), style="dim")
    if caution is not None:
        out.explain(f"{info.method}: {caution}. For final results leave --method out.", style="dim")
    if not problems and (caution is None or info.method == "laplace"):  # other methods have intervals known to be miscalibrated
        out.explain(f"Each interval contains its coefficient with probability {100 * interval:g} %, given the release. It "
                    f"accounts for the privacy noise as well as for the number of rows. {_meaning(posterior)}", style="dim")
    if info.holders > 1:
        out.note("Note: the releases are assumed to cover different rows. Never fit two releases of the same rows together: each "
                 "row would count twice and the intervals would be too narrow.")


def fit_document(posterior: Posterior, interval: float, ratios: Mapping[str, float] | None,
                 holders: Sequence[str] | None) -> dict[str, object]:
    """Return a fit for --json, with each site's own coefficients under its holder's name if the sites differ."""
    summary, info = posterior.summary(interval), posterior.info
    keys = {"mean": "mean", "sd": "sd", **_ends(summary, 2), "ess_bulk": "ess_bulk", "ess_tail": "ess_tail", "r_hat": "r_hat",
            "P(>0)": "probability_positive"}
    facts = ("formula", "family", "method", "holders", "chains", "draws", "seed", "seconds")
    document: dict[str, object] = {
        **{name: getattr(info, name) for name in facts}, "interval": interval, "terms": records(summary, keys),
        "estimand": info.estimand or None, "robust": info.robust, "divergences": info.divergences,
        "problems": posterior.diagnose()}
    if ratios is not None:
        found = posterior.ratios(interval, ratios)
        _, name, *ends, above = found.columns
        keys = {"per": "per", name: "ratio", **dict(zip(ends, ("lower", "upper"), strict=True)), above: "probability_above_1"}
        document["ratios"] = [{"term": line.pop("term"), "kind": str(name), **line} for line in records(found, keys)]
    if posterior.sites is not None and holders is not None:
        between, own = posterior.sites.summary(interval), posterior.sites.table(interval)
        document["between_sites"] = records(between, {"mean": "mean", "sd": "sd", **_ends(between, 2), "r_hat": "r_hat"})
        document["site_coefficients"] = [
            {**line, "site": holders[int(line["site"]) - 1]}
            for line in records(own, {"mean": "mean", **_ends(own, 1)}, names=("site", "term"))]
    return document


def _ends(table: pandas.DataFrame, place: int) -> dict[str, str]:
    """Map the two columns of interval ends, which begin at this place, to their keys."""
    return dict(zip(table.columns[place:place + 2], ("lower", "upper"), strict=True))


def _table(summary: pandas.DataFrame) -> Table:
    shown = list(map(str, summary.columns[:4]))
    cells = [*columns(summary, shown, summary["sd"]), column(summary["P(>0)"], 3),
             column(summary[["ess_bulk", "ess_tail"]].min(axis=1), 0), column(summary["r_hat"], 3)]
    return plain_table("term", *shown, "P(>0)", "ESS", "R-hat", rows=zip(map(str, summary.index), *cells, strict=True))


def _ratios(found: pandas.DataFrame) -> Table:
    """Return a table of odds ratios or incidence-rate ratios."""
    per, *names, above = map(str, found.columns)
    cells = [[f"{float(step):g}" for step in found[per]], *columns(found, names, (found[names[2]] - found[names[1]]) / 4),
             column(found[above], 3)]
    return plain_table("term", per, *names, above, rows=zip(map(str, found.index), *cells, strict=True))


def _tell_sites(out: Output, sites: SiteEffects, interval: float) -> None:
    """Print the standard deviations between sites, below the table of an average site."""
    summary = sites.summary(interval)
    mean, _, low, high = map(str, summary.columns[:4])
    rows = zip(map(str, summary.index), *columns(summary, (mean, low, high), summary["sd"]), strict=True)
    out.result(plain_table("differs between sites", "standard deviation", low, high, rows=rows))
    out.explain(f"The first table describes an average site. The second shows how much the {sites.count} sites differ around it: "
                "the intercept at the middle of all predictors' ranges, and sigma as a share of itself. --json includes each "
                "site's own coefficients.", style="dim")


def _meaning(posterior: Posterior) -> str:
    response = posterior.design.response
    levels: Sequence[object] = getattr(posterior.design.basis.schema.column(response), "levels", ())
    level = f" being {levels[1]}" if levels else ""
    return LINKS[posterior.info.family].format(response=visible(response), level=visible(level))


def _remedy(posterior: Posterior) -> str:
    from noisewise.posterior.linear.methods import TOO_MANY_TO_BE_UNKNOWN
    from noisewise.posterior.methods import CAUTIONS
    from noisewise.results.fit_info import ROBUST
    from noisewise.results.posterior import ROUNDS

    info = posterior.info
    shared = info.method == "laplace" and TOO_MANY_TO_BE_UNKNOWN in info.doubts  # the default has it too
    remedy = f"--draws {4 * info.draws}"
    and_more = f"; and {remedy}" if len(posterior.diagnose()) > len(info.doubts) else ""  # the draws have problems as well
    if info.doubts and info.method.removesuffix(ROBUST) == ROUNDS:
        remedy = f"a release that begins where this one ended (--start), with a larger epsilon or of fewer terms{and_more}"
    elif info.taken_for_normal:
        remedy = ("--near-normal if you know that they are near normal, or a release of kind model from the data holder, which "
                  f"takes nothing for normal{and_more}")
    elif info.doubts and posterior.sites is not None:
        remedy = f"{remedy}, or without --site"
    elif info.doubts and not posterior.has_sigma:
        remedy = f"fewer predictors and no powers or products, or a release with less noise and no norm bound{and_more}"
    elif info.doubts and info.method in CAUTIONS and not shared:
        remedy = "the default method: leave --method out"
    elif info.doubts:
        remedy = f"fewer predictors, or a release with a larger epsilon, tighter bounds or more rows{and_more}"
    if info.divergences:
        remedy += "; if divergent transitions remain, a simpler formula (there may be too little data for this one)"
    return remedy


def _all_well(posterior: Posterior) -> str:
    table = posterior.summary()
    least = min(table["ess_bulk"].min(), table["ess_tail"].min())
    words = f"The chains agree (R-hat at most {table['r_hat'].max():.3f}) and are worth at least {least:,.0f} independent draws"
    if posterior.diverging is None:  # this sampler has no divergences
        return f"{words}."
    count = posterior.info.divergences
    diverged = f"{count} transition{'s' * (count > 1)} diverged, too few to matter" if count else "no transition diverged"
    return f"{words}; {diverged}."


def check_point_options(release: Release, plot: Path | None, save: Path | None) -> None:
    """Refuse options that a point estimate does not support, before any work starts."""
    for option, path in (("--plot", plot), ("--save", save)):
        if path is not None and release.kind.name == "adassp":
            raise ResultError("a release of kind adassp allows a point estimate only, without posterior, intervals or draws",
                              found=option,
                              remedy="leave it out; --csv writes the table. A posterior needs a release of kind gram")


def tell_point_estimate(out: Output, estimate: PointEstimate) -> None:
    """Print the table and what a point estimate is."""
    info = estimate.info
    holders = "one holder" if info.holders == 1 else f"{info.holders} holders together"
    out.heading(info.formula)
    out.heading(f"release of {holders}, method {info.method}, ridge {estimate.ridge:.4g}", style="dim")
    numbers = column(estimate.values, map(_decimals, estimate.values))
    out.result(plain_table("term", "estimate", rows=zip(estimate.terms, numbers, strict=True)))
    if info.doubts:
        out.warn("do not trust this estimate", *(("found", doubt) for doubt in info.doubts),
                 ("remedy", "use a release with a larger epsilon, more rows or a shorter formula"))
    out.note("Note: this is a point estimate, without posterior or intervals. This release does not show how far the privacy "
             "noise has moved it; for intervals, use a release of kind gram.")
    if info.holders > 1:
        out.note("Note: the releases are assumed to cover different rows. Never fit two releases of the same rows together.")


def _decimals(value: float) -> int:
    """Return the decimals that show four significant digits; with no uncertainty, nothing says how many are meaningful."""
    return 3 if value == 0 or not isfinite(value) else min(10, max(0, 3 - floor(log10(abs(value)))))


def point_document(estimate: PointEstimate) -> dict[str, object]:
    """Return a point estimate for --json."""
    info = estimate.info
    return {
        "formula": info.formula, "family": info.family, "method": info.method, "point_estimate": True, "holders": info.holders,
        "ridge": estimate.ridge, "seconds": info.seconds,
        "terms": [{"term": term, "estimate": float(value)} for term, value in zip(estimate.terms, estimate.values, strict=True)],
        "problems": estimate.diagnose(),
    }


def tell_methods(out: Output, found: MethodComparison, interval: float) -> None:
    """Print a table of terms, a table of methods, and notes on each method."""
    out.heading(found.formula)
    out.result(_terms_by_method(found, interval))
    out.result(_methods(found))
    for name in (*found.posteriors, *found.refused):
        for note in found.notes(name):
            out.explain(f"{name}: {note}", style="dim" if name in found.posteriors else "yellow")


def _terms_by_method(found: MethodComparison, interval: float) -> Table:
    rows = found.table(interval)
    names = [str(name) for name in rows.columns if name != "sd"]
    table = plain_table("term", *names, words="method")
    for term, group in rows.groupby(level="term", sort=False):
        table.add_section()
        cells = columns(group, names, group["sd"])
        for place, (method, *line) in enumerate(zip(group.index.get_level_values("method"), *cells, strict=True)):
            table.add_row("" if place else visible(str(term)), f"{method}{' *' * (method == found.default)}", *line)
    return table


def _methods(found: MethodComparison) -> Table:
    table = found.methods()
    cells = [column(table[key], digits) for key, digits in (("seconds", 2), ("ess", 0), ("ess_per_second", 0))]
    names = [f"{name}{' *' * (name == found.default)}" for name in table.index]
    return plain_table("method", "seconds", "ESS", "ESS per second", rows=zip(names, *cells, strict=True))


def methods_document(found: MethodComparison, interval: float) -> dict[str, object]:
    """Return a comparison of methods for --json."""
    rows, info = found.table(interval), next(iter(found.posteriors.values())).info
    keys = {"mean": "mean", "sd": "sd", **_ends(rows, 2), "width": "width"}
    return {
        "formula": found.formula, **{name: getattr(info, name) for name in ("holders", "chains", "draws", "seed")},
        "interval": interval, "default": found.default, "terms": records(rows, keys, names=("term", "method")),
        "methods": [
            {"method": str(name), **{key: float(row[key]) for key in ("seconds", "ess", "ess_per_second")},
             "refused": found.refused.get(str(name)), "caution": found.cautions.get(str(name)), "notes": row["notes"]}
            for name, row in found.methods().iterrows()
        ],
    }
