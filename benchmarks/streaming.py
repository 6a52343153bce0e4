"""Every statistic from every source: rows per second on one and two cores, against decoding, and peak memory.

    python benchmarks/streaming.py [--rows 1000000] [--repeats 3] [--kind gram] [--source parquet]
    python benchmarks/streaming.py --memory [--rows 500000]

The table has ten numbers, two categories and an identifier. "Decoding" is the time of the source alone to hand out the wanted
columns on one core. For a table in memory that is nearly nothing, so its times are compared with decoding the same
columns from Parquet. All are taken in turns. Affinity holds a process to one core. Processor seconds show the cost of the work
independently of other load.

With ``--memory``: the peak memory that a pass adds to a fresh process, for the table and for one four times as long.
Releases of kind rows are complete, for a tenth of the rows: they read twice, draw noise for every cell, and write it.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Before NumPy starts.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import noisewise as nw
from noisewise.data import averaged_gram_sum, gram_sum, moments_sum
from noisewise.data.columns import wanted_columns
from noisewise.data.sources import open_source
from noisewise.data.statistics.bounds import grid_counts
from noisewise.data.statistics.partition import part_moments
from noisewise.run import QUIET
from noisewise.schema import Basis, Schema
from noisewise.schema.partition import part_design

ROW_GROUP = 250_000
NUMBERS = [f"x{index}" for index in range(10)]
CATEGORIES = {"ward": ["A", "B", "C", "D"], "smoker": ["no", "yes"]}
FORMULA = "x9 ~ " + " + ".join(NUMBERS[:4])
SOURCES = ("parquet", "csv", "csv.gz", "table", "stream", "pandas")
CORES = (1, 2)


def write_sources(folder: Path, rows: int) -> None:
    """The same rows in every format; numbers have six digits, so that a CSV file has a typical size."""
    generator = np.random.default_rng(20261115)
    kind = pa.schema([*((name, pa.float64()) for name in NUMBERS), *((name, pa.string()) for name in CATEGORIES),
                      ("person", pa.int64())])
    with pq.ParquetWriter(folder / "rows.parquet", kind) as writer, pa.csv.CSVWriter(folder / "rows.csv", kind) as text:
        for start in range(0, rows, ROW_GROUP):
            length = min(ROW_GROUP, rows - start)
            arrays = [pa.array(generator.normal(size=length).round(6)) for _ in NUMBERS]
            arrays += [pa.array(np.array(levels)[generator.integers(len(levels), size=length)]) for levels in CATEGORIES.values()]
            arrays.append(pa.array(generator.integers(0, rows // 3 + 1, size=length)))
            batch = pa.RecordBatch.from_arrays(arrays, schema=kind)
            writer.write_batch(batch, row_group_size=ROW_GROUP)
            text.write_batch(batch)
    with (folder / "rows.csv").open("rb") as plain, gzip.open(folder / "rows.csv.gz", "wb", compresslevel=1) as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)


def opener(folder: Path, source: str) -> Callable[[], Any]:
    """A function that makes the argument of a statistic; tables in memory are read now."""
    if source in ("parquet", "csv", "csv.gz"):
        return lambda: str(folder / f"rows.{source}")
    if source == "stream":
        return lambda: pa.RecordBatchReader.from_batches(
            (file := pq.ParquetFile(folder / "rows.parquet", pre_buffer=False)).schema_arrow,
            file.iter_batches(65_536, use_threads=False))
    table = pq.read_table(folder / "rows.parquet", use_threads=False)
    data = table.to_pandas() if source == "pandas" else table
    return lambda: data


def schema_of(categories: bool = False, unit: bool = False, bounds: Any = (-4.0, 4.0)) -> Schema:
    columns: dict[str, Any] = {name: {"bounds": bounds if isinstance(bounds, str) else list(bounds)} for name in NUMBERS}
    if categories:
        columns |= {name: {"levels": levels} for name, levels in CATEGORIES.items()}
    return Schema.from_dict({"adjacency": "replace-one", "columns": columns,
                             **({"unit": {"column": "person", "max_rows": 2}} if unit else {})})


class Statistic:
    """One kind of pass: its declaration and its call."""

    def __init__(self, schema: Schema, run: Callable[[Any], object], wanted: list[Any] | None = None) -> None:
        self.schema, self.run = schema, run
        self.wanted = wanted_columns(schema.columns, schema.unit.column) if wanted is None else wanted


def kinds(folder: Path, rows: int) -> dict[str, Statistic]:
    plain, mixed, people, unknown = schema_of(), schema_of(categories=True), schema_of(unit=True), schema_of(bounds="unknown")
    design = part_design(unknown, FORMULA, ())
    used = wanted_columns([unknown.column(name) for name in (*NUMBERS[:4], "x9")], None)

    def partition(parts: int) -> Statistic:
        return Statistic(unknown, lambda data: part_moments(data, unknown, design, parts, run=QUIET), used)

    return {
        "gram": _gram(plain),
        "gram, categories": _gram(mixed),
        "gram, unit column": _gram(people),
        "moments": Statistic(plain, lambda data: moments_sum(data, plain, Basis.of(plain), ["x", "xx", "y", "yx"],
                                                             run=QUIET)),
        "averaged": Statistic(plain, lambda data: averaged_gram_sum(data, plain, Basis.of(plain), 10, run=QUIET)),
        "partition, equal parts": partition(-(-rows // 1000)),
        "partition, large parts": partition(100),
        "bounds": Statistic(plain, lambda data: grid_counts(data, NUMBERS, np.linspace(-5, 5, 201), plain.unit, run=QUIET)),
        "rows": Statistic(mixed, lambda data: _rows(folder, data, mixed)),
    }


def _gram(schema: Schema) -> Statistic:
    basis = Basis.of(schema)
    return Statistic(schema, lambda data: gram_sum(data, schema, basis, run=QUIET))


def _rows(folder: Path, data: Any, schema: Schema) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as output:
        nw.release(data, schema, nw.Rows(), epsilon=8.0, to=Path(output) / "out.nwr", run=QUIET)


def decode(data: Any, statistic: Statistic) -> int:
    """Read the wanted columns and discard them."""
    return sum(batch.num_rows for task in open_source(data).tasks(statistic.wanted) for batch in task())


@contextmanager
def held_to(cores: int) -> Iterator[None]:
    """Limit this thread and those that it starts to ``cores`` cores."""
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(usual)[:cores]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)


def timed(work: Callable[[], object], cores: int) -> tuple[float, float]:
    """Wall-clock and processor seconds."""
    with held_to(cores):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        return time.perf_counter() - wall, time.process_time() - processor


def compare(folder: Path, small: Path, arguments: argparse.Namespace) -> None:
    print(f"{arguments.rows:,} rows; millions of rows per second\n")
    show("statistic", "source", "decoding", "1 core", "2 cores", "1 core / decoding", "1 core / decoding Parquet",
         "2 cores against 1", "processor seconds: Parquet, 1 core, 2 cores")
    show(*["---"] * 9)
    for name in kinds(folder, arguments.rows):
        if arguments.kind and name not in arguments.kind:
            continue
        place, rows = (small, arguments.rows // 10) if name == "rows" else (folder, arguments.rows)
        statistic = kinds(place, rows)[name]
        for source in SOURCES:
            if arguments.source not in (None, source):
                continue
            show(name, source, *_figures(statistic, opener(place, source), opener(place, "parquet"), rows, arguments.repeats))


def show(*cells: str) -> None:
    """Print a line of a table as soon as it is known."""
    print("| " + " | ".join(cells) + " |", flush=True)


def _figures(statistic: Statistic, data: Callable[[], Any], parquet: Callable[[], Any], rows: int, repeats: int) -> list[str]:
    wall: dict[Any, list[float]] = {key: [] for key in ("decode", "parquet", *CORES)}
    spent: dict[Any, list[float]] = {key: [] for key in wall}
    for repeat in range(repeats + 1):
        found = {"decode": timed(lambda: decode(data(), statistic), 1), "parquet": timed(lambda: decode(parquet(), statistic), 1),
                 **{cores: timed(lambda: statistic.run(data()), cores) for cores in CORES}}
        if repeat:  # the first round warms up
            for key, (seconds, processor) in found.items():
                wall[key].append(seconds)
                spent[key].append(processor)

    def ratio(one: Any, other: Any) -> str:
        return f"{statistics.median(mine / theirs for mine, theirs in zip(wall[one], wall[other], strict=True)):.2f}"

    speed = [f"{rows / statistics.median(wall[key]) / 1e6:.2f}" for key in ("decode", *CORES)]
    return [*speed, ratio(1, "decode"), ratio(1, "parquet"), ratio(1, 2),
            ", ".join(f"{statistics.median(spent[key]):.2f}" for key in ("parquet", *CORES))]


PEAK = """
import sys
sys.path[:0] = {path!r}
from benchmarks.streaming import *

def peak():
    # Not getrusage: its peak is inherited from the parent process.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

def clear():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")

folder, tiny, rows = Path({folder!r}), Path({tiny!r}), {rows}
kinds(tiny, 1000)[{kind!r}].run(opener(tiny, {source!r})())
data = opener(folder, {source!r})
clear()
before = peak()
kinds(folder, rows)[{kind!r}].run(data())
print(peak() - before)
"""


def peak_megabytes(folder: Path, tiny: Path, kind: str, source: str, rows: int) -> float:
    """The peak memory that a pass adds to a fresh process that has made a tiny one, and that holds any table in memory."""
    root = Path(__file__).resolve().parent.parent
    program = PEAK.format(path=[str(root), *sys.path], folder=str(folder), tiny=str(tiny), kind=kind, source=source, rows=rows)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def compare_memory(once: Path, four: Path, tiny: Path, arguments: argparse.Namespace) -> None:
    print("Peak memory of a pass, MB above the interpreter and a table in memory\n")
    show("statistic", "source", f"{arguments.rows:,} rows", f"{4 * arguments.rows:,} rows")
    show(*["---"] * 4)
    for name in kinds(tiny, 1000):
        for source in SOURCES:
            if (not arguments.kind or name in arguments.kind) and arguments.source in (None, source):
                found = [peak_megabytes(folder, tiny, name, source, rows)
                         for folder, rows in ((once, arguments.rows), (four, 4 * arguments.rows))]
                show(name, source, *(f"{megabytes:.0f}" for megabytes in found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kind", action="append", help="one of them; may be repeated")
    parser.add_argument("--source", default=None, choices=SOURCES)
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        sizes = {"tiny": 1000, "once": arguments.rows, **({"four": 4 * arguments.rows} if arguments.memory else
                                                         {"small": arguments.rows // 10})}
        folders = {name: Path(directory) / name for name in sizes}
        for name, rows in sizes.items():
            folders[name].mkdir()
            write_sources(folders[name], rows)
        if arguments.memory:
            compare_memory(folders["once"], folders["four"], folders["tiny"], arguments)
        else:
            compare(folders["once"], folders["small"], arguments)


if __name__ == "__main__":
    main()
