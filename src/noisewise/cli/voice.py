"""The library's advice in the words of the command line: ``draws=4000`` is ``--draws 4000`` here.

Errors and warnings are raised by the library, for people who write Python. What they advise is translated by what the command
at hand knows: only its own options are spoken of as options. ``adjacency = "replace-one"``, with blanks, is a line of a schema
and stays one. Where a name is not known and another is nearly the same, that one is suggested.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

import typer

if TYPE_CHECKING:
    from noisewise.errors import NoisewiseError

OTHER_NAMES: Final = {"pooled": "pool", "trust": "trust_query", "blocks": "block", "shares": "share", "levels": "level",
                      "power": "target"}
"""Parameters of the library that the command line calls otherwise."""

ASSIGNED: Final = re.compile(r"""\b([a-z_]+)=("[^"]*"|'[^']*'|[\w.+-]*[\w+-])""")
NAMED: Final = re.compile(r"\b(leave|give(?: an?)?|and an?) ([a-z_]+)(?:=True)?(?![=\w(])")
FUNCTION: Final = re.compile(r"\bnoisewise\.([a-z_]+)\b(?!\()")
IN_PYTHON: Final = re.compile(r"(?:[a-z_]+=\[.*?\], |noisewise\.[a-z_]+\(.*?\), or )(?:on the command line )?"
                              r"((?:--[a-z]|`noisewise ).*)")
"""An example in Python before one for the command line."""

TWICE: Final = re.compile(r"(--[a-z-]+) (?:\(\1\)|on the command line)")
LIST: Final = re.compile(r"\b(?:are|is one of|is|among|columns) (.*)")
LEAST_ALIKE: Final = 0.7


def spoken(words: str, context: typer.Context) -> str:
    """The advice for whoever has typed this command.

    >>> from noisewise.cli.app import app
    >>> program = typer.main.get_command(app)
    >>> fit = typer.Context(program.commands["fit"], parent=typer.Context(program))
    >>> spoken('use method="conditional", or compare models: noisewise.compare', fit)
    'use --method conditional, or compare models: noisewise compare'
    """
    options = _options(context)
    commands = getattr(context.find_root().command, "commands", {})

    def assigned(found: re.Match[str]) -> str:
        option, value = options.get(OTHER_NAMES.get(found[1], found[1])), found[2].strip("\"'")
        if option is None:
            return found[0]
        if value == "None":
            return f"no {option}"
        return option if value == "True" else f"{option} {quote(value)}"

    def named(found: re.Match[str]) -> str:
        option = options.get(OTHER_NAMES.get(found[2], found[2]))
        return found[0] if option is None else f"{found[1]} {option}"

    def function(found: re.Match[str]) -> str:
        name = found[1].replace("_", "-")
        return f"noisewise {name}" if name in commands else found[0]

    translated = ASSIGNED.sub(assigned, NAMED.sub(named, IN_PYTHON.sub(r"\1", words)))
    return TWICE.sub(r"\1", FUNCTION.sub(function, translated))


def told(error: NoisewiseError, context: typer.Context) -> tuple[str | None, str | None]:
    """What was found and what to do, in the words of the command line."""
    found, remedy = error.found, None if error.remedy is None else spoken(error.remedy, context)
    if found == "None":
        found = "nothing was given"
    elif found is not None and all(ASSIGNED.fullmatch(piece) for piece in found.split(", ")):
        found = spoken(found, context)
    near = nearest(error)
    if near is not None:
        remedy = f"did you mean {near}?" + (f" {remedy[0].upper()}{remedy[1:]}" if remedy else "")
    return found, remedy


def nearest(error: NoisewiseError) -> str | None:
    """The known name that is nearly what was written, if the error says what was written and which names are known.

    >>> from noisewise.errors import FormulaError
    >>> nearest(FormulaError("a column was not declared", found="agee", remedy="the declared columns are stay, age"))
    'age'
    """
    quoted = re.search(r"'([^' ]+)'", error.rule)
    wrong = (error.found or "").strip("'\"")
    if not re.fullmatch(r"[\w-]+", wrong):
        wrong = "" if quoted is None else quoted[1]
    known: list[str] = []
    for words in (error.rule, error.found, error.remedy):
        for part in LIST.findall(words or ""):
            known += re.split(r", | or | and |; ", part)
    if not wrong or wrong in known:
        return None
    return closest(wrong, known)


def closest(wrong: str, known: Sequence[str]) -> str | None:
    """The name that may have been meant.

    >>> closest("poison", ["gaussian", "poisson"])
    'poisson'
    """
    return next(iter(get_close_matches(wrong, known, n=1, cutoff=LEAST_ALIKE)), None)


def _options(context: typer.Context) -> Mapping[str, str]:
    """The long name of every option of this command by the name of its parameter."""
    found: dict[str, Any] = {}
    for parameter in context.command.params:
        long = [name for name in parameter.opts if name.startswith("--")]
        if long:
            found[str(parameter.name)] = long[0]
    return found
