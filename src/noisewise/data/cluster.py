"""Exact sums over the rows of a cluster, added up on its machines. The engine itself is behind `ClusterSource.exchange`.

Each piece of the table becomes one partial sum, which is cut into chunks. For each place in the sum, one machine adds up the
chunks of all pieces. So no machine ever holds more than its own sum and some chunks, and the driver receives one sum, however
many pieces there are. All numbers are whole, so the result is the same as on a single machine, bit for bit.

Partial sums are confidential. They go only between machines of the cluster and to the driver.
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
"""The size of one record: small, because an engine holds thousands of records at a time."""
_NUMBER: Final = np.dtype("<i8")


def sum_over_cluster(source: ClusterSource, wanted: Sequence[Wanted], worker: Callable[[], Worker[Sum]],
                     run: Run) -> Sum:
    """The workers' sum over all rows."""
    nothing = worker().result()
    numbers = _numbers(nothing)
    for _, place, content in source.exchange(wanted, partial(_deal_sum, worker), _add_chunks, in_order=False, run=run):
        chunk = np.frombuffer(content, _NUMBER)
        numbers[place:place + len(chunk)] += chunk
    high, low = (half.reshape(nothing.high.shape) for half in np.split(numbers, 2))
    return nothing.of(nothing.basis_names, high, low)


def count_on_cluster(source: ClusterSource, wanted: Sequence[Wanted], run: Run) -> int:
    """The number of rows. Reads every wanted cell once."""
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
    """On a machine with rows: their sum, in chunks. The bucket of a chunk is its place."""
    own = worker()
    for batch in batches:
        own.add(batch)
    numbers = _numbers(own.result())
    for start, stop in slices(len(numbers), CHUNK_BYTES // _NUMBER.itemsize):
        yield start, start, numbers[start:stop].tobytes()


def _add_chunks(records: Iterator[Record]) -> Iterator[Record]:
    """On a machine that gathers: the sum at each place. Low parts are below 2**40, so 2**23 pieces can be added."""
    sums: dict[int, Integers] = {}
    for _, place, content in records:
        chunk = np.frombuffer(content, _NUMBER)
        sums[place] = sums[place] + chunk if place in sums else chunk
    for place, total in sums.items():
        yield place, place, total.tobytes()
