"""Counting rows over several threads, for whoever wants to know how far a pass is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from noisewise.progress import Tick, progress_bar


class RowCounter:
    """Adds up the rows of all threads and tells the sum."""

    def __init__(self, tick: Tick, rows_total: int | None) -> None:
        self._tick = tick
        self._total = rows_total
        self._done = 0
        self._lock = threading.Lock()

    @property
    def rows(self) -> int:
        """How many were counted so far."""
        return self._done

    def add(self, rows: int) -> None:
        with self._lock:
            self._done += rows
            self._tick(self._done, self._total)


@contextmanager
def reporting(progress: Tick | bool | None, rows_total: int | None, doing: str = "Reading rows") -> Iterator[RowCounter]:
    """Count rows for a callback, a bar or nobody: see `noisewise.progress.progress_bar`."""
    with progress_bar(progress, doing, "rows") as tick:
        yield RowCounter(tick, rows_total)


@contextmanager
def reporting_before(progress: Tick | bool | None, rows_total: int | None, doing: str) -> Iterator[RowCounter]:
    """The same for a pass before the one that matters: a callback, which expects one pass, does not hear of it."""
    with reporting(False if callable(progress) else progress, rows_total, doing) as counter:
        yield counter
