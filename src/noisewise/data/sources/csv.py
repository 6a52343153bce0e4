"""CSV, plain or compressed (``.csv.gz``), with a header line.

Every cell is text, and reading is a total function of the text: a cell that is not a number is a missing number, and a line with
the wrong number of cells is a row in which everything is missing. (An exception would reveal that someone's row has such a cell,
and leaving the line out would change a public number of rows.)

A row is a physical line. Values may be quoted (``"a, b"``, with quotes inside doubled), but a quoted cell cannot span lines:
each line is a row. Lines with an unmatched or stray quote, or of more than 1 MiB, are malformed (see
`noisewise.data.sources.lines`). Parquet has none of these limits and is the better choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from noisewise.data.sources.base import BATCH_ROWS, Task, Wanted, guarded
from noisewise.data.sources.cells import numbers_from_text
from noisewise.data.sources.lines import blocks, header_cells, repair, split_header
from noisewise.data.threads import ordered_map
from noisewise.errors import DataError

MISSING_SPELLINGS: Final = frozenset(("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None",
                                      "<NA>"))
"""Strings that mean "missing", unless they are a declared level."""


@dataclass(frozen=True)
class CsvSource:
    """A CSV file. Every column is text."""

    path: str
    names: tuple[str, ...]
    threads: int = 1
    """The number of threads that parse blocks of lines."""
    rows: None = None
    header_is_text: bool = True

    @property
    def description(self) -> str:
        """The file, for messages."""
        return f"CSV file {self.path}"

    @property
    def untyped(self) -> frozenset[str]:
        """All columns."""
        return frozenset(self.names)

    def column_types(self) -> dict[str, pa.DataType]:
        """Every column, as text."""
        return {name: pa.string() for name in self.names}

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        """A single task, for the whole file."""
        return [partial(guarded, partial(_batches, self.path, self.names, tuple(wanted), self.threads), self.description)]


def open_csv(path: str) -> CsvSource:
    """Open a CSV file, reading only its header."""
    names = None
    try:
        with _stream(path) as stream:
            line, _ = split_header(blocks(stream))
            names = header_cells(line) if line else None
    except FileNotFoundError as error:
        raise DataError("the file does not exist", found=path, remedy="check the path") from error
    except (pa.ArrowException, OSError):
        pass
    if names is None:  # raised outside the handler, so that no byte of the header is attached
        raise DataError("the file cannot be read as CSV", found=path,
                        remedy="use a UTF-8 text file with a header line and commas between the cells")
    if len(set(names)) < len(names):  # the message does not say which: without a header it would be someone's value
        raise DataError("two columns of the header have the same name", found=f"CSV file {path}",
                        remedy="rename one of them; if the file has no header line, add one")
    return CsvSource(path, tuple(names))


def _stream(path: str) -> pa.NativeFile:
    return pa.input_stream(path, compression="gzip" if path.lower().endswith(".gz") else None)


def _batches(path: str, names: tuple[str, ...], wanted: tuple[Wanted, ...], threads: int) -> Iterator[pa.RecordBatch]:
    parser, malformed = _Parser(names, wanted), 0
    with _stream(path) as stream:
        pieces = blocks(stream)
        _, rest = split_header(pieces)
        with closing(ordered_map(parser.parse, chain([rest], pieces), threads)) as parsed:
            for table, skipped in parsed:
                malformed += skipped
                yield from table.to_batches(max_chunksize=BATCH_ROWS)
    if malformed:
        yield pa.RecordBatch.from_arrays([pa.nulls(malformed, _kind(column)) for column in wanted],
                                         names=[column.name for column in wanted])


class _Parser:
    """Parses blocks of whole lines, each separately and in any thread.

    Numbers are converted while the text is parsed. If one cannot be converted, all cells of the block are first read as text.
    Both ways agree on every cell: Arrow accepts only numbers that `numbers_from_text` accepts, including surrounding spaces.
    """

    def __init__(self, names: tuple[str, ...], wanted: tuple[Wanted, ...]) -> None:
        self._cells, self._wanted = len(names), wanted
        self._places = [str(names.index(column.name)) for column in wanted]
        # Each block gets its own header. Otherwise a block that begins with a byte order mark would lose it.
        self._header = b",".join(str(place).encode() for place in range(self._cells)) + b"\n"

    def parse(self, block: bytes) -> tuple[pa.Table, int]:
        """The wanted columns, and the number of lines left out because they do not have as many cells as the header."""
        text = self._header + repair(block, self._cells)
        try:
            table, malformed = self._parsed(text, [_kind(column) for column in self._wanted])
        except pa.ArrowInvalid:
            table = None
        if table is None:  # outside the handler, so that no later error has cells attached
            table, malformed = self._parsed(text, [pa.string()] * len(self._wanted))
        columns = [_converted(cells, column) for cells, column in zip(table.columns, self._wanted, strict=True)]
        return pa.Table.from_arrays(columns, names=[column.name for column in self._wanted]), malformed

    def _parsed(self, text: bytes, kinds: list[pa.DataType]) -> tuple[pa.Table, int]:
        malformed = 0

        def skip(row: object) -> str:
            nonlocal malformed
            malformed += 1
            return "skip"

        # One thread, because the handler of malformed lines is Python.
        read = pcsv.ReadOptions(use_threads=False, block_size=len(text) + 1)
        # With one column an empty line is a missing cell; with several it is not a row.
        parse = pcsv.ParseOptions(newlines_in_values=False, invalid_row_handler=skip, ignore_empty_lines=self._cells > 1)
        convert = pcsv.ConvertOptions(
            # Text that is not UTF-8 is compared byte by byte rather than refused.
            check_utf8=False,
            null_values=sorted(MISSING_SPELLINGS),
            strings_can_be_null=False,
            column_types=dict(zip(self._places, kinds, strict=True)),
            include_columns=self._places,
        )
        table = pcsv.read_csv(pa.BufferReader(text), read_options=read, parse_options=parse, convert_options=convert)
        return table, malformed


def _kind(column: Wanted) -> pa.DataType:
    return pa.float64() if column.role == "number" else pa.string()


def _converted(cells: pa.ChunkedArray, column: Wanted) -> pa.ChunkedArray:
    if cells.type == _kind(column) == pa.float64():
        return cells
    missing = pa.array(sorted(MISSING_SPELLINGS - column.levels), pa.string())
    present = pc.if_else(pc.is_in(cells, value_set=missing), pa.scalar(None, pa.string()), cells)
    if column.role != "number":
        return present
    return pa.chunked_array([numbers_from_text(chunk) for chunk in present.chunks], pa.float64())
