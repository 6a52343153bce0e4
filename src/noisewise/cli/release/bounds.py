"""``noisewise release bounds``: bounds of columns that nobody knows, for a part of the budget."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from noisewise.cli.options import Columns, Digits, Tail
from noisewise.cli.output import Output
from noisewise.kinds import Bounds
from noisewise.releases.release import Release

DELTA: Final = None


def asked(column: Columns, tail: Tail = 0.005, digits: Digits = 3) -> Bounds:
    """Estimate bounds of numeric columns that the schema declares with bounds = "unknown".

    `noisewise bounds` does the same where there is no complete schema yet, and where one bound is known.

    Example: noisewise release bounds patients.parquet -s schema.toml --column stay -e 0.1 -o bounds.nwr
    """
    return Bounds(column, tail=tail, digits=digits)


def tell(out: Output, made: Release, target: Path | None) -> None:
    """The lines for a schema, and whether they are of use."""
    found = made.contents
    out.explain("Lines for the schema; round them further outwards if you like, and say what a missing cell becomes:")
    out.line(found.to_toml().rstrip("\n"))
    out.explain()
    out.explain("This may be shown to anyone. Asking again spends again, unless a --ledger knows the answer.")
    if any(not column.usable for column in found.columns):
        out.warn("some bounds cannot be used: the table has too few rows for this epsilon; the budget is spent all the same")
