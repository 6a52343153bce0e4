"""Ctrl-C between charging and recording a release waits until the release is kept, so that no budget is lost.

Stopping there and drawing again without another charge would be wrong. Afterwards nobody can know whether noise was drawn or
seen; and drawing until a run is not interrupted is a different mechanism from the one that was paid for.
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

WAITS: Final = ("\nThe budget is already charged: finishing the release first, so that it is not lost. "
                "Press Ctrl-C again to stop at once; the charge still counts.\n")


@contextmanager
def finished_first(after: str) -> Iterator[None]:
    """Hold back Ctrl-C until the block is done, then raise it with the message ``after``; a second Ctrl-C does not wait.

    Only the main thread receives Ctrl-C. A handler set by the caller is left alone, except Spark's, which cancels its jobs and
    then raises as Python's does. The command line treats SIGTERM like Ctrl-C; where Ctrl-C itself is ignored, as in a script's
    background job, SIGTERM is held back instead.
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
            with contextlib.suppress(OSError):  # not print, which the signal may have interrupted
                os.write(sys.stderr.fileno(), WAITS.encode())

    before = signal.signal(awaited, wait)
    try:
        yield
    finally:
        signal.signal(awaited, before)
    if asked:
        if awaited == signal.SIGTERM and callable(before):  # the command's handler records the reason and raises
            with contextlib.suppress(KeyboardInterrupt):
                before(awaited, None)
        raise KeyboardInterrupt(after)


def _awaited() -> signal.Signals | None:
    """The signal that would interrupt the block."""
    if threading.current_thread() is not threading.main_thread():
        return None
    usual = signal.getsignal(signal.SIGINT)
    if usual == signal.default_int_handler or getattr(usual, "__module__", "").startswith("pyspark."):
        return signal.SIGINT
    of_the_command = getattr(signal.getsignal(signal.SIGTERM), "__module__", "") == "noisewise.cli.program"
    return signal.SIGTERM if of_the_command and usual == signal.SIG_IGN else None
