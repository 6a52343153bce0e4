"""Read many files: decode once what they share, and read in order, in several processes, with bounded memory.

A release file is one JSON object, in which the contributions come last. Suppose the text before them, up to the comma, matches a
file read before, and the rest, with an opening brace put in front, is an object with the single key ``contributions``. Then the
whole file is an object with the known fields and these contributions, exactly as if all of it had been read. Everything else,
including every error, is left to the reader of whole files, so there is only one judge and one set of messages.

Decoding JSON holds Python's lock, so threads do not help. The processes are separate interpreters that import only what reads
releases. A script that calls this needs no ``if __name__ == "__main__"``, and none of it runs twice. Each process reads every
k-th batch of files and passes the contents through a pipe, blocking until they are wanted. Hence at most one batch per process is
in memory besides what the caller keeps, the order is that of the files, and if the caller ends for any reason, the processes end
at their next batch. They write nothing to disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from typing import IO, Final

from pydantic import ValidationError

from noisewise.checks import is_whole
from noisewise.errors import NoisewiseError, ReleaseError, ReleaseFormatError
from noisewise.releases.checks import require
from noisewise.releases.files import decoded, read
from noisewise.releases.format import contributions_of
from noisewise.releases.json_text import parse
from noisewise.releases.release import Release
from noisewise.run import processors
from noisewise.words import option

BATCH: Final = 50
FIRST: Final = 100
"""Files to read before deciding whether processes are worth starting."""
WORTH_SECONDS: Final = 3.0
"""Start processes only for more work than this, since each takes about a second to start."""
MOST_PROCESSES: Final = 16
BEFORE_CONTRIBUTIONS: Final = b'\n  "contributions": ['
MOST_HEADS: Final = 64
"""Keep at most this many different texts that come before contributions."""
_PROGRAM: Final = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from noisewise.releases.reading import serve; serve()"


def read_all(paths: Sequence[str], processes: int | None = None) -> Generator[Release, None, None]:
    """Read each file like `noisewise.load`, in order. ``processes=None`` starts as many as are worthwhile."""
    require(processes is None or is_whole(processes, 1), "processes must be a whole number >= 1", processes)
    reader = Reader()
    start = time.perf_counter()
    first = FIRST if processes is None else len(paths) if processes == 1 else 0
    yield from map(reader.read, paths[:first])
    rest = paths[first:]
    if processes is None:
        expected = (time.perf_counter() - start) / max(first, 1) * len(rest)
        processes = min(processors(), MOST_PROCESSES) if sys.executable and expected > WORTH_SECONDS else 1
    count = min(processes, -(-len(rest) // BATCH))
    yield from _in_processes(rest, count) if count > 1 else map(reader.read, rest)


class Reader:
    """Reads release files one after the other, with the same results as `noisewise.load`, but faster if they share a schema."""

    def __init__(self) -> None:
        self._heads: dict[bytes, Release] = {}

    def read(self, path: str | os.PathLike[str]) -> Release:
        """Read one file."""
        data = read(path)
        place = data.find(BEFORE_CONTRIBUTIONS)
        known = self._heads.get(data[:place]) if place > 0 else None
        if known is not None:
            try:
                return self._with_contributions(known, data[place:])
            except (NoisewiseError, ValidationError, ArithmeticError, RecursionError, MemoryError):
                pass  # the reader of whole files reports the error
        found = decoded(data, path)
        if known is None and place > 0 and found.kind.holders and len(self._heads) < MOST_HEADS:
            self._keep(found, data[:place], data[place:])
        return found

    @staticmethod
    def _with_contributions(head: Release, text: bytes) -> Release:
        document = parse(b"{" + text)
        if document.keys() != {"contributions"}:
            raise ReleaseFormatError("the contributions must come last")
        return head.with_contributions(contributions_of(head.kind, head.schema, head.columns, document["contributions"]))

    def _keep(self, found: Release, before: bytes, after: bytes) -> None:
        """Remember the text before the contributions, if it is the members of an object up to a comma."""
        with contextlib.suppress(ReleaseFormatError):
            if before.endswith(b",") and "contributions" not in parse(before[:-1] + b"}") \
                    and parse(b"{" + after).keys() == {"contributions"}:
                self._heads[before] = found


def _in_processes(paths: Sequence[str], count: int) -> Iterator[Release]:
    batches = [list(paths[start : start + BATCH]) for start in range(0, len(paths), BATCH)]
    workers: list[subprocess.Popen[bytes]] = []
    try:
        command = [sys.executable, "-c", _PROGRAM, json.dumps([str(path) for path in sys.path])]
        workers.extend(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count))
        for number, worker in enumerate(workers):
            requests = _pipe(worker.stdin)
            pickle.dump(batches[number::count], requests, protocol=pickle.HIGHEST_PROTOCOL)
            requests.flush()
        for number, batch in enumerate(batches):
            for path, found in zip(batch, _answers(workers[number % count]), strict=True):
                if isinstance(found, NoisewiseError):
                    raise found
                yield Reader().read(path) if found is None else found
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                with contextlib.suppress(OSError):  # unwritten data is no longer wanted
                    _pipe(pipe).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # both pipes were requested
    return pipe


def _answers(worker: subprocess.Popen[bytes]) -> list[Release | NoisewiseError | None]:
    """Receive what a process read from one batch of files."""
    try:
        found: list[Release | NoisewiseError | None] = pickle.load(_pipe(worker.stdout))
        return found
    except (EOFError, pickle.UnpicklingError, OSError):
        raise ReleaseError("a process that reads release files ended early", found=f"exit status {worker.wait()}",
                           remedy="memory may have run out: read with " + option("processes", 1)) from None


def serve() -> None:
    """Run in each process: read batches of file names from standard input, and write what is in the files."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too and ends this process
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    reader = Reader()
    for batch in pickle.load(sys.stdin.buffer):
        found = [_answer(reader, path) for path in batch]
        try:
            pickle.dump(found, answers, protocol=pickle.HIGHEST_PROTOCOL)  # what the releases share is sent once
            answers.flush()
        except BrokenPipeError:
            os._exit(0)  # nobody is waiting any more


def _answer(reader: Reader, path: str) -> Release | NoisewiseError | None:
    """Read a file. Return None for kinds of one holder: they may come with further files, so the caller reads them."""
    try:
        release = reader.read(path)
    except NoisewiseError as error:
        return error
    return release if release.kind.holders else None
