"""``noisewise estimate``: a proportion, rate or mean from the noisy sum of one column, or from synthetic binary rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.completion import SUM_FAMILIES, SUM_METHODS, one_of, released_columns
from noisewise.cli.files import check_results, write_csv
from noisewise.cli.guard import guarded
from noisewise.cli.options import Csv, Interval, Seed
from noisewise.cli.output import Output
from noisewise.cli.sites import Sites, binary_release, expand
from noisewise.cli.tables import decimals_for, fixed

if TYPE_CHECKING:
    from noisewise.results.parameter_posterior import ParameterPosterior


@guarded(holder=False)
def estimate(
    out: Output,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help=(
        "Release files of kind gram or moments, or one of kind binary."))],
    column: Annotated[str | None, typer.Option("--column", "-c", autocompletion=released_columns, help=(
        "A released column, or a level such as ward[B]."))] = None,
    family: Annotated[str | None, typer.Option("--family", "-f", autocompletion=one_of(SUM_FAMILIES), help=(
        "bernoulli (a proportion), poisson (a rate), exponential (a mean) or normal (the mean of the clipped values)."))] = None,
    sigma: Annotated[float | None, typer.Option(help=(
        "With --family normal: the standard deviation before clipping, if known."))] = None,
    method: Annotated[str, typer.Option("--method", "-m", autocompletion=one_of(SUM_METHODS), help=(
        "exact; from the literature, for comparison: gibbs, naive."))] = "exact",
    rows: Annotated[int | None, typer.Option(min=1, help=(
        "With kind binary: the number of real rows, if the file does not state it."))] = None,
    draws: Annotated[int, typer.Option(help="Draws per chain.", min=1)] = 1000,
    seed: Seed = None, interval: Interval = 0.95, csv: Csv = None,
) -> None:
    """Estimate a proportion, a rate or a mean from the noisy sum of one column.

    The interval accounts for the privacy noise and for clipping to the bounds.

    With --family normal, the mean is that of the clipped values. A line with "if the column is" holds for that family only.

    Example: noisewise estimate patients.nwr --column visits --family poisson

    Example: noisewise estimate smokers.nwr
    """
    import noisewise
    from noisewise.results.fit_info import check_interval

    check_interval(interval)
    files = expand(files)
    check_results(files, csv=csv)
    binary = binary_release(files)
    if binary is not None:
        if len(files) > 1 or column is not None or family is not None or sigma is not None:
            raise typer.BadParameter("a release of kind binary has one column: give it alone, without --column, --family or "
                                     "--sigma")
        with out.working("Estimating"):
            found = noisewise.fit_binary(binary, rows=rows, method=method, draws=draws, seed=seed)
    else:
        if column is None or family is None:
            raise typer.BadParameter("--column and --family are required for this kind of release")
        if rows is not None:
            raise typer.BadParameter("only valid for kind binary; this release states its number of rows", param_hint="'--rows'")
        together = Sites.load(files, out.run()).together()
        with out.working("Estimating"):
            found = noisewise.fit_sum(column, together, family=family, sigma=sigma, method=method, draws=draws, seed=seed)
    write_csv(csv, found.summary(interval))
    _tell(out, found, interval)
    out.wrote(csv)


def _tell(out: Output, found: ParameterPosterior, interval: float) -> None:
    terms, info, problems = {}, found.info, found.diagnose()
    for term in found.terms:
        draws, (low, high) = found.draws(term), found.interval(interval, term)
        mean, sd = float(draws.mean()), float(draws.std())
        terms[term] = {"mean": mean, "sd": sd, "lower": low, "upper": high}
        middle, lower, upper = (fixed(value, decimals_for(sd)) for value in (mean, low, high))
        condition = found.rests_on(term)
        named = f"{term}, {condition}:" if condition else term
        out.line(f"{info.formula}: {named} {middle}, {100 * interval:g} % interval {lower} to {upper}")
    if problems:
        out.warn("do not trust these draws yet", *(("found", problem) for problem in problems))
    if info.method == "naive":
        out.warn("naive ignores the privacy noise, so its interval is too narrow")
    elif not problems:
        out.explain(f"{info.family}, method {info.method}, seed {info.seed}. The interval accounts for sampling and for the "
                    "privacy noise.", style="dim")
    out.document({"of": info.formula, "family": info.family, "method": info.method, "interval": interval, "seed": info.seed,
                  "draws": info.draws * info.chains, "terms": terms, "problems": problems})
