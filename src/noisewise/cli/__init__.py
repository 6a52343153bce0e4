"""The command line: arguments in, library calls, tables out.

    program        the entry point and signal handling (Ctrl-C, SIGTERM)
    app            assembles the commands
    commands       base classes: the layout of --help, and groups with one command per kind of release
    guard          shared by every command: --json, --quiet, --traceback, error messages, exit codes
    output         printing: results to standard output, notes to standard error, or one JSON document
    tables         tables and number formatting
    options        options that several commands share
    completion     shell completion
    named_numbers  options such as age=10
    questions      the --ask syntax of partition releases
    files          input tables and output files: checked before any work starts, written atomically
    sites          release files of several holders
    all others     one file per command, or a folder for the large ones: release, plan, fit

Exit codes: 0 success; 1 a `NoisewiseError` or a bug; 2 wrong usage; 130 stopped by Ctrl-C; 143 stopped by SIGTERM.
"""
