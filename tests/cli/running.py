"""A program that runs and is stopped: what the tests of Ctrl-C and of the terminal share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Final

HEEDS_CTRL_C: Final = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""A shell starts what it runs in the background with SIGINT ignored, and so would the program be."""


def interrupted(before: str, word: str, *args: object, by: signal.Signals = signal.SIGINT) -> tuple[int, list[str]]:
    """Run ``noisewise ARGS``, press Ctrl-C once when the process has said a word; its exit code and what else it said.

    ``before`` is Python that runs first, and has the word said in the middle of the work. ``by``: another signal.
    """
    program = f"{HEEDS_CTRL_C}\n{before}\nfrom noisewise.cli.program import main; main()"
    process = subprocess.Popen([sys.executable, "-c", program, *map(str, args)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = []
    with process:
        for line in process.stderr:
            said.append(line.rstrip("\n"))
            if said.count(word) == 1 and said[-1] == word:
                process.send_signal(by)
    return process.returncode, [line for line in said if line != word]


def on_a_terminal(*args: object, before: str = "", columns: int = 80, stop_at: str = "", **environment: str) -> tuple[int, str]:
    """Run ``noisewise ARGS`` with a pseudo-terminal for all its streams; its exit code and all that the terminal was sent.

    ``stop_at``: Ctrl-C is typed, as a key, when these words have appeared.
    """
    import fcntl
    import pty
    import struct
    import termios

    unwanted = ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "NOISEWISE_TRACEBACK")
    clean = {name: value for name, value in os.environ.items() if name not in unwanted}
    # The terminal is taken over by the program itself: what runs between fork and exec would need a fork, which JAX warns of.
    program = (f"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n{HEEDS_CTRL_C}\n{before}\n"
               "from noisewise.cli.program import main; main()")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([sys.executable, "-c", program, *map(str, args)], stdin=theirs, stdout=theirs, stderr=theirs,
                               start_new_session=True, env={**clean, "TERM": "xterm-256color", **environment})
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
            if stop_at and stop_at.encode() in shown:
                os.write(ours, b"\x03")
                stop_at = ""
    except OSError:  # how Linux says that the other side has gone
        pass
    finally:
        os.close(ours)
        process.wait(timeout=600)
    return process.returncode, shown.decode(errors="replace")
