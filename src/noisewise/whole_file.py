"""Files that are written completely or not at all: an old file survives a failure, an interruption and a full disk."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import IO, Final

UNFINISHED: Final = ".nwr-unfinished"
"""The suffix of a file that is still being written."""


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file in the target's folder to write to; at the end it replaces the target. The caller explains any ``OSError``.

    If the target is a link, the file it points to is replaced. The new file keeps the permissions of the old one.
    """
    target = os.path.realpath(path)
    mode = _mode_to_keep(target)
    temporary = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}{UNFINISHED}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, 0o666 if mode is None else mode & 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(os.path.dirname(target))


def _mode_to_keep(target: str) -> int | None:
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, "this is a folder", target)
    if not stat.S_ISREG(old.st_mode):
        raise OSError(errno.EINVAL, "this is a device, pipe or socket", target)
    return stat.S_IMODE(old.st_mode)


def _sync_folder(folder: str) -> None:
    """Make the new name survive a power cut, where the system can do that. The content is already safe."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
