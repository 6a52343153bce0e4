"""One pass over all rows: in threads here, or where the rows are.

Each worker sums up the rows it is given, and their sums are added. Sums are exact, so it does not matter which worker gets which
rows.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial, reduce
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from noisewise.data.block import Block, Piece, pieces
from noisewise.data.cluster import sum_over_cluster
from noisewise.data.columns import require_columns, wanted_columns
from noisewise.data.plan import Plan
from noisewise.data.reading import READING, in_order, reporting, source_for
from noisewise.data.sources import open_source
from noisewise.data.sources.base import ClusterSource, Source, Sum, Task, Wanted, Worker
from noisewise.data.splitting.units import UnitLimit, limit_units
from noisewise.data.threads import blas
from noisewise.run import Run
from noisewise.schema.schema import Schema, Unit

Part = TypeVar("Part")


def sum_over_rows(source: object, schema: Schema, plan: Plan, worker_with: Callable[[UnitLimit | None], Worker[Sum]], *,
                  run: Run) -> Sum:
    """The workers' sum over all rows, reading the columns of a plan."""
    wanted = wanted_columns([schema.column(name) for name in plan.columns], schema.unit.column)
    return sum_over_columns(source, wanted, schema.unit, worker_with, run=run)


def sum_over_columns(source: object, wanted: Sequence[Wanted], unit: Unit,
                     worker_with: Callable[[UnitLimit | None], Worker[Sum]], *, run: Run) -> Sum:
    """The workers' sum over all rows, reading these columns. A cluster sums on its own machines and returns only sums."""
    opened = open_source(source)
    require_columns(opened, wanted)
    return OpenedRows.of(opened, wanted, unit).sum(worker_with, run=run)


@dataclass(frozen=True)
class OpenedRows:
    """A table opened for any number of passes. In all of them the same rows of each unit count."""

    source: Source
    wanted: tuple[Wanted, ...]
    most_of_each: int | None
    """The most rows of each unit; None if each row is a unit, or if the source has chosen them."""

    @classmethod
    def of(cls, source: Source, wanted: Sequence[Wanted], unit: Unit) -> OpenedRows:
        """Rows of an open source that has these columns."""
        chosen, limit = limit_units(source, unit, wanted)
        return cls(chosen, tuple(wanted), None if limit is None else limit.max_rows)

    def sum(self, worker_with: Callable[[UnitLimit | None], Worker[Sum]], *, run: Run, doing: str = READING) -> Sum:
        """The workers' sum over all rows. ``doing`` is what a progress bar says."""
        if isinstance(self.source, ClusterSource):
            return sum_over_cluster(self.source, self.wanted, partial(worker_with, None), run)
        limit = None if self.most_of_each is None else UnitLimit(self.most_of_each)
        parts = share_batches(self.source, self.wanted, lambda: worker_with(limit), in_order=limit is not None, run=run,
                              doing=doing)
        return reduce(lambda one, other: one.merge(other), parts)


def share_batches(source: Source, wanted: Sequence[Wanted], worker: Callable[[], Worker[Part]], *, in_order: bool,
                  run: Run, rows: int | None = None, doing: str = READING) -> list[Part]:
    """Hand all batches to workers, one per thread, or to a single one if the order of the rows matters.

    ``rows`` is the number of rows, if the caller knows it and the source does not.
    """
    workers = 1 if in_order else run.workers
    with (reporting(run, source.rows if rows is None else rows, doing) as counter, blas().limit(limits=1, user_api="blas"),
          closing(_queue(source, wanted, workers, run)) as queue):

        def work(_: int) -> Part:
            mine = worker()
            try:
                for batch in queue.batches():
                    mine.add(batch)
                    counter.add(batch.num_rows)
                return mine.result()
            except BaseException:
                queue.stop()  # here, because the caller waits for one thread after the other
                raise

        return _run(work, min(workers, queue.most_workers or workers), queue)


class RowWorker(ABC, Generic[Part]):
    """One thread's share of the work, with its own workspace and sum."""

    def __init__(self, plan: Plan, unit: str | None, limit: UnitLimit | None) -> None:
        self.plan = plan
        self.unit = unit
        self.limit = limit
        self.block = Block(plan)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""
        keep = None if self.limit is None else self.limit.keep(batch.column(self.unit))
        # Infinite and extreme cells are clipped in the end, so NumPy's warnings on the way do not matter.
        with np.errstate(all="ignore"):
            for piece in pieces(self.plan, batch, keep):
                self.add_rows(piece)

    @abstractmethod
    def add_rows(self, piece: Piece) -> None:
        """Add a piece of a few thousand rows, as `Block` takes it."""

    @abstractmethod
    def result(self) -> Part:
        """The sum over all rows added."""


class _Queue(ABC):
    """Hands batches to whichever thread is free, and stops all threads when one fails."""

    most_workers: int | None = None

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """One thread's share of the batches."""

    def stop(self) -> None:
        self._stopped.set()

    def close(self) -> None:
        self.stop()

    def _next(self, items: Iterator[Part]) -> Part | None:
        with self._lock:
            return None if self._stopped.is_set() else next(items, None)


class _Tasks(_Queue):
    """Each thread takes a task and reads it itself."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        super().__init__()
        self.most_workers = len(tasks)
        self._tasks = iter(tasks)

    def batches(self) -> Iterator[pa.RecordBatch]:
        while (task := self._next(self._tasks)) is not None:
            for batch in task():
                if self._stopped.is_set():
                    return
                yield batch


class _Stream(_Queue):
    """One thread reads, in the order of the rows, while the others compute."""

    def __init__(self, found: Generator[pa.RecordBatch, None, None]) -> None:
        super().__init__()
        self._found = found

    def batches(self) -> Iterator[pa.RecordBatch]:
        while (batch := self._next(self._found)) is not None:
            yield batch

    def close(self) -> None:
        super().close()
        with self._lock:  # after a second Ctrl-C a thread may still be using it
            self._found.close()


def _queue(source: Source, wanted: Sequence[Wanted], workers: int, run: Run) -> _Queue:
    """Tasks for the workers, or a stream if there is only one task or the order of the rows matters."""
    tasks = source_for(source, run).tasks(wanted)
    return _Tasks(tasks) if workers > 1 and len(tasks) > 1 else _Stream(in_order(tasks, source.rows, run))


def _run(work: Callable[[int], Part], workers: int, queue: _Queue) -> list[Part]:
    if workers == 1:
        return [work(0)]
    with ThreadPoolExecutor(workers, thread_name_prefix="noisewise") as pool:
        try:
            return [future.result() for future in [pool.submit(work, index) for index in range(workers)]]
        except BaseException:
            queue.stop()
            raise
