"""``noisewise show``: a release in words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noisewise.cli.guard import guarded
from noisewise.cli.options import AsJson, Quiet, Traceback
from noisewise.cli.release import release_document
from noisewise.cli.talk import Talk


@guarded(holder=False)
def show(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A release file (.nwr).", show_default=False)],
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Say in words what a release file holds, whom it protects and how large its noise is.

    Example: noisewise show patients.nwr
    """
    talk = Talk.of(context)
    import noisewise

    found = noisewise.load(file)
    talk.line(found.describe())
    talk.explain()
    talk.explain("What the columns mean (declared by the data holder; cells that do not fit became what is said here):")
    if not talk.quiet:
        for rule in found.schema.rules():
            talk.line(f"  {rule}")
    talk.document({"file": file, **release_document(found)})
