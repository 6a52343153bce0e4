"""The database of a ledger: SQLite in a file, or PostgreSQL for holders with many users; both use the same statements.

Entries can only be added. Every addition is one transaction that holds the only write lock from its first read on, so two
processes cannot both see the last of the budget. SQLite writes ahead to a log and waits for the disk (``synchronous=FULL``).
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final, Protocol

from noisewise.database_query import is_postgres
from noisewise.errors import PrivacyError
from noisewise.privacy.ledger import postgres
from noisewise.privacy.ledger.entries import Entry

WAIT: Final = 60.0
"""Seconds to wait for another process that is writing."""
COLUMNS: Final = tuple(field.name for field in fields(Entry))
_TEXTS: Final = ("what", "at", "who", "description", "stratum", "neighbours", "request", "file_digest", "before", "digest")
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS noisewise_entries (number INTEGER PRIMARY KEY, what TEXT NOT NULL, at TEXT NOT NULL,"
    " who TEXT NOT NULL, description TEXT NOT NULL, cost TEXT, stratum TEXT NOT NULL, neighbours TEXT NOT NULL,"
    " request TEXT NOT NULL, of INTEGER, file_digest TEXT NOT NULL, before TEXT NOT NULL UNIQUE, digest TEXT NOT NULL UNIQUE)",
    "CREATE TABLE IF NOT EXISTS noisewise_files (entry INTEGER PRIMARY KEY, content {bytes} NOT NULL)",
)
_GUARDS: Final = tuple(
    f"CREATE TRIGGER IF NOT EXISTS {table}_{action} BEFORE {action} ON {table}"
    " BEGIN SELECT RAISE(ABORT, 'a ledger can only be added to'); END"
    for table in ("noisewise_entries", "noisewise_files") for action in ("update", "delete")
) + tuple(  # INSERT OR REPLACE removes rows without firing the triggers above
    f"CREATE TRIGGER IF NOT EXISTS {table}_insert BEFORE INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})"
    " BEGIN SELECT RAISE(ABORT, 'a ledger can only be added to'); END"
    for table, same in (("noisewise_entries", "number = NEW.number OR before = NEW.before OR digest = NEW.digest"),
                        ("noisewise_files", "entry = NEW.entry"))
)


class Cursor(Protocol):
    """The result of a statement, by either driver."""

    @property
    def description(self) -> Any:
        """A sequence for each column of the result, its name first."""

    def fetchone(self) -> Any:
        """The next row; None if none is left."""

    def fetchall(self) -> list[Any]:
        """All remaining rows."""

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection of either driver."""

    def execute(self, statement: str, values: Sequence[object] = ..., /) -> Cursor:
        """Run one statement. Values go where it has ``?`` (SQLite) or ``%s`` (PostgreSQL)."""

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""


class Store:
    """Connections to one database. Each use opens its own connection, so threads may share a store."""

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place = os.fspath(place)
        self.remote = is_postgres(self.place)
        self.shown = postgres.without_password(self.place) if self.remote else self.place
        if not self.remote and Path(self.place).is_dir():
            raise PrivacyError("a ledger is a file, or the address of a PostgreSQL database", found=f"{self.place} is a folder",
                               remedy=f"for example {Path(self.place) / 'budget.db'}")

    def __getstate__(self) -> dict[str, object]:
        """Leave out the password: a pickled ledger may go to others, who have their own in PGPASSWORD."""
        return {**vars(self), "place": postgres.to_be_stored(self.place) if self.remote else self.place}

    def __deepcopy__(self, memo: dict[int, object]) -> Store:
        """It is the same database; a copy within the process needs no other password."""
        return self

    def exists(self) -> bool:
        """True if there is a ledger here. Refuses a file with other content."""
        if self.remote:
            with self._connected() as connection:
                there = bool(connection.execute("SELECT to_regclass('noisewise_entries')").fetchone()[0])
                if there:
                    self._refuse_unpublished(connection)
            return there
        if not Path(self.place).exists() or Path(self.place).stat().st_size == 0:
            return False
        with self._connected(read_only=True) as connection:
            found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "noisewise_entries" in found:
                self._refuse_unpublished(connection)
        if found and "noisewise_entries" not in found:
            raise PrivacyError("this file is a database but not a ledger", found=self.shown, remedy="give another path")
        return bool(found)

    def _refuse_unpublished(self, connection: Connection) -> None:
        """Ledgers of versions before 0.2 had other columns."""
        columns = {column[0] for column in connection.execute("SELECT * FROM noisewise_entries LIMIT 0").description}
        if "partition" in columns and "stratum" not in columns:
            raise PrivacyError("this ledger was written before noisewise 0.2 was published, and no published version reads it",
                               found=self.shown, remedy="keep it, and open a new one with the budget that the old one has left")

    def create(self, first: Entry) -> None:
        """Create the tables and the first entry in one go; if another process was quicker, its first entry stays."""
        if not self.remote:
            self._begin_file()
        with self.writing() as connection:
            for statement in _TABLES:
                connection.execute(statement.format(bytes="BYTEA" if self.remote else "BLOB"))
            for statement in postgres.GUARDS if self.remote else _GUARDS:
                connection.execute(statement)
            if not self.entries(connection):
                self.add(connection, first)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction with the only write lock. It is committed to disk as a whole, or not at all."""
        if not self.remote:
            _refuse_second_name(self.place)
        with self._connected() as connection:
            for statement in postgres.BEGIN if self.remote else ("BEGIN IMMEDIATE",):
                connection.execute(statement)
            try:
                yield connection
            except BaseException:
                with contextlib.suppress(Exception):  # when the disk is full, SQLite has already rolled back
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def entries(self, connection: Connection | None = None) -> list[Entry]:
        """All entries, in order."""
        if connection is None:
            with self._connected(read_only=True) as opened:
                return self.entries(opened)
        rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM noisewise_entries ORDER BY number").fetchall()
        return [_entry(row) for row in rows]

    def add(self, connection: Connection, entry: Entry) -> None:
        """Add an entry."""
        values = {**asdict(entry), "cost": None if entry.cost is None else json.dumps(entry.cost),
                  "stratum": json.dumps(entry.stratum, sort_keys=True)}
        self._insert(connection, "noisewise_entries", values)

    def add_file(self, connection: Connection, entry: int, content: bytes) -> None:
        """Add the file of a charge."""
        self._insert(connection, "noisewise_files", {"entry": entry, "content": content})

    def file(self, entry: int) -> bytes | None:
        """The file of a charge, if its release was completed."""
        with self._connected(read_only=True) as connection:
            row = connection.execute(f"SELECT content FROM noisewise_files WHERE entry = {int(entry)}").fetchone()
        return None if row is None else bytes(row[0])

    def _insert(self, connection: Connection, table: str, values: Mapping[str, object]) -> None:
        marks = ", ".join(["%s" if self.remote else "?"] * len(values))
        connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))

    @contextmanager
    def _connected(self, read_only: bool = False) -> Iterator[Connection]:
        kinds = (sqlite3.Error, *((postgres.driver().Error,) if self.remote else ()))
        try:
            connection = postgres.driver().connect(self.place, autocommit=True) if self.remote else _sqlite(self.place, read_only)
            try:
                yield connection
            finally:
                connection.close()
        except kinds as error:
            words = type(error).__name__ if self.remote else str(error)  # a server's message could quote the address
            raise PrivacyError("the ledger's database cannot be used", found=f"{self.shown}: {words}",
                               remedy="check that it is a ledger, its permissions, and the disk; nothing was released") from error

    def _begin_file(self) -> None:
        """Create the file and switch it to write-ahead logging, which is a permanent property of the file."""
        if not Path(self.place).parent.is_dir():
            raise PrivacyError("the folder of a ledger must exist", found=str(Path(self.place).parent), remedy="create it first")
        until = time.monotonic() + WAIT
        with contextlib.suppress(OSError):
            os.close(os.open(self.place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        with self._connected() as connection:
            while True:
                try:
                    connection.execute("PRAGMA journal_mode=WAL")
                    return
                except sqlite3.OperationalError as error:  # here SQLite itself does not wait for others
                    if "locked" not in str(error) or time.monotonic() > until:
                        raise
                time.sleep(0.02)


def _refuse_second_name(place: str) -> None:
    """Refuse hard links. SQLite keeps one log per file name, so a writer using one name misses what was spent under another."""
    path = Path(place)
    if path.exists() and path.stat().st_nlink > 1:
        raise PrivacyError("the file of a ledger must have only one name", found=f"{place} has another hard link",
                           remedy="remove the other link after checking what was charged through it; symbolic links are fine")


def _sqlite(place: str, read_only: bool) -> sqlite3.Connection:
    path = Path(place).resolve()
    mode = "mode=rw"  # opening never creates the file
    if read_only and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        log = path.with_name(path.name + "-wal")
        mode = "mode=ro" if log.exists() else "immutable=1"
    connection = sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True, timeout=WAIT, isolation_level=None)
    try:
        for setting in ("synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON", "trusted_schema=OFF"):
            connection.execute(f"PRAGMA {setting}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _entry(row: Sequence[Any]) -> Entry:
    values = dict(zip(COLUMNS, row, strict=True))
    try:
        if not all(isinstance(values[name], str) for name in _TEXTS):
            raise TypeError("a text column holds something else")
        values["cost"] = None if values["cost"] is None else json.loads(values["cost"])
        values["stratum"] = dict(json.loads(values["stratum"]))
    except (TypeError, ValueError) as error:
        raise PrivacyError("an entry of the ledger was changed and cannot be read", found=f"entry {values['number']}") from error
    return Entry(**values)
