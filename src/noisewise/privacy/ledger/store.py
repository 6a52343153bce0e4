"""The database of a ledger: SQLite in a file, or PostgreSQL for holders with many users; the same statements for both.

Entries can only be added. Every addition is one transaction that holds the only write lock from its first read on, so that two
processes cannot both see the last of the budget. SQLite writes ahead to a log and waits for the disk (``synchronous=FULL``).
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from noisewise.errors import PrivacyError
from noisewise.privacy.ledger.entries import Entry

WAIT: Final = 60.0
"""Seconds to wait for another process that is writing."""
COLUMNS: Final = tuple(field.name for field in fields(Entry))
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS noisewise_entries (number INTEGER PRIMARY KEY, what TEXT NOT NULL, at TEXT NOT NULL,"
    " who TEXT NOT NULL, description TEXT NOT NULL, cost TEXT,"
    " partition TEXT NOT NULL, request TEXT NOT NULL, of INTEGER, file_digest TEXT NOT NULL, before TEXT NOT NULL,"
    " digest TEXT NOT NULL UNIQUE)",
    "CREATE TABLE IF NOT EXISTS noisewise_files (entry INTEGER PRIMARY KEY, content {bytes} NOT NULL)",
)
_GUARDS: Final = tuple(
    f"CREATE TRIGGER IF NOT EXISTS {table}_{action} BEFORE {action} ON {table}"
    " BEGIN SELECT RAISE(ABORT, 'a ledger can only be added to'); END"
    for table in ("noisewise_entries", "noisewise_files") for action in ("update", "delete")
)


class Store:
    """Connections to one database; each use is a connection of its own, so that a store may be shared by threads."""

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place = os.fspath(place)
        self.remote = self.place.startswith(("postgresql://", "postgres://"))

    def exists(self) -> bool:
        """Whether there is a ledger at this place."""
        if self.remote:
            with self._connected() as connection:
                found = connection.execute("SELECT to_regclass('noisewise_entries')").fetchone()
                return bool(found[0])
        return Path(self.place).is_file() and Path(self.place).stat().st_size > 0

    def create(self) -> None:
        """Make the tables, if they are not there."""
        with self.writing() as connection:
            for statement in _TABLES:
                connection.execute(statement.format(bytes="BYTEA" if self.remote else "BLOB"))
            for statement in () if self.remote else _GUARDS:
                connection.execute(statement)

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """A transaction that no other can write beside; it is on the disk when this ends, or it never happened."""
        with self._connected() as connection:
            connection.execute("BEGIN" if self.remote else "BEGIN IMMEDIATE")
            try:
                if self.remote:
                    connection.execute("SELECT pg_advisory_xact_lock(727071)")
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def entries(self, connection: Any | None = None) -> list[Entry]:
        """All entries, in order."""
        if connection is None:
            with self._connected() as opened:
                return self.entries(opened)
        rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM noisewise_entries ORDER BY number").fetchall()
        return [_entry(row) for row in rows]

    def add(self, connection: Any, entry: Entry) -> None:
        values = {**asdict(entry), "cost": None if entry.cost is None else json.dumps(entry.cost),
                  "partition": json.dumps(entry.partition, sort_keys=True)}
        self._insert(connection, "noisewise_entries", values)

    def add_file(self, connection: Any, entry: int, content: bytes) -> None:
        self._insert(connection, "noisewise_files", {"entry": entry, "content": content})

    def file(self, entry: int) -> bytes | None:
        """The file of a charge, if its release was completed."""
        with self._connected() as connection:
            row = connection.execute(f"SELECT content FROM noisewise_files WHERE entry = {int(entry)}").fetchone()
        return None if row is None else bytes(row[0])

    def _insert(self, connection: Any, table: str, values: dict[str, Any]) -> None:
        marks = ", ".join(["%s" if self.remote else "?"] * len(values))
        connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        connection = _postgres(self.place) if self.remote else _sqlite(self.place)
        try:
            yield connection
        except sqlite3.DatabaseError as error:
            raise PrivacyError("the ledger's database cannot be used", found=f"{self.place}: {error}",
                               remedy="check the path, its permissions and the disk; nothing was released") from error
        finally:
            connection.close()


def _sqlite(place: str) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(place, timeout=WAIT, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
    except sqlite3.Error as error:
        raise PrivacyError("a ledger is a SQLite database, or the address of a PostgreSQL one", found=f"{place}: {error}",
                           remedy="give the path of a file that can be written") from error
    return connection


def _postgres(address: str) -> Any:
    try:
        import psycopg
    except ImportError:
        raise PrivacyError("a ledger in PostgreSQL needs the package psycopg", found="it is not installed",
                           remedy="install noisewise[postgres]") from None
    return psycopg.connect(address, autocommit=True)


def _entry(row: tuple[Any, ...]) -> Entry:
    values = dict(zip(COLUMNS, row, strict=True))
    values["cost"] = None if values["cost"] is None else json.loads(values["cost"])
    values["partition"] = json.loads(values["partition"])
    return Entry(**values)
