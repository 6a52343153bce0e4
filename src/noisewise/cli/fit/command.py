"""``noisewise fit``: release files and a formula in, a table of coefficients out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from noisewise.cli.completion import FAMILIES, FIT_METHODS, LITERATURE, LITERATURE_METHODS, SITES, formula_words, one_of
from noisewise.cli.files import check_picture, check_results, files_and_formula, no_formula, write_csv
from noisewise.cli.fit import results
from noisewise.cli.guard import guarded
from noisewise.cli.named_numbers import named_number
from noisewise.cli.options import Csv, Interval, Picture, ReleaseFiles, Seed, about_results, about_sampling
from noisewise.cli.output import Output
from noisewise.cli.sites import Sites, expand
from noisewise.errors import FitError, NoisewiseWarning, closest

if TYPE_CHECKING:
    from noisewise.releases.release import Release
    from noisewise.results import PointEstimate, Posterior

SEVERAL: Final = "Several data holders"
GAUSSIAN: Final = "gaussian"


class Wanted(NamedTuple):
    """How to show the results, and the files to write them to."""

    interval: float
    files: Mapping[str, Path | None]
    ratios: Mapping[str, float] | None
    """If given, also show odds ratios or incidence-rate ratios, for these changes of terms (1 for all others)."""


@guarded(holder=False)
def fit(
    out: Output, files: ReleaseFiles = None, *,
    formula: Annotated[str | None, typer.Argument(metavar="FORMULA", autocompletion=formula_words, help=(
        "The regression, in quotes: \"stay ~ age + ward\". A release of kind model needs none."))] = None,
    family: Annotated[str | None, typer.Option("--family", "-f", autocompletion=one_of(FAMILIES), help=(
        "gaussian (a number; default), logistic or probit (two levels), poisson (a count), negative-binomial (a count, for kind "
        "model only). A release of kind model has its own."))] = None,
    method: Annotated[str | None, typer.Option(
        "--method", "-m", autocompletion=one_of((*FIT_METHODS, *LITERATURE_METHODS)), help=(
            "conditional (default), conditional-flat, collapsed, laplace (instant, approximate), rows (for published rows), "
            f"rounds (for kind model); {LITERATURE}: {', '.join(LITERATURE_METHODS)}."))] = None,
    robust: Annotated[bool, typer.Option("--robust", help=(
        "Kind model, numbers and counts: take the variance from the release, not from the family."))] = False,
    near_normal: Annotated[bool, typer.Option("--near-normal", help=(
        "Other kinds, for two levels or counts: numeric predictors are near normal, so do not warn."))] = False,
    interval: Interval = 0.95, plot: Picture = None,
    save: Annotated[Path | None, about_results(help="Save all draws (.npz, for Posterior.load).")] = None,
    csv: Csv = None,
    ratios: Annotated[bool, about_results("--ratios", help=(
        "Also show odds ratios (logistic) or incidence-rate ratios (counts)."))] = False,
    per: Annotated[list[str] | None, about_results(metavar="TERM=NUMBER", help=(
        "Ratios for a change of this size: --per age=10; may be repeated."))] = None,
    compare: Annotated[bool, about_results("--compare-methods", help=(
        "Fit by every method and show the results side by side."))] = False,
    draws: Annotated[int, about_sampling(help="Draws per chain.", min=1)] = 1000,
    chains: Annotated[int, about_sampling(help="Number of chains.", min=1)] = 4,
    seed: Seed = None,
    site: Annotated[str | None, typer.Option(autocompletion=one_of(SITES), rich_help_panel=SEVERAL, help=(
        "random or random-intercept: let the sites differ around a population mean."))] = None,
    sites: Annotated[bool, typer.Option("--sites", rich_help_panel=SEVERAL, help=(
        "Also show each file's rows, epsilon, delta and noise."))] = False,
    pool: Annotated[bool, typer.Option("--pool", rich_help_panel=SEVERAL, help=(
        "Add up files with similar noise per row while reading: thousands of files in little memory."))] = False,
) -> None:
    """Fit a regression to one release, or to several data holders' releases together.

    A release of kind model is for one regression: give only its file.
    In other releases, any released column may be the response.
    The intervals account for the privacy noise.
    Several files must cover different rows, for example those of different hospitals.

    Example: noisewise fit patients.nwr "stay ~ age + ward" --plot stay.png

    Example: noisewise fit sick.nwr --robust --per age=10 (a release of kind model)

    Example: noisewise fit site-*.nwr "stay ~ age + ward" --sites --save stay.npz

    Example: noisewise fit sites/ "stay ~ age + ward" --pool

    Example: noisewise fit patients.nwr "readmitted ~ age + ward" --family logistic --per age=10
    """
    from noisewise.results.fit_info import check_interval

    files, formula = files_and_formula(files, formula)
    files = expand(files)
    formula, family = _asked(files, formula, family)
    for given, words in ((method, "--compare-methods uses every method; do not give --method"),
                         (site, "--site has its own method and cannot be combined with --compare-methods"),
                         (save, "--save keeps the draws of one method and cannot be combined with --compare-methods")):
        if compare and given is not None:
            raise typer.BadParameter(words)
    if pool and (sites or site is not None):
        raise typer.BadParameter("--pool adds up the sites and cannot be combined with --site or --sites")
    steps = dict(named_number(text, typer.BadParameter(
        f"--per takes a term and the size of its change, for example age=10, not {text!r}")) for text in per or ())
    _check_family(family, ratios or bool(steps), compare)
    check_interval(interval)
    wanted = Wanted(interval, check_results(files, plot=plot, save=save, csv=csv), steps if ratios or steps else None)
    found = None
    release = _published_rows(files, family, site, compare)
    if release is None:
        found, release = _read(out, files, pool)
        results.check_point_options(release, plot, save)
        if plot is not None:
            check_picture(formula, release, family)
        if sites and found is not None:
            out.result(found.table())
    settings: dict[str, Any] = {"draws": draws, "chains": chains, "seed": seed, "run": out.run()}
    if compare:
        document = _compare(out, formula, release, wanted, settings)
    else:
        settings |= {name: value for name, value in (("site", site), ("robust", robust), ("near_normal", near_normal)) if value}
        fitted = _fit(formula, release, family, method, settings)
        document = _tell_result(out, fitted, wanted, found)
    out.wrote(*wanted.files.values())
    out.document({**document, "sites": [] if found is None else found.documents(), "files": wanted.files})


def _asked(files: Sequence[Path], formula: str | None, family: str | None) -> tuple[str, str]:
    """Return the formula and the family: those given, or those that the first file's release is for."""
    import noisewise
    from noisewise.posterior.fit import knows_its_regression

    if formula is not None and family is not None:
        return formula, family
    release = noisewise.load(files[0])
    own = knows_its_regression(release.kind)
    if formula is None:
        if not own or release.formula is None:
            raise no_formula([], files[-1])
        formula = release.formula
    return formula, (str(getattr(release.kind, "family", GAUSSIAN)) if own else GAUSSIAN) if family is None else family


def _check_family(family: str, ratios: bool, compare: bool) -> None:
    from noisewise.results.families import RESULT_FAMILIES

    if family not in RESULT_FAMILIES:
        near = closest(family, list(RESULT_FAMILIES))
        raise typer.BadParameter(f"--family must be one of {', '.join(RESULT_FAMILIES)}, not {family!r}"
                                 + ("" if near is None else f"; did you mean {near}?"))
    if compare and family != GAUSSIAN:
        raise typer.BadParameter(f"--compare-methods requires linear regression; --family {family} has only one method")
    if ratios and RESULT_FAMILIES[family].ratio is None:
        known = [name for name, one in RESULT_FAMILIES.items() if one.ratio is not None]
        raise typer.BadParameter(f"--ratios and --per require --family {', '.join(known[:-1])} or {known[-1]}, not {family}")


def _published_rows(files: Sequence[Path], family: str, site: str | None, compare: bool) -> Release | None:
    """Return the release if it is of published rows, after refusing options that these do not support."""
    import noisewise

    found = noisewise.load(files[0])
    if found.kind.name != "rows":
        return None
    if len(files) > 1:
        raise FitError("published rows must be fitted one release at a time", found=f"{len(files)} files",
                       remedy="give one file; only releases of kind gram can be fitted together")
    if family != GAUSSIAN or site is not None or compare:
        raise typer.BadParameter("published rows support linear regression only, without --site or --compare-methods")
    return found


def _read(out: Output, files: list[Path], pool: bool) -> tuple[Sites | None, Release]:
    """Return the releases together, and also file by file unless they are pooled."""
    import noisewise

    if pool:
        return None, noisewise.load_many(files, pooled=True, run=out.run())
    found = Sites.load(files, out.run())
    return found, found.together()


def _compare(out: Output, formula: str, together: Release, wanted: Wanted, settings: dict[str, Any]) -> dict[str, object]:
    from noisewise.posterior.fit import compare_methods

    found = compare_methods(formula, together, **settings)
    write_csv(wanted.files["csv"], found.table(wanted.interval))
    if (plot := wanted.files["plot"]) is not None:
        found.plot(plot)
    results.tell_methods(out, found, wanted.interval)
    return results.methods_document(found, wanted.interval)


def _fit(formula: str, release: Release, family: str, method: str | None, settings: dict[str, Any]) -> Posterior | PointEstimate:
    """Fit by the requested method, or by the default for this kind of release."""
    import noisewise
    from noisewise.posterior.methods import DEFAULT_METHOD, methods_for

    usual = next(iter(methods_for(release.kind.name)), DEFAULT_METHOD) if family == GAUSSIAN else DEFAULT_METHOD
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisewiseWarning)  # results.tell_fit prints them for the command line
        return noisewise.fit(formula, release, method=method or usual, family=family, **settings)


def _tell_result(out: Output, result: Posterior | PointEstimate, wanted: Wanted, sites: Sites | None) -> dict[str, object]:
    """Write the files, print the result, and return it for --json."""
    from noisewise.results import PointEstimate

    if isinstance(result, PointEstimate):
        write_csv(wanted.files["csv"], result.summary())
        results.tell_point_estimate(out, result)
        return results.point_document(result)
    if wanted.ratios is not None:
        result.ratios(wanted.interval, wanted.ratios)  # raises errors about --per before anything is written
    if (save := wanted.files["save"]) is not None:
        result.save(save)
    write_csv(wanted.files["csv"], result.summary(wanted.interval))
    if (plot := wanted.files["plot"]) is not None:
        result.plot(path=plot)
    results.tell_fit(out, result, wanted.interval, wanted.ratios)
    return results.fit_document(result, wanted.interval, wanted.ratios, None if sites is None else sites.holders)
