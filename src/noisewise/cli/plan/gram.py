"""``noisewise plan gram``: how much noise each mechanism would add, before any budget is spent. Reads no rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from noisewise.cli.completion import LITERATURE
from noisewise.cli.guard import guarded
from noisewise.cli.options import PlannedDelta, PlannedEpsilon, SchemaFile
from noisewise.cli.output import Output
from noisewise.cli.tables import plain_table
from noisewise.errors import PrivacyError

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.planning.gram import PlannedMechanism
    from noisewise.privacy.mechanisms.gram import SymmetricMechanism

HEADINGS: Final = ("delta", "degrees", "sd of squares", "sd of other sums", "relative")
HEADINGS_WITH_ROWS: Final = ("mean, of range", "second moment")


@guarded(holder=True)
def gram(
    out: Output, schema: SchemaFile, epsilon: PlannedEpsilon, delta: PlannedDelta,
    terms: Annotated[str | None, typer.Option(help=(
        "Additional columns to release, for example \"age:ward + I(age**2)\"."))] = None,
    rows: Annotated[int | None, typer.Option(min=1, help=(
        "Approximate number of rows, if it may be known. Shows what the noise means for a mean and a second moment."))] = None,
) -> None:
    """Compare the noise that each mechanism would add to a gram release. Reads no data and spends nothing.

    Example: noisewise plan gram -s schema.toml --epsilon 1 --delta 1e-6 --rows 10000
    """
    from noisewise.holder.gram import plan_gram
    from noisewise.planning.gram import planned_mechanisms
    from noisewise.schema import Basis, Schema

    if not 0 < delta < 1:  # otherwise the remedy would be to leave delta out, which applies to releases only
        raise PrivacyError("delta must lie strictly between 0 and 1", found=repr(delta),
                           remedy="for example 1e-6; the laplace row shows pure epsilon for any delta")
    declared = Schema.load(schema)
    basis = Basis.of(declared, terms)
    gaussian = plan_gram(basis, epsilon, delta)
    found = planned_mechanisms(basis, epsilon, delta)
    out.result(_table(found, gaussian, rows))
    out.explain(f"{basis.size - 1} columns, {declared.adjacency}. Standard deviations (sd) are in scaled units, in which a "
                "column goes from -1 to 1. relative: compared with Gaussian noise (squares / other sums if they differ).")
    if rows is not None:
        out.explain(f"With {rows:,} rows: how far the noise moves a column's mean, as a share of its declared range, and its "
                    "second moment about the middle of the range, as a share of that of an evenly spread column.")
    for planned in found:
        if planned.refusal is not None:
            out.note(f"Note: {planned.name} is refused: {planned.refusal.rule} (found: {planned.refusal.found}).")
    out.explain(f"{LITERATURE}: {', '.join(planned.name for planned in found if planned.literature)}.".capitalize())
    out.explain("Nothing was read and nothing was spent. Choose a mechanism by these numbers, not by results.")
    out.document({"schema": schema, "terms": terms, "adjacency": declared.adjacency, "columns": list(basis.names[1:]),
                  "epsilon": gaussian.epsilon, "delta": gaussian.delta, "rows": rows,
                  "mechanisms": [planned.to_dict(gaussian, rows) for planned in found]})


def _table(found: list[PlannedMechanism], gaussian: SymmetricMechanism, rows: int | None) -> Table:
    table = plain_table("mechanism", *HEADINGS, *(() if rows is None else HEADINGS_WITH_ROWS), wrap=True)
    for planned in found:
        if planned.mechanism is None:
            table.add_row(planned.name, "–", "–", "refused")
            continue
        numbers = planned.to_dict(gaussian, rows)
        sd, ratio = numbers["noise_sd"], numbers["relative_to_gaussian"]
        same = abs(ratio["diagonal"] - ratio["off_diagonal"]) < 0.005
        shares = () if rows is None else (numbers["sd_of_a_mean_in_ranges"], numbers["share_of_a_second_moment"])
        table.add_row(planned.name, f"{planned.mechanism.delta:g}", "" if planned.degrees is None else f"{planned.degrees:,}",
                      f"{sd['diagonal']:,.4g}", f"{sd['off_diagonal']:,.4g}",
                      f"{ratio['diagonal']:.2f}" if same else f"{ratio['diagonal']:.2f} / {ratio['off_diagonal']:.2f}",
                      *map(_percent, shares))
    return table


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:,.0f} %"
