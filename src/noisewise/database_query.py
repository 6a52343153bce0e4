"""A query in place of a table: which rows of a database to read. It is only a description and opens nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from noisewise.errors import DataError
from noisewise.schema.schema import Schema

HIDDEN: Final = "(an address that is not shown)"


@dataclass(frozen=True, repr=False)
class Query:
    """Rows of a database, accepted wherever rows are expected. Each use reads its own snapshot.

    ``address`` may hold a password and is never shown unredacted.
    """

    address: object
    sql: str
    trust: bool = False
    rows_are_public: bool | None = None
    """From the schema; None until `suited_to` has seen one."""

    @property
    def shown(self) -> str:
        """The database, for messages: its type and place, without user and password."""
        if not isinstance(self.address, str):
            return "an open DuckDB connection"
        return shown_address(self.address)

    def __repr__(self) -> str:
        return f"<Query of {self.shown}>"


def query(address: object, sql: str, *, trust: bool = False) -> Query:
    """Read rows from PostgreSQL or DuckDB: pass the result as ``data`` to `release` or to anything else that takes rows.

    ``address`` is ``"postgresql://server/database"`` (keep the password in ``PGPASSWORD`` or ``~/.pgpass``), a path that
    ends in ``.duckdb``, ``"duckdb:path"`` for any other path, ``"duckdb:"`` to query only Parquet files, or an open DuckDB
    connection.

    The guarantee protects rows of the *table*. So a query must treat each row separately: columns of one table, with a ``WHERE``
    that looks at one row at a time. ``JOIN``, ``GROUP BY``, ``LIMIT`` and the like are refused, because they let one person
    change many rows of the result. ``trust=True`` turns these checks off. You then vouch that each person has no more rows
    in the result than the schema says, and that the cells and presence of these rows depend on nobody else.

    >>> query("postgresql://ann:secret@server/hospital", "SELECT age, stay FROM patients")
    <Query of PostgreSQL server/hospital>
    """
    if not isinstance(sql, str) or not sql.strip():
        raise DataError("a query must be a string that begins with SELECT",
                        found=type(sql).__name__ if not isinstance(sql, str) else "",
                        remedy='for example "SELECT age, stay, ward FROM patients"')
    if not isinstance(trust, bool):
        raise DataError("trust must be True or False", found=type(trust).__name__,
                        remedy="leave it out unless you vouch for the query")
    if isinstance(address, str):
        if not is_database(address):
            raise DataError("not the address of a supported database", found=shown_address(address),
                            remedy="use postgresql://server/database, a path that ends in .duckdb, or duckdb:path")
    elif not type(address).__module__.partition(".")[0].endswith("duckdb") or not hasattr(address, "cursor"):
        raise DataError("a query needs an address or an open DuckDB connection",
                        found=f"an object of type {type(address).__module__}.{type(address).__qualname__}",
                        remedy="use postgresql://server/database or a path that ends in .duckdb")
    return Query(address, sql, trust)


def suited_to(data: object, schema: Schema) -> object:
    """The same data. A query also learns whether the number of rows is public, which decides whether it may have a WHERE."""
    return replace(data, rows_are_public=schema.rows_are_public) if isinstance(data, Query) else data


def is_postgres(address: str) -> bool:
    """True for the address of a PostgreSQL database."""
    return address.startswith(("postgresql://", "postgres://"))


def is_database(address: str) -> bool:
    """True if a string names a database rather than a file of rows."""
    return is_postgres(address) or address.startswith("duckdb:") or address.lower().endswith(".duckdb")


def shown_address(address: str) -> str:
    """An address or path that is safe to show: without user, password or options, however they are written.

    >>> shown_address("postgresql://ann:se/cr@t@server/hospital?password=x"), shown_address("duckdb:wards.duckdb")
    ('PostgreSQL server/hospital', 'DuckDB wards.duckdb')
    >>> shown_address("postgresql://server/hospital?password=se@cret"), shown_address("host=server password=secret")
    ('PostgreSQL (an address that is not shown)', '(an address that is not shown)')
    """
    scheme, mark, rest = address.partition("://")
    if mark:  # everything before the last @ may be part of a password that was not percent-encoded
        place = rest.rpartition("@")[2].partition("?")[0]
        if "?" in rest.rpartition("@")[0]:  # so may everything after it, if that @ is among the options
            place = HIDDEN
        return f"PostgreSQL {place}" if is_postgres(address) else f"{scheme}://{place}"
    if is_database(address):
        return f"DuckDB {address.removeprefix('duckdb:').partition('?')[0] or '(in memory)'}"
    return HIDDEN if "@" in address or "password" in address.lower() else address
