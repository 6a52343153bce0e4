"""How the ``noisewise`` command begins, and what stops it.

The entry point listens before it imports anything that takes a moment, in which Ctrl-C would be answered by a traceback: nothing
is imported here that need not be, nor by the packages around this module. Until a command begins its work there is nothing to
clean up, and Ctrl-C ends the program at once. From then on it is Python's `KeyboardInterrupt`, and a request of the system to end
(SIGTERM) is the same: files are written whole or not at all, and a release that was paid for is kept.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    Unraisable = sys.UnraisableHookArgs

BY_CTRL_C = 130
BY_THE_SYSTEM = 143
AGAIN_SECONDS = 0.05
WORDS = {BY_CTRL_C: "stopped by Ctrl-C", BY_THE_SYSTEM: "stopped by the system (SIGTERM)"}

_watching = False
_asked_to_end = False


def main() -> None:
    """The entry point of the ``noisewise`` command."""
    watch()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a letter shows a question mark
            stream.reconfigure(errors="replace")
    from noisewise.cli.app import app

    app(prog_name="noisewise")


def watch() -> None:
    """Until work begins Ctrl-C ends the program in one line; where it is ignored, as in the background, it stays so."""
    global _watching
    if not _is_main_thread():
        return
    _watching = True
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop_at_once)


def work_begins() -> None:
    """What has begun can be undone, or finished: that takes an exception. Without `watch` nothing is changed."""
    if not _watching or not _is_main_thread():
        return
    if signal.getsignal(signal.SIGINT) == _stop_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)
    if sys.unraisablehook == sys.__unraisablehook__:
        sys.unraisablehook = _not_lost


def why_stopped() -> int:
    """The exit code after a `KeyboardInterrupt`."""
    return BY_THE_SYSTEM if _asked_to_end else BY_CTRL_C


def _is_main_thread() -> bool:
    """Which alone may say what a signal does."""
    from threading import current_thread, main_thread

    return current_thread() is main_thread()


def _stop_at_once(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, f"Error: {WORDS[BY_CTRL_C]}\n".encode())
    finally:  # also if nobody reads that
        os._exit(BY_CTRL_C)


def _end(number: int, frame: FrameType | None) -> None:
    """As Ctrl-C, whatever that does at present."""
    global _asked_to_end
    _asked_to_end = True
    usual = signal.getsignal(signal.SIGINT)
    (usual if callable(usual) else signal.default_int_handler)(signal.SIGINT, frame)


def _not_lost(dropped: Unraisable) -> None:
    """Python drops what is raised where nothing may be, as in JAX's callback of the garbage collector: it comes again then."""
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)
        return
    from threading import Timer

    again = Timer(AGAIN_SECONDS, _press_again)
    again.daemon = True
    again.start()


def _press_again() -> None:
    from threading import main_thread

    number = signal.SIGTERM if _asked_to_end else signal.SIGINT
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)
