"""``noisewise hypothesis-test``: calibrated tests of the hypotheses that a partition release asks about."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.completion import ALTERNATIVES, one_of
from noisewise.cli.guard import guarded
from noisewise.cli.output import Output, visible
from noisewise.cli.tables import plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.results.answers import HypothesisTests

DEFAULT_LEVELS = (0.05, 0.01)


@guarded(holder=False)
def hypothesis_test(
    out: Output,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A release file of kind partition.")],
    level: Annotated[list[float] | None, typer.Option(help=(
        "Significance level; may be repeated. Default: 0.05 and 0.01."))] = None,
    alternative: Annotated[str, typer.Option(autocompletion=one_of(ALTERNATIVES), help=(
        "For posterior probabilities: two-sided, less (the coefficient is less than b) or greater."))] = "two-sided",
    rows: Annotated[float | None, typer.Option(help="Approximate number of rows, if not in the release.")] = None,
    censored: Annotated[bool, typer.Option("--censored", help=(
        "First clip the released mean to its limits. This can cost a test all its power."))] = False,
    seed: Annotated[int, typer.Option(help="Seed for simulating the null hypothesis.", min=0)] = 0,
) -> None:
    """Test the hypotheses that a partition release asks about, with critical values that account for parts, clipping and noise.

    The null hypothesis of Bayes factors, likelihood ratios and criteria is that the coefficients are zero.
    That of a posterior probability at b is that the coefficient equals b.

    Example: noisewise hypothesis-test incomes.nwr --level 0.05
    """
    import noisewise

    found = noisewise.hypothesis_test(noisewise.load(file), levels=tuple(level or DEFAULT_LEVELS), alternative=alternative,
                                      rows=rows, censored=censored, seed=seed, run=out.run())
    out.heading(found.formula)
    out.heading(f"{found.parts} random parts · null hypotheses simulated with parts, clipping and noise, seed {seed}",
                style="dim")
    out.result(_table(found))
    for one in found:
        out.explain(one.sentence)
    if any(one.uncalibrated for one in found):
        out.explain("uncalibrated: the critical value that ignores parts, clipping and noise; do not use it.",
                    style="dim")
    out.document({"file": file, "alternative": alternative, "rows": rows, "censored": censored, "seed": seed, **found.to_dict()})


def _table(found: HypothesisTests) -> Table:
    """Return a table with one line per test and level."""
    known = any(one.uncalibrated for one in found)
    table = plain_table("hypothesis", "value", "p", "level", "rejects if", *["uncalibrated"] * known, "rejected",
                        words="statistic")
    for one in found:
        p_value = f"{one.p_value:.4f}" if one.p_value >= 0.0001 else "< 0.0001"
        head = (visible(one.hypothesis), one.measure, f"{one.statistic:.3g}", p_value)
        for place, (level, (below, above)) in enumerate(one.critical.items()):
            ends = [f"{sign} {end:.3g}" for sign, end in (("≤", below), ("≥", above)) if end is not None and isfinite(end)]
            plain = None if one.uncalibrated is None else one.uncalibrated.get(level)
            table.add_row(*(head if place == 0 else ("", "", "", "")), f"{level:g}", " or ".join(ends) or "never",
                          *["–" if plain is None else f"≥ {plain:.3g}"] * known, "yes" if one.rejects(level) else "no")
    return table
