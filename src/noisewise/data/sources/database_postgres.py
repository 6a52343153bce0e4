"""PostgreSQL through ADBC: binary COPY, a few megabytes at a time."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as t

from noisewise.data.sources.base import needed, unusable
from noisewise.data.sources.database import QueryColumn, quoted, text_constant, to_the_end
from noisewise.data.sources.query_check import CellType, Family, refuse
from noisewise.database_query import shown_address
from noisewise.errors import DataError

# All within the transaction: a connection pool may give each transaction another session.
SETTINGS: Final = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    "SET standard_conforming_strings = on",
    # The rows of a unit are ordered by their cells as text, so different cells must have different texts.
    "SET extra_float_digits = 1",
    "SET DateStyle = 'ISO, YMD'",
    "SET TimeZone = 'UTC'",
    "SET bytea_output = 'hex'",
)

TABLE: Final = """
SELECT CAST(a.attname AS text), CAST(coalesce(b.typname, t.typname) AS text), CAST(c.relkind AS text),
    row_security_active(c.oid), CAST(a.attgenerated AS text)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype
WHERE c.oid = to_regclass({})
ORDER BY a.attnum
"""
NO_TABLES: Final = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}

FAMILIES: Final[Mapping[str, Family]] = {
    **dict.fromkeys(("int2", "int4", "int8"), "integer"), **dict.fromkeys(("float4", "float8", "numeric"), "fraction"),
    **dict.fromkeys(("text", "varchar", "bpchar"), "text"), "bool": "truth",
}
REASONS: Final = {
    "28": "the user or the password was refused", "3D": "there is no such database", "42P01": "there is no such table",
    "42703": "there is no such column", "42501": "no permission to read it", "42601": "it is not valid SQL",
    "57": "the server stopped it", "53": "the server ran out of disk space or memory", "25": "its transaction was ended",
}


class PostgresEngine:
    """One connection with one REPEATABLE READ transaction."""

    dialect = "postgres"

    def __init__(self, address: str) -> None:
        self._shown = shown_address(address)
        self._connection = _connect(address, self._shown)
        weakref.finalize(self, _close, self._connection)

    def table_types(self, table: str) -> Mapping[str, CellType]:
        """The columns of a table. Refuses views, foreign tables, row-level security and computed columns."""
        found = self._fetch(TABLE.format(text_constant(table)))
        if not found:
            raise DataError("the query must name an existing table", found=f"no table {table} in {self._shown}",
                            remedy="check its name, its schema and your permissions")
        _, _, relation, row_security, _ = found[0]
        if relation in NO_TABLES:
            refuse(NO_TABLES[relation])
        if row_security:
            refuse("a table with row-level security")
        if any(generated == "v" for *_, generated in found):
            refuse("a table with columns that are computed when they are read")
        return {name: CellType(FAMILIES.get(kind, "other"), kind) for name, kind, *_ in found}

    def try_constants(self, constants: Sequence[str]) -> None:
        """Do nothing: PostgreSQL checks constants when it parses the query."""

    def columns(self, sql: str) -> list[tuple[str, QueryColumn]]:
        """The columns of a query's result, found without reading a row."""
        schema, reason = None, ""
        with self._connection.cursor() as cursor:
            try:
                schema = cursor.adbc_execute_schema(sql)
            except Exception as error:  # of any class; its text may quote cells
                reason = _reason(error)
        if schema is None:
            raise DataError("the query cannot be run", found=f"{reason}, {self._shown}", remedy="try it with psql")
        return [(column.name, _column(column)) for column in schema]

    def content_order(self, columns: Mapping[str, QueryColumn], prefix: str) -> str:
        """An ORDER BY of these columns: by a hash of the cells as text, then by that text."""
        content = f'CAST(ROW({", ".join(prefix + quoted(name) for name in columns)}) AS text) COLLATE "C"'
        return f"hashtextextended({content}, 0), {content}"

    def read(self, sql: str, *, sorts: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows of a query, in any order."""
        with self._connection.cursor() as cursor:

            def opened() -> Iterator[pa.RecordBatch]:
                cursor.execute(sql)
                return iter(cursor.fetch_record_batch())

            yield from to_the_end(opened, _reason, self._shown, "psql")

    def _fetch(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for batch in self.read(sql) for row in batch.to_pylist()]


def _connect(address: str, shown: str) -> Any:
    needed("adbc_driver_postgresql", "adbc-driver-postgresql", "noisewise[postgres]", "reading from PostgreSQL")
    from adbc_driver_postgresql import dbapi

    connection = None
    try:
        connection = dbapi.connect(address, autocommit=False)
        with connection.cursor() as cursor:
            for setting in SETTINGS:
                cursor.execute(setting)
        return connection
    except (dbapi.Error, ValueError):  # the latter for an address that the driver cannot encode
        if connection is not None:
            _close(connection)
    # Raised outside the handler, so that the driver's message, which may hold parts of the address, is not attached.
    raise DataError("could not connect to the database", found=shown,
                    remedy="check address, user and password (PGPASSWORD, ~/.pgpass) with psql")


def _close(connection: Any) -> None:
    with contextlib.suppress(Exception):  # the server may be gone
        connection.close()


def _reason(error: Exception) -> str:
    """The public part of a driver's error: the meaning of its code, never its text."""
    code = str(getattr(error, "sqlstate", None) or "")
    words = REASONS.get(code) or REASONS.get(code[:2]) or type(error).__name__
    return f"{words} (SQLSTATE {code})" if code else words


def _column(column: pa.Field) -> QueryColumn:
    name = (column.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
    kind = column.type
    if name == "numeric":  # read as text, because a number too large for a double would fail
        return QueryColumn(pa.float64(), "CAST({} AS text)", "CAST(trim_scale({}) AS text)", number_as_text=True)
    if name == "money" or not isinstance(kind, pa.DataType) or (isinstance(kind, pa.BaseExtensionType) and name != "uuid"):
        return QueryColumn(unusable(name))
    if t.is_string(kind) or name == "uuid":
        # Includes enumerations and padded characters. All are compared byte by byte, whatever their collation.
        return QueryColumn(pa.string(), "CAST({} AS text)", 'CAST({} AS text) COLLATE "C"')
    return QueryColumn(kind)
