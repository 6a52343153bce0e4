"""Reading a table in the order of its rows, for statistics that depend on the order or must know the number of rows first.

Another thread decodes the next batches while the caller computes with one. Progress is reported in rows.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Final, TypeAlias

import pyarrow as pa

from noisewise.data.sources.base import BATCH_ROWS, ClusterSource, Source, Task, Wanted
from noisewise.data.threads import ahead
from noisewise.progress import Tick
from noisewise.run import ALONE, DEFAULT, Run

READING: Final = "Reading rows"
"""What a progress bar says, unless told otherwise."""

Batches: TypeAlias = "Generator[pa.RecordBatch, None, None]"


def batches(source: Source, wanted: Sequence[Wanted], run: Run = DEFAULT) -> Batches:
    """All rows in order, decoded ahead if more than one thread is allowed.

    Close it even when stopping early: ``with closing(batches(…)) as rows``.
    """
    return in_order(source_for(source, run).tasks(wanted), source.rows, run)


def in_order(tasks: Sequence[Task], rows: int | None, run: Run) -> Batches:
    """The batches of all tasks, as `batches` hands them out. A small table is read in the caller's thread."""
    found = (batch for task in tasks for batch in task())
    alone = run.workers == 1 or (rows is not None and rows <= BATCH_ROWS)
    return found if alone else ahead(found)


def source_for(source: Source, run: Run) -> Source:
    """The same source. One that parses text in its own threads gets their number."""
    from noisewise.data.sources.csv import CsvSource

    return replace(source, threads=run.workers) if isinstance(source, CsvSource) else source


def count_rows(source: Source, wanted: Sequence[Wanted], run: Run) -> int:
    """The number of rows, found by reading one column. A progress function is not called: it expects only the pass that follows.

    A cluster counts its rows where they are, reading all wanted columns.
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
    """The source itself or, for a stream that can be read only once, its wanted columns in memory."""
    from noisewise.data.sources.arrow import ReaderSource, TableSource

    if not isinstance(source, ReaderSource):
        return source
    names = [column.name for column in wanted]
    types = {name: source.types[name] for name in names}
    table = pa.Table.from_batches(list(batches(source, wanted, ALONE)), pa.schema(list(types.items())))
    return TableSource(table, types)


class RowCounter:
    """Counts the rows of all threads and reports the total."""

    def __init__(self, tick: Tick, rows_total: int | None) -> None:
        self._tick = tick
        self._total = rows_total
        self._done = 0
        self._lock = threading.Lock()

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return self._done

    def add(self, rows: int) -> None:
        """Add rows, and report the total."""
        with self._lock:
            self._done += rows
            self._tick(self._done, self._total)


@contextmanager
def reporting(run: Run, rows_total: int | None, doing: str = READING) -> Iterator[RowCounter]:
    """Count rows, and report them to a callback, a bar or nobody: see `noisewise.run.Run`."""
    with run.bar(doing, "rows") as tick:
        yield RowCounter(tick, rows_total)
