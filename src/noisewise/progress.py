"""A progress bar for long work: on a terminal only, and only if the work takes more than a second.

It shows how much is done, how fast, and how long the rest will take; how long it took so far where the total is not known.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_SECONDS: Final = 1.0

Tick: TypeAlias = Callable[[int, int | None], None]
"""Told how much is done, and of how much in all if that is known."""


@contextmanager
def progress_bar(progress: Tick | bool | None, description: str, unit: str) -> Iterator[Tick]:
    """Who is told about progress: a callback; a bar (True, or None if standard error is a terminal); or nobody (False)."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not sys.stderr.isatty()):
        yield _nobody
    else:
        bar = Bar(description, unit)
        try:
            yield bar
        finally:
            bar.close()


def _nobody(done: int, total: int | None) -> None:
    """Progress that nobody asked for."""


class Bar:
    """A rich progress bar that appears when its patience is over."""

    def __init__(self, description: str, unit: str, patience: float = PATIENCE_SECONDS) -> None:
        self._description = description
        self._unit = unit
        self._visible_from = time.monotonic() + patience
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, done: int, total: int | None) -> None:
        if self._bar is None or self._task is None:
            if time.monotonic() < self._visible_from:
                return
            self._bar, self._task = self._start(total)
        self._bar.update(self._task, completed=done, speed=in_words(self._bar.tasks[0].speed))

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _start(self, total: int | None) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        count = TextColumn("{task.completed:,.0f} " + ("" if total is None else "of {task.total:,.0f} ") + self._unit)
        speed = TextColumn("{task.fields[speed]}")
        clock = TimeElapsedColumn() if total is None else TimeRemainingColumn()
        bar = Progress(TextColumn("{task.description}"), BarColumn(), count, speed, clock,
                       TextColumn("" if total is None else "left"), console=Console(stderr=True), transient=True)
        task = bar.add_task(self._description, total=total, speed="")
        bar.start()
        return bar, task


def in_words(speed: float | None) -> str:
    """A speed with one or two digits.

    >>> in_words(1_234_567.0), in_words(45_600.0), in_words(12.3), in_words(None)
    ('1.2 million per second', '46 thousand per second', '12 per second', '')
    """
    if not speed:
        return ""
    size, name = next(((size, name) for size, name in ((1e6, " million"), (1e3, " thousand")) if speed >= size), (1.0, ""))
    return f"{speed / size:,.{1 if speed < 10 * size else 0}f}{name} per second"
