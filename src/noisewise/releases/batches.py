"""Batches over time: add a contribution to an existing release file.

Each batch of rows is released once, on arrival, and can then be erased. The release file never held a row, so whoever breaks in
later, even into the data holder's own machine, finds nothing about the past except what was released (*pan-privacy*). Each batch
must be about different people: someone in two batches spends the epsilons of both.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from noisewise.errors import IncompatibleReleasesError, ReleaseWriteError
from noisewise.kinds import Kind
from noisewise.releases.combine import combine, differing_requests
from noisewise.releases.files import SIZE_LIMIT, for_several_holders, load, save
from noisewise.releases.release import Release
from noisewise.schema.schema import Schema


def append(path: str | os.PathLike[str], release: Release) -> Release:
    """Add the contributions of a release to a release file, and return everything in the file.

    Both must have been made from the same schema with the same terms, and each batch must be about different people. The file
    is replaced as a whole: if anything fails, it stays as it was. Several processes can append at once, because they wait for
    one another.

    >>> import noisewise as nw, numpy as np, tempfile, os
    >>> schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [18, 98]}}})
    >>> first, second = (nw.release({"age": np.full(100, age)}, schema, epsilon=1, delta=1e-6) for age in (40.0, 50.0))
    >>> path = first.save(os.path.join(tempfile.mkdtemp(), "patients.nwr"))
    >>> append(path, second).holders
    2
    """
    with _alone(path):
        there = for_several_holders(load(path), path)
        _check_version(path, there)
        together = combine([there, release])
        save(together, path)
    return together


def check_append(path: str | os.PathLike[str], kind: Kind, schema: Schema) -> Release:
    """Refuse a batch that cannot be appended, before rows are read or budget is spent; return the release in the file."""
    if not kind.holders:
        raise ReleaseWriteError(f"a release of kind {kind.name} needs its own file", found=os.fspath(path),
                                remedy="use --output instead of --append")
    with _alone(path):  # if the file cannot be locked, fail now
        there = for_several_holders(load(path), path)
    _check_version(path, there)
    found = list(differing_requests(there, kind, schema, kind.columns(schema), kind.common(schema)))
    if found:
        raise IncompatibleReleasesError(
            f"a batch must be released with the schema and kind of the file it is appended to: {os.fspath(path)}",
            found="in the file and now: " + "; ".join(found),
            remedy="use those of the file (see noisewise show), or write a separate file; nothing was released")
    expected = os.path.getsize(path) + 65_536 + kind.room(schema)
    if expected > SIZE_LIMIT:
        raise ReleaseWriteError(f"a release file has at most {SIZE_LIMIT} bytes", found=f"{expected} with one more batch",
                                remedy="start a new file (fit accepts several); nothing was released")
    return there


def _check_version(path: str | os.PathLike[str], there: Release) -> None:
    """Refuse a file with fields of a newer format: rewriting it here could lose their meaning."""
    if there.extra or any(contribution.extra for contribution in there.contributions):
        raise IncompatibleReleasesError(
            f"cannot append to a file with fields unknown to this version of noisewise: {os.fspath(path)}",
            found=f"format {there.version}", remedy="upgrade noisewise, or write a separate file (fit accepts several)")


@contextlib.contextmanager
def _alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a lock file next to the release file. The system releases it when the process ends, however it ends."""
    target = os.path.realpath(os.fspath(path))
    name = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.lock")
    try:
        descriptor = _locked(name)
    except OSError as error:
        raise ReleaseWriteError(
            "the release file could not be locked: nobody else may write to it while a batch is appended",
            found=f"{name!r}: {error.strerror or type(error).__name__}",
            remedy="write the batch to a separate file (fit accepts several)") from error
    try:
        yield
    finally:
        _unlock(descriptor, name)


def _locked(name: str) -> int:
    """Open and lock the lock file; return a descriptor of the file that still has this name."""
    while True:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _wait_for(descriptor)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(name)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the previous owner of the lock removed the file: open the new one


if sys.platform == "win32":

    def _wait_for(descriptor: int) -> None:
        import msvcrt

        while True:
            try:
                return msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
            except OSError as error:  # raised after ten seconds of waiting
                if error.errno != 36:
                    raise

    def _unlock(descriptor: int, name: str) -> None:
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        with contextlib.suppress(OSError):
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.close(descriptor)
        with contextlib.suppress(OSError):  # fails while another process has it open
            os.unlink(name)

else:

    def _wait_for(descriptor: int) -> None:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _unlock(descriptor: int, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(name)  # while still locked, so that nobody can mistake it for a new one
        os.close(descriptor)
