"""The Gram statistic of a table in DuckDB and in PostgreSQL: rows streamed through Arrow, against sums computed in SQL.

    python benchmarks/databases.py [--rows 1000000] [--columns 10 20] [--repeats 3]

Prints times as ratios to the same statistic of a Parquet file, and the memory that this process needs above a tiny table, for the
rows and for eight times as many. PostgreSQL is a server of the package pgserver, over a local socket. The sums in SQL are exact,
and are compared with those of the local engine.
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
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import noisewise
from noisewise.data.exact import ONE
from noisewise.data.plan import Plan
from noisewise.data.sources.database import quoted
from noisewise.data.statistics.gram import gram_sum
from noisewise.run import QUIET
from noisewise.schema.basis import Basis
from noisewise.schema.schema import Schema

ROW_GROUP = 250_000
UNIT_ROWS = 3
"""Rows of each unit in the table, on average, and how many of them are used."""
HALF_EVEN = "({} + 6755399441055744.0) - 6755399441055744.0"
"""Adding this rounds a double of at most 2**51 to a whole number, ties to even: beyond 2**52 doubles are whole numbers."""


def names_of(columns: int) -> list[str]:
    return [f"x{index}" for index in range(columns)]


def write(path: Path, rows: int, columns: int) -> None:
    generator = np.random.default_rng(20261115)
    schema = pa.schema([("person", pa.int64()), *((name, pa.float64()) for name in names_of(columns))])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, ROW_GROUP):
            length = min(ROW_GROUP, rows - start)
            units = generator.integers(0, max(1, rows // UNIT_ROWS), length)
            writer.write_table(pa.table([units, *(generator.normal(size=length) for _ in range(columns))], schema=schema))


def schema_of(columns: int, *, units: bool = False) -> Schema:
    unit = {"unit": {"column": "person", "max_rows": UNIT_ROWS}} if units else {}
    return Schema.from_dict({"adjacency": "replace-one", **unit,
                             "columns": {name: {"bounds": [-4.0, 4.5]} for name in names_of(columns)}})


def load_duckdb(path: Path, file: Path) -> None:
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM '{file}'")


def load_postgres(address: str, file: Path, table: str = "people") -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {table}")
        cursor.adbc_ingest(table, pq.ParquetFile(file).iter_batches(), mode="create")
        cursor.execute(f"VACUUM ANALYZE {table}")


def sums_in_sql(plan: Plan, integer: str, rounded: str, barrier: str) -> str:
    """One row with the upper triangle of the Gram matrix in units of 2**-40, in the order of `np.triu_indices`."""
    scaled = []
    for place, number in enumerate(plan.numbers, start=1):
        shifted = f"({quoted(number.name)} - {number.centre!r}) * {number.scale!r}"
        value = rounded.format(f"least(greatest({shifted}, {-ONE!r}), {ONE!r})")
        scaled.append(f"CAST(coalesce({value}, {number.fill!r}) AS {integer}) AS v{place}")
    size = len(scaled) + 1
    factors = [str(int(ONE)), *(f"v{place}" for place in range(1, size))]
    sums = [f"sum({factors[row]} * {factors[column]})" if row or column else f"count(*) * {int(ONE)} * {int(ONE)}"
            for row, column in zip(*np.triu_indices(size), strict=True)]
    return f"SELECT {', '.join(sums)} FROM (SELECT {', '.join(scaled)} FROM people {barrier}) AS scaled"


def in_duckdb(path: Path, plan: Plan) -> list[int]:
    import duckdb

    with duckdb.connect(str(path), read_only=True) as connection:
        return _whole(connection.execute(sums_in_sql(plan, "BIGINT", HALF_EVEN, "")).fetchall()[0])


def in_postgres(address: str, plan: Plan) -> list[int]:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        # OFFSET 0: otherwise each value would be scaled again for every product.
        cursor.execute(sums_in_sql(plan, "bigint", "round(CAST({} AS float8))", "OFFSET 0"))
        return _whole(cursor.fetchall()[0])


def _whole(found: tuple[Any, ...]) -> list[int]:
    return [int(number) for number in found]


def interleaved(work: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Seconds of each piece of work, taken in turns so that other load on the machine affects all equally."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for repeat in range(repeats + 1):
        for name, function in work.items():
            start = time.perf_counter()
            function()
            if repeat:  # the first round warms up
                times[name].append(time.perf_counter() - start)
    return times


def compare(folder: Path, address: str, rows: int, columns: int, repeats: int) -> None:
    file, database = folder / "rows.parquet", folder / f"rows{columns}.duckdb"
    write(file, rows, columns)
    load_duckdb(database, file)
    load_postgres(address, file)
    schema, with_units = schema_of(columns), schema_of(columns, units=True)
    basis, plan = Basis.of(schema), Plan.of(Basis.of(schema))
    of_duckdb = noisewise.query(str(database), "SELECT * FROM people")
    of_postgres = noisewise.query(address, "SELECT * FROM people")

    def streamed(data: Any, declared: Schema = schema) -> Any:
        return gram_sum(data, declared, Basis.of(declared), run=QUIET)

    expected = streamed(str(file))
    triangle = expected.total[np.triu_indices(basis.size)].tolist()
    assert streamed(of_duckdb) == expected == streamed(of_postgres), "the same rows have the same sums"
    assert in_duckdb(database, plan) == triangle == in_postgres(address, plan), "sums in SQL are exact"
    times = interleaved(
        {
            "Parquet": lambda: streamed(str(file)),
            "DuckDB, rows streamed": lambda: streamed(of_duckdb),
            "DuckDB, sums in SQL": lambda: in_duckdb(database, plan),
            "PostgreSQL, rows streamed": lambda: streamed(of_postgres),
            "PostgreSQL, sums in SQL": lambda: in_postgres(address, plan),
            f"Parquet, {UNIT_ROWS} rows of a unit": lambda: streamed(str(file), with_units),
            f"DuckDB, {UNIT_ROWS} rows of a unit": lambda: streamed(of_duckdb, with_units),
            f"PostgreSQL, {UNIT_ROWS} rows of a unit": lambda: streamed(of_postgres, with_units),
        },
        repeats,
    )
    table = Table("", "median seconds", "ratio to Parquet", "ratio to rows streamed", title=f"{rows:,} rows, {columns} columns")
    for name, seconds in times.items():
        engine = name.partition(",")[0]
        streamed_too = times.get(f"{engine}, rows streamed") if name.endswith("SQL") else None
        table.add_row(name, f"{statistics.median(seconds):.2f}", _ratio(seconds, times["Parquet"]),
                      "" if streamed_too is None else _ratio(seconds, streamed_too))
    Console(width=130).print(table)


def _ratio(mine: list[float], others: list[float]) -> str:
    """Median, lowest and highest of the ratios within one round: other load slows both."""
    ratios = [one / other for one, other in zip(mine, others, strict=True)]
    return f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"


PEAK = """
import sys
sys.path[:0] = {path!r}
from benchmarks.databases import QUIET, Basis, gram_sum, noisewise, schema_of
schema = schema_of({columns})

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

for table in ("few", "people"):
    before = peak()
    data = noisewise.query({address!r}, f"SELECT * FROM {{table}}")
    gram_sum(data, schema, Basis.of(schema), run=QUIET)
print(peak() - before)
"""


def peak_megabytes(address: str, columns: int) -> float:
    """The peak memory that a pass adds to a fresh process that has made a tiny one."""
    root = Path(__file__).resolve().parent.parent
    program = PEAK.format(path=[str(root), *sys.path], address=address, columns=columns)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def memory(folder: Path, address: str, rows: int, columns: int) -> None:
    import duckdb

    table = Table("", "rows", "as doubles", "memory above a tiny table", title=f"Peak memory of a pass, {columns} columns")
    few = folder / "few.parquet"
    write(few, 1000, columns)
    load_postgres(address, few, "few")
    for count in (rows, 8 * rows):
        file, database = folder / "rows.parquet", folder / f"memory{count}.duckdb"
        write(file, count, columns)
        load_duckdb(database, file)
        with duckdb.connect(str(database)) as connection:
            connection.execute(f"CREATE TABLE few AS SELECT * FROM '{few}'")
        load_postgres(address, file)
        for name, place in (("DuckDB", str(database)), ("PostgreSQL", address)):
            table.add_row(name, f"{count:,}", f"{count * columns * 8 / 2**20:.0f} MB", f"{peak_megabytes(place, columns):.0f} MB")
    Console(width=130).print(table)


def main() -> None:
    import pgserver

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 20])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        server = pgserver.get_server(tempfile.mkdtemp(), cleanup_mode="delete")
        try:
            for columns in arguments.columns:
                compare(folder, server.get_uri(), arguments.rows, columns, arguments.repeats)
            memory(folder, server.get_uri(), arguments.rows, arguments.columns[0])
        finally:
            server.cleanup()


if __name__ == "__main__":
    main()
