"""The Gram statistic of a Parquet file, compared with PyArrow's time to decode the same columns.

    python benchmarks/gram_statistic.py [--rows 10000000] [--columns 20] [--unused 0] [--repeats 7]

Targets: at most 1.2 times the time of decoding, on one core as on two; two cores at least 1.7 times as fast as one; at most 300
MB of memory above the interpreter for any number of rows. All are taken in turns, and ratios are within a round. CPU seconds
show the cost of the work independently of other load. ``--unused`` adds columns to the file that the schema does not
declare: their bytes are not read.
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

from noisewise.data.statistics.gram import gram_sum
from noisewise.run import Run
from noisewise.schema.basis import Basis
from noisewise.schema.schema import Schema

ROW_GROUP = 250_000
MOST_TIMES_DECODING, LEAST_SPEED_UP, MOST_MEGABYTES = 1.2, 1.7, 300
DECODE, GRAM = "decode", "Gram statistic"


def write(path: Path, rows: int, columns: int, unused: int = 0) -> None:
    """Normal values in double precision, in row groups as Polars would write them."""
    generator = np.random.default_rng(20261115)
    names = [f"x{index}" for index in range(columns + unused)]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for start in range(0, rows, ROW_GROUP):
            length = min(ROW_GROUP, rows - start)
            arrays = [pa.array(generator.normal(size=length)) for _ in names]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, names=names), row_group_size=ROW_GROUP)


def schema_of(columns: int) -> Schema:
    return Schema.from_dict({"adjacency": "replace-one",
                             "columns": {f"x{index}": {"bounds": [-4.0, 4.5]} for index in range(columns)}})


def decode(path: Path, columns: int, groups: list[int] | None = None) -> int:
    """Decode the columns and discard them."""
    names = [f"x{index}" for index in range(columns)]
    with pq.ParquetFile(path, pre_buffer=False) as file:
        return sum(batch.num_rows for batch in file.iter_batches(65_536, row_groups=groups, columns=names, use_threads=False))


def decode_in_two_threads(path: Path, columns: int) -> int:
    groups = list(range(pq.read_metadata(path).num_row_groups))
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(lambda share: decode(path, columns, share), (groups[::2], groups[1::2])))


def interleaved(work: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Seconds of each piece of work, taken in turns so that other load on the machine affects all equally."""
    return {name: [seconds for seconds, _ in times] for name, times in interleaved_with_processor(work, repeats).items()}


def interleaved_with_processor(work: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[tuple[float, float]]]:
    """The same, each with the total CPU seconds."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
    for repeat in range(repeats + 2):
        for name, function in work.items():
            start, processor = time.perf_counter(), time.process_time()
            function()
            if repeat >= 2:  # the first two rounds warm up memory and the page cache
                times[name].append((time.perf_counter() - start, time.process_time() - processor))
    return times


def bytes_read(work: Callable[[], object]) -> int:
    """Bytes that this process requested from the system, from the page cache or not."""
    def now() -> int:
        with open("/proc/self/io") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("rchar"))

    before = now()
    work()
    return now() - before


PEAK = """
import sys
sys.path[:0] = {path!r}
import pyarrow.parquet, threadpoolctl
from benchmarks.gram_statistic import gram_sum, schema_of, write, Basis, Path, Run
schema = schema_of({columns})

def peak():
    # Not getrusage: its peak is inherited from the parent process.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

small = Path({directory!r}) / "small.parquet"
write(small, 1000, {columns})
gram_sum(str(small), schema, Basis.of(schema), run=Run({threads}, progress=False))
before = peak()
gram_sum({file!r}, schema, Basis.of(schema), run=Run({threads}, progress=False))
print(peak() - before)
"""


def peak_megabytes(file: Path, columns: int, threads: int) -> float:
    """The peak memory that a pass adds to a fresh process that has made a tiny one."""
    root = Path(__file__).resolve().parent.parent
    program = PEAK.format(path=[str(root), *sys.path], directory=str(file.parent), file=str(file),
                          columns=columns, threads=threads)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--unused", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    rows, columns = arguments.rows, arguments.columns
    schema = schema_of(columns)
    basis = Basis.of(schema)
    with tempfile.TemporaryDirectory() as directory:
        whole, quarter = Path(directory) / "whole.parquet", Path(directory) / "quarter.parquet"
        write(whole, rows, columns, arguments.unused)
        write(quarter, rows // 4, columns, arguments.unused)

        def gram(threads: int) -> object:
            return gram_sum(str(whole), schema, basis, run=Run(threads=threads, progress=False))

        times = interleaved_with_processor(
            {
                f"{DECODE}, 1 thread": lambda: decode(whole, columns),
                f"{GRAM}, 1 thread": lambda: gram(1),
                f"{DECODE}, 2 threads": lambda: decode_in_two_threads(whole, columns),
                f"{GRAM}, 2 threads": lambda: gram(2),
            },
            arguments.repeats,
        )
        report_times(times, rows, columns)
        share = bytes_read(lambda: gram(1)) / whole.stat().st_size
        Console().print(f"{share:.0%} of the file's bytes were read; {columns} of its {columns + arguments.unused} columns are "
                        "declared.")
        table = Table("threads", "rows", "memory above the interpreter", "target", title="Peak memory of a pass")
        for threads in (1, 2):
            for file, count in ((quarter, rows // 4), (whole, rows)):
                megabytes = peak_megabytes(file, columns, threads)
                table.add_row(str(threads), f"{count:,}", f"{megabytes:.0f} MB", f"at most {MOST_MEGABYTES} MB")
        Console().print(table)


def report_times(times: dict[str, list[tuple[float, float]]], rows: int, columns: int) -> None:
    table = Table("", "median seconds", "of processors", "M rows/s", "", "median", "quartiles", "target",
                  title=f"{rows:,} rows, {columns} columns")
    for kind in (DECODE, GRAM):
        for count in ("1 thread", "2 threads"):
            name = f"{kind}, {count}"
            seconds, spent = (statistics.median(found[place] for found in times[name]) for place in (0, 1))
            ratios = []
            if kind == GRAM:
                ratios.append(("times decoding", _ratios(times, name, f"{DECODE}, {count}"), f"at most {MOST_TIMES_DECODING}"))
            if count == "2 threads":
                ratios.append(("times as fast as 1", _ratios(times, f"{kind}, 1 thread", name),
                               f"at least {LEAST_SPEED_UP}" if kind == GRAM else ""))
            figures = (f"{seconds:.2f}", f"{spent:.2f}", f"{rows / seconds / 1e6:.1f}")
            for place, (words, found, target) in enumerate(ratios or [("", [], "")]):
                low, middle, high = statistics.quantiles(found, n=4) if found else (0.0, 0.0, 0.0)
                shown = (f"{middle:.2f}", f"{low:.2f} to {high:.2f}") if found else ("", "")
                table.add_row(*((name, *figures) if place == 0 else ("",) * 4), words, *shown, target)
    Console(width=130).print(table)


def _ratios(times: dict[str, list[tuple[float, float]]], one: str, other: str) -> list[float]:
    """Ratios within each round: other load slows both."""
    return [mine / theirs for (mine, _), (theirs, _) in zip(times[one], times[other], strict=True)]


if __name__ == "__main__":
    main()
