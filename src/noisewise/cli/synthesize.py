"""``noisewise synthesize``: a release in, tables of synthetic rows out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from noisewise.cli.guard import guarded
from noisewise.cli.output import Output
from noisewise.cli.sites import Sites, binary_release, expand

if TYPE_CHECKING:
    from noisewise.releases.contents.binary import BinaryContribution

NOTABLE: Final = 0.02
"""A share of cut-off values that is worth a warning."""


@guarded(holder=False)
def synthesize(
    out: Output,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help=(
        "Release files of kind gram: one, or one from each of several data holders; or one of kind binary."))],
    folder: Annotated[Path, typer.Option("--out", "-o", help=(
        "A folder without synthetic tables; it is made if it is not there."))],
    sets: Annotated[int | None, typer.Option(help="How many tables: 20 unless given.", min=2)] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of each table; by default as many as the release is of.", min=1)] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of Parquet.")] = False,
    seed: Annotated[int | None, typer.Option(help="Makes the tables reproducible.", min=0)] = None,
) -> None:
    """Make tables of synthetic rows from a release; this costs no further privacy.

    Means and covariances are kept, and nothing else.
    Analyse every table and combine the results as noisewise.combine_synthetic does: one table alone is not enough.
    For regressions noisewise fit is better, and simpler.

    Example: noisewise synthesize patients.nwr --sets 20 --out synthetic
    """
    import noisewise

    files = expand(files)
    format = "csv" if csv else "parquet"
    binary = binary_release(files)
    if binary is not None:
        if len(files) > 1 or sets is not None or rows is not None:
            raise typer.BadParameter("a release of kind binary has its copies and rows: give it alone, without --sets and --rows")
        written, count, size = _binary(out, binary.contents, folder, format)
        outside: dict[str, float] = {}
    else:
        together = Sites.load(files, out.run()).together()
        with out.working("Preparing"):
            made = noisewise.synthesize(together, sets=20 if sets is None else sets, rows=rows, seed=seed)
            outside = made.cut_off()
        written, count, size = made.save(folder, format=format, run=out.run()), len(made), made.rows
    out.line(f"{count} {'table' if count == 1 else 'tables'} of {size:,} synthetic rows in {folder}")
    far = {name: share for name, share in outside.items() if share > NOTABLE}
    if far:
        out.warn("many values were outside the declared bounds and put on them, which changes means and covariances",
                 *(("found", f"{name}: {share:.0%}") for name, share in far.items()),
                 ("remedy", "such a column is not nearly normal, or the noise is large: do not use its synthetic values"))
    if outside:
        out.explain("Analyse every table and combine the results: noisewise.combine_synthetic. One table alone says nothing "
                    "about its own uncertainty.", style="dim")
    out.document({"tables": count, "rows": size, "files": written, "cut_off": outside})


def _binary(out: Output, made: BinaryContribution, folder: Path, format: str) -> tuple[list[Path], int, int]:
    from noisewise.synthetic.files import write_tables

    tables = [partial(lambda copy: iter(made.table(copy).to_batches()), copy) for copy in range(made.copies)]
    return write_tables(folder, tables, format, out.run()), made.copies, made.synthetic_rows
