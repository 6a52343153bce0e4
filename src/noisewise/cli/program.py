"""The entry point of the ``noisewise`` command, and how it handles Ctrl-C and SIGTERM.

Signal handlers are installed before any slow import, during which Ctrl-C would print a traceback. So this module and the packages
around it import only what they need. Until a command begins its work there is nothing to clean up, and Ctrl-C ends the program at
once. From then on Ctrl-C raises Python's `KeyboardInterrupt`, and so does SIGTERM: files are written completely or not at all,
and a release that was paid for is kept.
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
        if hasattr(stream, "reconfigure"):  # show a question mark for a character that the terminal cannot show
            stream.reconfigure(errors="replace")
    from noisewise.cli.app import app

    app(prog_name="noisewise")


def watch() -> None:
    """Until work begins, let Ctrl-C end the program with a one-line message; if ignored (in the background), leave it so."""
    global _watching
    if not _is_main_thread():
        return
    _watching = True
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop_at_once)


def work_begins() -> None:
    """From now on, let signals raise an exception, so that work can be undone or finished. Does nothing without `watch`."""
    if not _watching or not _is_main_thread():
        return
    if signal.getsignal(signal.SIGINT) == _stop_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)
    if sys.unraisablehook == sys.__unraisablehook__:
        sys.unraisablehook = _not_lost


def why_stopped() -> int:
    """Return the exit code after a `KeyboardInterrupt`."""
    return BY_THE_SYSTEM if _asked_to_end else BY_CTRL_C


def _is_main_thread() -> bool:
    """True in the main thread, the only one that may set signal handlers."""
    from threading import current_thread, main_thread

    return current_thread() is main_thread()


def _stop_at_once(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, f"Error: {WORDS[BY_CTRL_C]}\n".encode())
    finally:  # even if the message cannot be written
        os._exit(BY_CTRL_C)


def _end(number: int, frame: FrameType | None) -> None:
    """Do whatever Ctrl-C does at present."""
    global _asked_to_end
    _asked_to_end = True
    usual = signal.getsignal(signal.SIGINT)
    (usual if callable(usual) else signal.default_int_handler)(signal.SIGINT, frame)


def _not_lost(dropped: Unraisable) -> None:
    """Send a dropped Ctrl-C again. Python drops exceptions raised in some places, such as JAX's garbage-collector callback."""
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
