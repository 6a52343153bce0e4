"""Databases with made-up rows: DuckDB files, and a PostgreSQL server that the tests start where pgserver is installed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
import pytest

import noisewise
from noisewise.database_query import Query

_NUMBERS = count()


@cache
def server() -> Any:
    """One server for the process; it stops with it."""
    pgserver = pytest.importorskip("pgserver")
    return pgserver.get_server(mkdtemp(prefix="noisewise-server-"), cleanup_mode="delete")


def postgres_address() -> str:
    """The address of an empty database."""
    name = f"rows{next(_NUMBERS)}"
    server().psql(f"CREATE DATABASE {name};")
    return str(server().get_uri(name))


def run_in_postgres(address: str, *statements: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def postgres_table(table: pa.Table, name: str = "patients") -> str:
    """The address of a database with one table; columns of lists stay empty."""
    from adbc_driver_postgresql import dbapi

    lists = [column.name for column in table.schema if pa.types.is_list(column.type)]
    address = postgres_address()
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, table.drop_columns(lists), mode="create")
        for column in lists:
            cursor.execute(f'ALTER TABLE {name} ADD COLUMN "{column}" int[]')
    return address


def duckdb_table(table: pa.Table, folder: Path, name: str = "patients") -> str:
    """The path of a DuckDB file with one table."""
    import duckdb

    path = str(folder / "rows.duckdb")
    with duckdb.connect(path) as connection:
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return path


def run_in_duckdb(path: str, statements: Sequence[str]) -> None:
    import duckdb

    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)


def postgres_query(table: pa.Table, folder: Path) -> Query:
    return noisewise.query(postgres_table(table), "SELECT * FROM patients")


def duckdb_query(table: pa.Table, folder: Path) -> Query:
    return noisewise.query(duckdb_table(table, folder), "SELECT * FROM patients")


def duckdb_parquet_query(table: pa.Table, folder: Path) -> Query:
    import pyarrow.parquet as pq

    pq.write_table(table, folder / "it's.parquet")
    return noisewise.query("duckdb:", f"SELECT * FROM '{folder}/it''s.parquet'")


def duckdb_connection_query(table: pa.Table, folder: Path) -> Query:
    import duckdb

    return noisewise.query(duckdb.connect(duckdb_table(table, folder)), "SELECT * FROM patients")
