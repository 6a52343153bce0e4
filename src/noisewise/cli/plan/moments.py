"""``noisewise plan moments``: how much noise each block of a moments release would have. Reads no rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli.guard import guarded
from noisewise.cli.named_numbers import read_blocks
from noisewise.cli.options import Blocks, PlannedDelta, PlannedEpsilon, SchemaFile
from noisewise.cli.output import Output
from noisewise.cli.tables import plain_table

if TYPE_CHECKING:
    from rich.table import Table


@guarded(holder=True)
def moments(
    out: Output, schema: SchemaFile,
    formula: Annotated[str, typer.Option(help="Response and predictors, for example \"visits ~ age + illness\".")],
    epsilon: PlannedEpsilon, delta: PlannedDelta, block: Blocks = None,
    terms: Annotated[str | None, typer.Option(help="Additional columns for the formula, for example \"I(age**2)\".")] = None,
) -> None:
    """Compare the noise of each block of a moments release with that of a gram release. Reads no data and spends nothing.

    Example: noisewise plan moments -s schema.toml --formula "visits ~ age + illness" --epsilon 1 --delta 1e-6
    """
    from noisewise.holder.gram import plan_gram
    from noisewise.holder.moments import check_response, plan_moments
    from noisewise.kinds.regression import regression_columns
    from noisewise.planning.moments import block_noise
    from noisewise.schema import Basis, Schema
    from noisewise.schema.moment_blocks import NEEDED

    declared = Schema.load(schema)
    basis = Basis(declared, regression_columns(declared, terms, formula.strip()))
    check_response(basis)
    mechanism = plan_moments(basis, epsilon, delta, read_blocks(block))
    blocks = block_noise(mechanism, plan_gram(basis, epsilon, delta, "gaussian"))
    out.result(_table(blocks))
    out.explain(f"{basis.size - 2} predictor columns, {basis.schema.adjacency}. Standard deviations (sd) are in scaled units, "
                "in which a column goes from -1 to 1. That of a product of different predictors is divided by the square root "
                "of its multinomial coefficient. gram: a gram release of exactly these columns.")
    if not basis.schema.rows_are_public:
        out.explain("Block n is the number of rows, which is not public here.")
    out.explain("Nothing was read and nothing was spent. Choose weights by these numbers, not by results.")
    missing = [name for name in NEEDED if name not in mechanism.sensitivity.weights and (basis.size > 2 or name == "y")]
    if missing:
        out.warn(f"a regression cannot be fitted without these missing blocks: {', '.join(missing)}")
    out.document({"schema": schema, "formula": formula.strip(), "terms": terms, "adjacency": declared.adjacency,
                  "columns": list(basis.names[1:]), "epsilon": mechanism.epsilon, "delta": mechanism.delta,
                  "sensitivity": mechanism.sensitivity.norm, "blocks": blocks})


def _table(blocks: list[dict[str, Any]]) -> Table:
    rows = [(block["block"], block["meaning"], f"{block['numbers']:,}", f"{block['weight']:g}", f"{block['noise_sd']:,.4g}",
             "–" if block["gram_noise_sd"] is None else f"{block['gram_noise_sd']:,.4g}",
             "–" if block["relative_to_gram"] is None else f"{block['relative_to_gram']:.2f}") for block in blocks]
    return plain_table("block", "numbers", "weight", "noise sd", "gram", "relative", words="sums of", wrap=True, rows=rows)
