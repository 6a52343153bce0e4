"""Exact sums over the rows of a cluster, added up on its machines: the engine itself is behind `ClusterSource.exchange`.

Each piece of the table becomes one partial sum, which is cut into chunks. The chunks of one place, of all pieces, come to one
machine and are added there. So no machine ever holds more than its own sum and some chunks, and the driver receives one sum,
however many pieces there are. All are whole numbers: the result is the one that a single machine would find, bit by bit.

Partial sums are confidential. They pass between machines of the cluster and to the driver, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from noisewise.data.exact import ExactSum, Integers
from noisewise.data.sources.base import ClusterSource, Record, Sum, Wanted, Worker, slices
from noisewise.run import Run

CHUNK_BYTES: Final = 1 << 14
"""Of one record: small, because an engine holds thousands of records at a time."""
_NUMBER: Final = np.dtype("<i8")


def sum_over_cluster(source: ClusterSource, wanted: Sequence[Wanted], worker: Callable[[], Worker[Sum]],
                     run: Run) -> Sum:
    """What workers sum up of all rows."""
    nothing = worker().result()
    numbers = _numbers(nothing)
    for _, place, content in source.exchange(wanted, partial(_deal_sum, worker), _add_chunks, in_order=False, run=run):
        chunk = np.frombuffer(content, _NUMBER)
        numbers[place:place + len(chunk)] += chunk
    high, low = (half.reshape(nothing.high.shape) for half in np.split(numbers, 2))
    return nothing.of(nothing.basis_names, high, low)


def count_on_cluster(source: ClusterSource, wanted: Sequence[Wanted], run: Run) -> int:
    """The number of rows, after every wanted cell was read once."""
    return int(sum_over_cluster(source, wanted, _RowCount, run).high[0])


class _RowCount:
    def __init__(self) -> None:
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self._rows += batch.num_rows

    def result(self) -> ExactSum:
        return ExactSum.of(["rows"], np.array([self._rows]), np.zeros(1, dtype=np.int64))


def _numbers(found: ExactSum) -> Integers:
    return np.concatenate([found.high.ravel(), found.low.ravel()]).astype(_NUMBER)


def _deal_sum(worker: Callable[[], Worker[ExactSum]], piece: int, batches: Iterator[pa.RecordBatch]) -> Iterator[Record]:
    """On a machine with rows: their sum, in chunks; a chunk's bucket is its place."""
    own = worker()
    for batch in batches:
        own.add(batch)
    numbers = _numbers(own.result())
    for start, stop in slices(len(numbers), CHUNK_BYTES // _NUMBER.itemsize):
        yield start, start, numbers[start:stop].tobytes()


def _add_chunks(records: Iterator[Record]) -> Iterator[Record]:
    """On a machine that gathers: each place's sum. Low parts are below 2**40, so that 2**23 pieces can be added."""
    sums: dict[int, Integers] = {}
    for _, place, content in records:
        chunk = np.frombuffer(content, _NUMBER)
        sums[place] = sums[place] + chunk if place in sums else chunk
    for place, total in sums.items():
        yield place, place, total.tobytes()
