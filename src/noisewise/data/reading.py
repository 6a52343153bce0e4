"""Reading a table in the order of its rows: for statistics to which the order matters, or that must know the number first.

Another thread decodes the next batches while the caller computes with one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from noisewise.data.progress import reporting_before
from noisewise.data.sources.base import BATCH_ROWS, ClusterSource, Source, Task, Wanted
from noisewise.data.threads import ahead, processors
from noisewise.progress import Tick

if TYPE_CHECKING:
    import pyarrow as pa

Batches: TypeAlias = "Generator[pa.RecordBatch, None, None]"


def batches(source: Source, wanted: Sequence[Wanted], threads: int | None = None) -> Batches:
    """All rows, in their order; decoded ahead if more than one thread may be used.

    It is to be closed, also when the caller stops early: ``with closing(batches(…)) as rows``.
    """
    return in_order(source_for(source, threads).tasks(wanted), source.rows, threads)


def in_order(tasks: Sequence[Task], rows: int | None, threads: int | None) -> Batches:
    """The batches of all tasks, as `batches` hands them out; of few rows by the caller's thread."""
    found = (batch for task in tasks for batch in task())
    alone = (threads or processors()) == 1 or (rows is not None and rows <= BATCH_ROWS)
    return found if alone else ahead(found)


def source_for(source: Source, threads: int | None) -> Source:
    """The same source; one that parses text by threads of its own is told how many it may use."""
    from noisewise.data.sources.csv import CsvSource

    return replace(source, threads=threads or processors()) if isinstance(source, CsvSource) else source


def count_rows(source: Source, wanted: Sequence[Wanted], progress: Tick | bool | None) -> int:
    """The number of rows, by reading one column; a callback hears of the second pass only, which knows the total.

    A cluster counts its rows where they are, and reads all wanted columns.
    """
    if isinstance(source, ClusterSource):
        from noisewise.data.cluster import count_on_cluster

        return count_on_cluster(source, wanted, False if callable(progress) else progress)
    return read_through(source, wanted[:1], progress, "Counting rows")


def read_through(source: Source, wanted: Sequence[Wanted], progress: Tick | bool | None, doing: str) -> int:
    """Read these columns to the end, and count the rows."""
    with reporting_before(progress, source.rows, doing) as counter, closing(batches(source, wanted)) as found:
        for batch in found:
            counter.add(batch.num_rows)
        return counter.rows


def readable_twice(source: Source, wanted: Sequence[Wanted]) -> Source:
    """The source itself; or, of a stream that can be read only once, its wanted columns in memory."""
    from noisewise.data.sources.arrow import ReaderSource, TableSource

    if not isinstance(source, ReaderSource):
        return source
    import pyarrow as pa

    names = [column.name for column in wanted]
    types = {name: source.types[name] for name in names}
    table = pa.Table.from_batches(list(batches(source, wanted, threads=1)), pa.schema(list(types.items())))
    return TableSource(table, types)
