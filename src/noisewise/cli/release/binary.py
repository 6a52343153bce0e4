"""``noisewise release binary``: synthetic rows of a column with two levels, from the literature."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Final

from noisewise.cli.options import about_content
from noisewise.cli.output import Output
from noisewise.kinds import Binary
from noisewise.releases.release import Release

DELTA: Final = None


def asked(
    column: Annotated[str, about_content("--column", "-c", help="A column with two levels.")],
    rows: Annotated[int, about_content("--rows", min=1, help="Number of synthetic rows per copy.")],
    copies: Annotated[int, about_content("--copies", min=1, help="Number of copies; they share epsilon.")] = 1,
) -> Binary:
    """Make synthetic rows of a column with two levels, under pure epsilon: from the literature, for comparison.

    The file may be given to anyone. noisewise synthesize writes its rows as a table; noisewise estimate infers the share among
    the real rows.

    Example: noisewise release binary people.parquet -s schema.toml --column smoker -e 1 --rows 500 -o smokers.nwr
    """
    return Binary(column, rows=rows, copies=copies)


def tell(out: Output, made: Release, target: Path) -> None:
    """Print what can be done with the file."""
    out.explain("This file may be given to anyone. To estimate the real share, or to write the synthetic rows as a table:")
    out.suggest(f"noisewise estimate {quote(str(target))}", f"noisewise synthesize {quote(str(target))} --out synthetic")
