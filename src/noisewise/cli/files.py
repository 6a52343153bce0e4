"""Input tables and output files: problems are found before any work starts or budget is spent, and writes are atomic."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from noisewise.errors import DataError, NoisewiseError, ReleaseWriteError, ResultError
from noisewise.whole_file import whole_file

if TYPE_CHECKING:
    import pandas

    from noisewise.data.sources import Source
    from noisewise.database_query import Query
    from noisewise.kinds import Kind
    from noisewise.releases.release import Release
    from noisewise.schema import Schema

INPUT_ENDINGS: Final = (".parquet", ".pq", ".csv", ".csv.gz", ".duckdb", ".toml")
PICTURE: Final = ("the file name of a plot must end in .png, .svg or .pdf", ".png", ".svg", ".pdf")
ENDINGS: Final = {"plot": PICTURE, "models_plot": PICTURE, "save": ("the file name of saved draws must end in .npz", ".npz"),
                  "export_rows": ("the file name of exported rows must end in .csv", ".csv")}
"""For each of these options, the rule and the allowed endings."""


def open_rows(data: str, query: str | None, trust: bool) -> Source | Query:
    """Open a table, or return a query for the library to open."""
    if query is None:
        if trust:
            raise typer.BadParameter("requires --query", param_hint="'--trust-query'")
        return open_table(data)
    from noisewise.database_query import query as query_of

    return query_of(data, query, trust=trust)


def open_table(data: str) -> Source:
    """Open a table; refuse a CSV file that clearly lacks a header, since its first row would be shown as column names."""
    from noisewise.data import open_source

    if data.lower().endswith(".nwr"):
        raise DataError("expected a table, not a release", found=data,
                        remedy="give the rows, as Parquet or CSV; to see what a release contains, use `noisewise show`")
    source = open_source(data)
    if any(name in source.untyped and _is_no_name(name) for name in source.column_types()):
        raise DataError("the first line of a CSV file must hold the column names",
                        found="a name that is empty or a number (not shown, since it may be someone's data)",
                        remedy="add a header line")
    return source


def _is_no_name(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True


def files_before_formula(files: list[Path] | None, formula: str) -> list[Path]:
    """Return the files, after checking that the last argument is a formula and a file comes before it."""
    if "~" not in formula:
        raise no_formula(files or [], formula)
    if not files:
        raise typer.BadParameter("give at least one release file before the formula")
    return files


def files_and_formula(files: list[Path] | None, last: str | None) -> tuple[list[Path], str | None]:
    """Return the files, and the formula if the last argument is one: a release for one regression needs none."""
    if last is None:
        raise typer.BadParameter("give a release file, and a FORMULA unless the release is for one regression")
    if "~" in last:
        return files_before_formula(files, last), last
    given = [*(files or []), Path(last)]
    if any("~" in str(file) for file in given) or not (given[-1].exists() or given[-1].suffix.lower() == ".nwr"):
        raise no_formula(files or [], last)
    return given, None


def no_formula(files: list[Path], last: object) -> typer.BadParameter:
    """Return the error for a last argument that should have been a formula."""
    swapped = any("~" in str(file) for file in files)
    hint = "put the formula last" if swapped else "end with a formula in quotes, such as \"stay ~ age + ward\""
    return typer.BadParameter(f"{str(last)!r} is not a formula; {hint}")


def check_release_target(target: Path, *, force: bool, room: int) -> None:
    """Refuse an unusable output file before the budget is spent. ``room`` is the size needed, in bytes."""
    if target.name.lower().endswith(INPUT_ENDINGS):
        raise ReleaseWriteError("a release file must not be named like a table or schema", found=str(target),
                                remedy=f"for example -o {target.with_suffix('.nwr').name}")
    if target.is_dir():
        raise ReleaseWriteError("the output must be a file, not a folder", found=str(target),
                                remedy=f"for example -o {target / 'release.nwr'}")
    if target.exists() and not force:
        raise ReleaseWriteError("the output file already exists and may be the only copy of a release that cost budget",
                                found=str(target),
                                remedy="choose another name, or replace it with --force; nothing was released")
    check_folder(target, ReleaseWriteError, room)


def check_batch_target(target: Path, kind: Kind, schema: Schema) -> None:
    """Refuse a release file that cannot take another batch, before the budget is spent."""
    from noisewise.releases.batches import check_append

    if not target.exists():
        raise ReleaseWriteError("--append needs an existing release file", found=f"no file {target}",
                                remedy=f"create it with the first batch: -o {target}; nothing was released")
    check_append(target, kind, schema)
    check_folder(target.resolve(), ReleaseWriteError, target.stat().st_size + kind.room(schema))


def check_results(inputs: Iterable[Path], **wanted: Path | None) -> dict[str, Path | None]:
    """Check the output files of all options, before any work starts, and return them by option."""
    given = {path.resolve() for path in inputs}
    targets = {option: target for option, target in wanted.items() if target is not None}
    for target in targets.values():
        if target.resolve() in given or target.name.lower().endswith(".nwr"):
            raise ResultError("a result must not replace a release or an input file", found=str(target),
                              remedy="choose another name")
        if target.is_dir():
            raise ResultError("the output must be a file, not a folder", found=str(target), remedy="add a file name")
        check_folder(target, ResultError)
    if len({target.resolve() for target in targets.values()}) < len(targets):
        raise ResultError("each result needs its own file", found=", ".join(map(str, targets.values())),
                          remedy="choose different names")
    for option, target in targets.items():
        rule, *endings = ENDINGS.get(option, ("", target.suffix.lower()))
        if target.suffix.lower() not in endings:
            example = "rows" if option == "export_rows" else "stay"
            raise ResultError(rule, found=str(target), remedy=f"for example --{option.replace('_', '-')} {example}{endings[0]}")
    return wanted


def check_picture(formula: str, release: Release, family: str) -> None:
    """Refuse a plot with too many terms, before any work starts."""
    from noisewise.plots.picture import MOST_TERMS
    from noisewise.results.families import family_of
    from noisewise.schema.design import Design

    terms = len(Design.of(formula, release.basis, release.terms).terms) + (family_of(family).scale is not None)
    if terms > MOST_TERMS:
        raise ResultError(f"a plot shows at most {MOST_TERMS} terms", argument="plot", found=str(terms),
                          remedy="leave --plot out; --csv writes all terms; in Python, plot(terms=...) draws a choice of them")


def check_folder(target: Path, kind: type[NoisewiseError], room: int = 1) -> None:
    """Check that a file of ``room`` bytes can be written beside the target, by writing and removing one."""
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".noisewise-", suffix=".trial") as trial:
            trial.write(b"\0" * room)
            trial.flush()
            os.fsync(trial.fileno())
    except OSError as error:
        raise kind("the output folder must exist, be writable and have enough free space; nothing has been done yet",
                   found=f"{target.parent}: {error.strerror or type(error).__name__}",
                   remedy="create the folder, or choose another one") from error


def write_file(target: Path, content: str | bytes) -> None:
    """Write text or bytes atomically."""
    try:
        with whole_file(target) as file:
            file.write(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise ResultError("cannot write the file; an existing file is unchanged",
                          found=f"{target}: {error.strerror or type(error).__name__}",
                          remedy="free some disk space, or choose another folder") from error


def write_csv(target: Path | None, table: pandas.DataFrame) -> None:
    """Write a table as CSV, if a file was named."""
    if target is not None:
        write_file(target, csv_text(table))


def csv_text(table: pandas.DataFrame) -> str:
    """Return the table as CSV, with names defused: a hostile release file could have a spreadsheet formula as a name.

    >>> import pandas
    >>> csv_text(pandas.DataFrame({"mean": [1.0]}, index=pandas.Index(["=cmd()"], name="term")))
    "term,mean\\n'=cmd(),1.0\\n"
    """
    from noisewise.synthetic.files import harmless

    def plain(value: object) -> object:
        return harmless(value) if isinstance(value, str) else value

    return str(table.reset_index().map(plain).rename(columns=plain).to_csv(index=False, lineterminator="\n"))
