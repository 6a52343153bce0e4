"""``noisewise synthesize``: a release in, tables of synthetic rows out. ``noisewise synthesize-binary`` makes such a release."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from noisewise.cli.files import check_release_target
from noisewise.cli.guard import guarded
from noisewise.cli.ledger_of_release import open_budget
from noisewise.cli.options import AsJson, Data, Edition, Epsilon, Force, LedgerPlace, Quiet, SchemaFile, Traceback
from noisewise.cli.query import QueryText, TrustQuery, open_rows
from noisewise.cli.sites import Sites, expand
from noisewise.cli.talk import Talk
from noisewise.errors import ResultError

if TYPE_CHECKING:
    from noisewise.release.binary import BinarySynthesis

BINARY_ENDING: Final = ".nwb"
NOTABLE: Final = 0.02
"""A share of cut-off values that is worth a warning."""


@guarded(holder=False)
def synthesize(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", show_default=False, help="Release files of kind gram: one, or "
                                                "one from each of several data holders; or a .nwb file.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder without synthetic tables; it is made if it is not there.",
                                      show_default=False)],
    sets: Annotated[int | None, typer.Option(help="How many tables: 20 unless given.", min=2, show_default=False)] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of each table; by default as many as the release is of.", min=1,
                                             show_default=False)] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of Parquet.")] = False,
    seed: Annotated[int | None, typer.Option(help="Makes the tables reproducible.", min=0, show_default=False)] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Make tables of synthetic rows from a release; this costs no further privacy.

    Means and covariances are kept, and nothing else.
    Analyse every table and combine the results as noisewise.combine_synthetic does: one table alone is not enough.
    For regressions noisewise fit is better, and simpler.

    Example: noisewise synthesize patients.nwr --sets 20 --out synthetic
    """
    talk = Talk.of(context)
    files = expand(files)
    format = "csv" if csv else "parquet"
    if any(file.suffix.lower() == BINARY_ENDING for file in files):
        written, count, size = _binary(talk, files, out, format, sets, rows)
        outside: dict[str, float] = {}
    else:
        import noisewise

        together = Sites.load(files, talk.progress).together()
        with talk.working("Preparing"):
            made = noisewise.synthesize(together, sets=20 if sets is None else sets, rows=rows, seed=seed)
            outside = made.cut_off()
        written, count, size = made.save(out, format=format, progress=talk.progress), len(made), made.rows
    talk.line(f"{count} {'table' if count == 1 else 'tables'} of {size:,} synthetic rows in {out}")
    far = {name: share for name, share in outside.items() if share > NOTABLE}
    if far:
        talk.warn("many values were outside the declared bounds and put on them, which changes means and covariances",
                  *(("found", f"{name}: {share:.0%}") for name, share in far.items()),
                  ("remedy", "such a column is not nearly normal, or the noise is large: do not use its synthetic values"))
    if outside:
        talk.explain("Analyse every table and combine the results: noisewise.combine_synthetic. One table alone says nothing "
                     "about its own uncertainty.", style="dim")
    talk.document({"tables": count, "rows": size, "files": written, "cut_off": outside})


def _binary(talk: Talk, files: list[Path], out: Path, format: str, sets: int | None,
            rows: int | None) -> tuple[list[Path], int, int]:
    from noisewise.release.binary import BinarySynthesis
    from noisewise.synthetic.files import write_tables

    if len(files) > 1 or sets is not None or rows is not None:
        raise typer.BadParameter("a .nwb file has its copies and rows: give it alone, without --sets and --rows")
    made = BinarySynthesis.load(files[0])
    tables = [partial(_batches, made, copy) for copy in range(made.copies)]
    return write_tables(out, tables, format, talk.progress), made.copies, made.synthetic_rows


def _batches(made: BinarySynthesis, copy: int) -> Iterator[Any]:
    return iter(made.table(copy).to_batches())


@guarded(holder=True)
def synthesize_binary(
    context: typer.Context,
    data: Data,
    schema: SchemaFile,
    column: Annotated[str, typer.Option("--column", "-c", help="A column with two levels.", show_default=False)],
    epsilon: Epsilon,
    rows: Annotated[int, typer.Option(help="Synthetic rows of each copy.", min=1, show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, for example smokers.nwb.",
                                         show_default=False)],
    copies: Annotated[int, typer.Option(help="How many copies; they share epsilon.", min=1)] = 1,
    ledger: LedgerPlace = None,
    edition: Edition = "",
    query: QueryText = None,
    trust_query: TrustQuery = False,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Make synthetic rows of a column with two levels, under pure epsilon differential privacy.

    The file may be given to anyone. noisewise synthesize writes its rows as a table, noisewise estimate says what they tell
    about the real ones.

    Example: noisewise synthesize-binary people.parquet -s schema.toml --column smoker -e 1 --rows 500 -o smokers.nwb
    """
    talk = Talk.of(context)
    import noisewise

    if output.suffix.lower() != BINARY_ENDING:
        raise ResultError("a file of synthetic yes-or-no rows ends in .nwb", found=str(output), remedy="for example smokers.nwb")
    check_release_target(output.resolve(), force=force, room=65_536 + 24 * copies)
    declared = noisewise.Schema.load(schema)
    budget = open_budget(talk, ledger, edition)
    made = noisewise.synthesize_binary(
        open_rows(data, query, trust_query), declared, column, epsilon=epsilon, rows=rows, copies=copies, ledger=budget,
        edition=edition, progress=talk.progress)
    made.save(output)
    talk.text(made.describe())
    talk.note(f"Wrote {output}")
    talk.document({**made.document(), "file": output})
    if budget is not None:
        budget.tell(talk, repeated="the same rows were asked for before: these are those")
