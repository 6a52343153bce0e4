"""The Gram statistic of a table: the sum of a aᵀ over its rows, a = (1, u), in one pass and constant memory.

Every scaled value is rounded to a multiple of 2**-20 before it is summed, and sums are exact: see `noisewise.data.exact`. The
result is therefore the same whatever the source, the batches and the number of threads, and one row changes it by exactly
what that row's own rounded values say.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from noisewise.data.block import Block
from noisewise.data.columns import Codes, numbers, require_columns, wanted_columns
from noisewise.data.exact import BLOCK_ROWS, Accumulator, GramSum
from noisewise.data.plan import Plan
from noisewise.data.progress import reporting
from noisewise.data.sources import open_source
from noisewise.data.sources.base import Task, slices
from noisewise.data.units import UnitLimit
from noisewise.errors import DataError
from noisewise.progress import Tick
from noisewise.schema.basis import Basis
from noisewise.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")


def gram_sum(
    source: Any, schema: Schema, basis: Basis, *, threads: int | None = None, progress: Tick | bool | None = None
) -> GramSum:
    """Sum a aᵀ over the rows of a source (or of anything that `open_source` takes).

    ``threads``: at most so many (default: one per processor); with a unit column always one, in the order of the rows.
    ``progress``: a callback ``(rows_done, rows_total)``; True shows a bar, None only on a terminal, False does not.

    >>> import numpy as np
    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [0, 100]}}})
    >>> gram_sum({"age": np.array([100.0, 50.0, 25.0])}, schema, Basis.of(schema)).to_grid() / 2**16
    array([[3.  , 0.5 ],
           [0.5 , 1.25]])
    """
    plan = Plan.of(basis)
    parts = pass_over_rows(source, schema, plan, lambda limit: _GramWorker(plan, schema.unit.column, limit, basis.names),
                           threads=threads, progress=progress)
    return reduce(GramSum.merge, parts)


def pass_over_rows(
    source: Any,
    schema: Schema,
    plan: Plan,
    worker_with: Callable[[UnitLimit | None], RowWorker[Part]],
    *,
    threads: int | None,
    progress: Tick | bool | None,
) -> list[Part]:
    """Hand all rows to workers, one per thread, and return what each has summed up; the arguments are those of `gram_sum`."""
    opened = open_source(source)
    wanted = wanted_columns([schema.column(name) for name in plan.columns], schema.unit.column)
    require_columns(opened, wanted)
    tasks = opened.tasks(wanted)
    workers = count_workers(threads, len(tasks), in_order=schema.unit.column is not None)
    limit = None if schema.unit.column is None else UnitLimit(schema.unit.max_rows)
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


class _GramWorker(RowWorker[GramSum]):
    def __init__(self, plan: Plan, unit: str | None, limit: UnitLimit | None, names: tuple[str, ...]) -> None:
        super().__init__(plan, unit, limit)
        self.names = names
        self.accumulator = Accumulator(plan.size)

    def add_rows(self, numbers: list[npt.NDArray[Any]], codes: Mapping[str, Codes], keep: npt.NDArray[np.bool_] | None) -> None:
        self.accumulator.add(*self.block.gram(numbers, codes, keep))

    def result(self) -> GramSum:
        return self.accumulator.sum(self.names, self.plan.order)


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
