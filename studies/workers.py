"""Cells of a study in processes of their own: each on one core, each with a time limit, the results in one file as they come.

A cell that fails or takes too long is named on the error stream and missing in the file; the others are not affected.
"""

from __future__ import annotations

import argparse
import csv
import os
import queue
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Work = Callable[[Any], list[Line]]

SPAWN = get_context("spawn")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one cell")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds for all; what is missing then is done by a second call")


def run_cells(work: Work, cells: Sequence[Any], options: argparse.Namespace, output: Path) -> list[Line]:
    """``work(cell)`` for every cell that is not yet in the file; ``work`` is a function of a module. The first start first."""
    lines: list[Line] = list(read(output)) if output.exists() else []
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for cell in cells:
        wanted = {name: str(value) for name, value in cell.columns().items()}
        if not any(all(str(line.get(name)) == value for name, value in wanted.items()) for line in lines):
            waiting.put(cell)
    end = time.monotonic() + options.limit
    lock = threading.Lock()
    # Cells of one shape share compiled programs. The environment, because JAX reads it when a child first imports it.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", tempfile.mkdtemp(prefix="studies-jax-"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "2")
    output.parent.mkdir(parents=True, exist_ok=True)

    def keep(found: list[Line]) -> None:
        with lock:
            lines.extend(found)
            write(lines, output)

    def serve(core: int) -> None:
        while True:
            try:
                cell = waiting.get_nowait()
            except queue.Empty:
                return
            started = time.perf_counter()
            left = min(options.timeout, end - time.monotonic())
            if left <= 0:
                return
            found = _in_process(work, cell, core, left)
            print(f"{cell}: {'no result' if found is None else 'done'} after {time.perf_counter() - started:.0f} s",
                  file=sys.stderr, flush=True)
            if found:
                keep(found)

    threads = [threading.Thread(target=serve, args=(core,)) for core in range(options.processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return lines


def write(lines: Sequence[Line], output: Path) -> None:
    """All lines anew, under all names that occur in them."""
    names = list(dict.fromkeys(name for line in lines for name in line))
    with output.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=names)
        writer.writeheader()
        writer.writerows(lines)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _in_process(work: Work, cell: Any, core: int, timeout: float) -> list[Line] | None:
    receiving, sending = SPAWN.Pipe(duplex=False)
    process = SPAWN.Process(target=_child, args=(work, cell, core, sending), daemon=True)
    process.start()
    sending.close()
    try:
        found: list[Line] | None = receiving.recv() if receiving.poll(timeout) else None
    except EOFError:
        found = None
    if process.is_alive():
        process.terminate()
    process.join(5)
    if process.is_alive():
        process.kill()
    return found


def _child(work: Work, cell: Any, core: int, sending: Any) -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):  # JAX makes as many threads as it may use cores
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {allowed[core % len(allowed)]})
    try:
        sending.send(work(cell))
    except Exception:
        traceback.print_exc()
        sending.send(None)
