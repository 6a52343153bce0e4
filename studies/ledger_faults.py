"""Does the ledger ever record less than was released? Processes are killed, disks fill up, clocks go backwards.

    python -m studies.ledger_faults --kills 200 --attempts 1000

A process makes releases one after the other, each charged to one ledger, and records the digest of every release that it
gets. It is killed at a random moment (SIGKILL), again and again. Each time the ledger must be intact and contain every release
that was handed out, and the amount it records as spent must be at least the sum of what was handed out and never above the
total.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import numpy as np

import noisewise as nw
from noisewise.errors import BudgetError, PrivacyError
from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger import Ledger, book
from noisewise.releases.format import encode
from noisewise.run import ALONE

EACH = 0.01
"""The epsilon of one release; all are pure, so that they add up exactly."""
LONGEST = 0.2
"""Seconds after its first charge within which a process is killed: enough for a few releases."""
STOPPED = 3
"""The exit status of a process that met one of our errors."""
SCHEMA = {"adjacency": "replace-one", "columns": {"stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}}}
ROWS = {"stay": np.array([3.0, 8.0, 21.0]), "age": np.array([30.0, 55.0, 80.0])}


@dataclass(frozen=True)
class Found:
    """One kind of fault."""

    fault: str
    times: int
    handed_out: int
    recorded: int
    unfinished: int
    spent_less_than_handed_out: int
    double_spends: int


def releases(place: Path, told: Path, seed: int) -> None:
    """Make releases until killed or refused, and record each one at once."""
    ledger = Ledger.open(place)
    ledger.patience = 0.0
    schema = nw.Schema.from_dict(SCHEMA)
    for number in range(10**6):
        made = nw.release(ROWS, schema, epsilon=EACH, ledger=ledger, edition=f"{seed}-{number}", run=ALONE)
        with told.open("a") as file:
            file.write(hashlib.sha256(encode(made)).hexdigest() + "\n")


def charges(place: Path, attempts: int) -> None:
    """Attempt this many charges; refusals are expected."""
    ledger = Ledger.open(place)
    for _ in range(attempts):
        with contextlib.suppress(BudgetError):
            ledger.charge(Cost.laplace(1 / EACH, EACH), description="an attempt", request="")


def check(fault: str, times: int, ledger: Ledger, told: Path) -> Found:
    """Compare the ledger with what was handed out."""
    lines = told.read_text().split("\n")[:-1] if told.exists() else []
    entries = ledger.entries()
    assert ledger.verify() == [], ledger.verify()
    recorded = Counter(entry.file_digest for entry in entries if entry.what == "released")
    charged = sum(entry.what == "charged" for entry in entries)
    spent = Decimal(repr(ledger.spent().basic))
    missing = sum(digest not in recorded for digest in lines) + (spent < len(lines) * Decimal(repr(EACH)))
    doubled = max(0, charged - round(ledger.epsilon / EACH)) + sum(count > 1 for count in recorded.values())
    return Found(fault, times, len(lines), len(recorded), charged - len(recorded), missing, doubled)


def kills(folder: Path, count: int, seed: int) -> Found:
    """Kill a process that makes one release after the other at random moments (SIGKILL)."""
    chance, place, told = random.Random(seed), folder / "killed.db", folder / "killed.txt"
    ledger = Ledger.open(place, epsilon=1e6)
    for number in range(count):
        begun = len(ledger.entries())
        process = _started(releases, place, told, number)
        while len(ledger.entries()) == begun and process.is_alive():  # until it is under way
            time.sleep(0.002)
        time.sleep(chance.uniform(0, LONGEST))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        check("kill -9", number + 1, Ledger.open(place), told)
    return check("kill -9", count, ledger, told)


def full_disk(folder: Path, count: int) -> Found:
    """Limit files to various sizes, so that a write fails somewhere, as on a full disk."""
    place, told = folder / "full.db", folder / "full.txt"
    ledger, ends = Ledger.open(place, epsilon=1e6), Counter[int]()
    for number in range(count):
        room = place.stat().st_size + 1024 * (1 + 5 * number % 29)
        process = _started(releases, place, told, number, room=room)
        process.join()
        ends[process.exitcode or 0] += 1
        check("disk full", number + 1, Ledger.open(place), told)
    assert set(ends) == {STOPPED}, ends  # every process ended with our error, none with anything else
    return check("disk full", count, ledger, told)


def two_writers(folder: Path, attempts: int) -> Found:
    """Let two processes ask for more than there is: one charge for each hundredth of epsilon must succeed, and no more."""
    place = folder / "two.db"
    ledger = Ledger.open(place, epsilon=round(attempts * EACH, 6))  # half of what both want
    processes = [_started(charges, place, attempts) for _ in range(2)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    found = check("two writers", 2 * attempts, ledger, folder / "nothing")
    assert ledger.spent().basic == ledger.epsilon, "something was left although more was wanted"
    return found


def clock_backwards(folder: Path, count: int, seed: int) -> Found:
    """Set the clock to any time between 1970 and 2100 before each entry."""
    chance, place, told = random.Random(seed), folder / "clock.db", folder / "clock.txt"
    ledger, schema, now = Ledger.open(place, epsilon=1e6), nw.Schema.from_dict(SCHEMA), book._now
    try:
        book._now = lambda: f"{chance.randint(1970, 2100)}-{chance.randint(1, 12):02}-01T00:00:00+00:00"
        for number in range(count):
            made = nw.release(ROWS, schema, epsilon=EACH, ledger=ledger, edition=str(number), run=ALONE)
            with told.open("a") as file:
                file.write(hashlib.sha256(encode(made)).hexdigest() + "\n")
    finally:
        book._now = now
    return check("clock backwards", count, ledger, told)


def _started(work: Callable[..., None], *arguments: object, room: int | None = None) -> ForkServerProcess:
    """Start a separate process from a server that has imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["opendp.prelude", "scipy.special", "noisewise.data"])
    process = context.Process(target=_work, args=(work, arguments, room))
    process.start()
    return process


def _work(work: Callable[..., None], arguments: tuple[object, ...], room: int | None) -> None:
    if room is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    try:
        work(*arguments)
    except (PrivacyError, OSError):
        sys.exit(STOPPED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--attempts", type=int, default=1000)
    parser.add_argument("--full", type=int, default=30)
    parser.add_argument("--clock", type=int, default=100)
    parser.add_argument("--seed", type=int, default=8)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'fault':16} {'times':>6} {'handed out':>11} {'recorded':>9} {'no file':>8} {'too little':>11} {'twice':>6}")
        faults = (partial(kills, folder, asked.kills, asked.seed), partial(full_disk, folder, asked.full),
                  partial(two_writers, folder, asked.attempts), partial(clock_backwards, folder, asked.clock, asked.seed))
        for fault in faults:
            found = fault()
            print(f"{found.fault:16} {found.times:6} {found.handed_out:11} {found.recorded:9} {found.unfinished:8} "
                  f"{found.spent_less_than_handed_out:11} {found.double_spends:6}", flush=True)


if __name__ == "__main__":
    main()
