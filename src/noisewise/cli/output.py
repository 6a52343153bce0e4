"""What a command says, and where it says it.

Results go to standard output, notes and warnings to standard error. With ``--json`` standard output holds exactly one JSON
document. With ``--quiet`` there are results, warnings and errors, and nothing else. Nothing is read as markup (``ward[T.B]`` is a
name), and characters that cannot be seen (controls, or marks that turn the direction of writing), which a file from elsewhere
could hold to play tricks on a terminal, are written out.

Words are wrapped on a terminal and nowhere else: a program that reads them finds each message on one line.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from noisewise.reports.page import visible as visible
from noisewise.run import Run

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console, RenderableType

WIDTH_OF_A_FILE: Final = 120
"""How wide tables may be where there is no terminal to ask."""

LABEL: Final = re.compile(r"  \S+(?: \S+)* {2,}(?=\S)")
"""A label of a description: indented by two, and two blanks or more before its text."""


@dataclass(frozen=True)
class Output:
    """Where one command says what it has to say."""

    json: bool = False
    quiet: bool = False
    traceback: bool = False

    @property
    def width(self) -> int:
        """How many characters fit on a line of standard output."""
        return self._out.width

    def run(self, threads: int | None = None) -> Run:
        """For the library: no bar if quiet or for machines, otherwise one on a terminal."""
        return Run(threads, progress=False if self.quiet or self.json else None)

    @contextmanager
    def working(self, doing: str) -> Iterator[None]:
        """A sign of life, on a terminal, while something may take long that cannot say how far it is."""
        with self.run().bar(doing, unit=""):
            yield

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

    def heading(self, words: str, style: str | None = "bold") -> None:
        """A line above a result, for those who want to hear more than the result."""
        if not self.quiet:
            self.line(words, style)

    def text(self, words: str) -> None:
        """Sentences, some with a label before them, as the library describes things: on a terminal wrapped to its width."""
        if not self.json:
            pieces = _labels_with_text(visible(words)) if self._out.file.isatty() else [(visible(words), 0)]
            for line in (line for piece, indent in pieces for line in _wrapped(piece, self._out, hanging=indent)):
                self._out.print(line, soft_wrap=True)

    def explain(self, words: str = "", style: str | None = None) -> None:
        """A paragraph for someone who sees this for the first time."""
        if not self.json and not self.quiet:
            self._out.print(visible(words), style=style)

    def suggest(self, *commands: str) -> None:
        """Commands to try next, each whole on its line."""
        if not self.quiet:
            for command in commands:
                self.line(f"  {command}", style="bold")

    def labelled(self, label: str, style: str, words: str) -> None:
        """A line of the result that begins with a label, below which it is wrapped on a terminal."""
        if not self.json:
            _print_labelled(self._out, label, style, words)

    def note(self, words: str) -> None:
        """Something good to know that is not part of the result."""
        if not self.quiet:
            self.announce(words, style="dim")

    def wrote(self, *files: Path | None) -> None:
        """Which files were written, of those that were wanted."""
        for file in filter(None, files):
            self.note(f"Wrote {file}")

    def announce(self, words: str, style: str = "bold") -> None:
        """Something that was done and should be seen, also where little is said."""
        for line in _wrapped(visible(words), self._err):
            self._err.print(line, style=style, soft_wrap=True)

    def warn(self, words: str, *more: tuple[str, str]) -> None:
        """Something that must not be overlooked, with labelled lines below it."""
        self._alert("Warning: ", "bold yellow", words, more)

    def fail(self, words: str, *more: tuple[str, str]) -> None:
        """What went wrong, with labelled lines below it."""
        self._alert("Error: ", "bold red", words, more)

    def _alert(self, label: str, style: str, words: str, more: Iterable[tuple[str, str]]) -> None:
        _print_labelled(self._err, label, style, words)
        for name, line in more:
            _print_labelled(self._err, f"  {name + ':':<9}", "dim", line)

    def document(self, content: Mapping[str, Any]) -> None:
        """The JSON document, if one is wanted; ASCII, so that no encoding can break it."""
        if self.json:
            sys.stdout.write(json.dumps(_plain(content), indent=2, allow_nan=False) + "\n")


def _print_labelled(console: Console, label: str, style: str, words: str) -> None:
    from rich.text import Text

    first, *more = _wrapped(label + visible(words), console, hanging=len(label))
    console.print(Text.assemble((first[:len(label)], style), first[len(label):]), soft_wrap=True)
    for line in more:
        console.print(line, soft_wrap=True)


def _labels_with_text(words: str) -> list[tuple[str, int]]:
    """Each label with the lines that belong to it in one piece, and how far they are indented.

    >>> _labels_with_text("a release\\n  protects  one\\n            row\\n  rows      12")
    [('a release', 0), ('  protects  one row', 12), ('  rows      12', 12)]
    """
    found: list[tuple[str, int]] = []
    for line in words.split("\n"):
        blank = len(line) - len(line.lstrip())
        label = LABEL.match(line)
        if found and blank and blank == found[-1][1] and label is None:
            found[-1] = (f"{found[-1][0]} {line.strip()}", blank)
        else:
            found.append((line, blank if label is None else label.end()))
    return found


def _wrapped(words: str, console: Console, hanging: int | None = None) -> list[str]:
    """The lines as they go to a terminal of this width; a word that is longer, such as a path, stays whole."""
    lines = words.split("\n")
    if not console.file.isatty():
        return lines
    found = []
    for line in lines:
        indent = len(line) - len(line.lstrip()) if hanging is None else hanging
        found += textwrap.wrap(line, max(console.width, 20), subsequent_indent=" " * indent, break_long_words=False,
                               break_on_hyphens=False) or [""]
    return found


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
