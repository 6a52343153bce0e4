"""Which part of a table each row belongs to, without a look at its values (P1 of privacy/sensitivity/partition.md).

Where the number of rows is public, parts are of equal size: a uniformly random permutation is dealt out. Where it is not, or
where a person has several rows, each person is put into a part independently of all others; so is each row of a large table,
where equal sizes gain nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from noisewise.data.random_order import RandomBytes, random_order, system_bytes
from noisewise.data.units import encode_units
from noisewise.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

Parts = npt.NDArray[np.int64]

LARGEST_BALANCED: Final = 1000
"""With more rows per part than this each is put into a part independently: sizes then differ by some per cent, which costs
nothing, and no permutation of all rows is needed."""


class Split(Protocol):
    """Says, batch by batch, in which part each row is."""

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        """The part of each of the next rows."""
        ...

    def finish(self) -> None:
        """To be called after the last row."""
        ...


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


class BalancedSplit:
    """Equal parts of a table whose number of rows is known."""

    def __init__(self, rows: int, parts: int) -> None:
        self._parts = balanced_parts(rows, parts)
        self._done = 0

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        first, self._done = self._done, self._done + rows
        if self._done > len(self._parts):
            raise _changed()
        return self._parts[first:self._done]

    def finish(self) -> None:
        if self._done != len(self._parts):
            raise _changed()


def _changed() -> DataError:
    return DataError("the table must have the same number of rows each time it is read", found="another number",
                     remedy="release a table that nobody is writing to; nothing was released")


class RowSplit:
    """Each row on its own."""

    def __init__(self, parts: int) -> None:
        self._count = parts

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        return independent_parts(rows, self._count)

    def finish(self) -> None:
        """Any number of rows will do."""


class UnitSplit:
    """All rows of one unit in one part; rows without an identifier are one unit together."""

    def __init__(self, parts: int) -> None:
        self._count = parts
        self._known: dict[Hashable, int] = {}

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        assert units is not None
        codes, names = encode_units(units)
        new = [name for name in names if name not in self._known]
        self._known.update(zip(new, independent_parts(len(new), self._count).tolist(), strict=True))
        return np.array([self._known[name] for name in names], dtype=np.int64)[codes]

    def finish(self) -> None:
        """Any number of rows will do."""


class GivenSplit:
    """Parts that were decided before, for made-up tables that are audited."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._done = 0

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        first, self._done = self._done, self._done + rows
        return self._parts[first:self._done]

    def finish(self) -> None:
        if self._done != len(self._parts):
            raise _changed()
