"""``noisewise plan rows``: the noise in each column of published rows, before any budget is spent. Reads no rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli.guard import guarded
from noisewise.cli.named_numbers import read_shares
from noisewise.cli.options import CellMechanism, Copies, NoiseDelta, SchemaFile, Shares
from noisewise.cli.output import Output
from noisewise.cli.tables import plain_table

if TYPE_CHECKING:
    from rich.table import Table


@guarded(holder=True)
def rows(
    out: Output, schema: SchemaFile,
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="Epsilon to plan for, for example 8.")],
    delta: NoiseDelta = None, mechanism: CellMechanism = None, copies: Copies = 1, share: Shares = None,
    count: Annotated[int, typer.Option("--rows", min=1, help=(
        "Approximate number of rows, if it may be known. The more rows, the greater the advantage of a gram release."))] = 10_000,
) -> None:
    """Show how much noise each cell of published rows would have. Reads no data and spends nothing.

    Also compares the noise in the mean of a column with that from a gram release.

    Example: noisewise plan rows -s schema.toml --epsilon 8 --rows 10000
    """
    from noisewise.holder.gram import plan_gram
    from noisewise.holder.rows import plan_rows
    from noisewise.kinds import Rows
    from noisewise.planning.rows import column_noise
    from noisewise.schema import Basis, Schema

    declared = Schema.load(schema)
    asked = Rows(copies=copies, shares=read_shares(share), mechanism=mechanism)
    chosen = plan_rows(declared, asked, epsilon, delta)
    columns = column_noise(declared, chosen, plan_gram(Basis.of(declared), epsilon, delta, mechanism), count)
    out.result(_table(columns))
    out.explain(f"{chosen.copies} {'copies' if chosen.copies > 1 else 'copy'} of every row, {chosen.name}; {count:,} rows. In "
                "the table's units, noise is the standard deviation of one published number. A level is kept with the "
                "probability shown; otherwise it becomes another one at random. mean: how much the noise alone moves the mean "
                "of a column (for a category, the share of a level) estimated from all published rows. gram: the same for a "
                "gram release of these columns at the same budget. relative: the ratio of the two.")
    out.explain("Nothing was read and nothing was spent. A regression suffers more than a mean: choose gram unless you need "
                "rows.")
    out.document({"schema": schema, "epsilon": chosen.epsilon, "delta": chosen.delta, "mechanism": chosen.name,
                  "copies": chosen.copies, "rows": count, "columns": columns})


def _table(columns: list[dict[str, Any]]) -> Table:
    rows = [(column["column"], f"{column['levels']} levels" if "levels" in column else "{} to {}".format(*column["bounds"]),
             f"{column['share']:.3g}", f"kept {column['keep']:.4f}" if "keep" in column else f"{column['noise_sd']:.4g}",
             *(f"{column[name]:.3g}" for name in ("mean_sd", "gram_mean_sd", "relative_to_gram"))) for column in columns]
    return plain_table("column", "declared", "share", "noise", "mean", "gram", "relative", wrap=True, rows=rows)
