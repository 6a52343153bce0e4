"""Arrow in memory: a table, a record batch, or a reader that can be used once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from noisewise.data.sources.base import BATCH_ROWS, Task, Wanted, guarded, slices, unique_types
from noisewise.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

MANY_CHUNKS: Final = 16
"""More pieces than this in one task are copied together first: the arithmetic on tiny batches costs more than the copy."""


@dataclass(frozen=True)
class TableSource:
    """A table in memory; its columns are not copied."""

    table: pa.Table
    types: dict[str, pa.DataType]
    description: str = "Arrow table"
    untyped: frozenset[str] = frozenset()
    header_is_text: bool = False

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def column_types(self) -> dict[str, pa.DataType]:
        return dict(self.types)

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        table = self.table.select([column.name for column in wanted])
        return [partial(_slice, table, start, stop) for start, stop in slices(self.rows)]


@dataclass(frozen=True)
class ReaderSource:
    """A stream of record batches; reading it a second time is refused."""

    reader: pa.RecordBatchReader
    types: dict[str, pa.DataType]
    description: str = "Arrow record batch reader"
    rows: None = None
    untyped: frozenset[str] = frozenset()
    header_is_text: bool = False
    _used: list[bool] = field(default_factory=list, repr=False, compare=False)

    def column_types(self) -> dict[str, pa.DataType]:
        return dict(self.types)

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        if self._used:
            raise DataError("a record batch reader can be read only once", found="a second reading",
                            remedy="make a new reader, or pass a table")
        self._used.append(True)
        return [partial(_stream, self.reader, [column.name for column in wanted])]


def open_arrow(data: Any) -> TableSource | ReaderSource:
    """Open a Table, a RecordBatch, a RecordBatchReader, or anything that offers Arrow's C stream."""
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    elif not isinstance(data, (pa.Table, pa.RecordBatchReader)):
        data = _reader(data)
    types = unique_types(zip(data.schema.names, data.schema.types, strict=True), "Arrow data")
    return TableSource(data, types) if isinstance(data, pa.Table) else ReaderSource(data, types)


def _reader(data: Any) -> pa.RecordBatchReader:
    import pyarrow as pa

    reader = None
    if hasattr(data, "__arrow_c_stream__"):
        try:
            reader = pa.RecordBatchReader.from_stream(data)
        except (pa.ArrowException, TypeError, ValueError):  # a stream of arrays without names
            pass
    if reader is None:
        kind = type(data)
        remedies = {
            "ParquetFile": "pass its path, or call .read()", "ParquetDataset": "pass its path, or call .read()",
            "Scanner": "call .to_reader()",
        }
        remedy = "call .scanner().to_reader()" if hasattr(data, "scanner") else remedies.get(
            kind.__name__, "give columns a name, for example pa.table({'age': ages})")
        raise DataError("Arrow data must be a Table, a RecordBatch or a RecordBatchReader",
                        found=f"an object of type {kind.__module__}.{kind.__qualname__}", remedy=remedy)
    return reader


def _slice(table: pa.Table, start: int, stop: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    part = table.slice(start, stop - start)
    if any(column.num_chunks > MANY_CHUNKS for column in part.columns):
        try:
            part = part.unify_dictionaries().combine_chunks()
        except pa.ArrowException:  # dictionaries that cannot be put together are read one by one
            pass
    return iter(part.to_batches(max_chunksize=BATCH_ROWS))


def _stream(reader: pa.RecordBatchReader, names: list[str]) -> Iterator[pa.RecordBatch]:
    for batch in guarded(reader, "Arrow record batch reader"):
        selected = batch.select(names)
        for start, stop in slices(selected.num_rows, BATCH_ROWS):
            yield selected.slice(start, stop - start)
