"""One pass over all rows: by threads here, or where the rows are.

A worker sums up what it is given; what workers have summed up is added. Sums are exact, so that it does not matter who summed up
which rows.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial, reduce
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from noisewise.data.block import Block
from noisewise.data.columns import Codes, numbers, require_columns, wanted_columns
from noisewise.data.exact import BLOCK_ROWS, ExactSum
from noisewise.data.plan import Plan
from noisewise.data.progress import reporting
from noisewise.data.sources import open_source
from noisewise.data.sources.base import ClusterSource, Task, slices
from noisewise.data.units import UnitLimit, limit_units
from noisewise.errors import DataError
from noisewise.progress import Tick
from noisewise.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from threadpoolctl import ThreadpoolController

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
    tasks = opened.tasks(wanted)
    workers = count_workers(threads, len(tasks), in_order=limit is not None)
    with reporting(progress, opened.rows) as counter, blas().limit(limits=1, user_api="blas"):
        queue = _Queue(tasks)

        def work(_: int) -> Part:
            worker = worker_with(limit)
            for batch in queue.batches():
                worker.add(batch)
                counter.add(batch.num_rows)
            return worker.result()

        return _run(work, workers, queue)


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


class _Queue:
    """Hands tasks to whichever thread is free; stops all of them when one fails."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = iter(tasks)
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def batches(self) -> Iterator[pa.RecordBatch]:
        while (task := self._next()) is not None:
            for batch in task():
                if self._stopped.is_set():
                    return
                yield batch

    def stop(self) -> None:
        self._stopped.set()

    def _next(self) -> Task | None:
        with self._lock:
            return None if self._stopped.is_set() else next(self._tasks, None)


def _run(work: Callable[[int], Part], workers: int, queue: _Queue) -> list[Part]:
    if workers == 1:
        return [work(0)]
    with ThreadPoolExecutor(workers, thread_name_prefix="noisewise") as pool:
        futures = [pool.submit(work, index) for index in range(workers)]
        try:
            return [future.result() for future in futures]
        except BaseException:
            queue.stop()
            raise


def count_workers(threads: int | None, tasks: int, *, in_order: bool) -> int:
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise DataError("threads must be a whole number of at least 1", found=repr(threads),
                        remedy="leave it out to use all processors")
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 if in_order else max(1, min(threads or available, tasks))


@cache
def blas() -> ThreadpoolController:
    """NumPy's BLAS: many threads on small products are many times slower than one, so it is held to one during the pass."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
