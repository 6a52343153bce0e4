"""``noisewise synthesize``: tables of synthetic rows from a release."""

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
"""Warn if a larger share of values was clipped."""


@guarded(holder=False)
def synthesize(
    out: Output,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help=(
        "Release files of kind gram, one per data holder; or one of kind binary."))],
    folder: Annotated[Path, typer.Option("--out", "-o", help=(
        "Folder for the tables; it must not contain any yet, and is created if needed."))],
    sets: Annotated[int | None, typer.Option(help="Number of tables (default: 20).", min=2)] = None,
    rows: Annotated[int | None, typer.Option(help="Rows per table. Default: as in the release.", min=1)] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of Parquet.")] = False,
    seed: Annotated[int | None, typer.Option(help="Seed for reproducible tables.", min=0)] = None,
) -> None:
    """Make tables of synthetic rows from a release. This costs no further privacy.

    They preserve means and covariances, and nothing else.
    Analyse every table and combine the results with noisewise.combine_synthetic: one table alone is not enough.
    For regressions, noisewise fit is better and simpler.

    Example: noisewise synthesize patients.nwr --sets 20 --out synthetic
    """
    import noisewise

    files = expand(files)
    format = "csv" if csv else "parquet"
    binary = binary_release(files)
    if binary is not None:
        if len(files) > 1 or sets is not None or rows is not None:
            raise typer.BadParameter("a release of kind binary must be given alone, without --sets or --rows")
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
        out.warn("many values were outside the declared bounds and were clipped, which changes means and covariances",
                 *(("found", f"{name}: {share:.0%}") for name, share in far.items()),
                 ("remedy", "such a column is far from normal, or the noise is large; do not use its synthetic values"))
    if outside:
        out.explain("Analyse every table and combine the results with noisewise.combine_synthetic. One table alone says nothing "
                    "about its own uncertainty.", style="dim")
    out.document({"tables": count, "rows": size, "files": written, "cut_off": outside})


def _binary(out: Output, made: BinaryContribution, folder: Path, format: str) -> tuple[list[Path], int, int]:
    from noisewise.synthetic.files import write_tables

    tables = [partial(lambda copy: iter(made.table(copy).to_batches()), copy) for copy in range(made.copies)]
    return write_tables(folder, tables, format, out.run()), made.copies, made.synthetic_rows
