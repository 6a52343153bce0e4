"""``noisewise reproduce``: what the papers print beside what we measure.

The studies are a program of their own, which the library does not import: they lie beside ``src`` in a checkout, and otherwise
are a distribution of their own (``noisewise-studies``, in the folder ``noisewise_studies``).
"""

from __future__ import annotations

import importlib.util
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
from noisewise.cli.options import about_results
from noisewise.cli.output import Output
from noisewise.cli.program import BY_CTRL_C, why_stopped
from noisewise.errors import ResultError

PROGRAM: Final = Path("studies", "reproduce.py")
DISTRIBUTION: Final = "noisewise_studies"
HEARS: Final = """
import signal
from noisewise.cli import program
program.watch()
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
    out: Output,
    paper: Annotated[str | None, typer.Argument(metavar="PAPER", help=(
        "A number (000 to 004), a name, or all; without it the papers are listed."))] = None,
    table: Annotated[str | None, typer.Argument(metavar="TABLE", help=(
        "A study, table or figure of it; without it everything."))] = None,
    quick: Annotated[bool, typer.Option("--quick", metavar="", help=(
        "Minutes on two cores; what is then too noisy to judge is undecided."))] = False,
    data: Annotated[Path | None, typer.Option("--data", help=(
        "The folder with the public files that some papers need; without it you are told which."))] = None,
    output: Annotated[Path, about_results("--output", "-o", help=(
        "The folder for the page, the pictures and the files of results."))] = Path("noisewise-reproduce"),
    workers: Annotated[int | None, typer.Option(min=1, help="Processes at a time; by default all cores.")] = None,
    resume: Annotated[bool, typer.Option(help="Keep what an earlier, interrupted run has finished.")] = True,
    stored: Annotated[bool, typer.Option("--stored", metavar="", help=(
        "Run nothing: show the verdicts of our own full runs."))] = False,
) -> None:
    """Repeat the studies of the five papers behind noisewise: printed beside measured, with a verdict.

    Verdicts are computed from Monte Carlo error. Ctrl-C keeps what is finished; the same command goes on from there.

    Example: noisewise reproduce 000 --quick

    Example: noisewise reproduce 004 --stored

    Example: noisewise reproduce 002 table-1 --quick --data public-files
    """
    flags = {"--quick": quick, "--stored": stored, "--json": out.json, "--quiet": out.quiet, "--no-resume": not resume}
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
    installed = importlib.util.find_spec(DISTRIBUTION)
    places = [Path(__file__).parents[3], *map(Path, (installed and installed.submodule_search_locations) or ())]
    found = next((place for place in places if (place / PROGRAM).exists()), None)
    if found is None:
        raise ResultError("the studies of the papers must be there to be repeated", found="no studies",
                          remedy='run it from a checkout of noisewise, or install them: pip install "noisewise[studies]"')
    return found
