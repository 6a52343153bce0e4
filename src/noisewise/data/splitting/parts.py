"""Which part of a table each row belongs to, without a look at its values (P1 of privacy/sensitivity/partition.md).

Where the number of rows is public, parts are of equal size: a uniformly random permutation is dealt out. Where it is not, or
where a person has several rows, each person is put into a part independently of all others; so is each row of a large table,
where equal sizes gain nothing.

On a cluster a machine that fails is replaced by another, which reads its rows again. Were parts drawn anew then, some of its rows
could end up in two parts. So a key is drawn once, where noise is drawn, and parts follow from it by a cryptographic function: for
whoever does not know the key they are as good as independent random draws. The key is forgotten with the release. Rows are told
apart by the piece of the table that they are in and their position there, units by their identifier. No two rows (units) have
the same label, and labels are all that the function sees; so, whatever the table, each row (unit) has a part of its own,
independently of all others, and P1 holds. A number modulo the number of parts is not exactly uniform, but it has the same law for
everyone, which is all that the coupling of P1 uses.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from noisewise.data.sources.base import other_number_of_rows
from noisewise.data.splitting.order import RandomBytes, random_order, system_bytes
from noisewise.data.splitting.units import encode_units

Parts = npt.NDArray[np.int64]

LARGEST_BALANCED: Final = 1000
"""With more rows per part than this each is put into a part independently: sizes then differ by some per cent, which costs
nothing, and no permutation of all rows is needed."""
KEY_BYTES: Final = 32
_NUMBER: Final = np.dtype("<u8")


def balanced_parts(rows: int, parts: int, random_bytes: RandomBytes = system_bytes) -> Parts:
    """The part of each row: sizes differ by one at most, and every such split is equally likely.

    >>> np.bincount(balanced_parts(7, 3)).tolist()
    [3, 2, 2]
    """
    found: Parts = np.empty(rows, dtype=np.int64)
    found[random_order(rows, random_bytes)] = np.arange(rows) % parts
    return found


def independent_parts(rows: int, parts: int, random_bytes: RandomBytes = system_bytes) -> Parts:
    """A part for each row, all equally likely, independently of all others.

    A random number of 32 bits is taken modulo the number of parts; numbers from the last, incomplete cycle are drawn again.
    """
    found = np.frombuffer(random_bytes(4 * rows), dtype=np.uint32).copy()
    last = np.uint32(2**32 - 2**32 % parts - 1)
    while (again := found > last).any():
        found[again] = np.frombuffer(random_bytes(4 * int(again.sum())), dtype=np.uint32)
    return (found % np.uint32(parts)).astype(np.int64)


class Split(ABC):
    """Says, batch by batch, in which part each row is."""

    @abstractmethod
    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        """The part of each of the next rows."""

    def finish(self) -> None:
        """To be called after the last row; most take any number of rows."""
        return None


class GivenSplit(Split):
    """Parts that were decided before: those of made-up tables that are audited."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._done = 0

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        first, self._done = self._done, self._done + rows
        if self._done > len(self._parts):
            raise other_number_of_rows()
        return self._parts[first:self._done]

    def finish(self) -> None:
        if self._done != len(self._parts):
            raise other_number_of_rows()


class BalancedSplit(GivenSplit):
    """Equal parts of a table whose number of rows is known."""

    def __init__(self, rows: int, parts: int) -> None:
        super().__init__(balanced_parts(rows, parts))


class RowSplit(Split):
    """Each row on its own."""

    def __init__(self, parts: int) -> None:
        self._count = parts

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        return independent_parts(rows, self._count)


class UnitSplit(Split):
    """All rows of one unit in one part; rows without an identifier are one unit together."""

    def __init__(self, parts: int) -> None:
        self._count = parts
        self._known: dict[Hashable, int] = {}

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        codes, names = encode_units(units)
        new = [name for name in names if name not in self._known]
        self._known.update(zip(new, independent_parts(len(new), self._count).tolist(), strict=True))
        return np.array([self._known[name] for name in names], dtype=np.int64)[codes]


class KeyedRowSplit(Split):
    """Each row on its own, by its piece of the table, its batch and its place in the batch."""

    def __init__(self, key: bytes, piece: int, parts: int) -> None:
        self._secret = key + piece.to_bytes(8, "little")
        self._count = parts
        self._batch = 0

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        label = self._secret + self._batch.to_bytes(8, "little")
        self._batch += 1
        return _modulo(hashlib.shake_256(label).digest(_NUMBER.itemsize * rows), self._count)


class KeyedUnitSplit(Split):
    """All rows of one unit in one part, wherever they are; rows without an identifier are one unit together."""

    def __init__(self, key: bytes, parts: int) -> None:
        self._key, self._count = key, parts

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        codes, names = encode_units(units)
        # Identifiers of one column have one type, in which different ones are written differently.
        drawn = b"".join(hashlib.blake2b(repr(name).encode(), key=self._key, digest_size=_NUMBER.itemsize).digest()
                         for name in names)
        return _modulo(drawn, self._count)[codes]


def _modulo(drawn: bytes, parts: int) -> Parts:
    return (np.frombuffer(drawn, _NUMBER) % np.uint64(parts)).astype(np.int64)
