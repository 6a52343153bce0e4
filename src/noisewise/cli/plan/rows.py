"""``noisewise plan rows``: the noise that each column of published rows would have, before anything is spent."""

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
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="The epsilon to plan for, for example 8.")],
    delta: NoiseDelta = None, mechanism: CellMechanism = None, copies: Copies = 1, share: Shares = None,
    count: Annotated[int, typer.Option("--rows", min=1, help=(
        "About how many rows the table has, if that may be known: with more rows a release of kind gram is better in "
        "comparison."))] = 10_000,
) -> None:
    """Show how much noise each cell of published rows would have. It reads no data and spends nothing.

    The mean of a column, computed from all published rows, is compared with the mean from a release of kind gram.

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
                "units of the table: noise is the standard deviation of one published number; a level is kept with the "
                "probability shown, else it is another one at random. mean: how much the noise alone moves the mean of a column "
                "(of a category, the share of a level) that is estimated from all published rows; gram: the same for a release "
                "of kind gram of these columns at the same budget; relative: how many times as much.")
    out.explain("Nothing was read and nothing was spent. A regression suffers more than a mean: choose gram unless rows are "
                "needed.")
    out.document({"schema": schema, "epsilon": chosen.epsilon, "delta": chosen.delta, "mechanism": chosen.name,
                  "copies": chosen.copies, "rows": count, "columns": columns})


def _table(columns: list[dict[str, Any]]) -> Table:
    rows = [(column["column"], f"{column['levels']} levels" if "levels" in column else "{} to {}".format(*column["bounds"]),
             f"{column['share']:.3g}", f"kept {column['keep']:.4f}" if "keep" in column else f"{column['noise_sd']:.4g}",
             *(f"{column[name]:.3g}" for name in ("mean_sd", "gram_mean_sd", "relative_to_gram"))) for column in columns]
    return plain_table("column", "declared", "share", "noise", "mean", "gram", "relative", wrap=True, rows=rows)
