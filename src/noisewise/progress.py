"""A progress bar for long work: on a terminal only, and only if the work takes more than a second."""

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
        self._bar.update(self._task, completed=done)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _start(self, total: int | None) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        count = TextColumn("{task.completed:,.0f} " + self._unit)
        bar = Progress(TextColumn("{task.description}"), BarColumn(), count, TimeRemainingColumn(),
                       console=Console(stderr=True), transient=True)
        task = bar.add_task(self._description, total=total)
        bar.start()
        return bar, task
