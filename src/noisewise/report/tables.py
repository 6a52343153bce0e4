"""Tables before they are HTML: words, and which columns are numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

MOST_ROWS: Final = 200
"""Longer tables are cut, so that a report stays light; the note says so."""


@dataclass(frozen=True)
class Table:
    """A caption, headings and rows of texts; the first cell of a row is its heading."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[int] = frozenset({0})
    """The columns that are not numbers."""
    note: str = ""

    @classmethod
    def of(cls, caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], words: Iterable[int] = (0,),
           rest: str = "the files have them all") -> Table:
        """A table that is cut where it is too long."""
        every = [tuple(row) for row in rows]
        left_out = len(every) - MOST_ROWS
        note = f"{left_out:,} further lines are not shown; {rest}." if left_out > 0 else ""
        return cls(caption, tuple(headings), tuple(every[:MOST_ROWS]), frozenset(words), note)
