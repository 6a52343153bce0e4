"""What a command says, and where it says it.

Results go to standard output, notes and warnings to standard error. With ``--json`` standard output holds exactly one JSON
document. With ``--quiet`` there are results, warnings and errors, and nothing else. Nothing is read as markup (``ward[T.B]`` is a
name), and control characters, which a file from elsewhere could hold to play tricks on a terminal, are made visible.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDTH_OF_A_FILE: Final = 120
"""How wide tables may be where there is no terminal to ask."""

CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code != ord("\n")}


def visible(text: str) -> str:
    """The text with its control characters written out.

    >>> visible("red \x1b[31m")
    'red \\\\x1b[31m'
    """
    return text.translate(CONTROLS)


@dataclass(frozen=True)
class Switches:
    """The options given before the name of the command."""

    quiet: bool = False
    traceback: bool = False


@dataclass(frozen=True)
class Talk:
    """The voice of one command."""

    json: bool = False
    quiet: bool = False
    traceback: bool = False

    @classmethod
    def of(cls, context: typer.Context) -> Talk:
        """The voice that the guard has given to this command."""
        assert isinstance(context.obj, cls)
        return context.obj

    @property
    def width(self) -> int:
        """How many characters fit on a line of standard output."""
        return self._out.width

    @property
    def progress(self) -> bool | None:
        """For the library: no bar if quiet, otherwise one on a terminal."""
        return False if self.quiet else None

    @cached_property
    def _out(self) -> Console:
        return _console(stderr=False)

    @cached_property
    def _err(self) -> Console:
        return _console(stderr=True)

    def result(self, what: RenderableType) -> None:
        """What was asked for."""
        if not self.json:
            self._out.print(what)

    def line(self, words: str = "", style: str | None = None) -> None:
        """A line of the result that is not broken: paths and commands stay whole, so that they can be copied."""
        if not self.json:
            self._out.print(visible(words), style=style, soft_wrap=True)

    def explain(self, words: str = "", style: str | None = None) -> None:
        """A paragraph for someone who sees this for the first time."""
        if not self.json and not self.quiet:
            self._out.print(visible(words), style=style)

    def suggest(self, *commands: str) -> None:
        """Commands to try next, each whole on its line."""
        if not self.quiet:
            for command in commands:
                self.line(f"  {command}", style="bold")

    def note(self, words: str) -> None:
        """Something good to know that is not part of the result."""
        if not self.quiet:
            self._err.print(visible(words), style="dim", soft_wrap=True)

    def warn(self, words: str, *more: tuple[str, str]) -> None:
        """Something that must not be overlooked, with labelled lines below it."""
        self._labelled("Warning: ", "bold yellow", words)
        for label, line in more:
            self._labelled(f"  {label + ':':<9}", "dim", line)

    def fail(self, words: str, *more: tuple[str, str]) -> None:
        """What went wrong, with labelled lines below it."""
        self._labelled("Error: ", "bold red", words)
        for label, line in more:
            self._labelled(f"  {label + ':':<9}", "dim", line)

    def document(self, content: Mapping[str, Any]) -> None:
        """The JSON document, if one is wanted; ASCII, so that no encoding can break it."""
        if self.json:
            sys.stdout.write(json.dumps(_plain(content), indent=2, allow_nan=False) + "\n")

    def _labelled(self, label: str, style: str, words: str) -> None:
        from rich.text import Text

        self._err.print(Text.assemble((label, style), visible(words)), soft_wrap=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH_OF_A_FILE
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def _plain(value: Any) -> Any:
    """The same with plain Python types; JSON has no NaN and no infinity, so they are null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, bool | str | int):
        return value
    number = value.item() if hasattr(value, "item") else value
    return number if not isinstance(number, float) or math.isfinite(number) else None
