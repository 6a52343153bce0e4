"""``noisewise check``: test whether a saved fit explains every site's statistics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.files import check_results, write_csv
from noisewise.cli.guard import guarded
from noisewise.cli.options import Csv, Interval, Picture
from noisewise.cli.output import Output, visible
from noisewise.cli.sites import Sites, expand
from noisewise.cli.tables import columns, plain_table, records
from noisewise.errors import ResultError

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.results.checks import PredictiveCheck

MOST_HOLDERS = 12
"""With more holders than this, print only those that stand out; --csv and --json have all."""


@guarded(holder=False)
def check(
    out: Output,
    fitted: Annotated[Path, typer.Argument(metavar="FIT", help="What `noisewise fit --save` wrote (.npz).")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="The release files of that fit, or a folder of them.")],
    interval: Interval = 0.95, plot: Picture = None, csv: Csv = None,
) -> None:
    """Compare every site's released statistics with what a fit predicts.

    Names sites that differ from the others in effect, level or residual spread.
    Also checks columns that were released but left out of the formula, and whether counts vary as Poisson counts do.
    For releases of kind model it also checks whether the rounds agree, and whether residuals vary as the family implies.

    Example: noisewise fit site-*.nwr "stay ~ age" --save stay.npz, then noisewise check stay.npz site-*.nwr
    """
    import noisewise
    from noisewise.results.fit_info import check_interval

    check_interval(interval)
    files = expand(files)
    written = check_results([fitted, *files], plot=plot, csv=csv)
    if fitted.suffix.lower() != ".npz":
        raise ResultError("the first file must be a saved fit (.npz), followed by release files", found=str(fitted),
                          remedy="save a fit with noisewise fit … --save stay.npz")
    posterior = noisewise.Posterior.load(fitted)
    sites = Sites.load(files, out.run())
    together = sites.together()
    with out.working("Checking"):
        found = posterior.check(together, holders=sites.holders, interval=interval)
    write_csv(csv, found.table)
    if plot is not None:
        found.plot(plot)
    _tell(out, found)
    out.wrote(plot, csv)
    out.document({"formula": found.formula, "interval": found.interval,
                  "statistics": records(found.table, names=("site", "statistic")), "problems": found.problems(),
                  "files": written})


def _tell(out: Output, found: PredictiveCheck) -> None:
    from noisewise.results.check_findings import ALL

    holders = [name for name in dict.fromkeys(found.table.index.get_level_values("holder")) if name != ALL]
    problems = found.problems()
    least = found.table["p"].groupby(level="holder").min()
    shown = [name for name in holders if len(holders) <= MOST_HOLDERS or least[name] < 0.01]
    out.heading(found.formula)
    out.result(_table(found, [*shown, ALL]))
    if len(shown) < len(holders):
        out.explain(f"{len(holders) - len(shown)} of {len(holders)} sites have no p below 0.01 and are not shown; --csv FILE and "
                    "--json include them.", style="dim")
    for problem in problems:
        out.warn(problem)
    if problems:
        words = "p is the probability of a statistic at least this extreme if the model holds."
        if not found.single:
            words += (" The worst site comes first: an outlying site pulls the fit away from the others. Fit again without it, "
                      "then check again.")
    elif found.single:
        words = ("No evidence against the fit. With a single holder this says little: its own statistics determine the fit, so "
                 f"{found.alone} could contradict it.")
    else:
        words = ("No evidence against the fit: the sites agree as far as the noise lets us see. Values are per row, in the "
                 "table's units; p is the probability of a value at least this extreme if the model holds.")
    out.explain(words, style="dim")


def _table(found: PredictiveCheck, holders: list[str]) -> Table:
    chosen = found.table[found.table.index.get_level_values("holder").isin(holders)]
    table = plain_table("site", "released", "expected", "from", "to", "p", words="statistic")
    cells = columns(chosen, ("observed", "expected", "lower", "upper"), (chosen["upper"] - chosen["lower"]) / 4)
    before = None
    for (holder, statistic), p, *line in zip(chosen.index, chosen["p"], *cells, strict=True):
        if holder != before:
            table.add_section()
        table.add_row(visible(str(holder)) if holder != before else "", visible(str(statistic)), *line,
                      "<0.001" if p < 0.001 else f"{p:.3f}", style="yellow" if p < 0.01 else None)
        before = holder
    return table
