"""Which part of a table each row belongs to, independently of its values (P1 of privacy/sensitivity/partition.md).

If the number of rows is public, parts have equal sizes: a uniformly random permutation is dealt out. If it is not, or if a person
can have several rows, each person gets a part independently of all others. So does each row of a large table, where equal sizes
gain nothing.

On a cluster, a machine that fails is replaced by another, which reads its rows again. If parts were then drawn again, some rows
could end up in two parts. So a key is drawn once, on the machine that draws the noise, and parts follow from it by a
cryptographic function. To anyone without the key they look like independent random draws. The key is discarded after the release.
The label of a row is its piece of the table and its position there, the label of a unit its identifier. No two rows (units) have
the same label, and the function sees only labels. So, whatever the table, each row (unit) gets its part independently of all
others, and P1 holds. A number modulo the number of parts is not exactly uniform, but it has the same distribution for everyone,
which is all that the coupling of P1 uses.
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
"""With more rows per part than this, each row gets a part independently. Sizes then differ by a few per cent, which costs
nothing, and no permutation of all rows is needed."""
KEY_BYTES: Final = 32
_NUMBER: Final = np.dtype("<u8")


def balanced_parts(rows: int, parts: int, random_bytes: RandomBytes = system_bytes) -> Parts:
    """The part of each row. Sizes differ by at most one, and every such split is equally likely.

    >>> np.bincount(balanced_parts(7, 3)).tolist()
    [3, 2, 2]
    """
    found: Parts = np.empty(rows, dtype=np.int64)
    found[random_order(rows, random_bytes)] = np.arange(rows) % parts
    return found


def independent_parts(rows: int, parts: int, random_bytes: RandomBytes = system_bytes) -> Parts:
    """A part for each row, uniformly distributed and independent of all others.

    It is a random 32-bit number modulo the number of parts. Numbers from the last, incomplete cycle are drawn again.
    """
    found = np.frombuffer(random_bytes(4 * rows), dtype=np.uint32).copy()
    last = np.uint32(2**32 - 2**32 % parts - 1)
    while (again := found > last).any():
        found[again] = np.frombuffer(random_bytes(4 * int(again.sum())), dtype=np.uint32)
    return (found % np.uint32(parts)).astype(np.int64)


class Split(ABC):
    """Assigns rows to parts, batch by batch."""

    @abstractmethod
    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        """The part of each of the next rows."""

    def finish(self) -> None:
        """Call this after the last row. Most splits accept any number of rows."""
        return None


class GivenSplit(Split):
    """Parts decided in advance, as in audits of synthetic tables."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._done = 0

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        """The given parts of the next rows."""
        first, self._done = self._done, self._done + rows
        if self._done > len(self._parts):
            raise other_number_of_rows()
        return self._parts[first:self._done]

    def finish(self) -> None:
        """Refuse a table with too few rows."""
        if self._done != len(self._parts):
            raise other_number_of_rows()


class BalancedSplit(GivenSplit):
    """Parts of equal size, for a table whose number of rows is known."""

    def __init__(self, rows: int, parts: int) -> None:
        super().__init__(balanced_parts(rows, parts))


class RowSplit(Split):
    """Each row separately."""

    def __init__(self, parts: int) -> None:
        self._count = parts

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        """An independent random part for each row."""
        return independent_parts(rows, self._count)


class UnitSplit(Split):
    """All rows of a unit in one part. Rows without an identifier form one unit."""

    def __init__(self, parts: int) -> None:
        self._count = parts
        self._known: dict[Hashable, int] = {}

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        """The part of each row's unit, drawn when the unit first appears."""
        codes, names = encode_units(units)
        new = [name for name in names if name not in self._known]
        self._known.update(zip(new, independent_parts(len(new), self._count).tolist(), strict=True))
        return np.array([self._known[name] for name in names], dtype=np.int64)[codes]


class KeyedRowSplit(Split):
    """Each row separately, by its piece of the table, its batch and its place in the batch."""

    def __init__(self, key: bytes, piece: int, parts: int) -> None:
        self._secret = key + piece.to_bytes(8, "little")
        self._count = parts
        self._batch = 0

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        """The part of each row, from the key and the row's place."""
        label = self._secret + self._batch.to_bytes(8, "little")
        self._batch += 1
        return _modulo(hashlib.shake_256(label).digest(_NUMBER.itemsize * rows), self._count)


class KeyedUnitSplit(Split):
    """All rows of a unit in one part, wherever they are. Rows without an identifier form one unit."""

    def __init__(self, key: bytes, parts: int) -> None:
        self._key, self._count = key, parts

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        """The part of each row's unit, from the key and the identifier."""
        codes, names = encode_units(units)
        # Identifiers of one column have one type, so different ones have different reprs.
        drawn = b"".join(hashlib.blake2b(repr(name).encode(), key=self._key, digest_size=_NUMBER.itemsize).digest()
                         for name in names)
        return _modulo(drawn, self._count)[codes]


def _modulo(drawn: bytes, parts: int) -> Parts:
    return (np.frombuffer(drawn, _NUMBER) % np.uint64(parts)).astype(np.int64)
