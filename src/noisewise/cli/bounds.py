"""``noisewise bounds``: estimate unknown bounds privately, for a stated part of the budget."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from noisewise.cli.completion import ADJACENCIES, one_of
from noisewise.cli.files import check_release_target, open_rows
from noisewise.cli.guard import guarded
from noisewise.cli.options import Data, Digits, Edition, Force, LedgerPlace, QueryText, Tail, TrustQuery
from noisewise.cli.output import Output
from noisewise.cli.release.common import kept, open_budget, tell_spent
from noisewise.errors import DeclarationError

if TYPE_CHECKING:
    from noisewise.schema.search_grid import Known

alone: Final = partial(typer.Option, rich_help_panel="Without a schema")


@guarded(holder=True)
def bounds(
    out: Output, data: Data, *,
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="Epsilon to spend, for example 0.1.")],
    schema: Annotated[Path | None, typer.Option("--schema", "-s", help=(
        "An incomplete schema; every bound written as \"?\" is estimated."))] = None,
    column: Annotated[list[str] | None, typer.Option("--column", "-c", help=(
        "Column to estimate bounds for; may be repeated. Default: every column with a \"?\" in the schema."))] = None,
    adjacency: Annotated[str | None, alone(autocompletion=one_of(ADJACENCIES), help=(
        "replace-one if the number of rows is public, otherwise add-remove."))] = None,
    unit: Annotated[str | None, alone(help="The column that says which person a row belongs to, if one can have many.")] = None,
    max_rows: Annotated[int | None, alone(min=1, help="With --unit: use at most this many rows per person.")] = None,
    lower: Annotated[float | None, alone(help=(
        "The lower bound, if known. All of epsilon then goes to the upper bound."))] = None,
    upper: Annotated[float | None, alone(help="The upper bound, if known.")] = None,
    tail: Tail = 0.005, digits: Digits = 3,
    output: Annotated[Path | None, typer.Option("--output", "-o", help=(
        "Also write a release file, for example bounds.nwr."))] = None,
    ledger: LedgerPlace = None, edition: Edition = "", query: QueryText = None, trust_query: TrustQuery = False,
    force: Force = False,
) -> None:
    """Estimate bounds of numeric columns privately, for part of the budget.

    Bounds from public knowledge are better and cost nothing.
    Use this where no public bounds exist, so that nobody has to look at the rows.

    Example: noisewise bounds patients.parquet --column stay --lower 0 --adjacency replace-one --epsilon 0.1
    """
    import noisewise
    from noisewise.cli.release.bounds import tell

    outside_of_schema = {"--adjacency": adjacency, "--unit": unit, "--max-rows": max_rows, "--lower": lower, "--upper": upper}
    if schema is not None:
        given = [name for name, value in outside_of_schema.items() if value is not None]
        if given:
            raise typer.BadParameter("not allowed with --schema; declare it in the schema", param_hint=f"'{given[0]}'")
        asked, people = _from_schema(schema, column)
    else:
        asked, people = _from_options(column, adjacency, unit, max_rows, (lower, upper))
    if output is not None:
        check_release_target(output, force=force, room=65_536)
    budget = open_budget(out, ledger, edition)
    declared = noisewise.Schema.from_dict({**people, "columns": {name: {"bounds": "unknown"} for name in asked}})
    made = noisewise.release(open_rows(data, query, trust_query), declared, noisewise.Bounds(asked, tail=tail, digits=digits),
                             epsilon=epsilon, edition=edition, ledger=budget, run=out.run())
    if output is not None:
        kept(made, output, lambda: made.save(output))
    if not out.quiet:
        out.text(made.describe())
    out.explain()
    tell(out, made, output)
    out.wrote(output)
    out.document({"file": output, **made.facts(), "toml": made.contents.to_toml()})
    tell_spent(out, budget, repeated="the ledger already has these bounds and returned them again")


def _from_schema(path: Path, columns: list[str] | None) -> tuple[dict[str, Known], dict[str, Any]]:
    from noisewise.schema.toml import OpenBounds

    declared = OpenBounds.load(path)
    if not declared.columns:
        raise DeclarationError("nothing to estimate: every bound in the schema is set", found=str(path),
                               remedy='write "?" for each bound to estimate, for example bounds = [0, "?"]')
    for name in columns or ():
        if name not in declared.columns:
            raise DeclarationError("a column to estimate must have a \"?\" bound in the schema", argument="column", found=name,
                                   known=declared.columns)
    return {name: declared.columns[name] for name in columns or declared.columns}, dict(declared.people)


def _from_options(columns: list[str] | None, adjacency: str | None, unit: str | None, max_rows: int | None,
                  known: Known) -> tuple[Any, dict[str, Any]]:
    if not columns:
        raise typer.BadParameter("name the columns to estimate, or give a --schema", param_hint="'--column' / '-c'")
    if adjacency is None:
        raise typer.BadParameter("required without --schema: replace-one if the number of rows is public, otherwise add-remove",
                                 param_hint="'--adjacency'")
    if (unit is None) != (max_rows is None):
        raise typer.BadParameter("--unit and --max-rows must be given together", param_hint="'--unit'")
    if known != (None, None) and len(columns) > 1:
        raise typer.BadParameter("--lower and --upper apply to a single column; use a --schema for several",
                                 param_hint="'--column'")
    people: dict[str, Any] = {"adjacency": adjacency}
    if unit is not None:
        people["unit"] = {"column": unit, "max_rows": max_rows}
    return (columns if known == (None, None) else {columns[0]: known}), people
