"""Results as notebooks show them: small HTML tables. All text is escaped, because names may come from someone else's file."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol


class Frame(Protocol):
    """The part of a pandas table used here, where nothing may import pandas."""

    def to_html(self, *, float_format: Callable[[float], str], na_rep: str, border: int) -> str | None:
        """The table as HTML."""
        ...


def card(heading: str, *tables: str, below: str = "", notes: Iterable[str] = ()) -> str:
    """A heading, tables that are already HTML, and notes about them.

    >>> card("stay ~ <age>", notes=["do not trust this"])
    '<p><b>stay ~ &lt;age&gt;</b></p><ul><li>do not trust this</li></ul>'
    """
    lines = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    title = f"<p><b>{html.escape(heading)}</b>" + (f"<br>{html.escape(below)}" if below else "") + "</p>"
    return title + "".join(tables) + (f"<ul>{lines}</ul>" if lines else "")


def frame(table: Frame, digits: int = 4) -> str:
    """A pandas table, which escapes its own names."""
    return str(table.to_html(float_format=lambda value: f"{value:.{digits}g}", na_rep="", border=0))


def lines(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of strings, without a head if there are no headings.

    >>> lines(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return "<table>" + (f"<thead><tr>{head}</tr></thead>" if head else "") + f"<tbody>{body}</tbody></table>"


def described(words: str) -> str:
    """The output of ``describe()``: its first line as the heading, then a table of labels and texts.

    >>> described("a release\\n  protects  one\\n            row")
    '<p><b>a release</b></p><table><tbody><tr><td>protects</td><td>one row</td></tr></tbody></table>'
    """
    heading, *rest = words.split("\n")
    rows: list[list[str]] = []
    for line in filter(str.strip, rest):
        label, _, text = line.strip().partition("  ")
        if line.startswith("     ") and rows:
            rows[-1][1] = f"{rows[-1][1]} {line.strip()}".strip()
        else:
            rows.append([label, text.strip()])
    return card(heading, lines((), rows))
