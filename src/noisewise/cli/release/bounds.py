"""``noisewise release bounds``: unknown bounds of columns, estimated for part of the budget."""

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

    `noisewise bounds` does the same without a complete schema, or if one of the two bounds is known.

    Example: noisewise release bounds patients.parquet -s schema.toml --column stay -e 0.1 -o bounds.nwr
    """
    return Bounds(column, tail=tail, digits=digits)


def tell(out: Output, made: Release, target: Path | None) -> None:
    """Print the lines for a schema, with a warning about unusable bounds."""
    found = made.contents
    out.explain("Lines for the schema. Round the bounds outwards if you like, and declare what a missing cell becomes:")
    out.line(found.to_toml().rstrip("\n"))
    out.explain()
    out.explain("This may be shown to anyone. Repeating the request costs budget again, unless a --ledger has the answer.")
    if any(not column.usable for column in found.columns):
        out.warn("some bounds are unusable because the table has too few rows for this epsilon; the budget was spent anyway")
