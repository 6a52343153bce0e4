"""A progress bar for long passes: only on a terminal, and only if the pass takes more than a second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_SECONDS: Final = 1.0


class ProgressCallback(Protocol):
    """Told after each batch how many rows have been read, and of how many if that is known."""

    def __call__(self, rows_done: int, rows_total: int | None) -> None: ...


@contextmanager
def reporting(progress: ProgressCallback | bool | None, rows_total: int | None) -> Iterator[_Counter]:
    """Count rows for whoever wants to know: a callback, a bar (True or None: if standard error is a terminal), or nobody."""
    if callable(progress):
        yield _Counter(progress, rows_total)
    elif progress is False or not sys.stderr.isatty():
        yield _Counter(None, rows_total)
    else:
        bar = Bar()
        try:
            yield _Counter(bar, rows_total)
        finally:
            bar.close()


class _Counter:
    """Adds up the rows of all threads."""

    def __init__(self, callback: ProgressCallback | None, rows_total: int | None) -> None:
        self._callback = callback
        self._total = rows_total
        self._done = 0
        self._lock = threading.Lock()

    def add(self, rows: int) -> None:
        if self._callback is not None:
            with self._lock:
                self._done += rows
                self._callback(self._done, self._total)


class Bar:
    """A rich progress bar that appears when its patience is over."""

    def __init__(self, patience: float = PATIENCE_SECONDS) -> None:
        self._visible_from = time.monotonic() + patience
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, rows_done: int, rows_total: int | None) -> None:
        if self._bar is None or self._task is None:
            if time.monotonic() < self._visible_from:
                return
            self._bar, self._task = _start(rows_total)
        self._bar.update(self._task, completed=rows_done)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _start(rows_total: int | None) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,.0f} rows"), TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("Reading rows", total=rows_total)
    bar.start()
    return bar, task
