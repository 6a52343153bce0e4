"""``noisewise release --kind microdata``: every row with noise in each cell, in a file beside the release file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from noisewise.cli.talk import Talk, visible
from noisewise.errors import DeclarationError

if TYPE_CHECKING:
    from noisewise.release import MicrodataRelease
    from noisewise.schema import Schema

Copies: TypeAlias = Annotated[int | None, typer.Option("--copies", min=1, show_default=False, help=(
    "With kind microdata: publish every row so many times, each time with new noise; the copies share the budget."))]
Shares: TypeAlias = Annotated[list[str] | None, typer.Option("--share", metavar="COLUMN=WEIGHT", show_default=False, help=(
    "With kind microdata: a column's share of the budget, for example age=2 for twice that of others; may be repeated."))]


def read_shares(given: Sequence[str] | None) -> dict[str, float] | None:
    """Weights by the names of columns; None if there are none. What they must be is checked where a release is made."""
    if not given:
        return None
    shares: dict[str, float] = {}
    for text in given:
        name, _, weight = text.rpartition("=")
        try:
            number = float(weight) if weight.isascii() and "_" not in weight else None
        except ValueError:
            number = None
        if number is None or not name or name in shares:
            raise DeclarationError("a share is given once, as the name of a column and its weight", found=visible(text)[:60],
                                   remedy="for example --share age=2")
        shares[name] = number
    return shares


def release_rows(talk: Talk, data: Any, declared: Schema, target: Path, **settings: Any) -> None:
    """Make the release, which writes its files itself, and tell about it."""
    import noisewise

    made: MicrodataRelease = noisewise.release(
        data, declared, kind="microdata", output=target, progress=talk.progress, **settings)
    if not talk.quiet:
        talk.line(f"Wrote {target} and {made.file.name} beside it", style="bold green")
        talk.line(made.describe())
        talk.explain()
        talk.explain("Both files may be given to anyone, together. The noise is in the cells: means and sums of many rows are "
                     "usable, single rows are not. `noisewise plan microdata` compares the noise with that of a gram release.")
        if settings["ledger"] is not None:
            talk.explain("The ledger keeps the first file only: keep the file of rows, which cannot be made again.")
    talk.document({"file": target, **made.document()})
    if made.delta and made.rows and made.delta > 1 / made.rows:
        talk.warn(f"delta is larger than 1/{made.rows}, one over the number of rows: that is a weak promise to each of them")
