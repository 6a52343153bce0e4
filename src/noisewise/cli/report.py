"""``noisewise report``: release files and saved fits in, one HTML file out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noisewise.cli.files import check_results
from noisewise.cli.guard import guarded
from noisewise.cli.options import Interval
from noisewise.cli.output import Output
from noisewise.cli.sites import expand
from noisewise.errors import ResultError

SAVED = ".npz"
PAGES = (".html", ".htm")


@guarded(holder=False)
def report(
    out: Output,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help=(
        "Release files (.nwr) or folders of them, and what `fit --save` and `compare --save` wrote (.npz)."))],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page (.html).")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="The heading of the page.")] = None,
    interval: Interval = 0.95,
    show: Annotated[bool, typer.Option("--open", metavar="", help="Show the page in a browser.")] = False,
) -> None:
    """Write one HTML page about releases and what was fitted to them, for people to read.

    What is protected and how well, what was declared, how large the noise is, results with interactive drawings, whether to
    trust them, how to cite and how to redo it.
    The page needs no network, and prints well.

    Example: noisewise report patients.nwr

    Example: noisewise report patients.nwr stay.npz models.npz -o stay.html --title "Length of stay"

    Example: noisewise report site-*.nwr stay.npz
    """
    from noisewise.reports.write import report as write_report

    saved = [file for file in files if file.suffix.lower() == SAVED]
    releases = [file for file in files if file.suffix.lower() != SAVED]
    if not releases:
        raise typer.BadParameter("a report is about a release: give the release files (.nwr) as well")
    if output.suffix.lower() not in PAGES:
        raise ResultError("a report ends in .html", found=str(output), remedy=f"for example -o {output.stem or 'report'}.html")
    releases = expand(releases)
    check_results([*releases, *saved], output=output)
    found = write_report(releases, fits=saved, path=output, title=title, interval=interval)
    for flag in found.flags:
        out.warn(flag)
    out.line(f"Wrote {output}")
    out.explain("One file without any other: it can be sent, printed and read on a phone. It holds nothing that is not in the "
                "releases and the fits.", style="dim")
    if show:
        typer.launch(str(output.resolve()))
    out.document({"file": output, "bytes": output.stat().st_size, "title": found.title, "warnings": list(found.flags),
                  "releases": [{"file": name, "sha256": digest} for name, digest in found.digests], "fits": saved})
