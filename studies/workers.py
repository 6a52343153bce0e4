"""Cells of a study in separate processes, each on one core with a time limit; results go to one file as they come.

A cell that fails or takes too long is named on the error stream and is missing from the file. The others are not affected.
"""

from __future__ import annotations

import argparse
import csv
import os
import queue
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import get_context, parent_process, resource_tracker
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Work = Callable[[Any], list[Line]]

SPAWN = get_context("spawn")
HAS_MASKS = hasattr(signal, "pthread_sigmask")
PATIENCE = 0.2
"""The seconds between checks if a wait should stop."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one cell")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds for all cells; a second call does the rest")


def run_cells(work: Work, cells: Sequence[Any], options: argparse.Namespace, output: Path) -> list[Line]:
    """Run ``work(cell)``, a function of a module, for every cell not yet in the file, in order."""
    lines: list[Line] = list(read(output)) if output.exists() else []
    waiting = []
    for cell in cells:
        wanted = {name: str(value) for name, value in cell.columns().items()}
        if not any(all(str(line.get(name)) == value for name, value in wanted.items()) for line in lines):
            waiting.append(cell)
    output.parent.mkdir(parents=True, exist_ok=True)

    def keep(cell: Any, found: list[Line] | None, seconds: float) -> None:
        print(f"{cell}: {'no result' if found is None else 'done'} after {seconds:.0f} s", file=sys.stderr, flush=True)
        if found:
            lines.extend(found)
            write(lines, output)

    each_in_a_process(work, waiting, keep, options.processes, options.timeout, options.limit)
    return lines


def each_in_a_process(work: Callable[[Any], Any], cells: Sequence[Any], keep: Callable[[Any, Any, float], None],
                      processes: int = 1, timeout: float = 900, limit: float = 1e9) -> None:
    """Call ``keep(cell, work(cell), seconds)``, one at a time, as cells finish; with None for a cell that failed.

    Ctrl-C ends the running processes; what was kept stays.
    """
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for cell in cells:
        waiting.put(cell)
    end = time.monotonic() + limit
    lock, stop = threading.Lock(), threading.Event()
    # Cells of one shape share compiled programs. The environment, because JAX reads it when a child first imports it.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", tempfile.mkdtemp(prefix="studies-jax-"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "2")

    if HAS_MASKS:
        resource_tracker.ensure_running()  # its start would undo the mask of the thread that needs it first

    def serve(core: int) -> None:
        # A terminal sends Ctrl-C to all. Processes have the mask of the thread that starts them: while they import, too.
        if HAS_MASKS:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        while not stop.is_set():
            try:
                cell = waiting.get_nowait()
            except queue.Empty:
                return
            started = time.perf_counter()
            left = min(timeout, end - time.monotonic())
            if left <= 0:
                return
            found = _in_process(work, cell, core, left, stop)
            with lock:
                if not stop.is_set():
                    keep(cell, found, time.perf_counter() - started)

    threads = [threading.Thread(target=serve, args=(core,)) for core in range(processes)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        stop.set()
        for thread in threads:
            thread.join()
        raise


def write(lines: Sequence[Line], output: Path) -> None:
    """Rewrite all lines, with all names that occur in them as columns."""
    names = list(dict.fromkeys(name for line in lines for name in line))
    with output.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=names)
        writer.writeheader()
        writer.writerows(lines)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _in_process(work: Callable[[Any], Any], cell: Any, core: int, timeout: float, stop: threading.Event) -> Any:
    receiving, sending = SPAWN.Pipe(duplex=False)
    process = SPAWN.Process(target=_child, args=(work, cell, core, sending), daemon=True)
    process.start()
    sending.close()
    end = time.monotonic() + timeout
    found = None
    try:
        while time.monotonic() < end and not stop.is_set():
            if receiving.poll(PATIENCE):
                found = receiving.recv()
                break
    except EOFError:
        pass
    if process.is_alive():
        process.terminate()
    process.join(5)
    if process.is_alive():
        process.kill()
    return found


def _child(work: Callable[[Any], Any], cell: Any, core: int, sending: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this one
    if HAS_MASKS:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):  # JAX makes as many threads as it may use cores
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {allowed[core % len(allowed)]})
    try:
        sending.send(work(cell))
    except Exception:
        traceback.print_exc()
        sending.send(None)


def _end_with_parent() -> None:
    """End this process when its parent ends, even by a signal that cannot be caught."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
