"""Rows of a query, read from PostgreSQL or DuckDB as a stream of Arrow batches. Only the wanted columns leave the database.

database.md, next to this file, explains why the guarantee covers the table and which rows of a unit are kept. `query_check`
checks the query. `database_postgres` and `database_duckdb` hold the differences between databases.

A source is a snapshot: it holds a connection with one read-only transaction, so that a second pass sees the same rows. The
connection is closed when the source is no longer referenced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, Self

import pyarrow as pa

from noisewise.data.sources.base import BATCH_ROWS, Role, Task, Wanted, slices, unique_types
from noisewise.data.sources.cells import numbers_from_text
from noisewise.data.sources.query_check import CellType, check_query
from noisewise.data.splitting.units import UnitLimit
from noisewise.database_query import Query, is_postgres
from noisewise.errors import DataError, PrivacyError
from noisewise.words import option


@dataclass(frozen=True)
class QueryColumn:
    """A column of a query's result: its type for declarations, and SQL for its cells, where {} is its name."""

    kind: pa.DataType
    cell: str = "{}"
    unit: str = "{}"
    """SQL for identifiers, which gives equal results if and only if the identifiers are the same."""
    number_as_text: bool = False
    """True if numbers arrive as text, because Arrow has no equivalent type."""

    def sql(self, name: str, role: Role) -> str:
        """The SQL for the cells of this column in a role."""
        return (self.unit if role == "unit" else self.cell).format(quoted(name))


class Engine(Protocol):
    """A connection with one read-only transaction."""

    @property
    def dialect(self) -> str:
        """The parser's name for the database."""
        ...

    def table_types(self, table: str) -> Mapping[str, CellType]:
        """The columns of a table. Refuses anything that only looks like a table, such as a view."""
        ...

    def try_constants(self, constants: Sequence[str]) -> None:
        """Refuse constants that do not fit the columns they are compared with."""
        ...

    def columns(self, sql: str) -> list[tuple[str, QueryColumn]]:
        """The columns of a query's result, found without reading a row."""
        ...

    def content_order(self, columns: Mapping[str, QueryColumn], prefix: str) -> str:
        """An ORDER BY of these columns: pseudo-random, determined by the cells alone, and tied only for rows with equal cells."""
        ...

    def read(self, sql: str, *, sorts: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows of a query, in any order. ``sorts`` means that the database has to sort them first."""
        ...


def to_the_end(opened: Callable[[], Iterator[pa.RecordBatch]], reason_of: Callable[[Exception], str], shown: str,
               tool: str) -> Iterator[pa.RecordBatch]:
    """All batches of a query. A driver's error may quote cells, so only what ``reason_of`` says about it is shown."""
    try:
        yield from opened()
        return
    except Exception as error:  # of any class
        reason = reason_of(error)
    raise DataError("the data could not be read to the end", found=f"{reason}, {shown}",
                    remedy=f"run the query with {tool} to see why; nothing was released")


@dataclass(frozen=True)
class FewOfEach:
    """Keep at most ``max_rows`` rows of each unit, chosen by the cells of ``columns``."""

    unit: str
    max_rows: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class QuerySource:
    """The rows of a query, in no particular order; an `UnorderedSource`."""

    description: str
    engine: Engine
    sql: str
    columns: dict[str, QueryColumn]
    presence_leaks: bool
    """True if a row's cells decide whether it is in the result, and the number of rows may be public."""
    few: FewOfEach | None = None
    rows: None = None
    untyped: frozenset[str] = frozenset()
    header_is_text: bool = False

    def column_types(self) -> dict[str, pa.DataType]:
        """Every column with its Arrow type, in order."""
        return {name: column.kind for name, column in self.columns.items()}

    def with_few_rows_of_each(self, unit: str, max_rows: int, wanted: Sequence[Wanted]) -> Self:
        """Read rows in an order determined by their contents, and keep the first of each unit: D2 of database.md.

        If a person can have several rows, the number of rows is not public, so a WHERE does no harm (D1).
        """
        few = FewOfEach(unit, max_rows, tuple(column.name for column in wanted))
        return replace(self, few=few, presence_leaks=False)

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        """A single task: a database reads in parallel by itself, and its rows arrive through one connection."""
        if self.presence_leaks:
            raise PrivacyError("under replace-one the number of rows is public, but a WHERE makes it depend on people's values",
                               found="WHERE", remedy='declare adjacency = "add-remove" or, if it is public who is in the '
                               "result, use " + option("trust", True))
        return [partial(self._read, tuple(wanted))]

    def _read(self, wanted: tuple[Wanted, ...]) -> Iterator[pa.RecordBatch]:
        if self.few is None:
            yield from self._batches(wanted)
            return
        names, unit = [column.name for column in wanted], self.few.unit
        limit = UnitLimit(self.few.max_rows)
        asked = wanted if unit in names else (*wanted, Wanted(unit, "unit"))
        for batch in self._batches(asked):
            yield batch.filter(limit.keep(batch.column(unit))).select(names)

    def _batches(self, wanted: tuple[Wanted, ...]) -> Iterator[pa.RecordBatch]:
        names = [column.name for column in wanted]
        as_text = [self.columns[column.name].number_as_text and column.role != "unit" for column in wanted]
        for batch in self.engine.read(self._select(wanted), sorts=self.few is not None):
            for start, stop in slices(batch.num_rows, BATCH_ROWS):
                part = batch.slice(start, stop - start)
                arrays = [numbers_from_text(array) if text else array
                          for array, text in zip(part.columns, as_text, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, names=names)

    def _select(self, wanted: Sequence[Wanted]) -> str:
        cells = ", ".join(f"{self.columns[column.name].sql(column.name, column.role)} AS {quoted(column.name)}"
                          for column in wanted)
        order = ""
        if self.few is not None:
            # Sort by the columns of the query, not by those of the result, which may have the same names but other types.
            columns = {name: self.columns[name] for name in self.few.columns}
            order = f"\nORDER BY {self.engine.content_order(columns, 'noisewise_rows.')}"
        return f"SELECT {cells} FROM (\n{self.sql}\n) AS noisewise_rows{order}"


def open_query(query: Query) -> QuerySource:
    """Connect, begin the transaction and check the query, without reading a row."""
    engine = _engine(query.address)
    if query.trust:
        sql, filtered = query.sql.strip().rstrip(";"), False
    else:
        checked = check_query(query.sql, engine.dialect, engine.table_types)
        engine.try_constants(checked.constants)
        sql, filtered = checked.sql, checked.filtered
    pairs = engine.columns(sql)
    unique_types(((name, column.kind) for name, column in pairs), "the query")
    return QuerySource(f"query of {query.shown}", engine, sql, dict(pairs), filtered and query.rows_are_public is not False)


def _engine(address: object) -> Engine:
    if isinstance(address, str) and is_postgres(address):
        from noisewise.data.sources.database_postgres import PostgresEngine

        return PostgresEngine(address)
    from noisewise.data.sources.database_duckdb import DuckdbEngine

    return DuckdbEngine(address)


def quoted(name: str) -> str:
    """A name in SQL: in quotes, with those inside doubled."""
    if "\0" in name:
        raise DataError("the name of a database column cannot contain zero bytes", found="a zero byte",
                        remedy="correct the name in the schema")
    return '"' + name.replace('"', '""') + '"'


def text_constant(text: str) -> str:
    """A string constant in SQL."""
    return "'" + text.replace("'", "''") + "'"
