"""A query instead of a table: where the rows of a database come from. It only describes; nothing is opened yet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from noisewise.errors import DataError
from noisewise.schema.schema import Schema

HIDDEN: Final = "(an address that is not shown)"


@dataclass(frozen=True, repr=False)
class Query:
    """Rows of a database, to be given wherever rows are asked for. Each use reads one snapshot of its own.

    ``address`` may hold a password and is never shown as it is.
    """

    address: Any
    sql: str
    trust: bool = False
    rows_are_public: bool | None = None
    """As the schema says; None until a schema was seen (`suited_to`)."""

    @property
    def shown(self) -> str:
        """What it is, for messages: a kind and a place, without user and password."""
        if not isinstance(self.address, str):
            return "an open DuckDB connection"
        return shown_address(self.address)

    def __repr__(self) -> str:
        return f"<Query of {self.shown}>"


def query(address: Any, sql: str, *, trust: bool = False) -> Query:
    """Read rows from PostgreSQL or DuckDB: pass the result as ``data`` to `release` and to all else that takes rows.

    ``address`` is ``"postgresql://server/database"`` (the password is best left to ``PGPASSWORD`` or ``~/.pgpass``), a path that
    ends in ``.duckdb``, ``"duckdb:path"`` for any other path, ``"duckdb:"`` for queries of Parquet files alone, or an open
    DuckDB connection.

    The guarantee protects rows of the *table*. So a query must take each row by itself: columns of one table, with a ``WHERE``
    that looks at one row at a time. With ``JOIN``, ``GROUP BY``, ``LIMIT`` and the like one person could change many rows of the
    result; they are refused. With ``trust=True`` nothing is refused, and you vouch that each person has as many rows in the
    result as the schema says, whose cells and whose presence depend on nobody else.

    >>> query("postgresql://ann:secret@server/hospital", "SELECT age, stay FROM patients")
    <Query of PostgreSQL server/hospital>
    """
    if not isinstance(sql, str) or not sql.strip():
        raise DataError("a query is a text that begins with SELECT", found=type(sql).__name__ if not isinstance(sql, str) else "",
                        remedy='for example "SELECT age, stay, ward FROM patients"')
    if not isinstance(trust, bool):
        raise DataError("trust is True or False", found=type(trust).__name__,
                        remedy="leave it out unless you vouch for the query")
    if isinstance(address, str):
        if not is_database(address):
            raise DataError("this is no address of a database that can be read", found=shown_address(address),
                            remedy="give postgresql://server/database, a path that ends in .duckdb, or duckdb:path")
    elif not type(address).__module__.partition(".")[0].endswith("duckdb") or not hasattr(address, "cursor"):
        raise DataError("a query needs an address or an open DuckDB connection",
                        found=f"an object of type {type(address).__module__}.{type(address).__qualname__}",
                        remedy="give postgresql://server/database or a path that ends in .duckdb")
    return Query(address, sql, trust)


def suited_to(data: Any, schema: Schema) -> Any:
    """The same data; a query is told whether the number of rows is public, which decides whether it may have a WHERE."""
    return replace(data, rows_are_public=schema.rows_are_public) if isinstance(data, Query) else data


def is_postgres(address: str) -> bool:
    return address.startswith(("postgresql://", "postgres://"))


def is_database(address: str) -> bool:
    """Whether a text names a database rather than a file of rows."""
    return is_postgres(address) or address.startswith("duckdb:") or address.lower().endswith(".duckdb")


def shown_address(address: str) -> str:
    """The address, or a path, as it may be shown: without user, password and options, however they are written.

    >>> shown_address("postgresql://ann:se/cr@t@server/hospital?password=x"), shown_address("duckdb:wards.duckdb")
    ('PostgreSQL server/hospital', 'DuckDB wards.duckdb')
    >>> shown_address("postgresql://server/hospital?password=se@cret"), shown_address("host=server password=secret")
    ('PostgreSQL (an address that is not shown)', '(an address that is not shown)')
    """
    scheme, mark, rest = address.partition("://")
    if mark:  # whatever comes before the last @ may be part of a password that was not percent-encoded
        place = rest.rpartition("@")[2].partition("?")[0]
        if "?" in rest.rpartition("@")[0]:  # and whatever comes after it too, if it is among the options
            place = HIDDEN
        return f"PostgreSQL {place}" if is_postgres(address) else f"{scheme}://{place}"
    if is_database(address):
        return f"DuckDB {address.removeprefix('duckdb:').partition('?')[0] or '(in memory)'}"
    return HIDDEN if "@" in address or "password" in address.lower() else address
