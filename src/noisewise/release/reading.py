"""Reading many files in several processes, in order and with bounded memory.

Decoding JSON holds Python's lock, so that threads do not help. The processes are interpreters of their own that import only what
reads releases: a script that calls this needs no ``if __name__ == "__main__"``, and nothing of it is run again. Each process
has every k-th batch of files and hands the decoded parts over through a pipe, where it waits until they are wanted. So at most a
batch for each process is in memory besides what the caller keeps, the order is that of the files, and when the caller is
gone, for whatever reason, the processes end at their next batch. They write nothing to disk.
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
from dataclasses import dataclass
from typing import IO, Any, Final, TypeAlias

from noisewise import errors
from noisewise.errors import NoisewiseError, ReleaseError
from noisewise.release.model import GramPart, Release
from noisewise.release.shared_heads import Reader
from noisewise.release.single import SingleRelease

BATCH: Final = 50
FIRST: Final = 100
"""So many files are read before it is decided whether processes pay."""
WORTH_SECONDS: Final = 3.0
"""A process takes about a second to start: less work than this is done at once."""
MOST_PROCESSES: Final = 16
_PROGRAM: Final = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from noisewise.release.reading import serve; serve()"

Found: TypeAlias = Release | SingleRelease


def read_all(paths: Sequence[str], processes: int | None = None) -> Generator[Found, None, None]:
    """What `noisewise.load` finds in each file, in their order. ``processes``: None for as many as pay."""
    if processes is not None and (isinstance(processes, bool) or not isinstance(processes, int) or processes < 1):
        raise ReleaseError("processes must be a whole number of at least 1", found=repr(processes))
    reader = Reader()
    start = time.perf_counter()
    first = FIRST if processes is None else len(paths) if processes == 1 else 0
    for path in paths[:first]:
        yield reader.read(path)
    rest = paths[first:]
    if processes is None:
        expected = (time.perf_counter() - start) / max(first, 1) * len(rest)
        processes = min(_cores(), MOST_PROCESSES) if sys.executable and expected > WORTH_SECONDS else 1
    count = min(processes, -(-len(rest) // BATCH))
    yield from _in_processes(rest, count) if count > 1 else map(reader.read, rest)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(paths: Sequence[str], count: int) -> Iterator[Found]:
    batches = [list(paths[start : start + BATCH]) for start in range(0, len(paths), BATCH)]
    workers: list[_Worker] = []
    try:
        workers.extend(_Worker.started() for _ in range(count))
        for number, worker in enumerate(workers):
            worker.give(batches[number::count])
        for number, batch in enumerate(batches):
            yield from workers[number % count].batch(batch)
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """The parent's end of a process."""

    def __init__(self, process: subprocess.Popen[bytes], requests: IO[bytes], answers: IO[bytes]) -> None:
        self._process = process
        self._requests = requests
        self._answers = answers
        self._heads: dict[int, Release] = {}

    @classmethod
    def started(cls) -> _Worker:
        command = [sys.executable, "-c", _PROGRAM, json.dumps([str(path) for path in sys.path])]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None
        return cls(process, process.stdin, process.stdout)

    def give(self, batches: list[list[str]]) -> None:
        pickle.dump(batches, self._requests, protocol=pickle.HIGHEST_PROTOCOL)
        self._requests.flush()

    def batch(self, paths: list[str]) -> Iterator[Found]:
        try:
            answers: list[_Answer] = pickle.load(self._answers)
        except (EOFError, pickle.UnpicklingError, OSError):
            raise ReleaseError("a process that reads release files has ended", found=f"exit status {self._process.wait()}",
                               remedy="there may be too little memory: read with processes=1") from None
        for path, answer in zip(paths, answers, strict=True):
            if answer.error is not None:
                name, words = answer.error
                raise getattr(errors, name)(words["rule"], found=words["found"], remedy=words["remedy"])
            yield self._release(answer, path)

    def _release(self, answer: _Answer, path: str) -> Found:
        if answer.whole is None:  # kinds that are no matrices may have further files beside them: they are read here
            return Reader().read(path) if answer.number is None else self._heads[answer.number].with_parts(answer.parts)
        if answer.number is not None:
            self._heads[answer.number] = answer.whole.with_parts(answer.whole.parts[:1])
        return answer.whole

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._answers):
            with contextlib.suppress(OSError):  # what was still to be written is not wanted any more
                pipe.close()


@dataclass(frozen=True)
class _Answer:
    """What a process says of one file: the number of its declarations, which go over once, and its parts; or all of it."""

    number: int | None = None
    parts: tuple[GramPart, ...] = ()
    whole: Release | None = None
    error: tuple[str, dict[str, Any]] | None = None


def serve() -> None:
    """What a process does: read batches of file names from its input, and write what is in the files."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too, and ends this process
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    reader = Reader()
    told: set[int] = set()
    for batch in pickle.load(sys.stdin.buffer):
        found = [_answer(reader, path, told) for path in batch]
        try:
            pickle.dump(found, answers, protocol=pickle.HIGHEST_PROTOCOL)
            answers.flush()
        except BrokenPipeError:
            os._exit(0)  # nobody waits any more


def _answer(reader: Reader, path: str, told: set[int]) -> _Answer:
    try:
        release = reader.read(path)
    except NoisewiseError as error:
        return _Answer(error=(type(error).__name__, {"rule": error.rule, "found": error.found, "remedy": error.remedy}))
    if not isinstance(release, Release):
        return _Answer()
    number = reader.number(release)
    if number in told:
        return _Answer(number, release.parts)
    if number is not None:
        told.add(number)
    return _Answer(number, whole=release)
