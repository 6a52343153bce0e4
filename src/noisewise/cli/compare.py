"""``noisewise compare``: how probable it is that each term of a formula belongs in the model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.completion import LITERATURE, LITERATURE_SELECTION, SELECTION_METHODS, formula_words, one_of
from noisewise.cli.files import check_results, files_and_formula, write_csv
from noisewise.cli.guard import guarded
from noisewise.cli.options import ReleaseFiles
from noisewise.cli.output import Output, visible
from noisewise.cli.sites import Sites, expand
from noisewise.cli.tables import column, columns, plain_table, records
from noisewise.errors import NoisewiseWarning

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.releases.release import Release
    from noisewise.results import Comparison


@guarded(holder=False)
def compare(
    out: Output, files: ReleaseFiles = None, *,
    formula: Annotated[str | None, typer.Argument(metavar="FORMULA", autocompletion=formula_words, help=(
        "All candidate terms, in quotes: \"stay ~ age + ward + sex\". A release of kind model needs none."))] = None,
    method: Annotated[list[str] | None, typer.Option(
        "--method", "-m", autocompletion=one_of((*SELECTION_METHODS, *LITERATURE_SELECTION)), help=(
            f"noise-aware (default); {LITERATURE}: {', '.join(LITERATURE_SELECTION)}. Repeat it to compare methods.")
    )] = None,
    prior: Annotated[str, typer.Option(help=(
        "Prior for the coefficients: zellner-siow, zellner, hyper-g, bic, aic."))] = "zellner-siow",
    model_prior: Annotated[str, typer.Option(help=(
        "Prior for the models: beta-binomial, uniform, bernoulli(0.2)."))] = "beta-binomial",
    keep: Annotated[list[str] | None, typer.Option(help="Term to keep in every model; may be repeated.")] = None,
    draws: Annotated[int, typer.Option(help="Draws of the averaged coefficients.", min=1)] = 4000,
    seed: Annotated[int | None, typer.Option(help="Seed for reproducible draws.", min=0)] = None,
    interval: Annotated[float, typer.Option(help="Probability level of intervals and bands.")] = 0.95,
    top: Annotated[int, typer.Option(help="Number of most probable models to show.", min=1)] = 5,
    coefficients: Annotated[bool, typer.Option("--coefficients", metavar="", help="Also show averaged coefficients.")] = False,
    plot: Annotated[Path | None, typer.Option(help=(
        "Plot the probabilities and their bands (.png, .svg or .pdf)."))] = None,
    models_plot: Annotated[Path | None, typer.Option(help="Plot the most probable models (.png, .svg or .pdf).")] = None,
    save: Annotated[Path | None, typer.Option(help=(
        "Save the comparison (.npz, for Comparison.load and `noisewise report`)."))] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table of probabilities as CSV.")] = None,
    export_rows: Annotated[Path | None, typer.Option(help=(
        "Write made-up rows that have the moments of --method ridge or thresholded (.csv), for use in other programs."))] = None,
) -> None:
    """Find out which terms of a regression matter, from one release or several data holders' releases together.

    Releases are of kind gram, for any formula, or of kind model, for their own formula and family.
    Every subset of terms is a model; the table shows the probability that each term belongs in the model.
    The probabilities account for the privacy noise; the bands show how much it may have changed them.

    Example: noisewise compare patients.nwr "stay ~ age + sex + ward" --plot terms.png

    Example: noisewise compare site-*.nwr "stay ~ age + sex + ward" --keep age --prior bic --coefficients

    Example: noisewise compare readmitted.nwr --keep age
    """
    import noisewise
    from noisewise.results.fit_info import check_interval
    from noisewise.selection.methods import DEFAULT_METHOD

    files, formula = files_and_formula(files, formula)
    files = expand(files)
    check_interval(interval)
    written = check_results(files, plot=plot, models_plot=models_plot, save=save, csv=csv, export_rows=export_rows)
    sites = Sites.load(files, out.run())
    together = sites.together()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisewiseWarning)  # _tell prints them for the command line
        found = noisewise.compare(*((together, None) if formula is None else (formula, together)), prior=prior,
                                  model_prior=model_prior, method=method or DEFAULT_METHOD, keep=keep or (), draws=draws,
                                  seed=seed, run=out.run())
    if export_rows is not None:
        _export(out, together, found, export_rows)
    if save is not None:
        found.save(save)
    write_csv(csv, found.inclusion(interval))
    if plot is not None:
        found.plot(plot, interval)
    if models_plot is not None:
        found.plot_models(models_plot, max(top, 20))
    _tell(out, found, interval, top, coefficients)
    out.wrote(*written.values())
    out.document({**_document(found, interval, top), "sites": sites.documents(), "files": written})


def _export(out: Output, together: Release, found: Comparison, path: Path) -> None:
    from pkgutil import resolve_name

    from noisewise.selection.methods import EXPORTED, METHODS, SYNTHETIC_ROWS
    from noisewise.synthetic.files import write_csv as write_rows

    method = found.question.method if METHODS[found.question.method].moments else EXPORTED
    rows = resolve_name(SYNTHETIC_ROWS)(found.design.formula, together, method=method, keep=found.question.kept,
                                        seed=found.info.seed or 0)
    write_rows(path, rows)
    out.note(f"The rows in {path} are made up: they have the moments that method {method} uses, "
             "and resemble the table in no other way.")


def _tell(out: Output, found: Comparison, interval: float, top: int, coefficients: bool) -> None:
    """Print the tables and explain them."""
    out.heading(found.design.formula)
    out.heading(f"{found.describe()} · {found.info.seconds:.1f} s, seed {found.info.seed}", style="dim")
    out.result(_inclusion(found, interval))
    out.result(_models(found, top))
    if coefficients:
        out.result(_coefficients(found, interval))
    if found.info.doubts:
        out.warn("do not trust these probabilities yet", *(("found", doubt) for doubt in found.info.doubts))
    for note in (*found.notes, *found.left_open()):
        out.warn(note)
    if coefficients and found.info.estimand:
        out.explain(f"The coefficients describe {found.info.estimand}.", style="dim")
    kept = [term for term in found.question.kept if term != "Intercept"]
    out.explain("probability: the probability that the term belongs in the model, given the release"
                + (f"; {', '.join(kept)} {'is' if len(kept) == 1 else 'are'} kept in every model" if kept else "") + ". "
                + _about_the_band(found, interval), style="dim")
    out.explain(f"The median probability model has all terms with probability 0.5 or more: {found.median_model()}", style="dim")
    if found.info.holders > 1:
        out.note("Note: the releases are assumed to cover different rows. Never use two releases of the same rows together.")


def _about_the_band(found: Comparison, interval: float) -> str:
    if found.without_noise is None:
        return (f"The method {found.question.method} treats the noisy moments as exact, so its probabilities are not calibrated. "
                "For final results leave --method out.")
    if found.question.method != "noise-aware":
        return (f"from, to: {100 * interval:g} % of the matrices that are plausible given the noise yield a probability in this "
                "band. The band is not calibrated; for final results leave --method out.")
    return ("It accounts for the privacy noise. from, to: the same analysis of the table itself, without privacy noise, would "
            f"give a probability in this band with {100 * interval:g} % probability.")


def _inclusion(found: Comparison, interval: float) -> Table:
    rows = found.inclusion(interval)
    shown = {"probability": rows["probability"]}
    if found.without_noise is not None:
        shown |= {"from": rows["lower"], "to": rows["upper"]}
    shown |= {name: other.inclusion()["probability"] for name, other in found.others.items()}
    table = plain_table("term", *shown)
    cells = [column(values[rows.index], 3) for values in shown.values()]
    if found.others:
        table.add_column("together")
        cells.append([str(verdict) for verdict in found.agreement()["verdict"]])
    for term, *line in zip(map(str, rows.index), *cells, strict=True):
        table.add_row(visible(term), *line)
    return table


def _models(found: Comparison, top: int) -> Table:
    table, rows = plain_table("model", "probability", "log Bayes factor"), found.models(top)
    table.add_column("terms")
    cells = column(rows["probability"], 3), column(rows["log_bayes_factor"], 1), rows["terms"]
    for rank, *numbers, terms in zip(map(str, rows.index), *cells, strict=True):
        table.add_row(rank, *numbers, visible(str(terms)) or "(none)")
    return table


def _coefficients(found: Comparison, interval: float) -> Table:
    rows = found.coefficients(interval)
    cells = [*columns(rows, ("mean", "sd", "lower", "upper"), rows["sd"]), column(rows["probability"], 3)]
    return plain_table("coefficient", "mean", "sd", "from", "to", "probability",
                       rows=zip(map(str, rows.index), *cells, strict=True))


def _document(found: Comparison, interval: float, top: int) -> dict[str, object]:
    """Return the comparison for --json."""
    asked, info = found.question, found.info
    return {
        "formula": found.design.formula, "family": info.family, "method": asked.method, "prior": asked.prior,
        "model_prior": asked.model_prior, "keep": list(asked.kept), "holders": info.holders, "draws": info.draws,
        "seed": info.seed, "seconds": info.seconds,
        "interval": interval, "models_weighed": len(found.members), "all_models": found.complete,
        "terms": records(found.inclusion(interval)),
        "models": [{"probability": float(row["probability"]), "log_bayes_factor": float(row["log_bayes_factor"]),
                    "terms": [term for term, is_in in zip(asked.terms, model, strict=True) if is_in]}
                   for (_, row), model in zip(found.models(top).iterrows(), found.members[:top], strict=True)],
        "median_model": found.median_model(),
        "coefficients": records(found.coefficients(interval)),
        "agreement": [dict(row) for row in found.verdicts],
        "other_methods": {name: records(other.inclusion(interval)) for name, other in found.others.items()},
        "problems": [*found.diagnose(), *found.left_open()],
    }
