"""Where the output of a command goes, and how it is printed.

Results go to standard output, notes and warnings to standard error. With ``--json``, standard output holds exactly one JSON
document. With ``--quiet``, only results, warnings and errors are printed. Text is never parsed as markup (``ward[T.B]`` is a
name). Invisible characters (controls, or marks that change the writing direction), which a hostile file could use to play tricks
on a terminal, are escaped.

Text is wrapped only on a terminal; a program that reads it finds each message on one line.
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
from typing import TYPE_CHECKING, Final

from noisewise.reports.page import visible as visible
from noisewise.run import Run

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console, RenderableType

WIDTH_OF_A_FILE: Final = 120
"""Width of tables if there is no terminal."""

LABEL: Final = re.compile(r"  \S+(?: \S+)* {2,}(?=\S)")
"""A label in a description: indented by two, with at least two blanks before its text."""


@dataclass(frozen=True)
class Output:
    """The output of one command."""

    json: bool = False
    quiet: bool = False
    traceback: bool = False

    @property
    def width(self) -> int:
        """Return the number of characters per line of standard output."""
        return self._out.width

    def run(self, threads: int | None = None) -> Run:
        """Return the run settings for the library: no progress bar with --quiet or --json, otherwise one on a terminal."""
        return Run(threads, progress=False if self.quiet or self.json else None)

    @contextmanager
    def working(self, doing: str) -> Iterator[None]:
        """Show a sign of life on a terminal during long work whose progress is unknown."""
        with self.run().bar(doing, unit=""):
            yield

    @cached_property
    def _out(self) -> Console:
        return _console(stderr=False)

    @cached_property
    def _err(self) -> Console:
        return _console(stderr=True)

    def result(self, what: RenderableType) -> None:
        """Print a result."""
        if not self.json:
            self._out.print(what)

    def line(self, words: str = "", style: str | None = None) -> None:
        """Print a line of the result without wrapping it, so that paths and commands can be copied."""
        if not self.json:
            self._out.print(visible(words), style=style, soft_wrap=True)

    def heading(self, words: str, style: str | None = "bold") -> None:
        """Print a line above a result, unless --quiet."""
        if not self.quiet:
            self.line(words, style)

    def text(self, words: str) -> None:
        """Print a description from the library: sentences, some with labels, wrapped on a terminal."""
        if not self.json:
            pieces = _labels_with_text(visible(words)) if self._out.file.isatty() else [(visible(words), 0)]
            for line in (line for piece, indent in pieces for line in _wrapped(piece, self._out, hanging=indent)):
                self._out.print(line, soft_wrap=True)

    def explain(self, words: str = "", style: str | None = None) -> None:
        """Print an explanation for someone who sees this for the first time."""
        if not self.json and not self.quiet:
            self._out.print(visible(words), style=style)

    def suggest(self, *commands: str) -> None:
        """Print commands to try next, one per line."""
        if not self.quiet:
            for command in commands:
                self.line(f"  {command}", style="bold")

    def labelled(self, label: str, style: str, words: str) -> None:
        """Print a labelled line of the result, with a hanging indent on a terminal."""
        if not self.json:
            _print_labelled(self._out, label, style, words)

    def note(self, words: str) -> None:
        """Print a note that is not part of the result."""
        if not self.quiet:
            self.announce(words, style="dim")

    def wrote(self, *files: Path | None) -> None:
        """Say which files were written; None stands for a file that was not requested."""
        for file in filter(None, files):
            self.note(f"Wrote {file}")

    def announce(self, words: str, style: str = "bold") -> None:
        """Print something that was done, even with --quiet."""
        for line in _wrapped(visible(words), self._err):
            self._err.print(line, style=style, soft_wrap=True)

    def warn(self, words: str, *more: tuple[str, str]) -> None:
        """Print a warning, with labelled lines below it."""
        self._alert("Warning: ", "bold yellow", words, more)

    def fail(self, words: str, *more: tuple[str, str]) -> None:
        """Print an error, with labelled lines below it."""
        self._alert("Error: ", "bold red", words, more)

    def _alert(self, label: str, style: str, words: str, more: Iterable[tuple[str, str]]) -> None:
        _print_labelled(self._err, label, style, words)
        for name, line in more:
            _print_labelled(self._err, f"  {name + ':':<9}", "dim", line)

    def document(self, content: Mapping[str, object]) -> None:
        """With --json, print the document, in ASCII so that no encoding can break it."""
        if self.json:
            sys.stdout.write(json.dumps(_plain(content), indent=2, allow_nan=False) + "\n")


def _print_labelled(console: Console, label: str, style: str, words: str) -> None:
    from rich.text import Text

    first, *more = _wrapped(label + visible(words), console, hanging=len(label))
    console.print(Text.assemble((first[:len(label)], style), first[len(label):]), soft_wrap=True)
    for line in more:
        console.print(line, soft_wrap=True)


def _labels_with_text(words: str) -> list[tuple[str, int]]:
    """Join each label with its continuation lines, and return the pieces with their indents.

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
    """Wrap the lines on a terminal; longer words, such as paths, stay whole."""
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


def _plain(value: object) -> object:
    """Convert to plain Python types. JSON has no NaN or infinity, so they become null."""
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
