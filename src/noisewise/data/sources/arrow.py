"""Arrow data: a table, a record batch, or a reader that can be used only once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import pyarrow as pa

from noisewise.data.sources.base import BATCH_ROWS, Task, TypedSource, Wanted, guarded, slices, unique_types
from noisewise.errors import DataError

MANY_CHUNKS: Final = 16
"""More chunks than this in one task are first copied into one: arithmetic on tiny batches costs more than the copy."""


@dataclass(frozen=True)
class TableSource(TypedSource):
    """A table in memory; its columns are not copied."""

    table: pa.Table
    types: dict[str, pa.DataType]
    description: str = "Arrow table"

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        """Slices of the table."""
        table = self.table.select([column.name for column in wanted])
        return [partial(_slice, table, start, stop) for start, stop in slices(self.rows)]


@dataclass(frozen=True)
class ReaderSource(TypedSource):
    """A stream of record batches, which cannot be read a second time."""

    reader: pa.RecordBatchReader
    types: dict[str, pa.DataType]
    description: str = "Arrow record batch reader"
    rows: None = None
    _used: list[bool] = field(default_factory=list, repr=False, compare=False)

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        """A single task, for the whole stream."""
        if self._used:
            raise DataError("a record batch reader can be read only once", found="a second reading",
                            remedy="create a new reader, or pass a table")
        self._used.append(True)
        return [partial(_stream, self.reader, [column.name for column in wanted])]


def open_arrow(data: object) -> TableSource | ReaderSource:
    """Open a Table, a RecordBatch, a RecordBatchReader, or anything that offers Arrow's C stream."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    rows: pa.Table | pa.RecordBatchReader = data if isinstance(data, (pa.Table, pa.RecordBatchReader)) else _reader(data)
    types = unique_types(zip(rows.schema.names, rows.schema.types, strict=True), "Arrow data")
    return TableSource(rows, types) if isinstance(rows, pa.Table) else ReaderSource(rows, types)


def _reader(data: object) -> pa.RecordBatchReader:
    if hasattr(data, "__arrow_c_stream__"):
        with suppress(pa.ArrowException, TypeError, ValueError):  # a stream of arrays without names
            return pa.RecordBatchReader.from_stream(data)
    kind = type(data)
    remedies = {"ParquetFile": "pass its path, or call .read()", "ParquetDataset": "pass its path, or call .read()",
                "Scanner": "call .to_reader()"}
    raise DataError("Arrow data must be a Table, a RecordBatch or a RecordBatchReader",
                    found=f"an object of type {kind.__module__}.{kind.__qualname__}",
                    remedy="call .scanner().to_reader()" if hasattr(data, "scanner") else remedies.get(
                        kind.__name__, "name the columns, for example pa.table({'age': ages})"))


def _slice(table: pa.Table, start: int, stop: int) -> Iterator[pa.RecordBatch]:
    part = table.slice(start, stop - start)
    if any(column.num_chunks > MANY_CHUNKS for column in part.columns):
        with suppress(pa.ArrowException):  # dictionaries that cannot be unified are read one by one
            part = part.unify_dictionaries().combine_chunks()
    return iter(part.to_batches(max_chunksize=BATCH_ROWS))


def _stream(reader: pa.RecordBatchReader, names: list[str]) -> Iterator[pa.RecordBatch]:
    for batch in guarded(partial(iter, reader), "Arrow record batch reader"):
        selected = batch.select(names)
        for start, stop in slices(selected.num_rows, BATCH_ROWS):
            yield selected.slice(start, stop - start)
