"""The moments of parts whose rows arrive in an order that other people's rows may affect.

A database or a cluster returns rows in any order. Which of a part's rows comes first may depend on how many rows others have, and
a floating-point sum depends on the order of its terms. So rows wait until the whole part is there, and are then sorted by their
contents. Rows that are equal to the last bit may change places, but the sums stay the same. So P2 of
privacy/sensitivity/partition.md holds: a part's numbers are a function of its rows alone.

On a cluster, each piece of the table deals out its rows by a secret key (`noisewise.data.splitting.parts`), a machine gathers the
rows of some parts, and only sums come back. Two things could still break the promise, and are checked before the sums are used:

- A machine is lost, its piece is read again, and the rows are different or come in a different order. Then some parts would have
  rows of the first reading and some of the second, so a row could be in two parts. Each reading leaves, in every bucket, a
  digest of everything it dealt, and all buckets must have seen the same digests. This does not detect rows that move to another
  piece when they are read again: a table is assumed to be a function of its files, up to the order of rows within a piece.
- Machines round differently, because other processors have other linear algebra kernels. Then the last bits of a sum would depend
  on the machine, and which machine has which part may depend on the sizes of parts. Each machine sums up the same made-up rows,
  and all must find the same bits.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from noisewise.arrays import Array
from noisewise.data.cluster import CHUNK_BYTES
from noisewise.data.sources.base import BATCH_ROWS, ClusterSource, Record, Wanted, slices
from noisewise.data.splitting.parts import KEY_BYTES, KeyedRowSplit, KeyedUnitSplit
from noisewise.data.statistics.partition_sums import LARGEST_BUFFER, PartSums, Recipe
from noisewise.errors import DataError
from noisewise.run import Run

MOST_BUCKETS: Final = 200
DIGESTS, ROUNDING = -2, -1
"""Keys of records that are not parts. They come first."""
_CELL: Final = np.dtype("<f8")
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)


class WaitingParts:
    """Replaces `PartSums` for rows in any order: keeps the rows of each part, and sums them up when all are there.

    Memory: all rows, 8 bytes for each number of the regression.
    """

    def __init__(self, parts: int, recipe: Recipe) -> None:
        self._recipe = recipe
        self._waiting: list[list[bytes]] = [[] for _ in range(parts)]

    def add(self, values: Array, belongs: npt.NDArray[np.int64]) -> None:
        """Add rows to the parts they belong to; -1 is none."""
        for part, content in _by_part(values, belongs):
            self._waiting[part].append(content)

    def finished(self) -> tuple[Array, Array, Array]:
        """The counts, products and shifts of all parts, after the last row."""
        return _together(len(self._waiting), self._recipe,
                         ((part, _sums(self._recipe, own)) for part, own in enumerate(self._waiting) if own))


def sums_of_parts(source: ClusterSource, wanted: Sequence[Wanted], recipe: Recipe, parts: int, unit: str | None,
                  run: Run) -> tuple[Array, Array, Array]:
    """The counts, products and shifts of all parts, as from `PartSums`, for rows that stay on the cluster."""
    buckets = min(parts, MOST_BUCKETS)
    found = source.exchange(wanted, partial(_deal_rows, recipe, os.urandom(KEY_BYTES), parts, buckets, unit),
                            partial(_gather_parts, recipe), in_order=True, run=run)
    _require_one({content for _, key, content in found if key == DIGESTS},
                 "rows must be the same each time they are read; a machine was lost and they were not",
                 "start again; if that does not help, write the table to files first (df.write) and release those")
    _require_one({content for _, key, content in found if key == ROUNDING},
                 "the machines of a cluster must round alike; these have different processors",
                 "use machines of the same type, or release the table from files on one machine")
    return _together(parts, recipe, ((part, content) for _, part, content in found if part >= 0))


def _require_one(found: set[bytes], rule: str, remedy: str) -> None:
    if len(found) > 1:
        raise DataError(rule, found="a difference; nothing was released", remedy=remedy)


def _deal_rows(recipe: Recipe, key: bytes, parts: int, buckets: int, unit: str | None, piece: int,
               batches: Iterator[pa.RecordBatch]) -> Iterator[Record]:
    """On a machine with rows: deal the numbers of each row, as bytes, to its part."""
    split = KeyedRowSplit(key, piece, parts) if unit is None else KeyedUnitSplit(key, parts)
    dealt = hashlib.blake2b()
    with np.errstate(all="ignore"):
        for batch in batches:
            belongs = split.parts_of(batch.num_rows, None if unit is None else batch.column(unit))
            values, keep = recipe.values(batch)
            for part, content in _by_part(values, np.where(keep, belongs, -1)):
                dealt.update(part.to_bytes(8, "little") + content)
                for start, stop in slices(len(content), _record_bytes(recipe)):
                    yield part % buckets, part, content[start:stop]
    for bucket in range(buckets):
        yield bucket, DIGESTS, piece.to_bytes(8, "little") + dealt.digest()


def _gather_parts(recipe: Recipe, records: Iterator[Record]) -> Iterator[Record]:
    """On a machine that gathers: the sums of each part, and the digests that must be the same everywhere."""
    for bucket, own in groupby(records, key=itemgetter(0)):
        yield bucket, ROUNDING, _rounding(recipe)
        for part, rows in groupby(own, key=itemgetter(1)):
            contents = [content for _, _, content in rows]
            seen = part == DIGESTS
            yield bucket, part, hashlib.blake2b(b"".join(sorted(contents))).digest() if seen else _sums(recipe, contents)


def _record_bytes(recipe: Recipe) -> int:
    row = _CELL.itemsize * len(recipe.products)
    return max(1, CHUNK_BYTES // row) * row


def _by_part(values: Array, belongs: npt.NDArray[np.int64]) -> Iterator[tuple[int, bytes]]:
    """The rows of each part, as bytes."""
    order = np.argsort(belongs, kind="stable")
    ordered = np.ascontiguousarray(values[order], dtype=_CELL)
    parts, starts = np.unique(belongs[order], return_index=True)
    for part, rows in zip(parts.tolist(), np.split(ordered, starts[1:]), strict=True):
        if part >= 0:
            yield part, rows.tobytes()


def _sums(recipe: Recipe, contents: Sequence[bytes]) -> bytes:
    rows = np.frombuffer(b"".join(contents), _CELL).reshape(-1, len(recipe.products))
    return _sums_in_order(recipe, rows[own_order(rows)])


def _sums_in_order(recipe: Recipe, rows: Array) -> bytes:
    sums = PartSums(1, recipe)
    with np.errstate(all="ignore"):
        for start, stop in slices(len(rows), BATCH_ROWS):
            sums.add(rows[start:stop], np.zeros(stop - start, dtype=np.int64))
        return b"".join(own.astype(_CELL).tobytes() for own in sums.finished())


def own_order(rows: Array) -> npt.NDArray[np.intp]:
    """An order of rows by the bits of their numbers: by a hash of all, and by one after the other where hashes are equal."""
    bits = rows.view(np.uint64)
    mixed = np.zeros(len(rows), dtype=np.uint64)
    for column in bits.T:
        mixed = (mixed ^ column) * _MIX
        mixed ^= mixed >> np.uint64(32)
    order = np.argsort(mixed, kind="stable")
    later, earlier = order[1:], order[:-1]
    tied = mixed[later] == mixed[earlier]
    if (bits[later[tied]] != bits[earlier[tied]]).any():  # by a rare accident, or on purpose
        order = np.lexsort((*bits.T, mixed))
    return order


def _rounding(recipe: Recipe) -> bytes:
    """A digest of this machine's sums over rows that are the same everywhere."""
    width = len(recipe.products)
    count = 2 * LARGEST_BUFFER + 37  # two full buffers and a partial one
    rows = np.modf(np.arange(1.0, 1.0 + count * width).reshape(count, width) * 0.6180339887498949)[0]
    return hashlib.blake2b(_sums_in_order(recipe, rows)).digest()


def _together(parts: int, recipe: Recipe, found: Iterator[tuple[int, bytes]]) -> tuple[Array, Array, Array]:
    size = recipe.weights.shape[1]
    counts, products, shift = np.zeros(parts), np.zeros((parts, size, size)), np.zeros((parts, size))
    for part, content in found:
        numbers = np.frombuffer(content, _CELL)
        counts[part] = numbers[0]
        products[part] = numbers[1:1 + size * size].reshape(size, size)
        shift[part] = numbers[1 + size * size:]
    return counts, products, shift
