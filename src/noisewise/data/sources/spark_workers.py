"""Code that runs on the workers of a Spark cluster: functions from Arrow batches to Arrow batches.

Spark sends them by name. The noisewise installed on a worker must have the driver's version, because another might sum up
differently.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from noisewise.data.sources.base import BATCH_ROWS, Deal, Gather, Record, slices
from noisewise.data.threads import blas
from noisewise.version import __version__

RECORD: Final = "bucket long, key long, content binary"
RECORDS_AT_ONCE: Final = 64
PACKED_ROWS: Final = BATCH_ROWS // 4


class OtherVersionError(RuntimeError):
    """The worker has another version of noisewise. The text of this error is that version."""


@dataclass(frozen=True)
class PieceReader:
    """Reads a piece of the table: renames its columns and merges small batches."""

    names: tuple[str, ...]
    version: str = __version__

    def require_version(self) -> None:
        """Refuse to run if this worker has another version than the driver."""
        if self.version != __version__:
            raise OtherVersionError(__version__)

    def batches(self, given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows, in batches of about `BATCH_ROWS`."""
        self.require_version()
        waiting: list[pa.RecordBatch] = []
        for batch in given:
            waiting.append(batch.rename_columns(list(self.names)))
            if sum(own.num_rows for own in waiting) >= BATCH_ROWS:
                yield pa.concat_batches(waiting)
                waiting = []
        if waiting:
            yield pa.concat_batches(waiting)


def deal_piece(reader: PieceReader, deal: Deal, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The records dealt out from one piece of the table."""
    from pyspark import TaskContext

    task: Any = TaskContext.get()
    with blas().limit(limits=1, user_api="blas"):
        yield from _as_batches(deal(task.partitionId(), reader.batches(batches)))


def gather_buckets(reader: PieceReader, gather: Gather, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The results of gathering the records of some buckets."""
    reader.require_version()
    with blas().limit(limits=1, user_api="blas"):
        yield from _as_batches(gather(_records(batches)))


def pack_piece(reader: PieceReader, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a piece, unchanged, many to a cell: Arrow's own bytes go through Spark much faster than rows."""
    for batch in reader.batches(batches):
        for start, stop in slices(batch.num_rows, PACKED_ROWS):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch.slice(start, stop - start))
            yield pa.RecordBatch.from_pydict({"rows": pa.array([sink.getvalue().to_pybytes()], pa.binary())})


def unpacked(content: bytes) -> Iterator[pa.RecordBatch]:
    """The rows in a cell that `pack_piece` made."""
    with pa.ipc.open_stream(content) as reader:
        yield from reader


def _records(batches: Iterator[pa.RecordBatch]) -> Iterator[Record]:
    for batch in batches:
        buckets, keys, contents = batch.columns
        for bucket, key, content in zip(buckets, keys, contents, strict=True):
            yield bucket.as_py(), key.as_py(), content.as_py()


def _as_batches(records: Iterator[Record]) -> Iterator[pa.RecordBatch]:
    while some := list(islice(records, RECORDS_AT_ONCE)):
        buckets, keys, contents = zip(*some, strict=True)
        arrays = [pa.array(buckets, pa.int64()), pa.array(keys, pa.int64()), pa.array(contents, pa.binary())]
        yield pa.RecordBatch.from_arrays(arrays, names=["bucket", "key", "content"])
