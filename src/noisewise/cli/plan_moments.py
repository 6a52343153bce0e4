"""``noisewise plan moments``: how much noise each block of a moments release would have. No row is read here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli.blocks import Blocks, read_blocks
from noisewise.cli.guard import guarded
from noisewise.cli.options import AsJson, PlannedDelta, PlannedEpsilon, Quiet, SchemaFile, Traceback
from noisewise.cli.tables import plain_table
from noisewise.cli.talk import Talk

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.privacy.moments import MomentsMechanism
    from noisewise.schema import Basis


@guarded(holder=True)
def moments(
    context: typer.Context,
    schema: SchemaFile,
    formula: Annotated[str, typer.Option(help="Response and predictors, for example \"visits ~ age + illness\".",
                                         show_default=False)],
    epsilon: PlannedEpsilon,
    delta: PlannedDelta,
    block: Blocks = None,
    terms: Annotated[str | None, typer.Option(help="More columns for the formula, for example \"I(age**2)\".",
                                              show_default=False)] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Show the noise of each block of a release of kind moments, beside that of kind gram. It reads no data and spends nothing.

    Example: noisewise plan moments -s schema.toml --formula "visits ~ age + illness" --epsilon 1 --delta 1e-6
    """
    talk = Talk.of(context)
    from noisewise.holder.gram import plan_gram
    from noisewise.holder.moments import check_response, plan_moments
    from noisewise.release.adassp import regression_columns
    from noisewise.schema import Basis, Schema
    from noisewise.schema.moment_blocks import NEEDED

    declared = Schema.load(schema)
    basis = Basis(declared, regression_columns(declared, terms, formula.strip()))
    check_response(basis)
    mechanism = plan_moments(basis, epsilon, delta, read_blocks(block))
    gram = _gram_sds(plan_gram(basis, epsilon, delta, "gaussian").entry_sd())
    blocks = [_document(name, mechanism, gram) for name in mechanism.sensitivity.weights]
    talk.result(_table(blocks))
    _explain(talk, basis)
    missing = [name for name in NEEDED if name not in mechanism.sensitivity.weights and (basis.size > 2 or name == "y")]
    if missing:
        talk.warn(f"a regression cannot be fitted without the blocks that are not there: {', '.join(missing)}")
    talk.document({
        "schema": schema,
        "formula": formula.strip(),
        "terms": terms,
        "adjacency": declared.adjacency,
        "columns": list(basis.names[1:]),
        "epsilon": mechanism.epsilon,
        "delta": mechanism.delta,
        "sensitivity": mechanism.sensitivity.norm,
        "blocks": blocks,
    })


def _gram_sds(entries: tuple[float, float, float]) -> dict[str, float]:
    """What a release of kind gram with these columns has on the same sums; its count is public where ours is."""
    diagonal, off_diagonal, corner = entries
    return {"n": corner, "x": off_diagonal, "xx": diagonal, "y": off_diagonal, "yx": off_diagonal}


def _document(name: str, mechanism: MomentsMechanism, gram: dict[str, float]) -> dict[str, Any]:
    from noisewise.schema.moment_blocks import MomentBlock

    block, sd = MomentBlock.named(name), mechanism.block_sds()[name]
    return {
        "block": name,
        "meaning": block.describe(),
        "numbers": block.size(mechanism.sensitivity.predictors),
        "weight": mechanism.sensitivity.weights[name],
        "noise_sd": sd,
        "gram_noise_sd": gram.get(name),
        "relative_to_gram": sd / gram[name] if gram.get(name) else None,
    }


def _table(blocks: list[dict[str, Any]]) -> Table:
    table = plain_table()
    table.add_column("block", style="bold", no_wrap=True)
    table.add_column("sums of")
    for heading in ("numbers", "weight", "noise sd", "gram", "relative"):
        table.add_column(heading, justify="right")
    for block in blocks:
        sd, relative = block["gram_noise_sd"], block["relative_to_gram"]
        table.add_row(block["block"], block["meaning"], f"{block['numbers']:,}", f"{block['weight']:g}",
                      f"{block['noise_sd']:,.4g}", "–" if sd is None else f"{sd:,.4g}",
                      "–" if relative is None else f"{relative:.2f}")
    return table


def _explain(talk: Talk, basis: Basis) -> None:
    talk.explain(f"{basis.size - 2} columns of predictors, {basis.schema.adjacency}. Standard deviations in scaled units, in "
                 "which a column goes from -1 to 1; of a product of different predictors divided by the root of its multinomial "
                 "coefficient. gram: a release of kind gram with these columns and no others.")
    if not basis.schema.rows_are_public:
        talk.explain("The block n is the number of rows, which is not public here.")
    talk.explain("Nothing was read and nothing was spent. Choose weights by these numbers, not by results.")
