"""The Gram statistic on a local Spark cluster: against the local engine, and per row as rows grow in number.

    python benchmarks/spark.py [--rows 1000000 10000000 100000000] [--columns 5] [--file-rows 4000000] [--repeats 3]

Prints, each from one run:
- the time for the same Parquet file with the local engine and with Spark, both with two cores, and their ratio;
- the time of a job with hardly any rows, which is the fixed cost of a pass once Spark runs, and the start of Spark itself;
- the time per row of tables that Spark makes up as it goes, of 1e6 to 1e8 rows, less the fixed cost (target: constant). Processor
  time is that of Spark and its Python workers together: on a busy machine it says more than the clock.

Spark's random numbers are a part of the last; their own cost is printed too.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from noisewise.data.statistics.gram import gram_sum
from noisewise.run import QUIET, Run
from noisewise.schema.basis import Basis
from noisewise.schema.schema import Schema

CORES = 2
ROWS_OF_A_PARTITION = 1_000_000
ROW_GROUP = 250_000


def schema_of(columns: int) -> Schema:
    declared = {f"x{place}": {"bounds": [0, 1]} for place in range(columns)}
    return Schema.from_dict({"adjacency": "replace-one", "columns": declared})


def write(path: Path, rows: int, columns: int) -> None:
    generator = np.random.default_rng(20261115)
    names = [f"x{place}" for place in range(columns)]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for start in range(0, rows, ROW_GROUP):
            length = min(ROW_GROUP, rows - start)
            writer.write_batch(pa.RecordBatch.from_arrays([pa.array(generator.random(length)) for _ in names], names=names))


def start_spark() -> Any:
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1", "spark.driver.memory": "1g"}
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def made_up(spark: Any, rows: int, columns: int) -> Any:
    pieces = max(CORES, rows // ROWS_OF_A_PARTITION)
    return spark.range(0, rows, 1, pieces).selectExpr(*(f"rand({place}) as x{place}" for place in range(columns)))


def seconds(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The shortest of several times, by the clock and by the processors."""
    times = []
    for _ in range(repeats):
        clock, processors = time.perf_counter(), processor_seconds()
        work()
        times.append((time.perf_counter() - clock, processor_seconds() - processors))
    return min(clock for clock, _ in times), min(processors for _, processors in times)


def processor_seconds() -> float:
    """CPU seconds of this process and all its descendants, including those that have ended."""
    parents, used = {}, {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it may have ended meanwhile
            fields = place.read_text().rpartition(")")[2].split()
            parents[int(place.parent.name)], used[int(place.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    return sum(ticks for process, ticks in used.items() if _is_ours(process, parents)) / os.sysconf("SC_CLK_TCK")


def _is_ours(process: int, parents: dict[int, int]) -> bool:
    while process not in (0, os.getpid()):
        process = parents.get(process, 0)
    return process == os.getpid()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7, 10**8])
    parser.add_argument("--columns", type=int, default=5)
    parser.add_argument("--file-rows", type=int, default=4_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore", FutureWarning)  # PySpark about pandas
    console = Console()
    schema = schema_of(given.columns)

    def statistic(data: Any, run: Run = QUIET) -> Any:
        return gram_sum(data, schema, Basis.of(schema), run=run)

    began = time.perf_counter()
    spark = start_spark()
    statistic(made_up(spark, 1000, given.columns))
    console.print(f"Spark starts, and its first pass ends, after {time.perf_counter() - began:.1f} s")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, given.file_rows, given.columns)
        frame = spark.read.parquet(str(path))
        assert statistic(frame) == statistic(path, Run(CORES, progress=False))  # the same to the last bit; and both are warm now
        local, local_used = seconds(partial(statistic, path, Run(CORES, progress=False)), given.repeats)
        there, there_used = seconds(partial(statistic, frame), given.repeats)
    console.print(f"Parquet, {given.file_rows:,} rows, {given.columns} columns, {CORES} cores: local {local:.2f} s, "
                  f"Spark {there:.2f} s, ratio {there / local:.1f}; of processor time {there_used / local_used:.1f}")

    fixed, fixed_used = seconds(lambda: statistic(made_up(spark, 1000, given.columns)), given.repeats)
    console.print(f"A pass over 1000 rows (the fixed cost): {fixed:.2f} s, {fixed_used:.2f} s of processor time")
    console.print("Microseconds per row, less the fixed cost:")
    table = Table("rows", "seconds", "by the clock", "of processors", "random numbers alone, of processors")
    per_row = []
    for rows in given.rows:
        data = made_up(spark, rows, given.columns)
        repeats = given.repeats if rows <= 10**7 else 1
        taken, used = seconds(partial(statistic, data), repeats)
        _, alone = seconds(data.write.format("noop").mode("overwrite").save, repeats)
        per_row.append(((taken - fixed) / rows * 1e6, (used - fixed_used) / rows * 1e6))
        table.add_row(f"{rows:,}", f"{taken:.2f}", *(f"{each:.3f}" for each in (*per_row[-1], alone / rows * 1e6)))
    console.print(table)
    clock, processors = (most / fewest for most, fewest in zip(per_row[-1], per_row[0], strict=True))
    console.print(f"Per row, most rows to fewest: {clock:.2f} by the clock, {processors:.2f} of processor time")
    spark.stop()


if __name__ == "__main__":
    main()
