"""Release files on disk: written whole or not at all, and read with a limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from noisewise.errors import ReleaseError, ReleaseFormatError, ReleaseWriteError
from noisewise.release.model import KINDS, Release
from noisewise.release.single import SingleRelease
from noisewise.whole_file import whole_file

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
        raise ReleaseFormatError("a release is an ordinary file", found=f"{name} is {what}",
                                 remedy="give the name of a file, which ends in .nwr")
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
    _check_writable(name)
    try:
        with whole_file(name) as file:
            file.write(data)
    except (OSError, ValueError) as error:
        raise ReleaseWriteError(
            "the release could not be written; a file that was there before is unchanged",
            found=f"{name!r}: {_reason(error)}",
            remedy="make room or choose another folder, then save again",
        ) from error


def _check_writable(name: str) -> None:
    if os.path.exists(name) and not os.path.isfile(name):
        what = "a folder" if os.path.isdir(name) else "a device, pipe or socket"
        raise ReleaseWriteError(
            "a release is written to an ordinary file",
            found=f"{name} is {what}",
            remedy="give the path of a file, for example patients.nwr",
        )


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
