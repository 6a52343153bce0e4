"""Advice worded for Python or for the command line.

An error advises people who write Python as well as people who type commands. Whatever has different names in the two is not
written out but made by one of the functions below, and joined with ``+``:

    "use " + option("method", "conditional") + ", or compare models: " + function("compare")

The result is a string, ``use method="conditional", or compare models: noisewise.compare``. The command line has its own
`Language` and says ``use --method conditional, or compare models: noisewise compare``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias


class _Unsaid(Enum):
    """No value: the name alone."""

    UNSAID = "UNSAID"


UNSAID: Final = _Unsaid.UNSAID


@dataclass(frozen=True)
class Option:
    """A parameter of a function or an option of a command, with or without a value."""

    name: str
    value: object = UNSAID


@dataclass(frozen=True)
class Function:
    """A function of the library, or a command."""

    name: str


@dataclass(frozen=True)
class Either:
    """Different words for Python and for the command line."""

    python: str
    command: str


Piece: TypeAlias = str | Option | Function | Either
Language: TypeAlias = Callable[[Option | Function | Either], str]
"""Words a piece that Python and the command line name differently."""


class Words(str):
    """A string worded for Python that can be said in another language.

    >>> "leave " + option("method") + " out"
    'leave method out'
    >>> ("leave " + option("method") + " out").said(lambda piece: "--method")
    'leave --method out'
    """

    pieces: tuple[Piece, ...]

    def __new__(cls, *pieces: Piece) -> Words:
        made = super().__new__(cls, "".join(piece if isinstance(piece, str) else in_python(piece) for piece in pieces))
        made.pieces = pieces
        return made

    def __add__(self, other: str) -> Words:
        return Words(*self.pieces, *pieces_of(other))

    def __radd__(self, other: str) -> Words:
        return Words(*pieces_of(other), *self.pieces)

    def said(self, language: Language) -> str:
        """The text in another language."""
        return "".join(piece if isinstance(piece, str) else language(piece) for piece in self.pieces)


def pieces_of(text: str) -> tuple[Piece, ...]:
    """The pieces of a text; a plain string is one piece."""
    return text.pieces if isinstance(text, Words) else (text,)


def in_python(piece: Option | Function | Either) -> str:
    """A piece, worded for Python.

    >>> in_python(Option("method", "conditional")), in_python(Option("site", None)), in_python(Function("fit"))
    ('method="conditional"', 'site=None', 'noisewise.fit')
    """
    if isinstance(piece, Either):
        return piece.python
    if isinstance(piece, Function):
        return f"noisewise.{piece.name}"
    if piece.value is UNSAID:
        return piece.name
    value = f'"{piece.value}"' if isinstance(piece.value, str) else repr(piece.value)
    return f"{piece.name}={value}"


def option(name: str, value: object = UNSAID) -> Words:
    """A parameter by its name in Python: ``option("draws", 4000)`` is ``draws=4000`` or ``--draws 4000``."""
    return Words(Option(name, value))


def leave_out(name: str) -> Words:
    """``leave method out`` or ``leave --method out``."""
    return "leave " + option(name) + " out"


def function(name: str) -> Words:
    """A function by its name in Python: ``function("fit_sum")`` is ``noisewise.fit_sum``, or the command of that name."""
    return Words(Function(name))


def either(python: str, command: str) -> Words:
    """One text for Python and another for the command line."""
    return Words(Either(python, command))
