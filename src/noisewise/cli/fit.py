"""``noisewise fit``: release files and a formula in, a table of coefficients out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli.csv_text import csv_text
from noisewise.cli.families import meaning, ratios_document, read_steps, tell_ratios
from noisewise.cli.files import check_results, write_text
from noisewise.cli.fit_rows import fit_rows, published_rows
from noisewise.cli.guard import guarded
from noisewise.cli.numbers import aligned, decimals_for, fixed
from noisewise.cli.options import AsJson, Quiet, Traceback
from noisewise.cli.point_estimate import check_point_options, point_document, tell_point_estimate, write_point_estimate
from noisewise.cli.random_sites import sites_document, tell_sites
from noisewise.cli.release_files import check_endings, check_picture, files_before_formula
from noisewise.cli.sites import Sites, expand
from noisewise.cli.talk import Talk, visible
from noisewise.errors import NoisewiseWarning

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.release import Release
    from noisewise.results import PointEstimate, Posterior


@guarded(holder=False)
def fit(
    context: typer.Context,
    files: Annotated[list[Path] | None, typer.Argument(
        metavar="FILE", show_default=False,
        help="Release files: one, or one from each of several data holders; or a folder of them.")] = None,
    *,
    formula: Annotated[str, typer.Argument(metavar="FORMULA", show_default=False, help="In quotes: \"stay ~ age + ward\".")],
    family: Annotated[str, typer.Option("--family", "-f", help="gaussian (a number), logistic or probit (two levels), poisson "
                                        "(a count).")] = "gaussian",
    method: Annotated[str | None, typer.Option("--method", "-m", show_default=False, help="conditional (default), laplace "
                                               "(instant, approximate), collapsed, and those of --compare-methods.")] = None,
    site: Annotated[str | None, typer.Option(show_default=False, help="random or random-intercept: sites differ around a "
                                             "population.")] = None,
    draws: Annotated[int, typer.Option(help="Draws per chain.", min=1)] = 1000,
    chains: Annotated[int, typer.Option(help="Chains.", min=1)] = 4,
    seed: Annotated[int | None, typer.Option(help="Makes the draws reproducible.", min=0, show_default=False)] = None,
    interval: Annotated[float, typer.Option(help="The probability that an interval holds.")] = 0.95,
    plot: Annotated[Path | None, typer.Option(help="Write a picture (.png, .svg or .pdf).", show_default=False)] = None,
    save: Annotated[Path | None, typer.Option(help="Write all draws (.npz, for Posterior.load).", show_default=False)] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table as CSV.", show_default=False)] = None,
    ratios: Annotated[bool, typer.Option("--ratios", metavar="", help="Also show odds ratios (logistic) or incidence-rate ratios "
                                         "(poisson).")] = False,
    per: Annotated[list[str] | None, typer.Option(metavar="TERM=NUMBER", show_default=False, help="Ratios for so large a change: "
                                                  "--per age=10. May be repeated.")] = None,
    sites: Annotated[bool, typer.Option("--sites", metavar="", help="Also show each file's rows, epsilon, delta and noise.")]
    = False,
    pool: Annotated[bool, typer.Option("--pool", metavar="", help="Add up files with like noise per row while reading them: "
                                       "thousands of files in little memory.")] = False,
    compare: Annotated[bool, typer.Option("--compare-methods", metavar="", help="Fit by every method, shown side by side.")]
    = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Fit a regression to one release, or to those of several data holders together.

    Any released column may be the response.
    The intervals account for the privacy noise.
    Several files must be releases of different rows, for example of different hospitals.

    Example: noisewise fit patients.nwr "stay ~ age + ward" --plot stay.png

    Example: noisewise fit site-*.nwr "stay ~ age + ward" --sites --save stay.npz

    Example: noisewise fit sites/ "stay ~ age + ward" --pool

    Example: noisewise fit patients.nwr "readmitted ~ age + ward" --family logistic --per age=10
    """
    talk = Talk.of(context)
    files = expand(files_before_formula(files or [], formula))
    if compare:
        _check_comparison(context, save, site)
    if pool and (sites or site is not None):
        raise typer.BadParameter("--pool adds up the sites, so it cannot go with --site and --sites")
    steps = read_steps(per)
    ratios = ratios or bool(steps)
    _check_family(family, ratios, compare)
    import noisewise
    from noisewise.results.point_estimate import PointEstimate
    from noisewise.results.records import check_interval

    check_interval(interval)
    check_results((plot, save, csv), files)
    check_endings({"--plot": plot}, save)
    written = {"plot": plot, "save": save, "csv": csv}
    rows = published_rows(files, family=family, site=site, compare=compare)
    if rows is not None:
        of_rows = fit_rows(formula, rows, method, draws=draws, chains=chains, seed=seed, progress=talk.progress)
        _write(of_rows, interval, plot, save, csv)
        tell_fit(talk, of_rows, interval)
        _tell_files(talk, written)
        talk.document({**fit_document(of_rows, interval), "sites": [], "files": written})
        return
    found = None if pool else Sites.load(files, talk.progress)
    together = noisewise.load_many(files, pooled=True, progress=talk.progress) if found is None else found.together()
    check_point_options(together, plot, save)
    if plot is not None:
        check_picture(formula, together, family)
    if sites and found is not None:
        talk.result(found.table())
    settings: dict[str, Any] = {"draws": draws, "chains": chains, "seed": seed, "progress": talk.progress}
    if site is not None:
        settings["site"] = site
    if compare:
        document = _compare(talk, formula, together, interval, plot, csv, settings)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoisewiseWarning)  # told below, in the words of the command line
            posterior = _fit(formula, together, family, method, settings)
        if ratios and not isinstance(posterior, PointEstimate):
            posterior.ratios(interval, steps)  # what is wrong with --per is told before anything is written
        if isinstance(posterior, PointEstimate):
            write_point_estimate(posterior, csv)
            tell_point_estimate(talk, posterior)
            document = point_document(posterior)
        else:
            _write(posterior, interval, plot, save, csv)
            tell_fit(talk, posterior, interval, steps if ratios else None)
            document = fit_document(posterior, interval)
            if ratios:
                document["ratios"] = ratios_document(posterior, interval, steps)
            if posterior.sites is not None and found is not None:
                document |= sites_document(posterior.sites, found.holders, interval)
    _tell_files(talk, written)
    talk.document({**document, "sites": [] if found is None else found.documents(), "files": written})


def _tell_files(talk: Talk, written: Mapping[str, Path | None]) -> None:
    for path in filter(None, written.values()):
        talk.note(f"Wrote {path}")


def _check_comparison(context: typer.Context, save: Path | None, site: str | None) -> None:
    given = context.get_parameter_source("method")
    if given is not None and given.name == "COMMANDLINE":
        raise typer.BadParameter("--compare-methods fits by every method, so it takes no --method")
    if site is not None:
        raise typer.BadParameter("--site has a method of its own, so it cannot go with --compare-methods")
    if save is not None:
        raise typer.BadParameter("--save keeps the draws of one method, so it cannot go with --compare-methods")


def _check_family(family: str, ratios: bool, compare: bool) -> None:
    from noisewise.results.families import RESULT_FAMILIES

    if family not in RESULT_FAMILIES:
        raise typer.BadParameter(f"--family is one of {', '.join(RESULT_FAMILIES)}, not {family!r}")
    if compare and family != "gaussian":
        raise typer.BadParameter(f"--compare-methods is for linear regression; --family {family} has one method")
    if ratios and RESULT_FAMILIES[family].ratio is None:
        raise typer.BadParameter(f"--ratios and --per are for --family logistic or poisson, not {family}")


def _compare(talk: Talk, formula: str, together: Release, interval: float, plot: Path | None, csv: Path | None,
             settings: dict[str, Any]) -> dict[str, Any]:
    from noisewise.cli.compare_methods import comparison_document, tell_comparison, write_comparison
    from noisewise.posterior.compare import compare_methods

    found = compare_methods(formula, together, **settings)
    write_comparison(found, interval, plot, csv)
    tell_comparison(talk, found, interval)
    return comparison_document(found, interval)


def _fit(formula: str, together: Release, family: str, method: str | None, settings: dict[str, Any]) -> Posterior | PointEstimate:
    """By the method that was asked for, else by the one for this kind of release."""
    import noisewise
    from noisewise.posterior.methods import DEFAULT

    point = method == "adassp" or (method is None and together.kind == "adassp")
    if point and family == "gaussian" and "site" not in settings:
        return noisewise.fit(formula, together, method="adassp")
    return noisewise.fit(formula, together, method=method or DEFAULT, family=family, **settings)


def _write(posterior: Posterior, interval: float, plot: Path | None, save: Path | None, csv: Path | None) -> None:
    if save is not None:
        posterior.save(save)
    if csv is not None:
        write_text(csv, csv_text(posterior.summary(interval)))
    if plot is not None:
        posterior.plot(path=plot)


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
    elif info.doubts and info.method in CAUTIONS:
        remedy = "no --method"
    elif info.doubts:
        remedy = ("fewer predictors, or a release with a larger epsilon, tighter bounds or more rows"
                  f"{_and_more(posterior, remedy)}")
    if info.divergences:
        remedy += "; if divergent transitions remain, a simpler formula (the data may say too little for this one)"
    return remedy


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
    from rich import box
    from rich.table import Table

    summary = posterior.summary(interval)
    names = [str(name) for name in summary.columns]
    decimals = [decimals_for(float(sd)) for sd in summary["sd"]]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("term", style="bold", overflow="fold")
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
