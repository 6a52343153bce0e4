"""How to run something that takes a while: with how many threads, and whether to show progress."""

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
    """How to run: every function that reads rows or samples takes one.

    ``threads``: at most this many for reading rows; None for one per processor. ``progress``: True or False, None for a bar on a
    terminal only, or a function that is called with what is done and what there is to do.

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
        """As many threads as are allowed, or as there are processors."""
        return self.threads or processors()

    def before(self) -> Run:
        """For a pass before the one that matters: a function, which expects one pass, does not hear of it."""
        return replace(self, progress=False) if callable(self.progress) else self

    @contextmanager
    def bar(self, description: str, unit: str) -> Iterator[Tick]:
        """Who is told about progress: a function; a bar (True, or None if standard error is a terminal); or nobody (False).

        Work that cannot tell how far it is has no unit: what is done is shown then, and for how long.
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
    """Those that this process may run on, where the system tells; else all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def nobody(done: int, total: int | None) -> None:
    """Progress that nobody asked for."""


DEFAULT: Final = Run()
QUIET: Final = Run(progress=False)
ALONE: Final = Run(threads=1, progress=False)
