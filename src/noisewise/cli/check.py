"""``noisewise check``: does a saved fit explain the statistics of every site?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli.csv_text import csv_text
from noisewise.cli.files import check_results, write_text
from noisewise.cli.guard import guarded
from noisewise.cli.numbers import aligned, decimals_for, fixed
from noisewise.cli.options import AsJson, Csv, Interval, Picture, Quiet, Traceback
from noisewise.cli.release_files import check_endings
from noisewise.cli.sites import Sites, expand
from noisewise.cli.tables import plain_table
from noisewise.cli.talk import Talk, visible
from noisewise.errors import ResultError

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.results.checks import PredictiveCheck

MOST_HOLDERS = 12
"""With more of them only those that stand out are printed; --csv and --json have all."""


@guarded(holder=False)
def check(
    context: typer.Context,
    fitted: Annotated[Path, typer.Argument(metavar="FIT", show_default=False, help="What `noisewise fit --save` wrote (.npz).")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE", show_default=False,
                                                help="The release files of that fit, or a folder of them.")],
    interval: Interval = 0.95,
    plot: Picture = None,
    csv: Csv = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Compare the released statistics of every site with what a fit expects of them.

    Sites that do not fit the others are named: another effect, another level, another residual spread.
    Columns that were released but left out of the formula are looked at, too, and of counts whether they vary as Poisson ones do.

    Example: noisewise fit site-*.nwr "stay ~ age" --save stay.npz, then noisewise check stay.npz site-*.nwr
    """
    talk = Talk.of(context)
    import noisewise
    from noisewise.results.records import check_interval

    check_interval(interval)
    files = expand(files)
    check_results((plot, csv), [fitted, *files])
    check_endings({"--plot": plot}, None)
    if fitted.suffix.lower() != ".npz":
        raise ResultError("the first file is a fit, which ends in .npz; release files come after it", found=str(fitted),
                          remedy="noisewise fit … --save stay.npz writes one")
    posterior = noisewise.Posterior.load(fitted)
    sites = Sites.load(files, talk.progress)
    together = sites.together()
    with talk.working("Checking"):
        found = posterior.check(together, holders=sites.holders, interval=interval)
    if csv is not None:
        write_text(csv, csv_text(found.table))
    if plot is not None:
        found.plot(plot)
    _tell(talk, found)
    written = {"plot": plot, "csv": csv}
    for path in filter(None, written.values()):
        talk.note(f"Wrote {path}")
    talk.document({**check_document(found), "files": written})


def _tell(talk: Talk, found: PredictiveCheck) -> None:
    from noisewise.results.check_words import ALL

    holders = [name for name in dict.fromkeys(found.table.index.get_level_values("holder")) if name != ALL]
    problems = found.problems()
    shown = holders if len(holders) <= MOST_HOLDERS else _striking(found, holders)
    if not talk.quiet:
        talk.line(found.formula, style="bold")
    talk.result(_table(found, [*shown, ALL]))
    if len(shown) < len(holders):
        talk.explain(f"{len(holders) - len(shown)} of {len(holders)} sites have nothing below p = 0.01 and are not shown; "
                     "--csv FILE and --json have them.", style="dim")
    for problem in problems:
        talk.warn(problem)
    if problems:
        talk.explain("p is the probability of a statistic at least as far out if the model held. The worst comes first: one site "
                     "that is far out draws the fit away from the others. Fit again without it, and check again.", style="dim")
    elif found.single:
        talk.explain("Nothing speaks against the fit. With a single holder this says little: its own statistics determine the "
                     "fit, so that only columns left out of the formula, and how much counts vary, can speak against it.",
                     style="dim")
    else:
        talk.explain("Nothing speaks against the fit: the sites agree as far as their noise lets one see. Values are per row, "
                     "in the units of the table; p is the probability of one at least as far out if the model holds.",
                     style="dim")


def _striking(found: PredictiveCheck, holders: list[str]) -> list[str]:
    least = found.table["p"].groupby(level="holder").min()
    return [name for name in holders if least[name] < 0.01]


def _table(found: PredictiveCheck, holders: list[str]) -> Table:
    names = found.table.index.get_level_values("holder")
    chosen = found.table[names.isin(holders)]
    table = plain_table("site")
    table.add_column("statistic", overflow="fold")
    for heading in ("released", "expected", "from", "to", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    places = [decimals_for(float(width) / 4) for width in chosen["upper"] - chosen["lower"]]
    columns = [aligned([fixed(float(value), digits) for value, digits in zip(chosen[name], places, strict=True)])
               for name in ("observed", "expected", "lower", "upper")]
    before = None
    for (holder, statistic), p, *cells in zip(chosen.index, chosen["p"], *columns, strict=True):
        if before is not None and holder != before:
            table.add_section()
        words = "<0.001" if p < 0.001 else f"{p:.3f}"
        table.add_row(visible(str(holder)) if holder != before else "", visible(str(statistic)), *cells, words,
                      style="yellow" if p < 0.01 else None)
        before = holder
    return table


def check_document(found: PredictiveCheck) -> dict[str, Any]:
    """A check for machines."""
    return {
        "formula": found.formula,
        "interval": found.interval,
        "statistics": [
            {"site": str(holder), "statistic": str(statistic), **{str(name): float(value) for name, value in row.items()}}
            for (holder, statistic), (_, row) in zip(found.table.index, found.table.iterrows(), strict=True)
        ],
        "problems": found.problems(),
    }
