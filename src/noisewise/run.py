"""How to run long work: the number of threads, and whether to show progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from noisewise.errors import DataError
from noisewise.progress import Bar, Tick


@dataclass(frozen=True)
class Run:
    """How to run long work: an argument of every function that reads rows or draws samples.

    ``threads``: the most threads for reading rows; None for one per processor. ``progress``: True or False, None for a bar only
    on a terminal, or a function that is called with the amount done and the total.

    >>> Run(threads=2, progress=False)
    Run(threads=2, progress=False)
    """

    threads: int | None = None
    progress: Tick | bool | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and (isinstance(self.threads, bool) or not isinstance(self.threads, int) or self.threads < 1):
            raise DataError("threads must be a whole number of at least 1", found=repr(self.threads),
                            remedy="leave it out to use all processors")

    @property
    def workers(self) -> int:
        """The number of threads: as many as allowed, or one per processor."""
        return self.threads or processors()

    def before(self) -> Run:
        """For a preliminary pass: a progress function expects a single pass, so it is not called during this one."""
        return replace(self, progress=False) if callable(self.progress) else self

    @contextmanager
    def bar(self, description: str, unit: str) -> Iterator[Tick]:
        """What to call with progress: the given function; a bar (True, or None if standard error is a terminal); else `nobody`.

        Work that cannot measure its progress has the unit "": then only the description and the time are shown.
        """
        if callable(self.progress):
            yield self.progress
        elif self.progress is False or (self.progress is None and not sys.stderr.isatty()):
            yield nobody
        else:
            bar = Bar(description, unit)
            try:
                yield bar
            finally:
                bar.close()


def processors() -> int:
    """The number of processors this process may run on, or of all processors where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def nobody(done: int, total: int | None) -> None:
    """Ignore progress."""


DEFAULT: Final = Run()
QUIET: Final = Run(progress=False)
ALONE: Final = Run(threads=1, progress=False)
