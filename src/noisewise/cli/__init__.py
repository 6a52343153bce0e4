"""The command line: arguments in, library calls, tables out.

    talk           what is said, and where: results on standard output, notes on standard error, or one JSON document
    guard          errors without tracebacks, and the exit codes
    options        the options that several commands share
    table          the table that a data holder names
    files          checks of output files before any work is done, and writing them whole
    release_files  release files before a formula, and the endings of what an analyst's command writes
    numbers        numbers as people read them
    app            the commands, put together
    questions      the little language of questions of partition releases
    demo, schema, bounds, plan, release, show, answer, test, fit, check, compare     one file per command, or several

Exit codes: 0 all is well; 1 a `NoisewiseError`, or a bug; 2 a wrong use of the command line; 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point of the ``noisewise`` command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a letter shows a question mark
            stream.reconfigure(errors="replace")
    try:
        from noisewise.cli.app import app

        app(prog_name="noisewise")
    except KeyboardInterrupt:  # while modules were being imported; later ones are handled by the guard
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
