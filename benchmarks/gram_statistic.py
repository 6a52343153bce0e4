"""The Gram statistic of a Parquet file against what PyArrow needs to decode the same columns.

    python benchmarks/gram_statistic.py [--rows 5000000] [--columns 10] [--repeats 9]

Prints a table of times as ratios to decoding with one thread (targets: at most 1.5 with one thread, 1.2 with two), and the
memory that a pass takes above what the interpreter needs, for the file and for one with four times the rows.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Before NumPy starts: the decoding below must not compete with idle BLAS threads either.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from noisewise.data.gram import gram_sum
from noisewise.schema.basis import Basis
from noisewise.schema.schema import Schema

ROW_GROUP = 250_000
ONE_THREAD_TARGET, TWO_THREAD_TARGET = 1.5, 1.2


def write(path: Path, rows: int, columns: int) -> None:
    """Normal values in double precision, in row groups as Polars would write them."""
    generator = np.random.default_rng(20261115)
    names = [f"x{index}" for index in range(columns)]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for start in range(0, rows, ROW_GROUP):
            length = min(ROW_GROUP, rows - start)
            arrays = [pa.array(generator.normal(size=length)) for _ in names]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, names=names), row_group_size=ROW_GROUP)


def schema_of(columns: int) -> Schema:
    return Schema.from_dict({"adjacency": "replace-one",
                             "columns": {f"x{index}": {"bounds": [-4.0, 4.5]} for index in range(columns)}})


def decode(path: Path, groups: list[int] | None = None) -> int:
    """Decode all columns and throw them away."""
    with pq.ParquetFile(path, pre_buffer=False) as file:
        return sum(batch.num_rows for batch in file.iter_batches(65_536, row_groups=groups, use_threads=False))


def decode_in_two_threads(path: Path) -> int:
    groups = list(range(pq.read_metadata(path).num_row_groups))
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(lambda share: decode(path, share), (groups[::2], groups[1::2])))


def interleaved(work: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Seconds of each piece of work, taken in turns so that other load on the machine meets all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for repeat in range(repeats + 2):
        for name, function in work.items():
            start = time.perf_counter()
            function()
            if repeat >= 2:  # the first two rounds warm up memory and the page cache
                times[name].append(time.perf_counter() - start)
    return times


PEAK = """
import sys
sys.path[:0] = {path!r}
import pyarrow.parquet, threadpoolctl
from benchmarks.gram_statistic import gram_sum, schema_of, write, Basis, Path
schema = schema_of({columns})

def peak():
    # Not getrusage: its peak is inherited from the parent process.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

small = Path({directory!r}) / "small.parquet"
write(small, 1000, {columns})
gram_sum(str(small), schema, Basis.of(schema), threads={threads}, progress=False)
before = peak()
gram_sum({file!r}, schema, Basis.of(schema), threads={threads}, progress=False)
print(peak() - before)
"""


def peak_megabytes(file: Path, columns: int, threads: int) -> float:
    """What a pass adds to the peak memory of a fresh process that has made a tiny one."""
    root = Path(__file__).resolve().parent.parent
    program = PEAK.format(path=[str(root), *sys.path], directory=str(file.parent), file=str(file),
                          columns=columns, threads=threads)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    schema = schema_of(arguments.columns)
    basis = Basis.of(schema)
    with tempfile.TemporaryDirectory() as directory:
        once, four = Path(directory) / "once.parquet", Path(directory) / "four.parquet"
        write(once, arguments.rows, arguments.columns)
        times = interleaved(
            {
                "decode, 1 thread": lambda: decode(once),
                "Gram statistic, 1 thread": lambda: gram_sum(str(once), schema, basis, threads=1, progress=False),
                "decode, 2 threads": lambda: decode_in_two_threads(once),
                "Gram statistic, 2 threads": lambda: gram_sum(str(once), schema, basis, threads=2, progress=False),
            },
            arguments.repeats,
        )
        report_times(times, arguments.rows, arguments.columns)
        write(four, 4 * arguments.rows, arguments.columns)
        table = Table("threads", "rows", "memory above the interpreter", title="Peak memory of a pass")
        for threads in (1, 2):
            for file, rows in ((once, arguments.rows), (four, 4 * arguments.rows)):
                megabytes = peak_megabytes(file, arguments.columns, threads)
                table.add_row(str(threads), f"{rows:,}", f"{megabytes:.0f} MB")
        Console().print(table)


def report_times(times: dict[str, list[float]], rows: int, columns: int) -> None:
    base = times["decode, 1 thread"]
    targets = {"Gram statistic, 1 thread": ONE_THREAD_TARGET, "Gram statistic, 2 threads": TWO_THREAD_TARGET}
    table = Table("", "median seconds", "ratio to decoding", "quartiles", "target", title=f"{rows:,} rows, {columns} columns")
    for name, seconds in times.items():
        # Ratios within one round: what slows a round slows both.
        ratios = [mine / other for mine, other in zip(seconds, base, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        target = f"{targets[name]:.1f}" if name in targets else ""
        table.add_row(name, f"{statistics.median(seconds):.3f}", f"{middle:.2f}", f"{low:.2f} to {high:.2f}", target)
    Console().print(table)


if __name__ == "__main__":
    main()
