"""``noisewise reproduce``: the papers' printed results next to ours.

The studies are a separate program, which the library does not import. In a checkout they are next to ``src``; otherwise they are
a separate distribution (``noisewise-studies``, in the folder ``noisewise_studies``).
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
"""A terminal sends Ctrl-C to both processes. If the other one has not ended after this long, signal it again."""


@guarded(holder=False)
def reproduce(
    out: Output,
    paper: Annotated[str | None, typer.Argument(metavar="PAPER", help=(
        "A number (000 to 004), a name, or all. Without it, list the papers."))] = None,
    table: Annotated[str | None, typer.Argument(metavar="TABLE", help=(
        "A study, table or figure of the paper. Default: everything."))] = None,
    quick: Annotated[bool, typer.Option("--quick", metavar="", help=(
        "Take minutes on two cores; results too noisy to judge are shown as undecided."))] = False,
    data: Annotated[Path | None, typer.Option("--data", help=(
        "Folder with the public files that some papers need. Without it, list them."))] = None,
    output: Annotated[Path, about_results("--output", "-o", help=(
        "Folder for the page, the plots and the result files."))] = Path("noisewise-reproduce"),
    workers: Annotated[int | None, typer.Option(min=1, help="Number of parallel processes. Default: all cores.")] = None,
    resume: Annotated[bool, typer.Option(help="Reuse what an interrupted run has finished.")] = True,
    stored: Annotated[bool, typer.Option("--stored", metavar="", help=(
        "Run nothing; show the verdicts of our own full runs."))] = False,
) -> None:
    """Repeat the studies of the five papers behind noisewise, and compare the printed results with the measured ones.

    Verdicts are based on Monte Carlo error. Ctrl-C keeps what is finished; run the same command again to continue.

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
    """Run the program in a separate process, and wait for it to handle Ctrl-C."""
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
    except subprocess.TimeoutExpired:  # the signal reached this process only
        if code == BY_CTRL_C and os.name != "nt":  # on Windows, a process cannot send Ctrl-C to another
            process.send_signal(signal.SIGINT)
        else:
            process.terminate()
        process.wait()


@contextmanager
def _signals_later() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM: here until exit, and in a process started here until it can handle them (`HEARS`)."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def studies_root() -> Path:
    """Return the folder that contains ``studies``."""
    installed = importlib.util.find_spec(DISTRIBUTION)
    places = [Path(__file__).parents[3], *map(Path, (installed and installed.submodule_search_locations) or ())]
    found = next((place for place in places if (place / PROGRAM).exists()), None)
    if found is None:
        raise ResultError("the studies must be installed to be repeated", found="no studies",
                          remedy='run this from a checkout of noisewise, or install them: pip install "noisewise[studies]"')
    return found
