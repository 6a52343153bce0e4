"""Tables and files on the command line: what cannot be is refused before any work or budget is spent, files are written whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
PICTURE: Final = ("a picture ends in .png, .svg or .pdf", ".png", ".svg", ".pdf")
ENDINGS: Final = {"plot": PICTURE, "models_plot": PICTURE, "save": ("saved draws end in .npz", ".npz"),
                  "export_rows": ("rows are written as .csv", ".csv")}
"""Of what is written with these options: the rule, and the endings."""


def open_rows(data: str, query: str | None, trust: bool) -> Source | Query:
    """A table that is opened, or a query that the library opens."""
    if query is None:
        if trust:
            raise typer.BadParameter("there is no query to trust: give --query", param_hint="'--trust-query'")
        return open_table(data)
    from noisewise.database_query import query as query_of

    return query_of(data, query, trust=trust)


def open_table(data: str) -> Source:
    """Open a table, unless it is a CSV file whose first line is plainly no header: someone's cells would pass for names."""
    from noisewise.data import open_source

    if data.lower().endswith(".nwr"):
        raise DataError("this is a release, where a table is wanted", found=data,
                        remedy="give the rows, in Parquet or CSV; `noisewise show` says what is in a release")
    source = open_source(data)
    if any(name in source.untyped and _is_no_name(name) for name in source.column_types()):
        raise DataError("the first line of a CSV file must hold the names of the columns",
                        found="a name that is empty or a number (not shown here: it could be someone's)",
                        remedy="add a header line")
    return source


def _is_no_name(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True


def files_before_formula(files: list[Path] | None, formula: str) -> list[Path]:
    """The files, if the last argument is a formula and there is one before it."""
    if "~" not in formula:
        swapped = any("~" in str(file) for file in files or ())
        hint = "the formula comes last" if swapped else "a formula such as \"stay ~ age + ward\", in quotes, comes last"
        raise typer.BadParameter(f"{formula!r} is no formula: {hint}")
    if not files:
        raise typer.BadParameter("a release file comes before the formula")
    return files


def check_release_target(target: Path, *, force: bool, room: int) -> None:
    """Refuse a place where a release could not be kept, before the budget is spent. ``room``: bytes that it will need."""
    if target.name.lower().endswith(INPUT_ENDINGS):
        raise ReleaseWriteError("the ending of a release file is .nwr, not that of a table or a schema", found=str(target),
                                remedy=f"for example -o {target.with_suffix('.nwr').name}")
    if target.is_dir():
        raise ReleaseWriteError("a release is written to a file", found=f"{target} is a folder",
                                remedy=f"for example -o {target / 'release.nwr'}")
    if target.exists() and not force:
        raise ReleaseWriteError("there is a file of that name already, and it could be the only copy of a release that was paid "
                                "for from the budget", found=str(target),
                                remedy="choose another name, or give --force to replace it; nothing was released")
    check_folder(target, ReleaseWriteError, room)


def check_batch_target(target: Path, kind: Kind, schema: Schema) -> None:
    """Refuse a release file to which a batch could not be added, before the budget is spent."""
    from noisewise.releases.batches import check_append

    if not target.exists():
        raise ReleaseWriteError("a batch is added to a release file that is there", found=f"no file {target}",
                                remedy=f"begin it with the first batch: -o {target}; nothing was released")
    check_append(target, kind, schema)
    check_folder(target.resolve(), ReleaseWriteError, target.stat().st_size + kind.room(schema))


def check_results(inputs: Iterable[Path], **wanted: Path | None) -> dict[str, Path | None]:
    """The files that results are written to, by their options; places and endings that cannot be are refused before the work."""
    given = {path.resolve() for path in inputs}
    targets = {option: target for option, target in wanted.items() if target is not None}
    for target in targets.values():
        if target.resolve() in given or target.name.lower().endswith(".nwr"):
            raise ResultError("a result may not replace a release, or the file that it is made from", found=str(target),
                              remedy="choose another name")
        if target.is_dir():
            raise ResultError("a result is written to a file", found=f"{target} is a folder", remedy="give the name of a file")
        check_folder(target, ResultError)
    if len({target.resolve() for target in targets.values()}) < len(targets):
        raise ResultError("each result needs a file of its own", found=", ".join(map(str, targets.values())),
                          remedy="choose other names")
    for option, target in targets.items():
        rule, *endings = ENDINGS.get(option, ("", target.suffix.lower()))
        if target.suffix.lower() not in endings:
            example = "rows" if option == "export_rows" else "stay"
            raise ResultError(rule, found=str(target), remedy=f"for example --{option.replace('_', '-')} {example}{endings[0]}")
    return wanted


def check_picture(formula: str, release: Release, family: str) -> None:
    """Refuse, before the work is done, a picture of more terms than one can look at."""
    from noisewise.plots.picture import MOST_TERMS
    from noisewise.schema.design import Design

    terms = len(Design.of(formula, release.basis, release.terms).terms) + (family == "gaussian")  # whose sigma is drawn too
    if terms > MOST_TERMS:
        raise ResultError(f"a picture shows at most {MOST_TERMS} terms", found=str(terms),
                          remedy="leave --plot out; --csv writes all terms; in Python plot(terms=...) draws some of a saved fit")


def check_folder(target: Path, kind: type[NoisewiseError], room: int = 1) -> None:
    """Try out whether a file of that size can be made beside the target; nothing is left behind."""
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".noisewise-", suffix=".trial") as trial:
            trial.write(b"\0" * room)
            trial.flush()
            os.fsync(trial.fileno())
    except OSError as error:
        raise kind("the folder of the output file must exist, be writable and have room; nothing was done yet",
                   found=f"{target.parent}: {error.strerror or type(error).__name__}",
                   remedy="make the folder, or choose another one") from error


def write_file(target: Path, content: str | bytes) -> None:
    """Write a text or bytes, whole or not at all."""
    try:
        with whole_file(target) as file:
            file.write(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise ResultError("the file could not be written; one that was there before is unchanged",
                          found=f"{target}: {error.strerror or type(error).__name__}",
                          remedy="make room or choose another folder") from error


def write_csv(target: Path | None, table: pandas.DataFrame) -> None:
    """Write a table, if it is wanted."""
    if target is not None:
        write_file(target, csv_text(table))


def csv_text(table: pandas.DataFrame) -> str:
    """The table as CSV. Names of columns and levels may come from a hostile release file, and a spreadsheet would run them.

    >>> import pandas
    >>> csv_text(pandas.DataFrame({"mean": [1.0]}, index=pandas.Index(["=cmd()"], name="term")))
    "term,mean\\n'=cmd(),1.0\\n"
    """
    from noisewise.synthetic.files import harmless

    def plain(value: Any) -> Any:
        return harmless(value) if isinstance(value, str) else value

    return str(table.reset_index().map(plain).rename(columns=plain).to_csv(index=False, lineterminator="\n"))
