"""``noisewise plan model``: how a model release would spend its budget, and how good it would be. Reads no rows."""

from __future__ import annotations

from typing import Annotated

import typer

from noisewise.cli.guard import guarded
from noisewise.cli.options import Family, Formula, PlannedDelta, PlannedEpsilon, Rounds, SchemaFile
from noisewise.cli.output import Output


@guarded(holder=True)
def model(
    out: Output, schema: SchemaFile, formula: Formula, epsilon: PlannedEpsilon, delta: PlannedDelta, family: Family = "gaussian",
    terms: Annotated[str | None, typer.Option(help="Additional columns for the formula, for example \"I(age**2)\".")] = None,
    rounds: Rounds = None,
    rows: Annotated[int | None, typer.Option(min=1, help=(
        "Approximate number of rows, if it may be known. Shows how wide intervals would be, and whether a gram release would be "
        "better."))] = None,
) -> None:
    """Show how a model release would spend its budget, and how wide its intervals would be. Reads no data and spends nothing.

    Example: noisewise plan model -s schema.toml --formula "sick ~ age" -f logistic --rows 10000 --epsilon 1 --delta 1e-6
    """
    import noisewise

    with out.working("Planning"):
        found = noisewise.plan(noisewise.Schema.load(schema), noisewise.Model(formula, terms=terms, family=family, rounds=rounds),
                               epsilon=epsilon, delta=delta, rows=rows)
    out.text(found.describe())
    if rows is not None:
        out.explain("With your own assumptions about the columns, and the power to detect an effect: noisewise plan power "
                    "--kind model")
    out.explain("Nothing was read and nothing was spent.")
    out.document(found.to_dict())
