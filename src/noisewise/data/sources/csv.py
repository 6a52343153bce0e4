"""CSV, plain or compressed (``.csv.gz``), with a header line.

Every cell is text, so reading is a total function of the text: what is not a number is a missing number, and a line with
the wrong number of cells counts as a row in which everything is missing. (An exception there would tell the world that
someone's row has such a cell; leaving the line out would change a public number of rows.)

A row is a physical line. Cells may be quoted (``"a, b"``, with a quote inside doubled), but a quoted cell that goes on over
several lines is not read as one: each of its lines is a row, and those with an opening or closing quote count as malformed.
So do a line with a stray quote and a line of more than 1 MiB. See `noisewise.data.sources.lines`. Parquet has none of these
limits and is the better choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from noisewise.data.cells import numbers_from_text
from noisewise.data.sources.base import BATCH_ROWS, Task, Wanted, guarded
from noisewise.data.sources.lines import blocks, header_cells, repair, split_header
from noisewise.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

MISSING_SPELLINGS: Final = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None", "<NA>"]
)
"""Texts that mean "missing", except where they are a declared level."""


@dataclass(frozen=True)
class CsvSource:
    """One CSV file; every column is text."""

    path: str
    names: tuple[str, ...]

    @property
    def description(self) -> str:
        return f"CSV file {self.path}"

    @property
    def rows(self) -> None:
        return None

    @property
    def untyped(self) -> frozenset[str]:
        return frozenset(self.names)

    @property
    def header_is_text(self) -> bool:
        return True

    def column_types(self) -> dict[str, pa.DataType]:
        import pyarrow as pa

        return {name: pa.string() for name in self.names}

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        return [partial(_read, self.path, self.names, tuple(wanted))]


def open_csv(path: str) -> CsvSource:
    """Open a CSV file; only its header is looked at."""
    import pyarrow as pa

    names = None
    try:
        with _stream(path) as stream:
            line, _ = split_header(blocks(stream))
            names = header_cells(line) if line else None
    except FileNotFoundError as error:
        raise DataError("the file does not exist", found=path, remedy="check the path") from error
    except (pa.ArrowException, OSError):
        pass
    if names is None:  # raised outside the handler, so that no byte of the header is attached to it
        raise DataError("the file cannot be read as CSV", found=path,
                        remedy="give a UTF-8 text file with a header line and commas between the cells")
    if len(set(names)) < len(names):  # which one is not said: without a header it would be someone's value
        raise DataError("two columns of the header have the same name", found=f"CSV file {path}",
                        remedy="rename one of them; if the file has no header line, add one")
    return CsvSource(path, tuple(names))


def _stream(path: str) -> Any:
    import pyarrow as pa

    return pa.input_stream(path, compression="gzip" if path.lower().endswith(".gz") else None)


def _read(path: str, names: tuple[str, ...], wanted: tuple[Wanted, ...]) -> Iterator[pa.RecordBatch]:
    return guarded(_batches(path, names, wanted), f"CSV file {path}")


def _batches(path: str, names: tuple[str, ...], wanted: tuple[Wanted, ...]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    parser = _Parser(len(names), [names.index(column.name) for column in wanted])
    with _stream(path) as stream:
        pieces = blocks(stream)
        _, rest = split_header(pieces)
        for block in chain([rest], pieces):
            for batch in parser.parse(repair(block, len(names))):
                arrays = [_convert(array, column) for array, column in zip(batch.columns, wanted, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, names=[column.name for column in wanted])
    if parser.malformed:
        yield pa.RecordBatch.from_arrays([pa.nulls(parser.malformed, _kind(column)) for column in wanted],
                                         names=[column.name for column in wanted])


class _Parser:
    """Parses blocks of whole lines, each by itself; counts the lines that do not have as many cells as the header."""

    def __init__(self, cells: int, places: list[int]) -> None:
        import pyarrow as pa
        import pyarrow.csv as pc

        # A block gets a header of its own: a block that began with a byte order mark would lose it.
        self._header = b",".join(str(place).encode() for place in range(cells)) + b"\n"
        self._parse = pc.ParseOptions(
            newlines_in_values=False,
            invalid_row_handler=self._count,
            # With one column a missing cell is an empty line; with several an empty line is none at all.
            ignore_empty_lines=cells > 1,
        )
        names = [str(place) for place in places]
        self._convert = pc.ConvertOptions(
            # Text that is not UTF-8 is compared byte by byte rather than refused.
            check_utf8=False,
            strings_can_be_null=False,
            column_types={name: pa.string() for name in names},
            include_columns=names,
        )
        self.malformed = 0

    def parse(self, block: bytes) -> list[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.csv as pc

        text = self._header + block
        # One thread, because the handler of malformed lines is Python.
        options = pc.ReadOptions(use_threads=False, block_size=len(text) + 1)
        table = pc.read_csv(pa.BufferReader(text), read_options=options, parse_options=self._parse,
                            convert_options=self._convert)
        batches: list[pa.RecordBatch] = table.to_batches(max_chunksize=BATCH_ROWS)
        return batches

    def _count(self, row: object) -> str:
        self.malformed += 1
        return "skip"


def _kind(column: Wanted) -> pa.DataType:
    import pyarrow as pa

    return pa.float64() if column.role == "number" else pa.string()


def _convert(texts: pa.Array, column: Wanted) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pa.array(sorted(MISSING_SPELLINGS - column.levels), pa.string())
    present = pc.if_else(pc.is_in(texts, value_set=missing), pa.scalar(None, pa.string()), texts)
    return numbers_from_text(present) if column.role == "number" else present
