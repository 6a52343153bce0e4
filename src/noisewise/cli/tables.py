"""Tables for all commands: layout, number formatting, and records for --json.

Numbers have as many digits as their uncertainty warrants, with the decimal points aligned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from noisewise.cli.output import visible

if TYPE_CHECKING:
    import pandas
    from rich.table import Table


def plain_table(first: str | None = None, *numbers: str, rows: Iterable[Iterable[str]] = (), words: str | None = None,
                wrap: bool = False, title: str | None = None) -> Table:
    """Return a table with a line below its head: a column of names, perhaps one of words, and right-aligned numbers.

    With ``wrap``, headings of numbers may take two lines and names stay whole. Invisible characters in ``rows`` are escaped.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title=title, title_justify="left")
    if first is not None:
        table.add_column(first, style="bold", overflow="fold", no_wrap=wrap)
    if words is not None:
        table.add_column(words, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=not wrap)
    for row in rows:
        table.add_row(*map(visible, row))
    return table


def decimals_for(uncertainty: float, digits: int = 2) -> int:
    """Return the decimals that show ``digits`` significant digits of an uncertainty.

    >>> decimals_for(0.0123), decimals_for(4.2), decimals_for(380.0)
    (3, 1, 0)
    """
    if not math.isfinite(uncertainty) or uncertainty <= 0:
        return 3
    return min(10, max(0, digits - 1 - math.floor(math.log10(uncertainty))))


def fixed(value: float, decimals: int) -> str:
    """Format a number with this many decimals, and no minus sign before zero.

    >>> fixed(1234.56, 1), fixed(-0.001, 2)
    ('1,234.6', '0.00')
    """
    if not math.isfinite(value):
        return "–"
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def column(values: Iterable[float], decimals: int | Iterable[int]) -> list[str]:
    """Format numbers, with common or individual decimals, padded so that their decimal points align.

    >>> column([1.254, 10.1, float("nan")], [2, 0, 2])
    ['1.25', '10   ', '–   ']
    """
    numbers = [float(value) for value in values]
    places = [decimals] * len(numbers) if isinstance(decimals, int) else decimals
    texts = [fixed(number, digits) for number, digits in zip(numbers, places, strict=True)]
    tails = [len(text) - text.index(".") if "." in text else 0 for text in texts]
    return [text + " " * (max(tails, default=0) - tail) for text, tail in zip(texts, tails, strict=True)]


def columns(table: pandas.DataFrame, names: Iterable[str], uncertainty: Iterable[float]) -> list[list[str]]:
    """Format columns of numbers with the decimals that each line's uncertainty warrants."""
    decimals = [decimals_for(float(one)) for one in uncertainty]
    return [column(table[name], decimals) for name in names]


def records(table: pandas.DataFrame, keys: Mapping[str, str] | None = None, names: Sequence[str] = ("term",)
            ) -> list[dict[str, str | float]]:
    """Convert a table to records for --json: the index levels under ``names``, and the columns under ``keys`` (default: all)."""
    keys = {name: str(name) for name in table.columns} if keys is None else keys
    lines = (line if isinstance(line, tuple) else (line,) for line in table.index)
    return [dict(zip(names, map(str, line), strict=True)) | {key: float(row[name]) for name, key in keys.items()}
            for line, (_, row) in zip(lines, table.iterrows(), strict=True)]
