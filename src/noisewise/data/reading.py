"""Reading a table in the order of its rows, for statistics that must know their number first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from noisewise.data.sources.base import Source, Wanted
from noisewise.progress import Tick, progress_bar

if TYPE_CHECKING:
    import pyarrow as pa


def batches(source: Source, wanted: Sequence[Wanted]) -> Iterator[pa.RecordBatch]:
    """All rows, in their order."""
    for task in source.tasks(wanted):
        yield from task()


def count_rows(source: Source, wanted: Sequence[Wanted], progress: Tick | bool | None) -> int:
    """The number of rows, by reading one column; a callback hears of the second pass only, which knows the total."""
    rows = 0
    with progress_bar(False if callable(progress) else progress, "Counting rows", "rows") as tick:
        for batch in batches(source, wanted[:1]):
            rows += batch.num_rows
            tick(rows, None)
    return rows


def readable_twice(source: Source, wanted: Sequence[Wanted]) -> Source:
    """The source itself; or, of a stream that can be read only once, its wanted columns in memory."""
    from noisewise.data.sources.arrow import ReaderSource, TableSource

    if not isinstance(source, ReaderSource):
        return source
    import pyarrow as pa

    names = [column.name for column in wanted]
    types = {name: source.types[name] for name in names}
    table = pa.Table.from_batches(list(batches(source, wanted)), pa.schema(list(types.items())))
    return TableSource(table, types)
