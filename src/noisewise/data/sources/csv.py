"""CSV, plain or compressed (``.csv.gz``), with a header line.

Every cell is text, so reading is a total function of the text: what is not a number is a missing number, and a line with
the wrong number of cells counts as a row in which everything is missing. (An exception there would tell the world that
someone's row has such a cell; leaving the line out would change a public number of rows.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from noisewise.data.cells import numbers_from_text
from noisewise.data.sources.base import Task, Wanted, guarded, unique_types
from noisewise.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES: Final = 1 << 22

MISSING_SPELLINGS: Final = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None", "<NA>"]
)
"""Texts that mean "missing", except where they are a declared level."""


@dataclass(frozen=True)
class CsvSource:
    """One CSV file. Types are a guess from its first lines, for templates; they are not used when it is read."""

    path: str
    types: dict[str, pa.DataType]

    @property
    def description(self) -> str:
        return f"CSV file {self.path}"

    @property
    def rows(self) -> None:
        return None

    @property
    def untyped(self) -> frozenset[str]:
        return frozenset(self.types)

    def column_types(self) -> dict[str, pa.DataType]:
        return dict(self.types)

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        # With one column a missing cell is an empty line; with several an empty line is none at all.
        return [partial(_read, self.path, tuple(wanted), len(self.types) > 1)]


def open_csv(path: str) -> CsvSource:
    """Open a CSV file; only its header and, for a guess at the types, its first block are looked at."""
    import pyarrow as pa

    try:
        with _reader(path, _Malformed()) as reader:
            schema = reader.schema
    except FileNotFoundError as error:
        raise DataError("the file does not exist", found=path, remedy="check the path") from error
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        schema = None
    if schema is None:
        raise DataError("the file cannot be read as CSV", found=path,
                        remedy="give a UTF-8 text file with a header line and commas between the cells")
    return CsvSource(path, unique_types(zip(schema.names, schema.types, strict=True), f"CSV file {path}"))


class _Malformed:
    """Counts the lines that do not have as many cells as the header."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, row: object) -> str:
        self.rows += 1
        return "skip"


def _reader(path: str, malformed: _Malformed, convert: Any = None, ignore_empty: bool = True) -> Any:
    import pyarrow.csv as pc

    return pc.open_csv(
        path,
        # One thread, because the handler of malformed lines is Python.
        read_options=pc.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
        parse_options=pc.ParseOptions(newlines_in_values=True, invalid_row_handler=malformed, ignore_empty_lines=ignore_empty),
        convert_options=convert,
    )


def _read(path: str, wanted: tuple[Wanted, ...], ignore_empty: bool) -> Iterator[pa.RecordBatch]:
    return guarded(_batches(path, wanted, ignore_empty), f"CSV file {path}")


def _batches(path: str, wanted: tuple[Wanted, ...], ignore_empty: bool) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.csv as pc

    names = [column.name for column in wanted]
    convert = pc.ConvertOptions(
        # Text that is not UTF-8 is compared byte by byte rather than refused.
        check_utf8=False,
        strings_can_be_null=False,
        column_types={name: pa.string() for name in names},
        include_columns=names,
    )
    malformed = _Malformed()
    with _reader(path, malformed, convert, ignore_empty) as reader:
        for batch in reader:
            yield pa.RecordBatch.from_arrays([_convert(batch.column(c.name), c) for c in wanted], names=names)
    if malformed.rows:
        yield pa.RecordBatch.from_arrays([pa.nulls(malformed.rows, _kind(column)) for column in wanted], names=names)


def _kind(column: Wanted) -> pa.DataType:
    import pyarrow as pa

    return pa.float64() if column.role == "number" else pa.string()


def _convert(texts: pa.Array, column: Wanted) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pa.array(sorted(MISSING_SPELLINGS - column.levels), pa.string())
    present = pc.if_else(pc.is_in(texts, value_set=missing), pa.scalar(None, pa.string()), texts)
    return numbers_from_text(present) if column.role == "number" else present
