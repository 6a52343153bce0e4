"""``noisewise estimate``: a proportion, a rate or a mean from the noisy sum of one column, or from synthetic yes-or-no rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.completion import SUM_FAMILIES, SUM_METHODS, one_of, released_columns
from noisewise.cli.csv_text import csv_text
from noisewise.cli.files import check_results, write_text
from noisewise.cli.guard import guarded
from noisewise.cli.numbers import decimals_for, fixed
from noisewise.cli.options import AsJson, Csv, Interval, Quiet, Seed, Traceback
from noisewise.cli.sites import Sites, expand
from noisewise.cli.synthesize import BINARY_ENDING
from noisewise.cli.talk import Talk

if TYPE_CHECKING:
    from noisewise.results.parameter import ParameterPosterior


@guarded(holder=False)
def estimate(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", show_default=False, help="Release files of kind gram or moments, "
                                                "or one .nwb file of synthetic yes-or-no rows.")],
    column: Annotated[str | None, typer.Option("--column", "-c", show_default=False, autocompletion=released_columns, help=(
        "A released column, or a level: ward[B]."))] = None,
    family: Annotated[str | None, typer.Option("--family", "-f", show_default=False, autocompletion=one_of(SUM_FAMILIES), help=(
        "bernoulli (a proportion), poisson (a rate), exponential (a mean) or normal (the mean of the clipped values)."))] = None,
    sigma: Annotated[float | None, typer.Option(show_default=False, help=(
        "With --family normal: the standard deviation before clipping, if it is known."))] = None,
    method: Annotated[str, typer.Option("--method", "-m", autocompletion=one_of(SUM_METHODS), help=(
        "exact; gibbs and naive for comparison."))] = "exact",
    rows: Annotated[int | None, typer.Option(help="With a .nwb file that does not say it: how many real rows there are.", min=1,
                                             show_default=False)] = None,
    draws: Annotated[int, typer.Option(help="Draws per chain.", min=1)] = 1000,
    seed: Seed = None,
    interval: Interval = 0.95,
    csv: Csv = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Estimate a proportion, a rate or a mean from the noisy sum of one column.

    The interval accounts for the privacy noise, and for rows that were clipped to their bounds.

    With normal, the mean is that of the clipped values. A line with "if the column is" is right for that family only.

    Example: noisewise estimate patients.nwr --column visits --family poisson

    Example: noisewise estimate smokers.nwb
    """
    talk = Talk.of(context)
    import noisewise
    from noisewise.results.records import check_interval

    check_interval(interval)
    files = expand(files)
    check_results((csv,), files)
    if any(file.suffix.lower() == BINARY_ENDING for file in files):
        if len(files) > 1 or column is not None or family is not None or sigma is not None:
            raise typer.BadParameter("a .nwb file is of one column: give it alone, without --column, --family and --sigma")
        made = noisewise.BinarySynthesis.load(files[0])
        with talk.working("Estimating"):
            found = noisewise.fit_binary(made, rows=rows, method=method, draws=draws, seed=seed)
    else:
        if column is None or family is None:
            raise typer.BadParameter("name the --column and its --family")
        if rows is not None:
            raise typer.BadParameter("the release says how many rows there are", param_hint="'--rows'")
        together = Sites.load(files, talk.progress).together()
        with talk.working("Estimating"):
            found = noisewise.fit_sum(column, together, family=family, sigma=sigma, method=method, draws=draws, seed=seed)
    if csv is not None:
        write_text(csv, csv_text(found.summary(interval)))
    _tell(talk, found, interval)
    if csv is not None:
        talk.note(f"Wrote {csv}")


def _tell(talk: Talk, found: ParameterPosterior, interval: float) -> None:
    terms = {}
    for term in found.terms:
        draws, (low, high) = found.draws(term), found.interval(interval, term)
        mean, sd = float(draws.mean()), float(draws.std())
        places = decimals_for(sd)
        terms[term] = {"mean": mean, "sd": sd, "lower": low, "upper": high}
        condition = found.rests_on(term)
        named = f"{term}, {condition}:" if condition else term
        talk.line(f"{found.info.formula}: {named} {fixed(mean, places)}, {100 * interval:g} % interval {fixed(low, places)} to "
                  f"{fixed(high, places)}")
    problems = found.diagnose()
    if problems:
        talk.warn("do not trust these draws yet", *(("found", problem) for problem in problems))
    if found.info.method == "naive":
        talk.warn("naive: this ignores the privacy noise, and its interval is too narrow")
    elif not problems:
        talk.explain(f"{found.info.family}, method {found.info.method}, seed {found.info.seed}. The interval accounts for the "
                     "privacy noise as well as for the number of rows.", style="dim")
    info = found.info
    talk.document({"of": info.formula, "family": info.family, "method": info.method, "interval": interval, "seed": info.seed,
                   "draws": info.draws * info.chains, "terms": terms, "problems": problems})
