"""``--query``: rows of a database on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.table import open_table

if TYPE_CHECKING:
    from noisewise.data.sources import Source
    from noisewise.schema import Schema

QueryText = Annotated[str | None, typer.Option("--query", help="DATA is a database (postgresql://server/name or a .duckdb file): "
                                               "the rows to read, for example \"SELECT age, stay FROM patients\".",
                                               show_default=False)]
TrustQuery = Annotated[bool, typer.Option("--trust-query", metavar="", help="Do not check the query: you vouch that each person "
                                          "has as many rows in its result as the schema says, which depend on nobody else.")]


def open_rows(data: str, query: str | None, trust: bool, schema: Schema) -> Source:
    """Open a table, or the rows of a query."""
    if query is None:
        if trust:
            raise typer.BadParameter("there is no query to trust: give --query", param_hint="'--trust-query'")
        return open_table(data)
    from noisewise.data import open_source
    from noisewise.holder_query import query as query_of
    from noisewise.holder_query import suited_to

    return open_source(suited_to(query_of(data, query, trust=trust), schema))
