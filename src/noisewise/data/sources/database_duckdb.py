"""DuckDB: a file, opened read-only; Parquet files; or an open connection."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as t

from noisewise.data.sources.base import BATCH_ROWS, needed
from noisewise.data.sources.database import QueryColumn, quoted, text_constant, to_the_end
from noisewise.data.sources.query_check import CellType, Family, refuse
from noisewise.database_query import shown_address
from noisewise.errors import DataError

MEMORY, MEMORY_TO_SORT = "192MB", "1GB"
"""Memory for DuckDB's own buffers. With too little it cannot sort; with enough it spills to a folder of temporary files."""
MOST_THREADS: Final = 4
"""Each thread needs its own memory, and rows leave the database one batch after the other anyway."""
SETTINGS: Final = (
    "SET enable_progress_bar = false",
    "SET arrow_large_buffer_size = true",  # so that no text is too long
    "SET python_enable_replacements = false",  # so that no Python variable is taken for a table
    "BEGIN TRANSACTION READ ONLY",
)
FAMILIES: Final[Mapping[str, Family]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"), "integer"),
    "FLOAT": "fraction", "DOUBLE": "fraction", "VARCHAR": "text", "BOOLEAN": "truth",
}
WIDE: Final = ("HUGEINT", "UHUGEINT")
"""128-bit integers, for which Arrow has no type."""


class DuckdbEngine:
    """One connection with one transaction."""

    dialect = "duckdb"

    def __init__(self, address: object) -> None:
        self._shown = shown_address(address) if isinstance(address, str) else "an open DuckDB connection"
        self._connection, folder = _connect(address, self._shown)
        self._own = folder is not None
        weakref.finalize(self, _close, self._connection, folder)
        for setting in SETTINGS:
            self._connection.execute(setting)

    def table_types(self, table: str) -> Mapping[str, CellType]:
        """The columns of a table. Refuses views, computed columns and files other than Parquet."""
        from sqlglot import exp

        parts = [part.name for part in exp.to_table(table, dialect=self.dialect).parts]
        columns = ("table_name", "table_schema", "table_catalog")
        same = " AND ".join(f"lower({column}) = lower({text_constant(part)})"
                            for column, part in zip(columns, reversed(parts), strict=False))
        if len(parts) == 2:  # a schema, or a database with its main schema
            same = (f"lower(table_name) = lower({text_constant(parts[1])}) AND (lower(table_schema) = "
                    f"lower({text_constant(parts[0])}) OR lower(table_catalog) = lower({text_constant(parts[0])}))")
        found = self._fetch(f"SELECT table_type FROM information_schema.tables WHERE {same}")
        if any("VIEW" in kind for kind, in found):
            refuse("a view")
        if not found and not (len(parts) == 1 and parts[0].lower().endswith(".parquet")):
            if len(parts) == 1 and os.path.splitext(parts[0])[1]:
                refuse("a file that is not Parquet, whose types depend on its cells")
            raise DataError("the query must name an existing table", found=f"no table {table} in {self._shown}",
                            remedy="check its name and its schema")
        statements = self._fetch(f"SELECT sql FROM duckdb_tables() WHERE lower(table_name) = lower({text_constant(parts[-1])})")
        if any("GENERATED ALWAYS" in (sql or "").upper() for sql, in statements):
            refuse("a table with columns that are computed when they are read")
        described = self._fetch(f"DESCRIBE SELECT * FROM {table}")
        return {name: CellType(_family(kind), kind) for name, kind, *_ in described}

    def try_constants(self, constants: Sequence[str]) -> None:
        """Refuse constants that DuckDB cannot parse."""
        for constant in constants:
            if self._attempt(f"SELECT {constant}") is None:
                raise DataError("a constant must fit the type of the column it is compared with", found=constant,
                                remedy="write it as the database does, for example '2026-05-01' for a date")

    def columns(self, sql: str) -> list[tuple[str, QueryColumn]]:
        """The columns of a query's result, found without reading a row."""
        described = self._fetch(f"DESCRIBE (\n{sql}\n)")
        # This reads only the types, and no row.
        types = self._connection.sql(f"SELECT * FROM (\n{sql}\n) AS noisewise_rows LIMIT 0").to_arrow_table().schema.types
        return [(name, _column(kind, arrow)) for (name, kind, *_), arrow in zip(described, types, strict=True)]

    def content_order(self, columns: Mapping[str, QueryColumn], prefix: str) -> str:
        """An ORDER BY of these columns: by a hash of the cells, then by the cells."""
        names = [prefix + quoted(name) for name in columns]
        return ", ".join([f"hash({', '.join(names)})", *(_ordered(name, column) for name, column in
                                                         zip(names, columns.values(), strict=True))])

    def read(self, sql: str, *, sorts: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows of a query, in any order."""
        def opened() -> Iterator[pa.RecordBatch]:
            if self._own:
                self._connection.execute(f"SET memory_limit = '{MEMORY_TO_SORT if sorts else MEMORY}'")
            rows = self._connection.sql(sql)
            reader = rows.to_arrow_reader if hasattr(rows, "to_arrow_reader") else rows.fetch_arrow_reader  # DuckDB before 1.5
            return iter(reader(BATCH_ROWS))

        yield from to_the_end(opened, lambda error: type(error).__name__, self._shown, "duckdb")

    def _fetch(self, sql: str) -> list[tuple[Any, ...]]:
        found = self._attempt(sql)
        if found is None:
            raise DataError("the query cannot be run", found=self._shown, remedy="try it with duckdb")
        return found

    def _attempt(self, sql: str) -> list[tuple[Any, ...]] | None:
        import duckdb

        try:
            found: list[tuple[Any, ...]] = self._connection.execute(sql).fetchall()
        except duckdb.Error:
            return None
        return found


def _connect(address: Any, shown: str) -> tuple[Any, str | None]:
    duckdb = needed("duckdb", "duckdb", "noisewise[duckdb]", "reading from DuckDB")
    if not isinstance(address, str):
        return address.cursor(), None
    path = address.removeprefix("duckdb:")
    if path and not os.path.exists(path):
        raise DataError("the file does not exist", found=shown, remedy="check the path")
    folder = tempfile.mkdtemp(prefix="noisewise-")
    config = {"memory_limit": MEMORY, "temp_directory": folder, "autoinstall_known_extensions": False,
              "threads": min(MOST_THREADS, os.cpu_count() or 1)}
    for may_be_left_over in (True, False):
        try:
            return duckdb.connect(path or ":memory:", read_only=bool(path), config=config), folder
        except duckdb.Error:
            if may_be_left_over:  # an unused source that has not been collected yet keeps the file open
                gc.collect()
    shutil.rmtree(folder, ignore_errors=True)
    raise DataError("the database cannot be opened", found=shown,
                    remedy="check that it is a DuckDB file and that nobody is writing to it; if this program has it open, pass "
                    "its connection: noisewise.query(connection, \"SELECT ...\")")


def _close(connection: Any, folder: str | None) -> None:
    with contextlib.suppress(Exception):
        connection.close()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _family(kind: str) -> Family:
    return "fraction" if kind.startswith("DECIMAL") else FAMILIES.get(kind, "other")


def _column(kind: str, arrow: pa.DataType) -> QueryColumn:
    if kind in WIDE:
        return QueryColumn(pa.float64(), "CAST({} AS DOUBLE)", "CAST({} AS VARCHAR)")
    return QueryColumn(arrow, unit="encode({})" if kind == "VARCHAR" else "{}")


def _ordered(name: str, column: QueryColumn) -> str:
    """SQL for an order in which only equal cells are tied: texts by their bytes, and 0.0 apart from -0.0."""
    if t.is_string(column.kind) or t.is_large_string(column.kind):
        return f"encode(CAST({name} AS VARCHAR))"
    return f"{name}, signbit({name})" if t.is_floating(column.kind) and column.cell == "{}" else name
