"""``noisewise check``: does a saved fit explain the statistics of every site?"""

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
"""With more of them only those that stand out are printed; --csv and --json have all."""


@guarded(holder=False)
def check(
    out: Output,
    fitted: Annotated[Path, typer.Argument(metavar="FIT", help="What `noisewise fit --save` wrote (.npz).")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="The release files of that fit, or a folder of them.")],
    interval: Interval = 0.95, plot: Picture = None, csv: Csv = None,
) -> None:
    """Compare the released statistics of every site with what a fit expects of them.

    Sites that do not fit the others are named: another effect, another level, another residual spread.
    Columns that were released but left out of the formula are looked at, too, and of counts whether they vary as Poisson ones do.

    Example: noisewise fit site-*.nwr "stay ~ age" --save stay.npz, then noisewise check stay.npz site-*.nwr
    """
    import noisewise
    from noisewise.results.fit_info import check_interval

    check_interval(interval)
    files = expand(files)
    written = check_results([fitted, *files], plot=plot, csv=csv)
    if fitted.suffix.lower() != ".npz":
        raise ResultError("the first file is a fit, which ends in .npz; release files come after it", found=str(fitted),
                          remedy="noisewise fit … --save stay.npz writes one")
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
        out.explain(f"{len(holders) - len(shown)} of {len(holders)} sites have nothing below p = 0.01 and are not shown; "
                    "--csv FILE and --json have them.", style="dim")
    for problem in problems:
        out.warn(problem)
    if problems:
        words = ("p is the probability of a statistic at least as far out if the model held. The worst comes first: one site "
                 "that is far out draws the fit away from the others. Fit again without it, and check again.")
    elif found.single:
        words = ("Nothing speaks against the fit. With a single holder this says little: its own statistics determine the fit, "
                 "so that only columns left out of the formula, and how much counts vary, can speak against it.")
    else:
        words = ("Nothing speaks against the fit: the sites agree as far as their noise lets one see. Values are per row, in the "
                 "units of the table; p is the probability of one at least as far out if the model holds.")
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
