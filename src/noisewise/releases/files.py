"""Release files on disk: written whole or not at all, and read up to a size limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from noisewise.errors import ReleaseError, ReleaseFormatError, ReleaseWriteError
from noisewise.kinds import kinds
from noisewise.releases.release import Release
from noisewise.whole_file import whole_file

SIZE_LIMIT: Final = 256 * 2**20
"""In bytes. A release of 1000 columns takes about 10 MB per holder. Larger files are refused unread."""


def load(path: str | os.PathLike[str]) -> Release:
    """Read a release file. Nothing in it is executed, and anything wrong with it raises `ReleaseFormatError`."""
    return decoded(read(path), path)


def decoded(data: bytes, path: str | os.PathLike[str]) -> Release:
    """Decode the bytes of this file; errors name the file."""
    from noisewise.releases.format import decode

    try:
        return decode(data).placed_at(path)
    except ReleaseFormatError as error:
        raise error.into(ReleaseFormatError, f"{os.fspath(path)}: {error.rule}") from None


def for_several_holders(found: Release, path: str | os.PathLike[str]) -> Release:
    """Return the release read from this path if its kind allows analysing several holders together; otherwise refuse it."""
    if found.kind.holders:
        return found
    *others, last = (kind.name for kind in kinds() if kind.holders)
    together = f"{', '.join(others)} or {last}"
    raise ReleaseError(f"{os.fspath(path)}: expected a release of kind {together}, from one or several holders",
                       found=f"kind {found.kind.name}", remedy=found.kind.use)


def save(release: Release, path: str | os.PathLike[str]) -> Path:
    """Write a release file, whose name usually ends in ``.nwr``."""
    from noisewise.releases.format import encode

    try:
        data = encode(release)
    except ReleaseWriteError:
        raise
    except ReleaseError as error:
        raise error.into(ReleaseWriteError) from error
    if len(data) > SIZE_LIMIT:
        raise ReleaseWriteError(f"a release file has at most {SIZE_LIMIT} bytes", found=str(len(data)),
                                remedy="release fewer columns, or keep each contribution in its own file")
    write_atomically(path, data)
    return Path(path)


def read(path: str | os.PathLike[str], limit: int = SIZE_LIMIT) -> bytes:
    """Read a regular file of at most ``limit`` bytes."""
    name = os.fspath(path)
    try:
        _check_readable(os.stat(name), name, limit)  # before opening: a pipe would block, and a device could react
        with open(name, "rb") as file:
            _check_readable(os.fstat(file.fileno()), name, limit)
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise ReleaseFormatError("the release file does not exist", found=name, remedy="check the path") from None
    except (OSError, ValueError) as error:
        raise ReleaseFormatError("the release file cannot be read", found=f"{name!r}: {_reason(error)}") from error
    _check_length(len(data), name, limit)
    return data


def _check_readable(found: os.stat_result, name: str, limit: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ReleaseFormatError("a release must be a regular file", found=f"{name} is {_other_than_a_file(found)}",
                                 remedy="give the name of a release file, which usually ends in .nwr")
    _check_length(found.st_size, name, limit)


def _check_length(size: int, name: str, limit: int) -> None:
    if size > limit:
        raise ReleaseFormatError(f"a release file has at most {limit} bytes", found=f"{name} has {size}",
                                 remedy="check that it is a release file")


def _other_than_a_file(found: os.stat_result) -> str:
    return "a folder" if stat.S_ISDIR(found.st_mode) else "a device, pipe or socket"


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file at ``path`` with these bytes. If that fails, the old file is unchanged."""
    name = os.fspath(path)
    try:
        if os.path.exists(name) and not os.path.isfile(name):
            raise ReleaseWriteError("a release must be written to a regular file",
                                    found=f"{name} is {_other_than_a_file(os.stat(name))}",
                                    remedy="give the path of a file, for example patients.nwr")
        with whole_file(name) as file:
            file.write(data)
    except (OSError, ValueError) as error:
        raise ReleaseWriteError("the release could not be written; any existing file is unchanged",
                                found=f"{name!r}: {_reason(error)}",
                                remedy="free some space or choose another folder, then save again") from error


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
