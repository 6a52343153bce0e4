"""Release files on disk: written whole or not at all, and read with a limit."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from noisewise.errors import ReleaseError, ReleaseFormatError, ReleaseWriteError
from noisewise.release.model import KINDS, Release
from noisewise.release.single import SingleRelease

SIZE_LIMIT: Final = 256 * 2**20
"""Bytes. A release of 1000 columns takes about 10 MB per holder; larger files are refused unread."""


def load(path: str | os.PathLike[str]) -> Release | SingleRelease:
    """Read a release file. Nothing in it is run; whatever is wrong with it is one `ReleaseFormatError`."""
    return decoded(read(path), path)


def decoded(data: bytes, path: str | os.PathLike[str]) -> Release | SingleRelease:
    """The release in the bytes of this file; the error that there is none names it."""
    from noisewise.release.format import decode

    try:
        found = decode(data)
        return found.placed_at(path) if isinstance(found, SingleRelease) else found
    except ReleaseFormatError as error:
        raise ReleaseFormatError(
            f"{os.fspath(path)}: {error.rule}", found=error.found, remedy=error.remedy
        ) from None


def load_matrices(path: str | os.PathLike[str]) -> Release:
    """Read the file of a release of noisy moments, which regressions are fitted to."""
    return only_matrices(load(path), path)


def only_matrices(found: Release | SingleRelease, path: str | os.PathLike[str]) -> Release:
    """What was read from this path, if regressions are fitted to such releases."""
    if isinstance(found, Release):
        return found
    raise ReleaseError(f"{os.fspath(path)}: regressions are fitted to releases of kind {', '.join(KINDS)}",
                       found=f"kind {found.kind}", remedy=found.remedy_for_fit)


def save(release: Release | SingleRelease, path: str | os.PathLike[str]) -> Path:
    """Write a release file, by custom ending in ``.nwr``."""
    from noisewise.release.format import encode

    try:
        data = encode(release)
    except ReleaseWriteError:
        raise
    except ReleaseError as error:
        raise ReleaseWriteError(error.rule, found=error.found, remedy=error.remedy) from error
    if len(data) > SIZE_LIMIT:
        raise ReleaseWriteError(
            f"a release file has at most {SIZE_LIMIT} bytes",
            found=str(len(data)),
            remedy="release fewer columns, or keep the parts in files of their own",
        )
    write_atomically(path, data)
    return Path(path)


def read(path: str | os.PathLike[str], limit: int = SIZE_LIMIT) -> bytes:
    """The bytes of an ordinary file that is not larger than ``limit``."""
    name = os.fspath(path)
    try:
        _check_readable(os.stat(name), name, limit)  # before opening: a pipe would block, a device could act
        with open(name, "rb") as file:
            _check_readable(os.fstat(file.fileno()), name, limit)
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise ReleaseFormatError(
            "there is no such release file", found=name, remedy="check the path"
        ) from None
    except (OSError, ValueError) as error:
        raise ReleaseFormatError(
            "the release file cannot be read", found=f"{name!r}: {_reason(error)}"
        ) from error
    if len(data) > limit:
        raise _too_large(name, limit, len(data))
    return data


def _check_readable(found: os.stat_result, name: str, limit: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "a device, pipe or socket"
        raise ReleaseFormatError("a release is an ordinary file", found=f"{name} is {what}")
    if found.st_size > limit:
        raise _too_large(name, limit, found.st_size)


def _too_large(name: str, limit: int, size: int) -> ReleaseFormatError:
    return ReleaseFormatError(
        f"a release file has at most {limit} bytes",
        found=f"{name} has {size}",
        remedy="check that it is a release file",
    )


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file at ``path`` by these bytes; if that fails, the old file is there as it was."""
    name = os.fspath(path)
    try:
        target = os.path.realpath(name)  # a link keeps pointing to the file that is replaced
        mode = _mode_to_keep(target, name)
        temporary = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.nwr-unfinished")
        try:
            _write_new(temporary, data, mode)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except (OSError, ValueError) as error:
        raise ReleaseWriteError(
            "the release could not be written; a file that was there before is unchanged",
            found=f"{name!r}: {_reason(error)}",
            remedy="make room or choose another folder, then save again",
        ) from error
    _sync_folder(os.path.dirname(target))


def _mode_to_keep(target: str, name: str) -> int | None:
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(old.st_mode):
        what = "a folder" if stat.S_ISDIR(old.st_mode) else "a device, pipe or socket"
        raise ReleaseWriteError(
            "a release is written to an ordinary file",
            found=f"{name} is {what}",
            remedy="give the path of a file, for example patients.nwr",
        )
    return stat.S_IMODE(old.st_mode)


def _write_new(temporary: str, data: bytes, mode: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(temporary, flags, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        os.chmod(temporary, mode)


def _sync_folder(folder: str) -> None:
    """Make the new name survive a power cut, where the system can; the file itself is already safe."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
