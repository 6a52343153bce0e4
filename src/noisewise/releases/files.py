"""Release files on disk: written whole or not at all, and read with a limit."""

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
"""Bytes. A release of 1000 columns takes about 10 MB per holder; larger files are refused unread."""


def load(path: str | os.PathLike[str]) -> Release:
    """Read a release file. Nothing in it is run; whatever is wrong with it is one `ReleaseFormatError`."""
    return decoded(read(path), path)


def decoded(data: bytes, path: str | os.PathLike[str]) -> Release:
    """The release in the bytes of this file; the error that there is none names it."""
    from noisewise.releases.format import decode

    try:
        return decode(data).placed_at(path)
    except ReleaseFormatError as error:
        raise error.into(ReleaseFormatError, f"{os.fspath(path)}: {error.rule}") from None


def for_several_holders(found: Release, path: str | os.PathLike[str]) -> Release:
    """What was read from this path, if such releases of several holders can be analysed together."""
    if found.kind.holders:
        return found
    together = ", ".join(kind.name for kind in kinds() if kind.holders)
    raise ReleaseError(f"{os.fspath(path)}: only releases of kind {together} are read here, alone or of several holders together",
                       found=f"kind {found.kind.name}", remedy=found.kind.use)


def save(release: Release, path: str | os.PathLike[str]) -> Path:
    """Write a release file, by custom ending in ``.nwr``."""
    from noisewise.releases.format import encode

    try:
        data = encode(release)
    except ReleaseWriteError:
        raise
    except ReleaseError as error:
        raise error.into(ReleaseWriteError) from error
    if len(data) > SIZE_LIMIT:
        raise ReleaseWriteError(f"a release file has at most {SIZE_LIMIT} bytes", found=str(len(data)),
                                remedy="release fewer columns, or keep the contributions in files of their own")
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
        raise ReleaseFormatError("there is no such release file", found=name, remedy="check the path") from None
    except (OSError, ValueError) as error:
        raise ReleaseFormatError("the release file cannot be read", found=f"{name!r}: {_reason(error)}") from error
    _check_length(len(data), name, limit)
    return data


def _check_readable(found: os.stat_result, name: str, limit: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ReleaseFormatError("a release is an ordinary file", found=f"{name} is {_other_than_a_file(found)}",
                                 remedy="give the name of a file, which ends in .nwr")
    _check_length(found.st_size, name, limit)


def _check_length(size: int, name: str, limit: int) -> None:
    if size > limit:
        raise ReleaseFormatError(f"a release file has at most {limit} bytes", found=f"{name} has {size}",
                                 remedy="check that it is a release file")


def _other_than_a_file(found: os.stat_result) -> str:
    return "a folder" if stat.S_ISDIR(found.st_mode) else "a device, pipe or socket"


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file at ``path`` by these bytes; if that fails, the old file is there as it was."""
    name = os.fspath(path)
    try:
        if os.path.exists(name) and not os.path.isfile(name):
            raise ReleaseWriteError("a release is written to an ordinary file",
                                    found=f"{name} is {_other_than_a_file(os.stat(name))}",
                                    remedy="give the path of a file, for example patients.nwr")
        with whole_file(name) as file:
            file.write(data)
    except (OSError, ValueError) as error:
        raise ReleaseWriteError("the release could not be written; a file that was there before is unchanged",
                                found=f"{name!r}: {_reason(error)}",
                                remedy="make room or choose another folder, then save again") from error


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
