"""Reading and fitting the releases of thousands of holders: seconds and peak memory, as ratios in one run.

    python benchmarks/many_releases.py [--holders 10000] [--columns 5 20] [--rows 50] [--method laplace] [--processes 2]
                                       [--ways "one by one" serial parallel sums]

Made-up tables of ``--rows`` rows each, one release file for each holder, in a temporary folder. "One by one" is ``combine`` of
``noisewise.load`` of each file; "serial" and "parallel" are ``load_many`` in one process and in several, with CPU seconds of all
processes and wall-clock seconds, which mean little on a busy machine. "Sums" is ``load_many`` with
``pooled=True``. A fit of all holders is compared with one of a single release of all rows with the noise of one holder.
Peak memory is that of a process that reads all files and fits, less that of one that does so with a single file. Each
measurement is a fresh process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

# Before NumPy starts: one thread, so that a second is a second of one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for studies, also in the processes

import numpy as np
from rich.console import Console
from rich.table import Table
from studies.simulated_release import simulated_release

import noisewise as nw
from noisewise.releases.format import document_of
from noisewise.releases.json_text import render
from noisewise.releases.reading import BEFORE_CONTRIBUTIONS
from noisewise.run import QUIET

EPSILON, DELTA = 1.0, 1e-6


def schema_of(columns: int) -> nw.Schema:
    declared = {f"x{place}": {"bounds": [-1, 1]} for place in range(1, columns)}
    return nw.Schema.from_dict({"adjacency": "replace-one", "columns": {**declared, "y": {"bounds": [-2, 2]}}})


def rows_of(rng: np.random.Generator, rows: int, columns: int) -> dict[str, Any]:
    x = rng.uniform(-1.0, 1.0, size=(rows, columns - 1))
    y = 0.2 + 0.5 * x[:, 0] - 0.3 * x[:, -1] + rng.normal(scale=0.3, size=rows)
    return {**{f"x{place + 1}": x[:, place] for place in range(columns - 1)}, "y": np.clip(y, -2.0, 2.0)}


def make(folder: Path, holders: int, columns: int, rows: int) -> None:
    """One file for each holder and one of all rows together; their common text is made once."""
    rng, schema = np.random.default_rng(1), schema_of(columns)
    first = simulated_release(rows_of(rng, rows, columns), schema, rng, epsilon=EPSILON, delta=DELTA)
    whole = render(document_of(first))
    head = whole[: whole.index(BEFORE_CONTRIBUTIONS.decode())]
    one = first.contents
    (folder / "holders").mkdir()
    total = np.zeros_like(one.matrix)
    for holder in range(holders):
        a = first.basis.evaluate(rows_of(rng, rows, columns))
        upper = np.triu(rng.normal(scale=one.noise.off_diagonal, size=one.matrix.shape))
        np.fill_diagonal(upper, np.sqrt(2.0) * np.diag(upper))
        upper[0, 0] = 0.0
        noise = upper + np.triu(upper, 1).T
        matrix = a.T @ a
        total += matrix + (noise if holder == 0 else 0.0)
        document = {"contributions": [replace(one, matrix=np.round(matrix + noise, 6)).document()]}
        (folder / "holders" / f"{holder:06d}.nwr").write_text(head + render(document)[1:] + "\n", encoding="utf-8")
    total[0, 0] = rows * holders
    first.with_contributions((replace(one, matrix=total, rows=rows * holders),)).save(folder / "one.nwr")


def one_by_one(folder: Path) -> nw.Release:
    return nw.combine(nw.load(path) for path in sorted(folder.iterdir()))


READERS: dict[str, Callable[[Path, int], nw.Release]] = {
    "single file": lambda folder, _: nw.load_many(folder.parent / "one.nwr"),
    "one by one": lambda folder, _: one_by_one(folder),
    "serial": lambda folder, _: nw.load_many(folder, processes=1, run=QUIET),
    "parallel": lambda folder, processes: nw.load_many(folder, processes=processes, run=QUIET),
    "sums": lambda folder, _: nw.load_many(folder, pooled=True, processes=1, run=QUIET),
}


def work(folder: str, how: str, method: str, columns: int, processes: int) -> dict[str, float]:
    """Read in one way and fit: the seconds of both, and the peak memory of this process in MB."""
    warnings.simplefilter("ignore", nw.errors.ConvergenceWarning)
    formula = "y ~ " + " + ".join(f"x{place}" for place in range(1, columns))
    nw.fit(formula, READERS["single file"](Path(folder), 1), method=method, seed=1, run=QUIET)  # loads what is loaded once
    start, cpu = time.perf_counter(), cpu_seconds()
    release = READERS[how](Path(folder), processes)
    read, read_cpu = time.perf_counter() - start, cpu_seconds() - cpu
    start = time.process_time()
    nw.fit(formula, release, method=method, seed=1, run=QUIET)
    fitted = time.process_time() - start
    with open("/proc/self/status") as status:  # not getrusage: its peak is inherited from the parent process
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    return {"read": read, "read_cpu": read_cpu, "fit": fitted, "peak": peak / 1024, "parts": len(release.contributions)}


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measured(*arguments: object) -> dict[str, float]:
    done = subprocess.run([sys.executable, str(Path(__file__).resolve()), "--one", json.dumps(arguments)], capture_output=True,
                          text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def report(columns: int, holders: int, rows: int, method: str, processes: int, ways: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="noisewise-many-") as name:
        folder = Path(name)
        make(folder, holders, columns, rows)
        found = {how: measured(str(folder / "holders"), how, method, columns, processes) for how in ["single file", *ways]}
    single, before = found["single file"], found.get("one by one")
    table = Table("", "matrices", "read, s", "read, CPU s", "one by one / this", "fit, CPU s", "this / one release",
                  "MB above one file", title=f"{holders:,} holders, {columns} columns, method {method}, {processes} processes")
    for how, this in found.items():
        table.add_row(how, f"{this['parts']:,.0f}", f"{this['read']:.2f}", f"{this['read_cpu']:.2f}",
                      f"{before['read_cpu'] / this['read_cpu']:.1f}" if before and how in ways else "", f"{this['fit']:.2f}",
                      f"{this['fit'] / single['fit']:.2f}", f"{this['peak'] - single['peak']:.0f}")
    Console(width=130).print(table)
    if {"serial", "parallel"} <= found.keys():
        serial, parallel = found["serial"], found["parallel"]
        print(f"parallel reading: {serial['read'] / parallel['read']:.2f} times as fast as serial by the clock, "
              f"{parallel['read_cpu'] / serial['read_cpu']:.2f} times its CPU seconds", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holders", type=int, default=10_000)
    parser.add_argument("--columns", type=int, nargs="+", default=[5, 20], help="of the schema, the response with them")
    parser.add_argument("--rows", type=int, default=50, help="of each holder")
    parser.add_argument("--method", default="laplace")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--ways", nargs="+", choices=list(READERS)[1:], default=list(READERS)[1:])
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        folder, how, method, columns, processes = given.one
        print(json.dumps(work(folder, how, method, columns, processes)))
        return
    for columns in given.columns:
        report(columns, given.holders, given.rows, given.method, given.processes, given.ways)


if __name__ == "__main__":
    main()
