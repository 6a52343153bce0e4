"""Ctrl-C between the charge and the record of a release: it waits until the release is kept, so that no budget is lost.

To stop there and to draw again without another charge would not do. Whether noise was drawn, and whether anyone saw it, cannot be
known afterwards; and to draw until a run is not stopped is another mechanism than the one that was paid for.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

WAITS: Final = ("\nThe budget is charged already, so the release is finished first and not lost. "
                "Ctrl-C again stops at once; the charge counts then.\n")


@contextmanager
def finished_first(after: str) -> Iterator[None]:
    """Ctrl-C waits until the block is done and is raised then, with the words ``after``; a second one does not wait.

    Only the main thread hears of Ctrl-C, and a handler of the caller's own is left alone; but for Spark's, which cancels its
    jobs and raises the same as Python's. The command takes a request of the system to end (SIGTERM) for Ctrl-C; where Ctrl-C
    itself is ignored, as in the background of a script, that request waits.
    """
    awaited = _awaited()
    if awaited is None:
        yield
        return
    asked = False

    def wait(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            signal.default_int_handler(number, frame)
        asked = True
        if sys.stderr.isatty():
            with contextlib.suppress(OSError):  # not by print, which may be under way itself
                os.write(sys.stderr.fileno(), WAITS.encode())

    before = signal.signal(awaited, wait)
    try:
        yield
    finally:
        signal.signal(awaited, before)
    if asked:
        if awaited == signal.SIGTERM and callable(before):  # which remembers why, and raises
            with contextlib.suppress(KeyboardInterrupt):
                before(awaited, None)
        raise KeyboardInterrupt(after)


def _awaited() -> signal.Signals | None:
    """The signal that would cut the block short."""
    if threading.current_thread() is not threading.main_thread():
        return None
    usual = signal.getsignal(signal.SIGINT)
    if usual == signal.default_int_handler or getattr(usual, "__module__", "").startswith("pyspark."):
        return signal.SIGINT
    of_the_command = getattr(signal.getsignal(signal.SIGTERM), "__module__", "") == "noisewise.cli.program"
    return signal.SIGTERM if of_the_command and usual == signal.SIG_IGN else None
