"""Texts from strangers, before they are shown: nothing invisible in them, and no more of them than a reader could read."""

from __future__ import annotations

import unicodedata
from typing import Final

MOST_CHARACTERS: Final = 2000
MOST_OF_A_DRAWING: Final = 200_000
"""Paths of drawings and commands, which are of no use if they are cut; more than these are not made of honest input."""
INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls, marks that turn the direction of writing or have no width, halves of characters, and odd ends of lines."""


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
