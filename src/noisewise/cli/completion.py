"""What the shell offers when the tab key is pressed. Nothing heavy is imported for it: the shell waits.

So the names are written down here once more; a test compares them with the library's. Where nothing is offered the shell
completes the names of files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeAlias

import typer

Completer: TypeAlias = Callable[[str], list[str]]

KINDS: Final = ("gram", "moments", "adassp", "partition", "microdata")
AUDITED_KINDS: Final = (*KINDS, "bounds")
MECHANISMS: Final = ("gaussian", "laplace", "wishart", "wishart-paper")
ADJACENCIES: Final = ("replace-one", "add-remove")
RULES: Final = ("gaussian", "basic", "planned")
FAMILIES: Final = ("gaussian", "logistic", "probit", "poisson")
SUM_FAMILIES: Final = ("bernoulli", "poisson", "exponential", "normal")
FIT_METHODS: Final = ("conditional", "conditional-flat", "collapsed", "laplace", "normal-x", "normal-x-nuts", "fixed-s", "fast",
                      "clt-gibbs", "adassp", "rows", "simex", "naive")
SUM_METHODS: Final = ("exact", "gibbs", "naive")
SITES: Final = ("random", "random-intercept")
ALTERNATIVES: Final = ("two-sided", "less", "greater")

LARGEST_FILE: Final = 2**24
"""Bytes of a release file that is read while someone waits for the tab key."""


def one_of(names: Iterable[str]) -> Completer:
    """Offers those that begin like what is typed."""
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


def formula_words(context: typer.Context, incomplete: str) -> list[str]:
    """A formula with its last name completed, by the columns of the release files before it; files are left to the shell."""
    if "~" not in incomplete:
        return []
    typed = re.search(r"\w*$", incomplete)
    start = "" if typed is None else typed[0]
    before = incomplete.removesuffix(start)
    return [before + name for name in _columns(context) if name.startswith(start)]


def released_columns(context: typer.Context, incomplete: str) -> list[str]:
    """The columns of the release files that are named already."""
    return [name for name in _columns(context) if name.startswith(incomplete)]


def _columns(context: typer.Context) -> list[str]:
    """Plain names only: a file from elsewhere must not put anything before a shell that it could run."""
    found: dict[str, None] = {}
    for file in _given(context):
        try:
            if file.suffix == ".nwr" and file.is_file() and file.stat().st_size <= LARGEST_FILE:
                names = json.loads(file.read_text(encoding="utf-8"))["schema"]["columns"]
                found |= dict.fromkeys(name for name in names if isinstance(name, str) and name.isidentifier() and name.isascii())
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            continue
    return list(found)


def _given(context: typer.Context) -> list[Path]:
    """All arguments so far. The shell's line is not complete, so that the last file may pass for the formula."""
    values: list[Any] = [*context.args]
    for name in ("files", "formula"):
        given = context.params.get(name)
        values += given if isinstance(given, list | tuple) else [given]
    return [Path(str(value)) for value in values if value is not None]
