"""``noisewise answer``: the answers in a partition release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.files import check_results
from noisewise.cli.guard import guarded
from noisewise.cli.options import Picture
from noisewise.cli.output import Output
from noisewise.cli.tables import decimals_for, fixed, plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.results.answers import Answer, Answers

PROBABILITIES = ("probability", "hypothesis probability")


@guarded(holder=False)
def answer(
    out: Output,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A release file of kind partition.")],
    prior_probability: Annotated[float, typer.Option(help=(
        "For Bayes factors: the prior probability that the coefficients are not zero."))] = 0.5,
    probability: Annotated[float, typer.Option(help="Probability level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed for the draws behind coefficient intervals.", min=0)] = 0,
    plot: Picture = None,
) -> None:
    """Show the answers in a partition release, each with a value, an interval for the noise, and a plain sentence.

    Example: noisewise answer incomes.nwr --plot answers.png
    """
    import noisewise

    check_results((file,), plot=plot)
    release = noisewise.load(file)
    with out.working("Computing intervals"):
        found = noisewise.answer(release, prior_probability=prior_probability, probability=probability, seed=seed)
    if plot is not None:
        found.plot(plot)
    out.heading(found.formula)
    out.heading(f"{found.parts} random parts · {100 * probability:g} % intervals", style="dim")
    out.result(_table(found))
    for one in found:
        out.explain(one.sentence)
    out.wrote(plot)
    out.document({"file": file, "prior_probability": prior_probability, **found.to_dict(), "plot": plot})


def _table(found: Answers) -> Table:
    limits = ["" if one.limits is None else f"{one.limits[0]:.3g} to {one.limits[1]:.3g}" for one in found]
    rows = ([one.name, *_numbers(one), *[words] * any(limits)] for one, words in zip(found, limits, strict=True))
    return plain_table("answer", "value", "from", "to", *["clipped to"] * any(limits), rows=rows)


def _numbers(one: Answer) -> list[str]:
    values = one.point, one.lower, one.upper
    if one.kind in PROBABILITIES:
        return [_chance(value) for value in values]
    return [fixed(value, decimals_for((one.upper - one.lower) / 4)) for value in values]


def _chance(value: float) -> str:
    """Format a probability with three decimals, never as exactly 0 or 1.

    >>> _chance(0.25), _chance(1e-9), _chance(0.9999)
    ('0.250', '< 0.001', '> 0.999')
    """
    if value < 0.0005:
        return "< 0.001"
    return "> 0.999" if value > 0.9995 else fixed(value, 3)
