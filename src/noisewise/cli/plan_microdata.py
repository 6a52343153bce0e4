"""``noisewise plan microdata``: the noise that each column of published rows would have, before anything is spent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli.guard import guarded
from noisewise.cli.options import AsJson, NoiseDelta, Quiet, SchemaFile, Traceback
from noisewise.cli.release_microdata import Copies, Shares, read_shares
from noisewise.cli.tables import plain_table
from noisewise.cli.talk import Talk

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.privacy.microdata import MicrodataMechanism
    from noisewise.schema import Schema


@guarded(holder=True)
def microdata(
    context: typer.Context,
    schema: SchemaFile,
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="The epsilon to plan for, for example 8.",
                                           show_default=False)],
    delta: NoiseDelta = None,
    mechanism: Annotated[str | None, typer.Option(help="gaussian or laplace; by default as --delta says.",
                                                  show_default=False)] = None,
    copies: Copies = None,
    share: Shares = None,
    rows: Annotated[int, typer.Option(help="About how many rows the table has, if that may be known: with more rows a release "
                                      "of kind gram is better in comparison.", min=1)] = 10_000,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Show how much noise each cell of published rows would have. It reads no data and spends nothing.

    The mean of a column, computed from all published rows, is compared with the mean from a release of kind gram.

    Example: noisewise plan microdata -s schema.toml --epsilon 8 --rows 10000
    """
    talk = Talk.of(context)
    from noisewise.holder.gram import plan_gram
    from noisewise.holder.microdata import plan_microdata
    from noisewise.schema import Basis, Schema

    declared = Schema.load(schema)
    chosen = plan_microdata(declared, epsilon, delta, mechanism, copies=copies, shares=read_shares(share))
    gram = plan_gram(Basis.of(declared), epsilon, delta, mechanism).entry_sd()[1]
    columns = [_column(declared, chosen, name, rows, gram) for name in declared.names]
    talk.result(_table(columns))
    talk.explain(f"{chosen.copies} {'copies' if chosen.copies > 1 else 'copy'} of every row, {chosen.name}; {rows:,} rows. In "
                 "units of the table: noise is the standard deviation of one published number; a level is kept with the "
                 "probability shown, else it is another one at random. mean: how much the noise alone moves the mean of a column "
                 "(of a category, the share of a level) that is estimated from all published rows; gram: the same for a release "
                 "of kind gram of these columns at the same budget; relative: how many times as much.")
    talk.explain("Nothing was read and nothing was spent. A regression suffers more than a mean: choose gram unless rows are "
                 "needed.")
    talk.document({"schema": schema, "epsilon": chosen.epsilon, "delta": chosen.delta, "mechanism": chosen.name,
                   "copies": chosen.copies, "rows": rows, "columns": columns})


def _column(schema: Schema, chosen: MicrodataMechanism, name: str, rows: int, gram_sd: float) -> dict[str, Any]:
    """One line: noise of a cell and of a mean, in the column's units."""
    from noisewise.holder.microdata import cell_noise
    from noisewise.release.microdata import NumberNoise
    from noisewise.schema import Numeric

    column, noise = schema.column(name), cell_noise(chosen, name)
    shared = {"column": name, "share": noise.share}
    if isinstance(noise, NumberNoise) and isinstance(column, Numeric):
        sd, mean = noise.sd * column.half_width, noise.sd * column.half_width / math.sqrt(rows * chosen.copies)
        return {**shared, "bounds": [column.lower, column.upper], **_compared(mean, gram_sd * column.half_width / rows),
                "noise_sd": sd}
    assert not isinstance(noise, NumberNoise)
    other = (1 - noise.keep) / (chosen.levels[name] - 1)
    variance = (noise.keep * (1 - noise.keep) + other * (1 - other)) / 2  # of a level that half of the rows have
    mean = math.sqrt(variance / (rows * chosen.copies)) / (noise.keep - other)
    scaled = 2 if chosen.levels[name] == 2 else 1  # two levels are coded -1 and 1, more by indicators
    return {**shared, "levels": chosen.levels[name], **_compared(mean, gram_sd / scaled / rows), "keep": noise.keep}


def _compared(mean: float, gram: float) -> dict[str, float]:
    return {"mean_sd": mean, "gram_mean_sd": gram, "relative_to_gram": mean / gram}


def _table(columns: list[dict[str, Any]]) -> Table:
    table = plain_table()
    table.add_column("column", style="bold")
    for heading in ("declared", "share", "noise", "mean", "gram", "relative"):
        table.add_column(heading, justify="right")
    for column in columns:
        declared = f"{column['levels']} levels" if "levels" in column else "{} to {}".format(*column["bounds"])
        noise = f"kept {column['keep']:.4f}" if "keep" in column else f"{column['noise_sd']:.4g}"
        table.add_row(column["column"], declared, f"{column['share']:.3g}", noise, f"{column['mean_sd']:.3g}",
                      f"{column['gram_mean_sd']:.3g}", f"{column['relative_to_gram']:.3g}")
    return table
