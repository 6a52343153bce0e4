"""Shared by every command: an `Output`, ``--json``, ``--quiet`` and ``--traceback``, errors without tracebacks, and exit codes.

The library raises errors and warnings worded for Python, marked up with `noisewise.words`. Here they are translated for the
command line: ``draws=4000`` becomes ``--draws 4000`` for ``fit``. Names that are not options of the current command, and
functions that are not commands, keep their Python form.

On the data holder's side, the text of an unexpected exception could quote a value from a row. It is printed only if the command
was given ``--traceback``; an environment variable is not enough, because someone may have forgotten that it is set.
"""

from __future__ import annotations

import inspect
import os
import sys
import traceback as tracebacks
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from shlex import quote
from typing import Any, Final, TypeAlias

import typer

from noisewise.cli.options import AsJson, Quiet, Traceback
from noisewise.cli.output import Output
from noisewise.cli.program import WORDS, why_stopped, work_begins
from noisewise.errors import NoisewiseError, NoisewiseWarning
from noisewise.words import UNSAID, Either, Function, Option, Words, in_python

FAILED: Final = 1
OTHER_NAMES: Final = {"pooled": "pool", "trust": "trust_query", "blocks": "block", "shares": "share", "levels": "level",
                      "power": "target", "effects": "effect", "sigma": "assume", "columns": "assume", "correlations": "assume"}
"""Library parameters that have another name on the command line."""

Work: TypeAlias = Callable[..., None]


def guarded(*, holder: bool, options: Iterable[inspect.Parameter] | None = None) -> Callable[[Work], Work]:
    """Turn a function into a command. Its first argument is an `Output`, the others are its options.

    Args:
        holder: Whether the command may touch confidential rows.
        options: Options to use instead of the function's own parameters.
    """

    def decorate(function: Work) -> Work:
        @wraps(function)
        def run(context: typer.Context, as_json: bool, quiet: bool, traceback: bool, **given: object) -> None:
            out = _output(context, as_json, quiet, traceback)
            work_begins()
            try:
                with _warnings_in_words(out, context, holder):
                    function(out, **given)
            except (typer.Exit, typer.Abort, typer.BadParameter):
                raise
            except NoisewiseError as error:
                _explain(out, context, error)
                raise typer.Exit(FAILED) from None
            except KeyboardInterrupt as stop:
                raise _stopped(out, stop, holder) from None
            except BrokenPipeError:  # the reader has gone, as in `noisewise show x.nwr | head -1`
                raise
            except Exception as error:
                behind = _ctrl_c_behind(error)
                if behind is not None:
                    raise _stopped(out, behind, holder) from None
                _report(out, error, holder)
                raise typer.Exit(FAILED) from None

        own = list(parameters(function).values())[1:] if options is None else options
        context, *everywhere = parameters(_output).values()
        shown = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (context, *own, *everywhere)]
        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in shown}
        return run

    return decorate


def parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function, with annotations evaluated."""
    return inspect.signature(function, eval_str=True).parameters


def _output(context: typer.Context, as_json: AsJson = False, quiet: Quiet = False, traceback: Traceback = False) -> Output:
    """Make the command's `Output`. The parameters are the options that every command has."""
    before = context.obj if isinstance(context.obj, Output) else Output()  # options given before the command name
    out = context.obj = Output(as_json, before.quiet or quiet, before.traceback or traceback)
    return out


def _stopped(out: Output, stop: KeyboardInterrupt, holder: bool) -> typer.Exit:
    code = why_stopped()
    out.fail(WORDS[code] + (f"; {str(stop) or 'no file was left half-written'}" if holder else ""))
    return typer.Exit(code)


def _ctrl_c_behind(error: BaseException | None) -> KeyboardInterrupt | None:
    """Return the Ctrl-C behind an error, if any: other libraries wrap it, above all while they are imported."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


@contextmanager
def _warnings_in_words(out: Output, context: typer.Context, holder: bool) -> Iterator[None]:
    """Print our own warnings. Hide those of other libraries on the holder's side, since they could quote data."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, NoisewiseWarning):
                out.warn(spoken(message.args[0] if isinstance(message, Warning) else message, context))
            elif not holder:
                usual(message, category, *where, **more)

        warnings.simplefilter("always", NoisewiseWarning)
        warnings.showwarning = show
        yield


def _explain(out: Output, context: typer.Context, error: NoisewiseError) -> None:
    found, remedy = (None if words is None else spoken(words, context) for words in (error.found, error.advice))
    if found == repr(None):
        found = "nothing"
    out.fail(error.rule, *[(label, words) for label, words in (("found", found), ("remedy", remedy)) if words])
    if out.traceback:
        tracebacks.print_exception(error, file=sys.stderr)
    out.document({"error": {"kind": type(error).__name__, "rule": error.rule, "argument": option_of(error.argument, context),
                            "found": found, "known": error.known, "remedy": remedy}})


def _report(out: Output, error: Exception, holder: bool) -> None:
    """Report a bug, without any text that could quote a row."""
    kind = type(error).__name__
    caution = "; the traceback may quote your data, so read it before you share it" if holder else ""
    out.fail("internal error: this is a bug in noisewise",
             ("found", kind if holder or not str(error) else f"{kind}: {error}"),
             ("remedy", "please report it with the command, the output of `noisewise --version`, and the traceback that "
                        f"--traceback shows{caution}"))
    if out.traceback or (not holder and os.environ.get("NOISEWISE_TRACEBACK", "0") not in ("", "0")):
        tracebacks.print_exception(error, file=sys.stderr)
    out.document({"error": {"kind": "UnexpectedError", "rule": "an error inside noisewise", "argument": None, "found": kind,
                            "known": None, "remedy": None}})


def spoken(words: str, context: typer.Context) -> str:
    """Translate a message for the command line of the current command.

    >>> from noisewise.cli.app import app
    >>> from noisewise.words import function, option
    >>> program = typer.main.get_command(app)
    >>> fit = typer.Context(program.commands["fit"], parent=typer.Context(program))
    >>> spoken("use " + option("method", "conditional") + ", or compare models: " + function("compare"), fit)
    'use --method conditional, or compare models: noisewise compare'
    """
    if not isinstance(words, Words):
        return words
    options = _options(context)
    commands = getattr(context.find_root().command, "commands", {})

    def say(piece: Option | Function | Either) -> str:
        if isinstance(piece, Either):
            return piece.command
        if isinstance(piece, Function):
            name = piece.name.replace("_", "-")
            return f"noisewise {name}" if name in commands else in_python(piece)
        option = options.get(OTHER_NAMES.get(piece.name, piece.name))
        if option is None:
            return in_python(piece)
        if piece.value is None:
            return f"no {option}"
        return option if piece.value is UNSAID or piece.value is True else f"{option} {_typed(piece.value)}"

    return words.said(say)


def option_of(argument: str | None, context: typer.Context) -> str | None:
    """Return this command's option for a library parameter, or the parameter's own name if there is no such option."""
    return None if argument is None else _options(context).get(OTHER_NAMES.get(argument, argument), argument)


def _typed(value: object) -> str:
    """Write a value as one would type it; a mapping as ``age=0.1``."""
    if isinstance(value, Mapping):
        return " ".join(quote(f"{name}={number}") for name, number in value.items())
    return quote(str(value))


def _options(context: typer.Context) -> Mapping[str, str]:
    """Return the long option name of every parameter of this command."""
    return {str(parameter.name): name for parameter in context.command.params for name in reversed(parameter.opts)
            if name.startswith("--")}
