"""``noisewise plan partition``: how many parts and which limits, before any budget is spent. Reads no data."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.files import check_results
from noisewise.cli.guard import guarded
from noisewise.cli.options import AskIfAny, Picture, PlannedEpsilon
from noisewise.cli.output import Output
from noisewise.cli.questions import question_text, read_questions
from noisewise.cli.tables import plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.planning.partition import PartitionPlan


@guarded(holder=True)
def partition(
    out: Output,
    rows: Annotated[int, typer.Option(help="Approximate number of rows.")],
    predictors: Annotated[int, typer.Option(help=(
        "Number of coefficients without the intercept; a category with k levels has k - 1."))],
    epsilon: PlannedEpsilon,
    delta: Annotated[float | None, typer.Option("--delta", "-d", help="Delta to plan for. Without it: pure epsilon.")] = None,
    ask: AskIfAny = None,
    parts: Annotated[list[int] | None, typer.Option(help="Compare these numbers of parts instead; may be repeated.")] = None,
    plot: Picture = None,
) -> None:
    """Suggest the number of parts and the limits of a partition release, and show how good its answers would be.

    Reads no data and spends nothing.

    Example: noisewise plan partition --rows 10000 --predictors 3 -e 1 --ask "posterior-probability of=age at=0"
    """
    import noisewise

    check_results((), plot=plot)
    found = noisewise.suggest_parts(rows=rows, predictors=predictors, epsilon=epsilon, delta=delta, parts=parts,
                                    questions=read_questions(ask) or None, run=out.run())
    if plot is not None:
        found.plot(plot)
        out.wrote(plot)
    for place in range(len(found.best.expected)):
        _tell_question(out, found, place)
    _suggest(out, found, named=bool(ask))
    out.document({**found.to_dict(), "ask": [question_text(question) for question in found.questions], "plot": plot})


def _tell_question(out: Output, found: PartitionPlan, place: int) -> None:
    from noisewise.planning.partition_answers import MEASURES

    expected = found.best.expected[place]
    out.heading(expected.name)
    out.result(_table(found, place))
    out.explain(f"{expected.measure}: {MEASURES[expected.measure]}.", style="dim")


def _table(found: PartitionPlan, place: int) -> Table:
    expected = found.best.expected[place]
    headings = [f"{expected.measure} at {name}" if expected.measure in ("error", "power") else name for name in expected.values]
    table = plain_table("parts", "rows per part", "best limits", *headings, "")
    table.columns[0].justify = "right"
    for line in found.lines:
        one = line.expected[place]
        table.add_row(f"{line.parts:,}", f"{line.part_rows:,.0f}", one.limits() or "–",
                      *(_number(one.measure, value) for value in one.values.values()),
                      "best" if line is found.best else "", style="green" if line is found.best else None)
    return table


def _number(measure: str, value: float) -> str:
    if measure in ("width", "noise"):
        return f"{value:.3g}" if value < 1000 else "> 1000"
    return f"{value:.3f}"


def _suggest(out: Output, found: PartitionPlan, *, named: bool) -> None:
    if out.quiet:
        return
    out.explain(f"Suggested: {found.parts:,} parts" + (" (the best compromise for all questions)" if len(found.questions) > 1
                                                       else "") + ". Nothing was read and nothing was spent.")
    if named:
        asked = " ".join(f"--ask {quote(question_text(question))}" for question in found.questions)
        delta = f" -d {found.delta:g}" if found.delta else ""
        out.suggest(f"noisewise release partition DATA -s schema.toml --formula FORMULA --parts {found.parts} "
                    f"{asked} -e {found.epsilon:g}{delta} -o FILE.nwr")
