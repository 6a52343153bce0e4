"""``--query``: rows of a database on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from noisewise.cli.options import ROWS
from noisewise.cli.table import open_table

if TYPE_CHECKING:
    from noisewise.data.sources import Source
    from noisewise.database_query import Query

QueryText: TypeAlias = Annotated[str | None, typer.Option("--query", show_default=False, rich_help_panel=ROWS, help=(
    "DATA is a database (postgresql://server/name or a .duckdb file): the rows to read, for example \"SELECT age, stay FROM "
    "patients\"."))]
TrustQuery: TypeAlias = Annotated[bool, typer.Option("--trust-query", rich_help_panel=ROWS, help=(
    "Do not check the query: you vouch that each person has as many rows in its result as the schema says, which depend on "
    "nobody else."))]


def open_rows(data: str, query: str | None, trust: bool) -> Source | Query:
    """A table that is opened, or a query that the library opens."""
    if query is None:
        if trust:
            raise typer.BadParameter("there is no query to trust: give --query", param_hint="'--trust-query'")
        return open_table(data)
    from noisewise.database_query import query as query_of

    return query_of(data, query, trust=trust)
