"""Batches over time: one more contribution in a release file that is already there.

Each batch of rows is released once, as it comes, and may then be erased: what is kept, the file of releases, never
held a row. So whoever breaks in later, even into the data holder's own machine, finds of the past only what was released
(*pan-privacy*). The contributions are those of different people: someone who is in two batches spends the epsilons of both.
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
    """Add the contributions of a release to a release file, and return all that is then in it.

    The two must have been made from the same schema with the same terms; each batch must be of other people. The file is
    replaced as a whole: if anything fails, the old one is there unchanged. Appending from several processes at once loses
    nothing: they wait for one another.

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
    """Refuse a batch that could not be appended, before its rows are read and its budget is spent; returns what is there now."""
    if not kind.holders:
        raise ReleaseWriteError(f"a release of kind {kind.name} is written to a file of its own", found=os.fspath(path),
                                remedy="give --output instead of --append")
    with _alone(path):  # if the file cannot be locked, that is to be known now
        there = for_several_holders(load(path), path)
    _check_version(path, there)
    found = list(differing_requests(there, kind, schema, kind.columns(schema), kind.common(schema)))
    if found:
        raise IncompatibleReleasesError(
            f"a batch is appended only if it is released as the file was: {os.fspath(path)}",
            found="in the file and now: " + "; ".join(found),
            remedy="use the schema and the kind of the file (noisewise show says them), or write a file of its own; "
            "nothing was released")
    expected = os.path.getsize(path) + 65_536 + kind.room(schema)
    if expected > SIZE_LIMIT:
        raise ReleaseWriteError(f"a release file has at most {SIZE_LIMIT} bytes", found=f"{expected} with one more batch",
                                remedy="begin a new file: fit takes several; nothing was released")
    return there


def _check_version(path: str | os.PathLike[str], there: Release) -> None:
    """A file of a newer format may say things that this version would lose when it writes the file again."""
    if there.extra or any(contribution.extra for contribution in there.contributions):
        raise IncompatibleReleasesError(
            f"a batch is not appended to a file with fields that this noisewise does not know: {os.fspath(path)}",
            found=f"format {there.version}", remedy="upgrade noisewise, or write a file of its own: fit takes several")


@contextlib.contextmanager
def _alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a lock beside the file. The system lets go of it when the process ends, however it ends."""
    target = os.path.realpath(os.fspath(path))
    name = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.lock")
    try:
        descriptor = _locked(name)
    except OSError as error:
        raise ReleaseWriteError(
            "nobody else may write to a release file while a batch is appended, and it could not be locked",
            found=f"{name!r}: {error.strerror or type(error).__name__}",
            remedy="write the batch to a file of its own: fit takes several") from error
    try:
        yield
    finally:
        _unlock(descriptor, name)


def _locked(name: str) -> int:
    """A descriptor of the lock file that no other process has locked, and that is still the one of this name."""
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
        os.close(descriptor)  # whoever had the lock before has removed the file: take the new one


if sys.platform == "win32":

    def _wait_for(descriptor: int) -> None:
        import msvcrt

        while True:
            try:
                return msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
            except OSError as error:  # it gives up after ten seconds
                if error.errno != 36:
                    raise

    def _unlock(descriptor: int, name: str) -> None:
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        with contextlib.suppress(OSError):
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.close(descriptor)
        with contextlib.suppress(OSError):  # not while another process has it open
            os.unlink(name)

else:

    def _wait_for(descriptor: int) -> None:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _unlock(descriptor: int, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(name)  # while it is still locked, so that nobody can mistake it for a new one
        os.close(descriptor)
