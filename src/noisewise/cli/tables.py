"""Tables as all commands print them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def plain_table(first: str | None = None, *numbers: str, **more: Any) -> Table:
    """A table with a line below its head; with a first column of names, and columns of numbers that stand flush right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, **more)
    if first is not None:
        table.add_column(first, style="bold", overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
