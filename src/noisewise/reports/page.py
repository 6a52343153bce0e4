"""Templates, style sheet and script become one file that loads nothing.

The policy in its head forbids everything but this style sheet and this script, told by their digests: even if a text from a
release were taken for markup by a browser, it could neither run nor call anywhere. Texts from strangers have nothing invisible in
them when they are shown, and no more than a reader could read.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "templates"
MOST_CHARACTERS: Final = 2000
MOST_OF_A_DRAWING: Final = 200_000
"""Paths of drawings and commands, which are of no use if they are cut; more than these are not made of honest input."""
INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls, marks that turn the direction of writing or have no width, halves of characters, and odd ends of lines."""


def render(**values: Any) -> str:
    """The page. Every value is made visible, cut where it is far too long, and escaped, wherever a template has it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def finalize(value: Any) -> Any:
        return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True, keep_trailing_newline=True, finalize=finalize)
    environment.filters["whole"] = Whole
    style, script = ((FOLDER / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    return environment.get_template("page.html.j2").render(
        policy=policy(style, script), style=Markup(style), script=Markup(script), **values)


def policy(style: str, script: str) -> str:
    """Nothing but this style sheet and this script."""
    return (f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; "
            "form-action 'none'")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


class Whole(str):
    """A text that is worth nothing in part, such as the path of a curve: it has a larger limit."""

    __slots__ = ()


def visible(text: str) -> str:
    """The text with what cannot be seen written out; ends of lines stay.

    >>> visible("red \\x1b[31m"), visible("\\u202edesrever"), visible("Größe (cm)")
    ('red \\\\x1b[31m', '\\\\u202edesrever', 'Größe (cm)')
    """
    if text.isprintable():
        return text
    return "".join(character if character == "\n" or unicodedata.category(character) not in INVISIBLE else _written_out(character)
                   for character in text)


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """The beginning of a text that is too long.

    >>> cut("abcdef", 4), cut("abcd", 4)
    ('abc…', 'abcd')
    """
    return text if len(text) <= most else f"{text[:most - 1]}…"


def shown(text: str) -> str:
    """A text as a page has it. It is cut before and after: writing it out makes it longer, and takes a while for a long one."""
    most = MOST_OF_A_DRAWING if isinstance(text, Whole) else MOST_CHARACTERS
    return cut(visible(cut(text, most)), most)


def _written_out(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
