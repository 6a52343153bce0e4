"""``noisewise fit``: release files and a formula in, a table of coefficients out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from noisewise.cli.completion import FAMILIES, FIT_METHODS, SITES, formula_words, one_of
from noisewise.cli.csv_text import csv_text
from noisewise.cli.families import ratios_document, read_steps
from noisewise.cli.files import check_results, write_text
from noisewise.cli.fit_rows import fit_rows, published_rows
from noisewise.cli.fit_words import fit_document, tell_fit
from noisewise.cli.guard import guarded
from noisewise.cli.options import RESULTS, SAMPLING, AsJson, Csv, Interval, Picture, Quiet, Seed, Traceback
from noisewise.cli.point_estimate import check_point_options, point_document, tell_point_estimate, write_point_estimate
from noisewise.cli.random_sites import sites_document
from noisewise.cli.release_files import check_endings, check_picture, files_before_formula
from noisewise.cli.sites import Sites, expand
from noisewise.cli.talk import Talk
from noisewise.cli.voice import closest
from noisewise.errors import NoisewiseWarning

if TYPE_CHECKING:
    from noisewise.release import Release
    from noisewise.results import PointEstimate, Posterior

SEVERAL: Final = "Several data holders"


@dataclass(frozen=True)
class Wanted:
    """How results are shown, and the files that they are written to."""

    interval: float
    plot: Path | None
    save: Path | None
    csv: Path | None
    ratios: Mapping[str, float] | None
    """Also odds ratios or incidence-rate ratios, for changes that are not 1."""

    @property
    def files(self) -> dict[str, Path | None]:
        return {"plot": self.plot, "save": self.save, "csv": self.csv}


@guarded(holder=False)
def fit(
    context: typer.Context,
    files: Annotated[list[Path] | None, typer.Argument(
        metavar="FILE", show_default=False, autocompletion=formula_words,
        help="Release files: one, or one from each of several data holders; or a folder of them.")] = None,
    *,
    formula: Annotated[str, typer.Argument(metavar="FORMULA", show_default=False, autocompletion=formula_words,
                                           help="In quotes: \"stay ~ age + ward\".")],
    family: Annotated[str, typer.Option("--family", "-f", autocompletion=one_of(FAMILIES), help=(
        "gaussian (a number), logistic or probit (two levels), poisson (a count)."))] = "gaussian",
    method: Annotated[str | None, typer.Option("--method", "-m", show_default=False, autocompletion=one_of(FIT_METHODS), help=(
        "conditional (default), laplace (instant, approximate), collapsed, and those of --compare-methods."))] = None,
    interval: Interval = 0.95,
    plot: Picture = None,
    save: Annotated[Path | None, typer.Option(show_default=False, rich_help_panel=RESULTS, help=(
        "Write all draws (.npz, for Posterior.load)."))] = None,
    csv: Csv = None,
    ratios: Annotated[bool, typer.Option("--ratios", rich_help_panel=RESULTS, help=(
        "Also show odds ratios (logistic) or incidence-rate ratios (poisson)."))] = False,
    per: Annotated[list[str] | None, typer.Option(metavar="TERM=NUMBER", show_default=False, rich_help_panel=RESULTS, help=(
        "Ratios for so large a change: --per age=10. May be repeated."))] = None,
    compare: Annotated[bool, typer.Option("--compare-methods", rich_help_panel=RESULTS, help=(
        "Fit by every method, shown side by side."))] = False,
    draws: Annotated[int, typer.Option(help="Draws per chain.", min=1, rich_help_panel=SAMPLING)] = 1000,
    chains: Annotated[int, typer.Option(help="Chains.", min=1, rich_help_panel=SAMPLING)] = 4,
    seed: Seed = None,
    site: Annotated[str | None, typer.Option(show_default=False, autocompletion=one_of(SITES), rich_help_panel=SEVERAL, help=(
        "random or random-intercept: sites differ around a population."))] = None,
    sites: Annotated[bool, typer.Option("--sites", rich_help_panel=SEVERAL, help=(
        "Also show each file's rows, epsilon, delta and noise."))] = False,
    pool: Annotated[bool, typer.Option("--pool", rich_help_panel=SEVERAL, help=(
        "Add up files with like noise per row while reading them: thousands of files in little memory."))] = False,
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
        _check_comparison(method, save, site)
    if pool and (sites or site is not None):
        raise typer.BadParameter("--pool adds up the sites, so it cannot go with --site and --sites")
    steps = read_steps(per)
    wanted = Wanted(interval, plot, save, csv, steps if ratios or steps else None)
    _check_family(family, wanted.ratios is not None, compare)
    _check_wanted(wanted, files)
    settings: dict[str, Any] = {"draws": draws, "chains": chains, "seed": seed, "progress": talk.progress}
    rows = published_rows(files, family=family, site=site, compare=compare)
    if rows is not None:
        found, document = None, _tell_result(talk, fit_rows(formula, rows, method, **settings), wanted)
    else:
        found, together = _read(talk, files, pool)
        check_point_options(together, plot, save)
        if plot is not None:
            check_picture(formula, together, family)
        if sites and found is not None:
            talk.result(found.table())
        if compare:
            document = _compare(talk, formula, together, wanted, settings)
        else:
            if site is not None:
                settings["site"] = site
            document = _tell_result(talk, _fit(formula, together, family, method, settings), wanted, found)
    for path in filter(None, wanted.files.values()):
        talk.note(f"Wrote {path}")
    talk.document({**document, "sites": [] if found is None else found.documents(), "files": wanted.files})


def _check_wanted(wanted: Wanted, files: list[Path]) -> None:
    from noisewise.results.records import check_interval

    check_interval(wanted.interval)
    check_results(wanted.files.values(), files)
    check_endings({"--plot": wanted.plot}, wanted.save)


def _read(talk: Talk, files: list[Path], pool: bool) -> tuple[Sites | None, Release]:
    """The releases together; file by file only if they are not added up while they are read."""
    import noisewise

    if pool:
        return None, noisewise.load_many(files, pooled=True, progress=talk.progress)
    found = Sites.load(files, talk.progress)
    return found, found.together()


def _tell_result(talk: Talk, result: Posterior | PointEstimate, wanted: Wanted, sites: Sites | None = None) -> dict[str, Any]:
    """Write and show what was fitted; the same for machines."""
    from noisewise.results import PointEstimate

    if isinstance(result, PointEstimate):
        write_point_estimate(result, wanted.csv)
        tell_point_estimate(talk, result)
        return point_document(result)
    if wanted.ratios is not None:
        result.ratios(wanted.interval, wanted.ratios)  # what is wrong with --per is told before anything is written
    _write(result, wanted)
    tell_fit(talk, result, wanted.interval, wanted.ratios)
    document = fit_document(result, wanted.interval)
    if wanted.ratios is not None:
        document["ratios"] = ratios_document(result, wanted.interval, wanted.ratios)
    if result.sites is not None and sites is not None:
        document |= sites_document(result.sites, sites.holders, wanted.interval)
    return document


def _check_comparison(method: str | None, save: Path | None, site: str | None) -> None:
    if method is not None:
        raise typer.BadParameter("--compare-methods fits by every method, so it takes no --method")
    if site is not None:
        raise typer.BadParameter("--site has a method of its own, so it cannot go with --compare-methods")
    if save is not None:
        raise typer.BadParameter("--save keeps the draws of one method, so it cannot go with --compare-methods")


def _check_family(family: str, ratios: bool, compare: bool) -> None:
    from noisewise.results.families import RESULT_FAMILIES

    if family not in RESULT_FAMILIES:
        near = closest(family, list(RESULT_FAMILIES))
        raise typer.BadParameter(f"--family is one of {', '.join(RESULT_FAMILIES)}, not {family!r}"
                                 + ("" if near is None else f"; did you mean {near}?"))
    if compare and family != "gaussian":
        raise typer.BadParameter(f"--compare-methods is for linear regression; --family {family} has one method")
    if ratios and RESULT_FAMILIES[family].ratio is None:
        raise typer.BadParameter(f"--ratios and --per are for --family logistic or poisson, not {family}")


def _compare(talk: Talk, formula: str, together: Release, wanted: Wanted, settings: dict[str, Any]) -> dict[str, Any]:
    from noisewise.cli.compare_methods import comparison_document, tell_comparison, write_comparison
    from noisewise.posterior.compare import compare_methods

    found = compare_methods(formula, together, **settings)
    write_comparison(found, wanted.interval, wanted.plot, wanted.csv)
    tell_comparison(talk, found, wanted.interval)
    return comparison_document(found, wanted.interval)


def _fit(formula: str, together: Release, family: str, method: str | None, settings: dict[str, Any]) -> Posterior | PointEstimate:
    """By the method that was asked for, else by the one for this kind of release."""
    import noisewise
    from noisewise.posterior.methods import DEFAULT

    point = method == "adassp" or (method is None and together.kind == "adassp")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisewiseWarning)  # told in the words of the command line
        if point and family == "gaussian" and "site" not in settings:
            return noisewise.fit(formula, together, method="adassp")
        return noisewise.fit(formula, together, method=method or DEFAULT, family=family, **settings)


def _write(posterior: Posterior, wanted: Wanted) -> None:
    if wanted.save is not None:
        posterior.save(wanted.save)
    if wanted.csv is not None:
        write_text(wanted.csv, csv_text(posterior.summary(wanted.interval)))
    if wanted.plot is not None:
        posterior.plot(path=wanted.plot)
