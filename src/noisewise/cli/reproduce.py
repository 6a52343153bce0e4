"""``noisewise reproduce``: what the papers print beside what we measure.

The studies are a program of their own, which the library does not import: they lie beside ``src`` in a checkout, and inside the
package in an installation (``noisewise/reproductions``).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from noisewise.cli.guard import guarded
from noisewise.cli.options import RESULTS, AsJson, Quiet, Traceback
from noisewise.cli.talk import Talk
from noisewise.errors import ResultError
from noisewise_program import BY_CTRL_C, why_stopped

PROGRAM: Final = Path("studies", "reproduce.py")
HEARS: Final = """
import signal
import noisewise_program
noisewise_program.watch()
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
"""
START: Final = """
from studies.reproduce import main
main()
"""
SECONDS: Final = 3.0
"""A terminal sends Ctrl-C to both processes, and the other has this long to answer before it is told once more."""


@guarded(holder=False)
def reproduce(
    context: typer.Context,
    paper: Annotated[str | None, typer.Argument(metavar="PAPER", show_default=False,
                                                help="A number (000 to 004), a name, or all; without it the papers are listed.")]
    = None,
    table: Annotated[str | None, typer.Argument(metavar="TABLE", show_default=False,
                                                help="A study, table or figure of it; without it everything.")] = None,
    quick: Annotated[bool, typer.Option("--quick", metavar="", help=(
        "Minutes on two cores; what is then too noisy to judge is undecided."))] = False,
    data: Annotated[Path | None, typer.Option("--data", show_default=False, help=(
        "The folder with the public files that some papers need; without it you are told which."))] = None,
    output: Annotated[Path, typer.Option("--output", "-o", rich_help_panel=RESULTS, help=(
        "The folder for the page, the pictures and the files of results."))] = Path("noisewise-reproduce"),
    workers: Annotated[int | None, typer.Option(min=1, show_default=False, help="Processes at a time; by default all cores.")]
    = None,
    resume: Annotated[bool, typer.Option(help="Keep what an earlier, interrupted run has finished.")] = True,
    stored: Annotated[bool, typer.Option("--stored", metavar="", help=(
        "Run nothing: show the verdicts of our own full runs."))] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Repeat the studies of the five papers behind noisewise: printed beside measured, with a verdict.

    Verdicts are computed from Monte Carlo error. Ctrl-C keeps what is finished; the same command goes on from there.

    Example: noisewise reproduce 000 --quick

    Example: noisewise reproduce 004 --stored

    Example: noisewise reproduce 002 table-1 --quick --data public-files
    """
    talk = Talk.of(context)
    flags = {"--quick": quick, "--stored": stored, "--json": as_json, "--quiet": talk.quiet, "--no-resume": not resume}
    given = [name for name in (paper, table) if name is not None] + [flag for flag, wanted in flags.items() if wanted]
    for name, value in (("--data", data), ("--output", output), ("--workers", workers)):
        given += [] if value is None else [name, str(value)]
    code = _run(given)
    if code:
        raise typer.Exit(code)


def _run(given: list[str]) -> int:
    """The program, in a process of its own; its answer to Ctrl-C is waited for."""
    root = studies_root()
    paths = [str(root), str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    process = None
    try:
        with _signals_later():
            process = subprocess.Popen([sys.executable, "-c", HEARS + START, *given], env=environment)
        return process.wait()
    except KeyboardInterrupt:
        code = why_stopped()
        if process is not None:
            _end(process, code)
        return code


def _end(process: subprocess.Popen[bytes], code: int) -> None:
    try:
        process.wait(SECONDS if code == BY_CTRL_C else 0)
    except subprocess.TimeoutExpired:  # it was not told: the signal came for this process alone
        if code == BY_CTRL_C and os.name != "nt":  # where no process can send another one Ctrl-C
            process.send_signal(signal.SIGINT)
        else:
            process.terminate()
        process.wait()


@contextmanager
def _signals_later() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait: here until this is left, and in a process that is started here until it can answer (`HEARS`)."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def studies_root() -> Path:
    """The folder that holds ``studies``."""
    package = Path(__file__).parents[1]
    places = (package.parents[1], package / "reproductions")
    found = next((place for place in places if (place / PROGRAM).exists()), None)
    if found is None:
        raise ResultError("the studies of the papers must be there to be repeated",
                          found="neither a checkout nor an installed copy",
                          remedy="install noisewise from a wheel or a source distribution, which hold them")
    return found
