"""A progress bar for long work: only on a terminal, and only if the work takes more than a second.

It shows how much is done, the speed, the time taken and, if the total is known, the time left. Until the first step is done, for
example during compilation, it shows "preparing" and the time taken.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_SECONDS: Final = 1.0
WIDE: Final = 100
"""A terminal with at least this many characters has room for the speed and a long bar."""

Tick: TypeAlias = Callable[[int, int | None], None]
"""Called with how much is done, and the total if it is known."""


class Bar:
    """A rich progress bar that appears after ``patience`` seconds, whether or not anything is done by then."""

    def __init__(self, description: str, unit: str, patience: float = PATIENCE_SECONDS) -> None:
        self._description = description
        self._unit = unit
        self._visible_from = time.monotonic() + patience
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._closed = False
        self._waiting = threading.Timer(patience, self._appear)
        self._waiting.daemon = True
        self._waiting.start()

    def __call__(self, done: int, total: int | None) -> None:
        with self._lock:
            if time.monotonic() < self._visible_from or self._closed:
                return
            bar, task = self._started()
            count = f"{done:,} " + ("" if total is None else f"of {total:,} ") + self._unit
            bar.update(task, completed=done, total=total, count=count, left="" if total is None else "left",
                       speed=in_words(bar.tasks[0].speed))

    def close(self) -> None:
        """Remove the bar, or keep it from appearing."""
        self._waiting.cancel()
        with self._lock:
            self._closed = True
            if self._bar is not None:
                self._bar.stop()

    def _appear(self) -> None:
        with self._lock:
            if not self._closed:
                self._started()

    def _started(self) -> tuple[Progress, TaskID]:
        if self._bar is None or self._task is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            console = Console(stderr=True)
            wide = console.width >= WIDE
            columns = [TextColumn("{task.description}"), BarColumn(bar_width=40 if wide else 10),
                       TextColumn("{task.fields[count]}"), *([TextColumn("{task.fields[speed]}")] if wide else []),
                       TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("{task.fields[left]}")]
            self._bar = Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task(self._description, total=None, count="preparing …" if self._unit else "", left="",
                                            speed="")
            self._bar.start()
        return self._bar, self._task


def in_words(speed: float | None) -> str:
    """A speed in words.

    >>> in_words(1_234_567.0), in_words(45_600.0), in_words(12.3), in_words(None)
    ('1.2 million per second', '46 thousand per second', '12 per second', '')
    """
    if not speed:
        return ""
    size, name = next(((size, name) for size, name in ((1e6, " million"), (1e3, " thousand")) if speed >= size), (1.0, ""))
    return f"{speed / size:,.{1 if speed < 10 * size else 0}f}{name} per second"
