"""``noisewise plan``: how much noise each mechanism would add, before anything is spent. No row is read here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from noisewise.cli.guard import guarded
from noisewise.cli.options import AsJson, PlannedDelta, PlannedEpsilon, Quiet, SchemaFile, Traceback
from noisewise.cli.plan_microdata import microdata
from noisewise.cli.plan_moments import moments
from noisewise.cli.plan_partition import partition
from noisewise.cli.plan_power import power
from noisewise.cli.tables import plain_table
from noisewise.cli.talk import Talk
from noisewise.errors import PrivacyError

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.privacy.mechanisms import SymmetricMechanism
    from noisewise.schema import Basis, Schema

plan_app = typer.Typer(no_args_is_help=True, help="Compare noise and prices before anything is spent.")
plan_app.command()(moments)
plan_app.command()(microdata)
plan_app.command()(partition)
plan_app.command()(power)

MEAN_SQUARE: Final = 1 / 3
"""Of a scaled column that is evenly spread over its bounds: what a typical second moment is taken to be."""

HEADINGS: Final = ("delta", "degrees", "sd of squares", "sd of other sums", "relative")
HEADINGS_WITH_ROWS: Final = (*HEADINGS, "mean, of range", "second moment")


@dataclass(frozen=True)
class Planned:
    """One mechanism: its noise, or why it cannot be had."""

    name: str
    mechanism: SymmetricMechanism | None
    refusal: PrivacyError | None = None

    @property
    def degrees(self) -> int | None:
        return getattr(self.mechanism, "degrees", None)

    def document(self, gaussian: SymmetricMechanism, rows: int | None) -> dict[str, Any]:
        """The mechanism for machines; standard deviations in scaled units."""
        if self.mechanism is None:
            assert self.refusal is not None
            return {"mechanism": self.name, "refused": {"rule": self.refusal.rule, "found": self.refusal.found}}
        diagonal, off_diagonal, corner = self.mechanism.entry_sd()
        reference = gaussian.entry_sd()
        return {
            "mechanism": self.name,
            "epsilon": self.mechanism.epsilon,
            "delta": self.mechanism.delta,
            "degrees_of_freedom": self.degrees,
            "noise_sd": {"diagonal": diagonal, "off_diagonal": off_diagonal, "rows": corner},
            "relative_to_gaussian": {"diagonal": diagonal / reference[0], "off_diagonal": off_diagonal / reference[1]},
            **({} if rows is None else {"sd_of_a_mean_in_ranges": off_diagonal / (2 * rows),
                                        "share_of_a_second_moment": diagonal / (rows * MEAN_SQUARE)}),
        }


@plan_app.command()
@guarded(holder=True)
def gram(
    context: typer.Context,
    schema: SchemaFile,
    epsilon: PlannedEpsilon,
    delta: PlannedDelta,
    terms: Annotated[str | None, typer.Option(help="More columns to release, for example \"age:ward + I(age**2)\".",
                                              show_default=False)] = None,
    rows: Annotated[int | None, typer.Option(help="About how many rows the table has, if that may be known: says what the noise "
                                             "means for a mean and for a second moment.", min=1, show_default=False)] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Compare the noise that each mechanism would add to a release of kind gram. It reads no data and spends nothing.

    Example: noisewise plan gram -s schema.toml --epsilon 1 --delta 1e-6 --rows 10000
    """
    talk = Talk.of(context)
    from noisewise.holder.gram import plan_gram
    from noisewise.schema import Basis, Schema

    if not 0 < delta < 1:  # else the remedy would be to leave it out, which is for a release
        raise PrivacyError("delta must lie strictly between 0 and 1", found=repr(delta),
                           remedy="for example 1e-6; the line of laplace is for pure epsilon whatever delta is")
    declared = Schema.load(schema)
    basis = Basis.of(declared, terms)
    gaussian = plan_gram(basis, epsilon, delta)
    found = [_planned(basis, epsilon, delta, name) for name in _mechanisms()]
    talk.result(_table(found, gaussian, rows))
    _explain(talk, declared, basis, found, rows)
    talk.document({
        "schema": schema,
        "terms": terms,
        "adjacency": declared.adjacency,
        "columns": list(basis.names[1:]),
        "epsilon": gaussian.epsilon,
        "delta": gaussian.delta,
        "rows": rows,
        "mechanisms": [planned.document(gaussian, rows) for planned in found],
    })


def _mechanisms() -> tuple[str, ...]:
    from noisewise.privacy.mechanisms import MECHANISMS

    return MECHANISMS


def _planned(basis: Basis, epsilon: float, delta: float, name: str) -> Planned:
    from noisewise.holder.gram import plan_gram

    try:
        return Planned(name, plan_gram(basis, epsilon, delta, name))
    except PrivacyError as refusal:
        return Planned(name, None, refusal)


def _table(found: list[Planned], gaussian: SymmetricMechanism, rows: int | None) -> Table:
    table = plain_table()
    table.add_column("mechanism", style="bold", no_wrap=True)
    for heading in HEADINGS if rows is None else HEADINGS_WITH_ROWS:
        table.add_column(heading, justify="right")
    for planned in found:
        if planned.mechanism is None:
            table.add_row(planned.name, "–", "–", "refused")
            continue
        numbers = planned.document(gaussian, rows)
        sd, ratio = numbers["noise_sd"], numbers["relative_to_gaussian"]
        same = abs(ratio["diagonal"] - ratio["off_diagonal"]) < 0.005
        table.add_row(
            planned.name,
            f"{planned.mechanism.delta:g}",
            "" if planned.degrees is None else f"{planned.degrees:,}",
            f"{sd['diagonal']:,.4g}",
            f"{sd['off_diagonal']:,.4g}",
            f"{ratio['diagonal']:.2f}" if same else f"{ratio['diagonal']:.2f} / {ratio['off_diagonal']:.2f}",
            *([] if rows is None else [_percent(numbers["sd_of_a_mean_in_ranges"]),
                                       _percent(numbers["share_of_a_second_moment"])]),
        )
    return table


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:,.0f} %"


def _explain(talk: Talk, declared: Schema, basis: Basis, found: list[Planned], rows: int | None) -> None:
    talk.explain(f"{basis.size - 1} columns, {declared.adjacency}. Standard deviations in scaled units, in which a column goes "
                 "from -1 to 1; relative to Gaussian noise (squares / other sums where they differ).")
    if rows is not None:
        talk.explain(f"With {rows:,} rows: how far the noise moves the mean of a column, as a share of its declared range, and "
                     "its second moment about the middle of the range, as a share of what it is if the column is evenly spread.")
    for planned in found:
        if planned.refusal is not None:
            talk.note(f"Note: {planned.name} is refused: {planned.refusal.rule} (found: {planned.refusal.found}).")
    talk.explain("Nothing was read and nothing was spent. Choose a mechanism by these numbers, not by results.")
