"""``noisewise release --kind microdata``: every row with noise in each cell, in a file beside the release file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from noisewise.cli.blocks import read_weights
from noisewise.cli.release_words import tell_made, warn_about_delta
from noisewise.cli.talk import Talk

if TYPE_CHECKING:
    from noisewise.release import MicrodataRelease

MICRODATA: Final = "With --kind microdata"

Copies: TypeAlias = Annotated[int | None, typer.Option("--copies", min=1, show_default=False, rich_help_panel=MICRODATA, help=(
    "Publish every row so many times, each time with new noise; the copies share the budget."))]
Shares: TypeAlias = Annotated[list[str] | None, typer.Option("--share", metavar="COLUMN=WEIGHT", show_default=False,
                                                             rich_help_panel=MICRODATA, help=(
    "A column's share of the budget, for example age=2 for twice that of others; may be repeated."))]


def read_shares(given: Sequence[str] | None) -> dict[str, float] | None:
    """Weights by the names of columns; None if there are none."""
    return read_weights(given, "a share is given once, as the name of a column and its weight", "--share age=2")


def refuse_other_options(settings: Mapping[str, Any]) -> None:
    """Options of other kinds, refused by the names that they have here."""
    others = {"terms": "terms", "formula": "formula", "blocks": "block", "average": "average", "parts": "parts",
              "questions": "ask", "prior": "prior"}
    for name, option in others.items():
        if settings[name] is not None:
            raise typer.BadParameter("it is no option of kind microdata", param_hint=f"'--{option}'")


def tell_microdata(talk: Talk, made: MicrodataRelease, target: Path, has_ledger: bool) -> None:
    """What was written, and what may be done with it."""
    tell_made(talk, f"Wrote {target} and {made.file.name} beside it", made)
    talk.explain("Both files may be given to anyone, together. The noise is in the cells: means and sums of many rows are "
                 "usable, single rows are not. `noisewise plan microdata` compares the noise with that of a gram release.")
    if has_ledger:
        talk.explain("The ledger keeps the first file only: keep the file of rows, which cannot be made again.")
    talk.document({"file": target, **made.document()})
    warn_about_delta(talk, made.delta, made.rows)
