"""``noisewise compare``: release files and a formula in, the probability that each of its terms matters out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli.csv_text import csv_text
from noisewise.cli.files import check_results, write_text
from noisewise.cli.guard import guarded
from noisewise.cli.numbers import aligned, decimals_for, fixed
from noisewise.cli.options import AsJson, Quiet, Traceback
from noisewise.cli.release_files import check_endings, files_before_formula
from noisewise.cli.sites import Sites, expand
from noisewise.cli.talk import Talk, visible
from noisewise.errors import NoisewiseWarning, ResultError

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.release import Release
    from noisewise.results import Comparison


@guarded(holder=False)
def compare(
    context: typer.Context,
    files: Annotated[list[Path] | None, typer.Argument(
        metavar="FILE", show_default=False,
        help="Release files: one, or one from each of several data holders; or a folder of them.")] = None,
    *,
    formula: Annotated[str, typer.Argument(metavar="FORMULA", show_default=False,
                                           help="All terms in question, in quotes: \"stay ~ age + ward + sex\".")],
    method: Annotated[list[str] | None, typer.Option(
        "--method", "-m", show_default=False,
        help="noise-aware (default), ridge, thresholded, histogram; several to see whether they agree.")] = None,
    prior: Annotated[str, typer.Option(help="Of the coefficients: zellner-siow, zellner, hyper-g, bic, aic.")] = "zellner-siow",
    model_prior: Annotated[str, typer.Option(help="Of the models: beta-binomial, uniform, bernoulli(0.2).")] = "beta-binomial",
    keep: Annotated[list[str] | None, typer.Option(show_default=False, help="A term that is in every model; may be repeated.")]
    = None,
    draws: Annotated[int, typer.Option(help="Draws of the averaged coefficients.", min=1)] = 4000,
    seed: Annotated[int | None, typer.Option(help="Makes the draws reproducible.", min=0, show_default=False)] = None,
    interval: Annotated[float, typer.Option(help="The probability that an interval or a band holds.")] = 0.95,
    top: Annotated[int, typer.Option(help="How many of the most probable models to show.", min=1)] = 5,
    coefficients: Annotated[bool, typer.Option("--coefficients", metavar="", help="Also show averaged coefficients.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the probabilities and their bands (.png, .svg or .pdf).",
                                              show_default=False)] = None,
    models_plot: Annotated[Path | None, typer.Option(help="Write a picture of the most probable models.", show_default=False)]
    = None,
    save: Annotated[Path | None, typer.Option(help="Write the comparison (.npz, for Comparison.load and `noisewise report`).",
                                              show_default=False)] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table of probabilities as CSV.", show_default=False)] = None,
    export_rows: Annotated[Path | None, typer.Option(
        help="Write made-up rows with the moments of --method ridge or thresholded (.csv), for other programs.",
        show_default=False)] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Find out which terms of a regression matter, from one release or from those of several data holders together.

    Every choice of terms is a model; the table says how probable it is that a term belongs in the model.
    The probabilities account for the privacy noise, the bands say what it may have changed.

    Example: noisewise compare patients.nwr "stay ~ age + sex + ward" --plot terms.png

    Example: noisewise compare site-*.nwr "stay ~ age + sex + ward" --keep age --prior bic --coefficients
    """
    talk = Talk.of(context)
    files = expand(files_before_formula(files or [], formula))
    from noisewise.results.records import check_interval

    check_interval(interval)
    written = {"plot": plot, "models_plot": models_plot, "save": save, "csv": csv, "export_rows": export_rows}
    check_results(written.values(), files)
    check_endings(pictures={"--plot": plot, "--models-plot": models_plot}, draws=save)
    if export_rows is not None and export_rows.suffix.lower() != ".csv":
        raise ResultError("rows are written as .csv", found=str(export_rows), remedy="for example --export-rows rows.csv")
    sites = Sites.load(files, talk.progress)
    together = sites.together()
    settings: dict[str, Any] = {"prior": prior, "model_prior": model_prior, "keep": keep or (), "draws": draws, "seed": seed,
                                "progress": talk.progress, **({"method": method} if method else {})}
    found = _compare(formula, together, settings)
    if export_rows is not None:
        _export(talk, formula, together, found, export_rows)
    _write(found, interval, top, written)
    tell(talk, found, interval, top, coefficients)
    for path in filter(None, written.values()):
        talk.note(f"Wrote {path}")
    talk.document({**comparison_document(found, interval, top), "sites": sites.documents(), "files": written})


def _compare(formula: str, together: Release, settings: dict[str, Any]) -> Comparison:
    import noisewise

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisewiseWarning)  # told below, in the words of the command line
        return noisewise.compare(formula, together, **settings)


def _export(talk: Talk, formula: str, together: Release, found: Comparison, path: Path) -> None:
    from noisewise.selection.compare import synthetic_rows
    from noisewise.synthetic.files import write_csv

    threshold = found.question.method == "thresholded"
    write_csv(path, synthetic_rows(formula, together, threshold=threshold, keep=found.question.kept, seed=found.info.seed or 0))
    talk.note(f"The rows in {path} are made up: they have the moments of the method {'thresholded' if threshold else 'ridge'}, "
              "and nothing else in them is like the table.")


def _write(found: Comparison, interval: float, top: int, paths: dict[str, Path | None]) -> None:
    if (save := paths["save"]) is not None:
        found.save(save)
    if (csv := paths["csv"]) is not None:
        write_text(csv, csv_text(found.inclusion(interval)))
    if (plot := paths["plot"]) is not None:
        found.plot(plot, interval)
    if (models_plot := paths["models_plot"]) is not None:
        found.plot_models(models_plot, max(top, 20))


def tell(talk: Talk, found: Comparison, interval: float, top: int, coefficients: bool) -> None:
    """The tables, and in words what they say."""
    if not talk.quiet:
        talk.line(found.design.formula, style="bold")
        talk.line(f"{found.describe()} · {found.info.seconds:.1f} s, seed {found.info.seed}", style="dim")
    talk.result(_inclusion(found, interval))
    talk.result(_models(found, top))
    if coefficients:
        talk.result(_coefficients(found, interval))
    if found.info.doubts:
        talk.warn("do not trust these probabilities yet", *(("found", doubt) for doubt in found.info.doubts))
    for note in found.notes:
        talk.warn(note)
    kept = [term for term in found.question.kept if term != "Intercept"]
    talk.explain("probability: that the term belongs in the model, given the release"
                 + (f"; {', '.join(kept)} {'is' if len(kept) == 1 else 'are'} kept in every model" if kept else "") + ". "
                 + _about_the_band(found, interval), style="dim")
    talk.explain(f"Terms with one half or more make up the median probability model: {found.median_model()}", style="dim")
    if found.info.holders > 1:
        talk.note("Note: the parts are taken to be of different rows. Two releases of the same rows may not be used together.")


def _about_the_band(found: Comparison, interval: float) -> str:
    if found.without_noise is None:
        return (f"The method {found.question.method} takes the noisy moments for exact: its probabilities are not calibrated. "
                "For final results leave --method out.")
    if found.question.method != "noise-aware":
        return (f"from, to: {100 * interval:g} % of the matrices that the noise allows give a probability in this band. It is "
                "not calibrated; for final results leave --method out.")
    return ("It accounts for the privacy noise. from, to: the same analysis of the table itself, without privacy noise, gives "
            f"a probability in this band, with {100 * interval:g} % certainty.")


def _inclusion(found: Comparison, interval: float) -> Table:
    rows = found.inclusion(interval)
    columns = {"probability": rows["probability"]}
    if found.without_noise is not None:
        columns |= {"from": rows["lower"], "to": rows["upper"]}
    for name, other in found.others.items():
        columns[name] = other.inclusion()["probability"]
    table = _empty("term", *columns)
    if found.others:
        table.add_column("together")
    verdicts = [[str(verdict)] for verdict in found.agreement()["verdict"]] if found.others else [[]] * len(rows)
    for term, verdict in zip(rows.index, verdicts, strict=True):
        cells = [fixed(float(values[term]), 3) for values in columns.values()]
        table.add_row(visible(str(term)), *cells, *verdict)
    return table


def _models(found: Comparison, top: int) -> Table:
    table = _empty("model", "probability", "log Bayes factor", "terms")
    table.columns[-1].justify = "left"
    table.columns[-1].no_wrap = False
    for rank, row in found.models(top).iterrows():
        table.add_row(str(rank), fixed(float(row["probability"]), 3), fixed(float(row["log_bayes_factor"]), 1),
                      visible(str(row["terms"])) or "(none)")
    return table


def _coefficients(found: Comparison, interval: float) -> Table:
    rows = found.coefficients(interval)
    places = [decimals_for(float(sd)) for sd in rows["sd"]]
    headings = {"mean": "mean", "sd": "sd", "lower": "from", "upper": "to"}
    table = _empty("coefficient", *headings.values(), "probability")
    cells = [aligned([fixed(float(value), digits) for value, digits in zip(rows[name], places, strict=True)])
             for name in headings]
    for term, chance, *row in zip(map(str, rows.index), rows["probability"], *cells, strict=True):
        table.add_row(visible(term), *row, fixed(float(chance), 3))
    return table


def _empty(first: str, *others: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(first, style="bold", overflow="fold")
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def comparison_document(found: Comparison, interval: float, top: int) -> dict[str, Any]:
    """A comparison for machines."""
    asked, info = found.question, found.info
    return {
        "formula": found.design.formula, "method": asked.method, "prior": asked.prior, "model_prior": asked.model_prior,
        "keep": list(asked.kept), "holders": info.holders, "draws": info.draws, "seed": info.seed, "seconds": info.seconds,
        "interval": interval, "models_weighed": len(found.members), "all_models": found.complete,
        "terms": _records(found.inclusion(interval)),
        "models": [{"probability": float(row["probability"]), "log_bayes_factor": float(row["log_bayes_factor"]),
                    "terms": [term for term, is_in in zip(asked.terms, model, strict=True) if is_in]}
                   for (_, row), model in zip(found.models(top).iterrows(), found.members[:top], strict=True)],
        "median_model": found.median_model(),
        "coefficients": _records(found.coefficients(interval)),
        "agreement": [dict(row) for row in found.verdicts],
        "other_methods": {name: _records(other.inclusion(interval)) for name, other in found.others.items()},
        "problems": found.diagnose(),
    }


def _records(table: Any) -> list[dict[str, Any]]:
    return [{"term": str(term), **{str(name): float(value) for name, value in row.items()}} for term, row in table.iterrows()]
