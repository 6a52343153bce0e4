"""The command line: arguments in, library calls, tables out.

    program        the entry point, and what Ctrl-C does
    app            the commands, put together
    commands       what commands are made of: how --help is arranged, and a command for every kind of release
    guard          what every command has: --json, --quiet and --traceback, errors in words, and the exit codes
    output         what is said, and where: results on standard output, notes on standard error, or one JSON document
    tables         tables and the numbers in them
    options        the options that several commands share; completion what the tab key offers for them
    named_numbers  options such as age=10; questions the little language of questions of partition releases
    files          tables that are read, and files that are written: checked before any work is done, and written whole
    sites          release files of several holders together
    the others     a file for each command, or a folder where there is more to it: release, plan, fit

Exit codes: 0 all is well; 1 a `NoisewiseError`, or a bug; 2 a wrong use of the command line; 130 stopped with Ctrl-C,
143 by the system.
"""
