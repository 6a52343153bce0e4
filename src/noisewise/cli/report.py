"""``noisewise report``: one HTML page about release files and saved fits."""

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
        "Release files (.nwr) or folders of them, and files saved by `fit --save` and `compare --save` (.npz)."))],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write (.html).")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    interval: Interval = 0.95,
    show: Annotated[bool, typer.Option("--open", metavar="", help="Show the page in a browser.")] = False,
) -> None:
    """Write an HTML page about releases and the models fitted to them.

    It covers who is protected and how well, what was declared, how large the noise is, the results with interactive plots,
    whether to trust them, how to cite them and how to reproduce them.
    The page needs no network and prints well.

    Example: noisewise report patients.nwr

    Example: noisewise report patients.nwr stay.npz models.npz -o stay.html --title "Length of stay"

    Example: noisewise report site-*.nwr stay.npz
    """
    from noisewise.reports.write import report as write_report

    saved = [file for file in files if file.suffix.lower() == SAVED]
    releases = [file for file in files if file.suffix.lower() != SAVED]
    if not releases:
        raise typer.BadParameter("a report requires release files (.nwr); give them as well")
    if output.suffix.lower() not in PAGES:
        raise ResultError("the file name of a report must end in .html", found=str(output),
                          remedy=f"for example -o {output.stem or 'report'}.html")
    releases = expand(releases)
    check_results([*releases, *saved], output=output)
    found = write_report(releases, fits=saved, path=output, title=title, interval=interval)
    for flag in found.flags:
        out.warn(flag)
    out.line(f"Wrote {output}")
    out.explain("A single file to send, print or read on a phone. It contains nothing that is not in the releases and fits.",
                style="dim")
    if show:
        typer.launch(str(output.resolve()))
    out.document({"file": output, "bytes": output.stat().st_size, "title": found.title, "warnings": list(found.flags),
                  "releases": [{"file": name, "sha256": digest} for name, digest in found.digests], "fits": saved})
