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
    rows: Annotated[int, about_content("--rows", min=1, help="Synthetic rows of each copy.")],
    copies: Annotated[int, about_content("--copies", min=1, help="How many copies; they share epsilon.")] = 1,
) -> Binary:
    """Make synthetic rows of a column with two levels, under pure epsilon: from the literature, for comparison.

    The file may be given to anyone. noisewise synthesize writes its rows as a table, noisewise estimate says what they tell
    about the real ones.

    Example: noisewise release binary people.parquet -s schema.toml --column smoker -e 1 --rows 500 -o smokers.nwr
    """
    return Binary(column, rows=rows, copies=copies)


def tell(out: Output, made: Release, target: Path) -> None:
    """What may be done with the file."""
    out.explain("This file may be given to anyone. What its rows tell about the real ones, and its rows as a table:")
    out.suggest(f"noisewise estimate {quote(str(target))}", f"noisewise synthesize {quote(str(target))} --out synthetic")
