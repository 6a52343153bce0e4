"""A uniformly random order of rows, from the operating system's randomness: in memory, or in constant memory with files.

Rows that do not fit into memory are shuffled through files. Each row goes to a random file, independently and with equal
probabilities. Then the rows of each file are put in a random order, one file after the other. This treats all rows alike,
whatever order they came in, so every order is equally likely (R5 of privacy/sensitivity/rows.md). A file that is still too large
is shuffled in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

RandomBytes: TypeAlias = Callable[[int], bytes]
Rows: TypeAlias = npt.NDArray[np.int64]

FILES: Final = 64
"""A power of two, at most 256, so that a random byte chooses one with equal probabilities."""
MEMORY: Final = 2**25
"""Bytes of rows to keep in memory."""
FEWEST_ROWS: Final = 16
"""At least this many rows are kept in memory, however long they are."""


def system_bytes(count: int) -> bytes:
    """Unpredictable random bytes from the operating system."""
    return os.urandom(count)


def random_order(rows: int, random_bytes: RandomBytes = system_bytes) -> npt.NDArray[np.intp]:
    """The rows in a random order, where every order is equally likely.

    Rows are sorted by random 64-bit keys. If two keys are equal, all are drawn again. Given that keys differ, every order has
    exactly the same probability.

    >>> sorted(random_order(4).tolist())
    [0, 1, 2, 3]
    """
    while True:
        keys = np.frombuffer(random_bytes(8 * rows), dtype=np.uint64)
        order = np.argsort(keys)
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order


class Shuffle:
    """Takes rows of whole numbers, one array (rows, columns) at a time, and returns them in a random order.

    ``folder`` is for temporary files. The caller removes it with everything in it. Add only rows that may be published.
    """

    def __init__(self, folder: Path, columns: int, *, memory: int | None = None,
                 random_bytes: RandomBytes = system_bytes) -> None:
        self._folder, self._columns, self._random_bytes = folder, columns, random_bytes
        self._memory = max(MEMORY if memory is None else memory, 8 * columns * FEWEST_ROWS)
        self._kept: list[Rows] = []
        self._bytes = 0
        self._files: list[Path] = []
        self.rows = 0

    def add(self, rows: Rows) -> None:
        """Add rows."""
        self._kept.append(rows)
        self._bytes += rows.nbytes
        self.rows += len(rows)
        if self._bytes > self._memory:
            self._spill()

    def blocks(self) -> Iterator[Rows]:
        """All rows in a random order. Call this once, after adding the last row."""
        if not self._files:
            rows = self._taken()
            yield rows[random_order(len(rows), self._random_bytes)]
            return
        self._spill()
        for number, path in enumerate(self._files):
            inner = Shuffle(self._folder / str(number), self._columns, memory=self._memory, random_bytes=self._random_bytes)
            for rows in self._read(path):
                inner.add(rows)
            path.unlink()
            yield from inner.blocks()

    def _spill(self) -> None:
        if not self._files:
            self._folder.mkdir(exist_ok=True)
            self._files = [self._folder / f"{number}.rows" for number in range(FILES)]
        rows = self._taken()
        chosen = np.frombuffer(self._random_bytes(len(rows)), dtype=np.uint8) % FILES
        order = np.argsort(chosen, kind="stable")
        ends = np.cumsum(np.bincount(chosen, minlength=FILES))
        for path, part in zip(self._files, np.split(rows[order], ends[:-1]), strict=True):
            with path.open("ab") as file:
                file.write(part.tobytes())

    def _taken(self) -> Rows:
        rows = np.concatenate(self._kept) if self._kept else np.empty((0, self._columns), dtype=np.int64)
        self._kept, self._bytes = [], 0
        return rows

    def _read(self, path: Path) -> Iterator[Rows]:
        row = 8 * self._columns
        with path.open("rb") as file:
            while piece := file.read(max(1, self._memory // 4 // row) * row):
                yield np.frombuffer(piece, dtype=np.int64).reshape(-1, self._columns)
