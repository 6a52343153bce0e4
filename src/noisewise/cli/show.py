"""``noisewise show``: a release in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.guard import guarded
from noisewise.cli.options import AsJson, Quiet, Traceback
from noisewise.cli.release import release_document
from noisewise.cli.sites import Sites, expand
from noisewise.cli.talk import Talk

if TYPE_CHECKING:
    from noisewise.release.single import SingleRelease


@guarded(holder=False)
def show(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", show_default=False,
                                                help="A release file (.nwr), several to compare, or a folder of them.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Say in words what a release file holds, whom it protects and how large its noise is.

    Several files are shown in one table, one line each, with what keeps them from being fitted together.

    Example: noisewise show patients.nwr
    """
    talk = Talk.of(context)
    files = expand(files)
    import noisewise
    from noisewise.release import Release
    from noisewise.release.reading import read_all
    from noisewise.release.single import SingleRelease

    if len(files) > 1:
        with talk.working("Reading releases"):
            releases = list(zip(files, read_all([str(file) for file in files]), strict=True))
        singles = {file: found for file, found in releases if isinstance(found, SingleRelease)}
        if singles:
            _show_singles(talk, singles, [file for file in files if file not in singles])
        else:
            _show_several(talk, Sites(tuple(files), tuple(found for _, found in releases if isinstance(found, Release))))
        return
    file = files[0]
    found = noisewise.load(file)
    talk.text(found.describe())
    talk.explain()
    talk.explain("What the columns mean (declared by the data holder; cells that do not fit became what is said here):")
    if not talk.quiet:
        for rule in found.schema.rules():
            talk.text(f"  {rule}")
    talk.document({"file": file, **(found.document() if isinstance(found, SingleRelease) else release_document(found))})


def _show_singles(talk: Talk, singles: Mapping[Path, SingleRelease], others: Sequence[Path]) -> None:
    """Releases that are no matrices have nothing to compare: one line each, and those that are not shown by name."""
    for file, found in singles.items():
        talk.line(f"{file}: kind {found.kind}, {found.title()}, epsilon {found.epsilon:g}, delta {found.delta:g}")
    if others:
        talk.warn("the other files are shown by themselves: " + ", ".join(map(str, others)))
    talk.document({"releases": [{"file": file, **found.document()} for file, found in singles.items()], "not_shown": others})


def _show_several(talk: Talk, found: Sites) -> None:
    differences = found.differences()
    talk.result(found.table())
    for words in differences:
        talk.warn(f"these files cannot be fitted together: {words}")
    if not differences:
        first = found.releases[0]
        talk.explain(f"All are of one schema ({first.adjacency}) and can be fitted together, if their rows are of different "
                     "people.")
        talk.explain(f"Columns: {', '.join(first.basis.names[1:])}. For one release in words: noisewise show {found.files[0]}")
    documents = [{"file": file, **release_document(release)} for file, release in zip(found.files, found.releases, strict=True)]
    talk.document({"releases": documents, "differences": differences})
