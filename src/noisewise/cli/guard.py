"""Errors without tracebacks, warnings without line numbers, and the exit codes.

On the data holder's side the text of an unexpected exception could quote a value of a row. It is not printed there unless
``--traceback`` was given with the command; a setting of the environment, which may have been forgotten, is not enough.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, ParamSpec

import typer

from noisewise.cli.talk import Switches, Talk
from noisewise.cli.voice import spoken, told
from noisewise.errors import NoisewiseError, NoisewiseWarning
from noisewise_program import WORDS, why_stopped, work_begins

FAILED: Final = 1

P = ParamSpec("P")


def guarded(*, holder: bool) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Turn what goes wrong in a command into words and an exit code; ``holder``: it may touch confidential rows."""

    def decorate(function: Callable[P, None]) -> Callable[P, None]:
        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            context: typer.Context = kwargs["context"]  # type: ignore[assignment]
            talk = _voice(context, kwargs)
            work_begins()
            try:
                with _warnings_in_words(talk, context, holder):
                    function(*args, **kwargs)
            except (typer.Exit, typer.Abort, typer.BadParameter):
                raise
            except NoisewiseError as error:
                _explain(talk, context, error)
                raise typer.Exit(FAILED) from None
            except KeyboardInterrupt as stop:
                raise _stopped(talk, stop, holder) from None
            except BrokenPipeError:  # whoever was reading has gone: `noisewise show x.nwr | head -1`
                raise
            except Exception as error:
                behind = _ctrl_c_behind(error)
                if behind is not None:
                    raise _stopped(talk, behind, holder) from None
                _report(talk, error, holder)
                raise typer.Exit(FAILED) from None

        return run

    return decorate


def _stopped(talk: Talk, stop: KeyboardInterrupt, holder: bool) -> typer.Exit:
    code = why_stopped()
    talk.fail(WORDS[code] + (f"; {str(stop) or 'files are written whole or not at all'}" if holder else ""))
    return typer.Exit(code)


def _ctrl_c_behind(error: BaseException | None) -> KeyboardInterrupt | None:
    """Other libraries make another error of it, above all while they are being imported."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


def _voice(context: typer.Context, given: Mapping[str, Any]) -> Talk:
    before = context.obj if isinstance(context.obj, Switches) else Switches()
    talk = Talk(
        json=bool(given.get("as_json")),
        quiet=before.quiet or bool(given.get("quiet")),
        traceback=before.traceback or bool(given.get("traceback")),
    )
    context.obj = talk
    return talk


@contextmanager
def _warnings_in_words(talk: Talk, context: typer.Context, holder: bool) -> Iterator[None]:
    """Our own warnings as a readable note. Those of other libraries could quote data, so the holder's side does not show them."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, NoisewiseWarning):
                talk.warn(spoken(str(message), context))
            elif not holder:
                usual(message, category, *where, **more)

        warnings.simplefilter("always", NoisewiseWarning)
        warnings.showwarning = show
        yield


def _explain(talk: Talk, context: typer.Context, error: NoisewiseError) -> None:
    found, remedy = told(error, context)
    lines = [(label, words) for label, words in (("found", found), ("remedy", remedy)) if words]
    talk.fail(error.rule, *lines)
    if talk.traceback:
        traceback.print_exception(error, file=sys.stderr)
    talk.document({"error": {"kind": type(error).__name__, "rule": error.rule, "found": found, "remedy": remedy}})


def _report(talk: Talk, error: Exception, holder: bool) -> None:
    """A bug. It is told without the text that could hold a row."""
    kind = type(error).__name__
    shown = talk.traceback or (not holder and os.environ.get("NOISEWISE_TRACEBACK", "0") not in ("", "0"))
    caution = "; on the data holder's side they may quote your data, so read them before you pass them on" if holder else ""
    talk.fail(
        "something went wrong inside noisewise that should not have",
        ("found", kind if holder or not str(error) else f"{kind}: {error}"),
        ("remedy", "please report it with the command, the output of `noisewise --version`, and the details that "
                   f"--traceback shows{caution}"),
    )
    if shown:
        traceback.print_exception(error, file=sys.stderr)
    talk.document({"error": {"kind": "UnexpectedError", "rule": "an error inside noisewise", "found": kind, "remedy": None}})
