"""``noisewise bounds``: bounds of columns where nobody knows them, for a stated part of the budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from noisewise.cli.completion import ADJACENCIES, one_of
from noisewise.cli.guard import guarded
from noisewise.cli.ledger_of_release import open_budget
from noisewise.cli.options import AsJson, Data, Edition, LedgerPlace, Quiet, Traceback
from noisewise.cli.query import QueryText, TrustQuery, open_rows
from noisewise.cli.talk import Talk
from noisewise.errors import DeclarationError

if TYPE_CHECKING:
    from noisewise.release.bounds import SuggestedBounds
    from noisewise.schema.open_bounds import Known


ALONE: Final = "Without a schema"


@guarded(holder=True)
def bounds(
    context: typer.Context,
    data: Data,
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", show_default=False, help=(
        "How much privacy may be spent on this, for example 0.1."))],
    schema: Annotated[Path | None, typer.Option("--schema", "-s", show_default=False, help=(
        "A schema that is not complete yet; a bound that is \"?\" in it is estimated."))] = None,
    column: Annotated[list[str] | None, typer.Option("--column", "-c", show_default=False, help=(
        "A column to estimate bounds of; give it several times for several. By default all with a \"?\" in the schema."))] = None,
    adjacency: Annotated[str | None, typer.Option(
        show_default=False, rich_help_panel=ALONE, autocompletion=one_of(ADJACENCIES),
        help="replace-one if the number of rows is public, otherwise add-remove.")] = None,
    unit: Annotated[str | None, typer.Option(show_default=False, rich_help_panel=ALONE, help=(
        "The column that tells whose a row is, if someone can have several."))] = None,
    max_rows: Annotated[int | None, typer.Option(min=1, show_default=False, rich_help_panel=ALONE, help=(
        "With --unit: at most so many rows of each are used."))] = None,
    lower: Annotated[float | None, typer.Option(show_default=False, rich_help_panel=ALONE, help=(
        "The lower bound, if it is known. All of epsilon then goes to the upper one."))] = None,
    upper: Annotated[float | None, typer.Option(show_default=False, rich_help_panel=ALONE, help=(
        "The upper bound, if it is known."))] = None,
    tail: Annotated[float, typer.Option(help="The share of the rows that may lie outside each bound.")] = 0.005,
    digits: Annotated[int, typer.Option(help="Significant digits of the numbers that are tried, 1 to 4.")] = 3,
    ledger: LedgerPlace = None,
    edition: Edition = "",
    query: QueryText = None,
    trust_query: TrustQuery = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Estimate bounds of numeric columns, privately, for a part of the budget.

    Bounds from public knowledge are better and cost nothing.
    This is for columns where there is none, so that nobody needs to look at the rows.

    Example: noisewise bounds patients.parquet --column stay --lower 0 --adjacency replace-one --epsilon 0.1
    """
    talk = Talk.of(context)
    import noisewise

    outside_of_schema = {"--adjacency": adjacency, "--unit": unit, "--max-rows": max_rows, "--lower": lower, "--upper": upper}
    if schema is not None:
        given = [name for name, value in outside_of_schema.items() if value is not None]
        if given:
            raise typer.BadParameter("with --schema, this is declared there", param_hint=f"'{given[0]}'")
        asked, people = _from_schema(schema, column)
    else:
        asked, people = _from_options(column, adjacency, unit, max_rows, (lower, upper))
    budget = open_budget(talk, ledger, edition)
    found = noisewise.private_bounds(
        open_rows(data, query, trust_query), asked, epsilon=epsilon, tail=tail, digits=digits, edition=edition, ledger=budget,
        progress=talk.progress, **people,
    )
    _tell(talk, found)
    if budget is not None:
        budget.tell(talk, repeated="the same bounds were asked for before: these are those")


def _from_schema(path: Path, columns: list[str] | None) -> tuple[dict[str, Known], dict[str, Any]]:
    from noisewise.schema.open_bounds import OpenBounds

    declared = OpenBounds.load(path)
    if not declared.columns:
        raise DeclarationError("the schema leaves no bound open, so there is nothing to estimate", found=str(path),
                               remedy='write "?" for a bound that is to be estimated, for example bounds = [0, "?"]')
    for name in columns or ():
        if name not in declared.columns:
            raise DeclarationError("a column to be estimated has a bound in the schema that is \"?\"", found=name,
                                   remedy="those with one are " + ", ".join(declared.columns))
    return {name: declared.columns[name] for name in columns or declared.columns}, dict(declared.people)


def _from_options(
    columns: list[str] | None, adjacency: str | None, unit: str | None, max_rows: int | None, known: Known
) -> tuple[Any, dict[str, Any]]:
    if not columns:
        raise typer.BadParameter("name the columns to estimate bounds of, or give a --schema", param_hint="'--column' / '-c'")
    if adjacency is None:
        raise typer.BadParameter("say whether the number of rows is public (replace-one) or not (add-remove), or give a --schema",
                                 param_hint="'--adjacency'")
    if (unit is None) != (max_rows is None):
        raise typer.BadParameter("--unit and --max-rows go together", param_hint="'--unit'")
    if known != (None, None) and len(columns) > 1:
        raise typer.BadParameter("a known bound is that of one column; give a --schema for several", param_hint="'--column'")
    people: dict[str, Any] = {"adjacency": adjacency}
    if unit is not None:
        people["unit"] = {"column": unit, "max_rows": max_rows}
    return (columns if known == (None, None) else {columns[0]: known}), people


def _tell(talk: Talk, found: SuggestedBounds) -> None:
    if talk.quiet:
        talk.line(found.to_toml().rstrip("\n"))
    else:
        talk.text(found.describe())
        talk.explain()
        talk.explain("Lines for the schema; round them further outwards if you like, and say what a missing cell becomes:")
        talk.line(found.to_toml().rstrip("\n"))
        talk.explain()
        talk.explain("This may be shown to anyone. Asking again spends again, unless a --ledger knows the answer.")
    if any(not column.usable for column in found.columns):
        talk.warn("some bounds cannot be used: the table has too few rows for this epsilon; the budget is spent all the same")
    talk.document({**found.document(), "toml": found.to_toml()})
