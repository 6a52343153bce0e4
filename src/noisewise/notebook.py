"""Results as notebooks show them: small tables in HTML. Every text is escaped: names may come from a file of someone else."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any


def card(heading: str, *tables: str, below: str = "", notes: Iterable[str] = ()) -> str:
    """A heading, tables that are HTML already, and what is to be said about them.

    >>> card("stay ~ <age>", notes=["do not trust this"])
    '<p><b>stay ~ &lt;age&gt;</b></p><ul><li>do not trust this</li></ul>'
    """
    lines = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    title = f"<p><b>{html.escape(heading)}</b>" + (f"<br>{html.escape(below)}" if below else "") + "</p>"
    return title + "".join(tables) + (f"<ul>{lines}</ul>" if lines else "")


def frame(table: Any, digits: int = 4) -> str:
    """A table of pandas, whose names it escapes. It is not named as a type: rooms that import no pandas import this."""
    return str(table.to_html(float_format=lambda value: f"{value:.{digits}g}", na_rep="", border=0))


def lines(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts; without headings if there are none.

    >>> lines(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return "<table>" + (f"<thead><tr>{head}</tr></thead>" if head else "") + f"<tbody>{body}</tbody></table>"


def described(words: str) -> str:
    """What ``describe()`` says: its first line as a heading, and its labels beside their texts.

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
