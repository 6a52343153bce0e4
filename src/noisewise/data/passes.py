"""One pass over all rows: by threads here, or where the rows are.

A worker sums up what it is given; what workers have summed up is added. Sums are exact, so that it does not matter who summed up
which rows.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from noisewise.data.block import Block
from noisewise.data.columns import Codes, numbers, require_columns, wanted_columns
from noisewise.data.exact import BLOCK_ROWS, ExactSum
from noisewise.data.plan import Plan
from noisewise.data.progress import reporting
from noisewise.data.reading import in_order, source_for
from noisewise.data.sources import open_source
from noisewise.data.sources.base import ClusterSource, Source, Task, Wanted, Worker, slices
from noisewise.data.threads import blas, processors
from noisewise.data.units import UnitLimit, limit_units
from noisewise.errors import DataError
from noisewise.progress import Tick
from noisewise.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

Part = TypeVar("Part")
Sum = TypeVar("Sum", bound=ExactSum)


def sum_over_rows(
    source: Any,
    schema: Schema,
    plan: Plan,
    worker_with: Callable[[UnitLimit | None], RowWorker[Sum]],
    *,
    threads: int | None,
    progress: Tick | bool | None,
) -> Sum:
    """What workers sum up of all rows, added up; of a cluster's rows on its machines, and only sums come back."""
    opened = open_source(source)
    if not isinstance(opened, ClusterSource):
        parts = pass_over_rows(opened, schema, plan, worker_with, threads=threads, progress=progress)
        return reduce(lambda one, other: one.merge(other), parts)
    wanted = wanted_columns([schema.column(name) for name in plan.columns], schema.unit.column)
    require_columns(opened, wanted)
    limited, _ = limit_units(opened, schema.unit, wanted)
    assert isinstance(limited, ClusterSource)
    return limited.sum_up(wanted, partial(worker_with, None), progress)


def pass_over_rows(
    source: Any,
    schema: Schema,
    plan: Plan,
    worker_with: Callable[[UnitLimit | None], RowWorker[Part]],
    *,
    threads: int | None,
    progress: Tick | bool | None,
) -> list[Part]:
    """Hand all rows to workers here, one per thread, and return what each has made of them; arguments as for `gram_sum`."""
    opened = open_source(source)
    wanted = wanted_columns([schema.column(name) for name in plan.columns], schema.unit.column)
    require_columns(opened, wanted)
    opened, limit = limit_units(opened, schema.unit, wanted)
    return share_batches(opened, wanted, lambda: worker_with(limit), in_order=limit is not None, threads=threads,
                         progress=progress)


def share_batches(source: Source, wanted: Sequence[Wanted], worker: Callable[[], Worker[Part]], *, in_order: bool,
                  threads: int | None, progress: Tick | bool | None) -> list[Part]:
    """Hand all batches to workers, one per thread; to a single one where the order of the rows matters."""
    workers = count_workers(threads, in_order=in_order)
    with (reporting(progress, source.rows) as counter, blas().limit(limits=1, user_api="blas"),
          closing(_queue(source, wanted, workers, threads)) as queue):

        def work(_: int) -> Part:
            mine = worker()
            try:
                for batch in queue.batches():
                    mine.add(batch)
                    counter.add(batch.num_rows)
                return mine.result()
            except BaseException:
                queue.stop()  # here, because whoever waits for the threads waits for one after the other
                raise

        return _run(work, min(workers, queue.most_workers or workers), queue)


class RowWorker(ABC, Generic[Part]):
    """One thread's share: its own workspace and its own sum."""

    def __init__(self, plan: Plan, unit: str | None, limit: UnitLimit | None) -> None:
        self.plan = plan
        self.unit = unit
        self.limit = limit
        self.block = Block(plan)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""
        keep = None if self.limit is None else self.limit.keep(batch.column(self.unit))
        values = [numbers(batch.column(number.name)) for number in self.plan.numbers]
        codes = {reader.column.name: reader.codes(batch.column(reader.column.name)) for reader in self.plan.categories}
        # Infinite and far-away cells are clipped, so what NumPy thinks of the arithmetic on the way is of no interest.
        with np.errstate(all="ignore"):
            for start, stop in slices(batch.num_rows, BLOCK_ROWS):
                part = slice(start, stop)
                self.add_rows(
                    [column[part] for column in values],
                    {name: column[part] for name, column in codes.items()},
                    None if keep is None else keep[part],
                )

    @abstractmethod
    def add_rows(self, numbers: list[npt.NDArray[Any]], codes: Mapping[str, Codes], keep: npt.NDArray[np.bool_] | None) -> None:
        """Add at most `BLOCK_ROWS` rows, as `Block` takes them."""

    @abstractmethod
    def result(self) -> Part:
        """The sum over all rows that were added."""


class _Queue(ABC):
    """Hands batches to whichever thread is free; stops all of them when one fails."""

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


class _Tasks(_Queue):
    """Each thread takes a task and reads it by itself."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        super().__init__()
        self.most_workers = len(tasks)
        self._tasks = iter(tasks)

    def batches(self) -> Iterator[pa.RecordBatch]:
        while (task := self._next()) is not None:
            for batch in task():
                if self._stopped.is_set():
                    return
                yield batch

    def _next(self) -> Task | None:
        with self._lock:
            return None if self._stopped.is_set() else next(self._tasks, None)


class _Stream(_Queue):
    """One thread reads, in the order of the rows, and the others compute."""

    def __init__(self, found: Generator[pa.RecordBatch, None, None]) -> None:
        super().__init__()
        self._found = found

    def batches(self) -> Iterator[pa.RecordBatch]:
        while (batch := self._next()) is not None:
            yield batch

    def close(self) -> None:
        super().close()
        with self._lock:  # after a second Ctrl-C a thread may still be at it
            self._found.close()

    def _next(self) -> pa.RecordBatch | None:
        with self._lock:
            return None if self._stopped.is_set() else next(self._found, None)


def _queue(source: Source, wanted: Sequence[Wanted], workers: int, threads: int | None) -> _Queue:
    """Tasks for the workers; or a stream, where there is only one task or the order of the rows matters."""
    tasks = source_for(source, threads).tasks(wanted)
    return _Tasks(tasks) if workers > 1 and len(tasks) > 1 else _Stream(in_order(tasks, source.rows, threads))


def _run(work: Callable[[int], Part], workers: int, queue: _Queue) -> list[Part]:
    if workers == 1:
        return [work(0)]
    with ThreadPoolExecutor(workers, thread_name_prefix="noisewise") as pool:
        try:
            futures = [pool.submit(work, index) for index in range(workers)]
            return [future.result() for future in futures]
        except BaseException:
            queue.stop()
            raise


def count_workers(threads: int | None, *, in_order: bool) -> int:
    """As many as are allowed, or as there are processors; one where the order of the rows matters."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise DataError("threads must be a whole number of at least 1", found=repr(threads),
                        remedy="leave it out to use all processors")
    return 1 if in_order else threads or processors()
