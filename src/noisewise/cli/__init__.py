"""The command line: arguments in, library calls, tables out.

    talk           what is said, and where: results on standard output, notes on standard error, or one JSON document
    guard          errors without tracebacks, and the exit codes
    voice          the library's advice in options instead of Python, and the name that may have been meant
    options        the options that several commands share; release_options those of release alone
    help           how --help is arranged; wrong_values what is said of a value of the wrong kind
    completion     what the tab key offers; completion_scripts how a shell comes to ask for it
    table, query   the rows that a data holder names
    files          checks of output files before any work is done, and writing them whole
    release_files  release files before a formula, and the endings of what an analyst's command writes
    numbers        numbers as people read them, and tables, in which they stand
    questions      the little language of questions of partition releases; blocks that of weights
    app            the commands, put together
    demo, doctor, schema, bounds, plan, ledger, release, show, answer, test, fit, check, compare, estimate, synthesize, audit,
    report, reproduce     one file per command, or several: NAME_words is what it says, NAME_KIND what is particular to a kind

Exit codes: 0 all is well; 1 a `NoisewiseError`, or a bug; 2 a wrong use of the command line; 130 stopped with Ctrl-C,
143 by the system.
"""

from __future__ import annotations

import sys

import noisewise_program


def main() -> None:
    """The commands, for `noisewise_program.main`, which looks after Ctrl-C before anything is imported."""
    noisewise_program.watch()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a letter shows a question mark
            stream.reconfigure(errors="replace")
    from noisewise.cli.app import app

    app(prog_name="noisewise")
