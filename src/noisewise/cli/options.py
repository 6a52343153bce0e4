"""Options that several commands share; an empty metavar, because a flag takes no value."""

from __future__ import annotations

from typing import Annotated, Final

import typer

TABLE: Final = "The table: Parquet (file, folder or pattern), CSV, or spark:NAME, a table or files of Spark."

AsJson = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON document and nothing else on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar="", help="Results, warnings and errors only.")]
Traceback = Annotated[bool, typer.Option("--traceback", metavar="", help="Show Python's traceback when something goes wrong.")]
Force = Annotated[bool, typer.Option("--force", metavar="", help="Replace the output file if it exists.")]
