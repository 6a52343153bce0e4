"""Reading a table in the order of its rows: for statistics to which the order matters, or that must know the number first.

Another thread decodes the next batches while the caller computes with one. Whoever wants to know how far a pass is hears of rows.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa

from noisewise.data.sources.base import BATCH_ROWS, ClusterSource, Source, Task, Wanted
from noisewise.data.threads import ahead
from noisewise.progress import Tick
from noisewise.run import ALONE, DEFAULT, Run

Batches: TypeAlias = "Generator[pa.RecordBatch, None, None]"


def batches(source: Source, wanted: Sequence[Wanted], run: Run = DEFAULT) -> Batches:
    """All rows, in their order; decoded ahead if more than one thread may be used.

    It is to be closed, also when the caller stops early: ``with closing(batches(…)) as rows``.
    """
    return in_order(source_for(source, run).tasks(wanted), source.rows, run)


def in_order(tasks: Sequence[Task], rows: int | None, run: Run) -> Batches:
    """The batches of all tasks, as `batches` hands them out; of few rows by the caller's thread."""
    found = (batch for task in tasks for batch in task())
    alone = run.workers == 1 or (rows is not None and rows <= BATCH_ROWS)
    return found if alone else ahead(found)


def source_for(source: Source, run: Run) -> Source:
    """The same source; one that parses text by threads of its own is told how many it may use."""
    from noisewise.data.sources.csv import CsvSource

    return replace(source, threads=run.workers) if isinstance(source, CsvSource) else source


def count_rows(source: Source, wanted: Sequence[Wanted], run: Run) -> int:
    """The number of rows, by reading one column; a callback hears of the second pass only, which knows the total.

    A cluster counts its rows where they are, and reads all wanted columns.
    """
    if isinstance(source, ClusterSource):
        from noisewise.data.cluster import count_on_cluster

        return count_on_cluster(source, wanted, run.before())
    return read_through(source, wanted[:1], run, "Counting rows")


def read_through(source: Source, wanted: Sequence[Wanted], run: Run, doing: str) -> int:
    """Read these columns to the end, and count the rows."""
    with reporting(run.before(), source.rows, doing) as counter, closing(batches(source, wanted, run)) as found:
        for batch in found:
            counter.add(batch.num_rows)
        return counter.rows


def readable_twice(source: Source, wanted: Sequence[Wanted]) -> Source:
    """The source itself; or, of a stream that can be read only once, its wanted columns in memory."""
    from noisewise.data.sources.arrow import ReaderSource, TableSource

    if not isinstance(source, ReaderSource):
        return source
    names = [column.name for column in wanted]
    types = {name: source.types[name] for name in names}
    table = pa.Table.from_batches(list(batches(source, wanted, ALONE)), pa.schema(list(types.items())))
    return TableSource(table, types)


class RowCounter:
    """Adds up the rows of all threads and tells the sum."""

    def __init__(self, tick: Tick, rows_total: int | None) -> None:
        self._tick = tick
        self._total = rows_total
        self._done = 0
        self._lock = threading.Lock()

    @property
    def rows(self) -> int:
        """How many were counted so far."""
        return self._done

    def add(self, rows: int) -> None:
        with self._lock:
            self._done += rows
            self._tick(self._done, self._total)


@contextmanager
def reporting(run: Run, rows_total: int | None, doing: str = "Reading rows") -> Iterator[RowCounter]:
    """Count rows for a callback, a bar or nobody: see `noisewise.run.Run`."""
    with run.bar(doing, "rows") as tick:
        yield RowCounter(tick, rows_total)
