"""``noisewise plan partition``: how many parts and which limits, before anything is spent. No data are read here."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.files import check_results
from noisewise.cli.guard import guarded
from noisewise.cli.options import AsJson, Picture, PlannedEpsilon, Quiet, Traceback
from noisewise.cli.questions import Ask, QuestionFile, question_text, read_questions
from noisewise.cli.release_files import check_endings
from noisewise.cli.tables import plain_table
from noisewise.cli.talk import Talk, visible

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.results.partition_plan import PartitionPlan


@guarded(holder=True)
def partition(
    context: typer.Context,
    rows: Annotated[int, typer.Option(help="About how many rows the table has.", show_default=False)],
    predictors: Annotated[int, typer.Option(help="How many columns the formula has beside the intercept; a category has one less "
                                            "than levels.", show_default=False)],
    epsilon: PlannedEpsilon,
    delta: Annotated[float | None, typer.Option("--delta", "-d", help="The delta to plan for; without it pure epsilon.",
                                                show_default=False)] = None,
    ask: Ask = None,
    questions: QuestionFile = None,
    parts: Annotated[list[int] | None, typer.Option(help="Compare these numbers of parts instead; may be repeated.",
                                                    show_default=False)] = None,
    plot: Picture = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Suggest the number of parts and the limits of a release of kind partition, and show how good its answers would be.

    It reads no data and spends nothing.

    Example: noisewise plan partition --rows 10000 --predictors 3 -e 1 --ask "posterior-probability of=age at=0"
    """
    talk = Talk.of(context)
    import noisewise

    check_results((plot,), ())
    check_endings({"--plot": plot}, None)
    asked = read_questions(ask, questions)
    found = noisewise.suggest_parts(rows=rows, predictors=predictors, epsilon=epsilon, delta=delta, parts=parts,
                                    questions=asked, progress=talk.progress)
    if plot is not None:
        found.plot(plot)
        talk.note(f"Wrote {plot}")
    for place in range(len(found.best.expected)):
        _tell_question(talk, found, place)
    _suggest(talk, found, named=bool(ask or questions))
    texts = [question_text(question) for question in found.questions]
    talk.document({**found.to_dict(), "ask": texts, "plot": plot})


def _tell_question(talk: Talk, found: PartitionPlan, place: int) -> None:
    from noisewise.results.partition_plan import MEASURES

    expected = found.best.expected[place]
    if not talk.quiet:
        talk.line(visible(expected.name), style="bold")
    talk.result(_table(found, place))
    talk.explain(f"{expected.measure}: {MEASURES[expected.measure]}.", style="dim")


def _table(found: PartitionPlan, place: int) -> Table:
    expected = found.best.expected[place]
    table = plain_table()
    table.add_column("parts", style="bold", justify="right")
    headings = [f"{expected.measure} at {name}" if expected.measure in ("error", "power") else name for name in expected.values]
    for heading in ("rows per part", "best limits", *headings, ""):
        table.add_column(heading, justify="right", no_wrap=True)
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


def _suggest(talk: Talk, found: PartitionPlan, *, named: bool) -> None:
    if talk.quiet:
        return
    talk.explain(f"Suggested: {found.parts:,} parts" + (" (the best compromise for all questions)" if len(found.questions) > 1
                                                        else "") + ". Nothing was read and nothing was spent.")
    if named:
        asked = " ".join(f"--ask {quote(question_text(question))}" for question in found.questions)
        delta = f" -d {found.delta:g}" if found.delta else ""
        talk.suggest(f"noisewise release DATA -s schema.toml --kind partition --formula FORMULA --parts {found.parts} "
                     f"{asked} -e {found.epsilon:g}{delta} -o FILE.nwr")
