"""Rows of a query, read from PostgreSQL or DuckDB as a stream of Arrow batches; only the wanted columns leave the database.

Why the guarantee is that of the table, and which rows of a unit are kept: database.md, beside this file. The query is checked by
`query_check`; what is different in each database is in `database_postgres` and `database_duckdb`.

One source is one snapshot: it holds a connection with one read-only transaction, so that a second pass sees the same rows. The
connection is closed when nobody holds the source any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, Self

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
    """A column of a query's result: its type for declarations, and SQL for its cells, with {} for its name."""

    kind: pa.DataType
    cell: str = "{}"
    unit: str = "{}"
    """Of an identifier: two that are equal are written in one way, and two that differ in two."""
    number_as_text: bool = False
    """Whether numbers arrive as text: in a type that Arrow has no equal of."""

    def sql(self, name: str, role: Role) -> str:
        return (self.unit if role == "unit" else self.cell).format(quoted(name))


class Engine(Protocol):
    """A connection with one read-only transaction."""

    @property
    def dialect(self) -> str:
        """By which name the parser knows the database."""
        ...

    def table_types(self, table: str) -> Mapping[str, CellType]:
        """The columns of a table; whatever only looks like one (a view) is refused."""
        ...

    def try_constants(self, constants: Sequence[str]) -> None:
        """Refuse constants that do not fit the columns that they are compared with."""
        ...

    def columns(self, sql: str) -> list[tuple[str, QueryColumn]]:
        """The columns of a query's result; no row is read."""
        ...

    def content_order(self, columns: Mapping[str, QueryColumn], prefix: str) -> str:
        """An ORDER BY of these columns: pseudo-random, decided by the cells alone; only rows with equal cells are tied."""
        ...

    def read(self, sql: str, *, sorts: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows of a query, as they come; ``sorts``: the database has to sort them first."""
        ...


def to_the_end(opened: Callable[[], Iterator[pa.RecordBatch]], reason_of: Callable[[Exception], str], shown: str,
               tool: str) -> Iterator[pa.RecordBatch]:
    """All batches of a query. Of a driver's error, whose text may quote cells, only what ``reason_of`` says is told."""
    try:
        yield from opened()
        return
    except Exception as error:  # of whatever class
        reason = reason_of(error)
    raise DataError("the data could not be read to the end", found=f"{reason}, {shown}",
                    remedy=f"run the query with {tool} to see why; nothing was released")


@dataclass(frozen=True)
class FewOfEach:
    """At most ``max_rows`` rows of each unit, chosen by the cells of ``columns``."""

    unit: str
    max_rows: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class QuerySource:
    """The rows of one query, in no order; an `UnorderedSource`."""

    description: str
    engine: Engine
    sql: str
    columns: dict[str, QueryColumn]
    presence_leaks: bool
    """Whether a row's cells decide if it is in the result and nobody has said yet that the number of rows is not public."""
    few: FewOfEach | None = None
    rows: None = None
    untyped: frozenset[str] = frozenset()
    header_is_text: bool = False

    def column_types(self) -> dict[str, pa.DataType]:
        return {name: column.kind for name, column in self.columns.items()}

    def with_few_rows_of_each(self, unit: str, max_rows: int, wanted: Sequence[Wanted]) -> Self:
        """Rows are read in an order of their contents, and the first of each unit are kept: D2 of database.md.

        Where someone can have several rows, their number is not public, so that a WHERE does no harm (D1).
        """
        few = FewOfEach(unit, max_rows, tuple(column.name for column in wanted))
        return replace(self, few=few, presence_leaks=False)

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        """One: a database reads in parallel by itself, and its rows arrive through one connection."""
        if self.presence_leaks:
            raise PrivacyError("under replace-one the number of rows is public, and with WHERE it depends on people's values",
                               found="WHERE", remedy='declare adjacency = "add-remove"; or, if it is public who is in the '
                               "result, give " + option("trust", True))
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
            # By the columns of the query, not by those of the result, which may have the same names and other types.
            columns = {name: self.columns[name] for name in self.few.columns}
            order = f"\nORDER BY {self.engine.content_order(columns, 'noisewise_rows.')}"
        return f"SELECT {cells} FROM (\n{self.sql}\n) AS noisewise_rows{order}"


def open_query(query: Query) -> QuerySource:
    """Connect, begin the transaction and check the query; no row is read."""
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


def _engine(address: Any) -> Engine:
    if isinstance(address, str) and is_postgres(address):
        from noisewise.data.sources.database_postgres import PostgresEngine

        return PostgresEngine(address)
    from noisewise.data.sources.database_duckdb import DuckdbEngine

    return DuckdbEngine(address)


def quoted(name: str) -> str:
    """A name in SQL: between quotes, which are doubled within it."""
    if "\0" in name:
        raise DataError("a column of a database has a name without zero bytes", found="one with a zero byte",
                        remedy="correct the name in the schema")
    return '"' + name.replace('"', '""') + '"'


def text_constant(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
