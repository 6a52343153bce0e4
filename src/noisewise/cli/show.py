"""``noisewise show``: describe a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.guard import guarded
from noisewise.cli.output import Output
from noisewise.cli.sites import Sites, expand

if TYPE_CHECKING:
    from noisewise.releases.release import Release


@guarded(holder=False)
def show(out: Output, files: Annotated[list[Path], typer.Argument(
        metavar="FILE", help="A release file (.nwr), several to compare, or a folder of them.")]) -> None:
    """Describe what a release file contains, who it protects and how large its noise is.

    Several files are shown in one table, one line each, with what prevents fitting them together.

    Example: noisewise show patients.nwr
    """
    import noisewise
    from noisewise.releases.reading import read_all

    files = expand(files)
    if len(files) > 1:
        with out.working("Reading releases"):
            releases = dict(zip(files, read_all([str(file) for file in files]), strict=True))
        alone = {file: found for file, found in releases.items() if not found.kind.holders}
        if alone:
            _show_each(out, alone, [file for file in files if file not in alone])
        else:
            _show_together(out, Sites(tuple(files), tuple(releases.values())))
        return
    file = files[0]
    found = noisewise.load(file)
    out.text(found.describe())
    out.explain()
    out.explain("What the columns mean (declared by the data holder, including what cells that do not fit became):")
    if not out.quiet:
        for rule in found.rules():
            out.text(f"  {rule}")
    out.document({"file": file, **found.facts()})


def _show_each(out: Output, alone: Mapping[Path, Release], others: Sequence[Path]) -> None:
    """Print one line per release that is analysed alone, and name the other files."""
    for file, found in alone.items():
        one = found.contents
        out.line(f"{file}: kind {found.kind.name}, {found.title()}, epsilon {one.epsilon:g}, delta {one.delta:g}")
    if others:
        out.warn("not shown here; show these files separately: " + ", ".join(map(str, others)))
    out.document({"releases": [{"file": file, **found.facts()} for file, found in alone.items()], "not_shown": others})


def _show_together(out: Output, found: Sites) -> None:
    differences = found.differences()
    out.result(found.table())
    for words in differences:
        out.warn(f"these files cannot be fitted together: {words}")
    if not differences:
        first = found.releases[0]
        out.explain(f"All have the same schema ({first.adjacency}) and can be fitted together, if their rows belong to different "
                    "people.")
        out.explain(f"Columns: {', '.join(first.basis.names[1:])}. To describe one release: noisewise show {found.files[0]}")
    documents = [{"file": file, **release.facts()} for file, release in zip(found.files, found.releases, strict=True)]
    out.document({"releases": documents, "differences": differences})
