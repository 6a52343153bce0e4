"""Combine templates, style sheet and script into one file that loads nothing.

The policy in its head allows only this style sheet and this script, identified by their digests. Even if a browser mistook text
from a release for markup, it could neither run nor connect anywhere. Untrusted text is shown with invisible characters written
out, and cut to a length that people can read.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "templates"
MOST_CHARACTERS: Final = 2000
MOST_OF_A_DRAWING: Final = 200_000
"""The limit for paths of drawings and for commands, which are useless if cut. Honest input never reaches it."""
INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control characters, marks that change the direction of text or have no width, lone surrogates, and unusual line ends."""


def render(**values: object) -> str:
    """Render the page. Every value in a template is made visible, cut if it is far too long, and escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def finalize(value: object) -> object:
        return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True, keep_trailing_newline=True, finalize=finalize)
    environment.filters["whole"] = Whole
    style, script = ((FOLDER / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    return environment.get_template("page.html.j2").render(
        policy=policy(style, script), style=Markup(style), script=Markup(script), **values)


def policy(style: str, script: str) -> str:
    """A content security policy that allows only this style sheet and this script."""
    return (f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; "
            "form-action 'none'")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


class Whole(str):
    """A text that is useless if cut, such as the path of a curve. It has a larger limit."""

    __slots__ = ()


def visible(text: str) -> str:
    """The text with invisible characters written out, except line ends.

    >>> visible("red \\x1b[31m"), visible("\\u202edesrever"), visible("Größe (cm)")
    ('red \\\\x1b[31m', '\\\\u202edesrever', 'Größe (cm)')
    """
    if text.isprintable():
        return text
    return "".join(character if character == "\n" or unicodedata.category(character) not in INVISIBLE else _written_out(character)
                   for character in text)


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text, or the beginning of one that is too long.

    >>> cut("abcdef", 4), cut("abcd", 4)
    ('abc…', 'abcd')
    """
    return text if len(text) <= most else f"{text[:most - 1]}…"


def shown(text: str) -> str:
    """A text as the page shows it. It is cut before and after writing out, which is slow for long text and makes it longer."""
    most = MOST_OF_A_DRAWING if isinstance(text, Whole) else MOST_CHARACTERS
    return cut(visible(cut(text, most)), most)


def _written_out(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
