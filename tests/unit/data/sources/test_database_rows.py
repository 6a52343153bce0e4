"""A search for an accepted query that does not take each row by itself, or that fails because of a cell (D1, D5 of database.md).

Queries are made up at random. What is accepted is run on a table of awkward cells, and on each of its rows alone: together the
rows must give what they give alone.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from noisewise.data.sources.query_check import CellType, Family, check_query
from noisewise.errors import NoisewiseError

duckdb = pytest.importorskip("duckdb")

ROWS = [
    "(9223372036854775807, 2147483647, 'inf', -0.0, 99999999.99, '5', TRUE, 'infinity')",
    "(-9223372036854775807, -2147483648, 'nan', 1e308, -99999999.99, 'A', FALSE, '-infinity')",
    "(1, 1, 50, 50, 1.5, 'hello', TRUE, '2026-05-01')",
    "(1, 1, 50, 50, 1.5, 'hello', TRUE, '2026-05-01')",
    "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "(0, 0, 0, 7, 0, '', NULL, '0001-01-01')",
]
COLUMNS = {"id": "BIGINT", "visits": "INTEGER", "age": "DOUBLE", "stay": "DOUBLE", "price": "DECIMAL(10,2)", "ward": "VARCHAR",
           "smoker": "BOOLEAN", "day": "DATE"}
FAMILIES: dict[str, Family] = {"BIGINT": "integer", "INTEGER": "integer", "DOUBLE": "fraction", "DECIMAL(10,2)": "fraction",
                               "VARCHAR": "text", "BOOLEAN": "truth", "DATE": "other"}
CONSTANTS = ["5", "-1", "1.5", "0.00000000000000000000000000000000001", "9223372036854775807", "1e30", "'A'", "'5'",
             "'2026-05-01'", "'hello'", "TRUE", "NULL"]
TRIED = 4000


class MadeUp:
    """Random queries of allowed constructs, with operands of whatever types."""

    def __init__(self) -> None:
        self._generator = np.random.default_rng(20261115)

    def query(self) -> str:
        where = f" WHERE {self._truth(2)}" if self._generator.random() < 0.7 else ""
        return f"SELECT {self._value(2)} AS a, id FROM patients{where}"

    def _any(self, *choices: str) -> str:
        return choices[self._generator.integers(len(choices))]

    def _value(self, depth: int) -> str:
        if depth == 0 or self._generator.random() < 0.6:
            return self._any(*COLUMNS) if self._generator.random() < 0.6 else self._any(*CONSTANTS)
        return self._any(f"COALESCE({self._value(0)}, {self._value(depth - 1)})", f"({self._truth(depth - 1)})",
                         f"CASE WHEN {self._truth(depth - 1)} THEN {self._value(0)} ELSE {self._value(depth - 1)} END",
                         f"CASE {self._value(0)} WHEN {self._value(0)} THEN {self._value(depth - 1)} END")

    def _truth(self, depth: int) -> str:
        if depth and self._generator.random() < 0.4:
            return self._any(f"NOT {self._truth(depth - 1)}", f"({self._truth(depth - 1)} OR {self._truth(depth - 1)})",
                             f"{self._truth(depth - 1)} AND {self._truth(depth - 1)}")
        one, other, third = self._value(depth), self._value(0), self._value(0)
        sign = self._any("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM")
        return self._any(f"{one} {sign} {other}", f"{one} IN ({other}, {third})", f"{one} BETWEEN {other} AND {third}",
                         f"{one} IS NULL", f"{one} IS NOT NULL", "smoker", "smoker IS TRUE")


def filled(rows: list[str]) -> Any:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE patients ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})")
    connection.execute(f"INSERT INTO patients VALUES {', '.join(rows)}")
    return connection


def takes_rows_by_themselves(sql: str, together: Any, alone: list[Any]) -> bool:
    def result(connection: Any) -> Counter[str]:
        return Counter(map(repr, connection.execute(sql).fetchall()))

    return result(together) == sum((result(connection) for connection in alone), Counter())


@pytest.fixture(scope="module")
def tables() -> tuple[Any, list[Any]]:
    return filled(ROWS), [filled([row]) for row in ROWS]


@pytest.mark.outer
def test_every_accepted_query_takes_rows_by_themselves_and_never_fails(tables: tuple[Any, list[Any]]) -> None:
    together, alone = tables
    types = {name: CellType(FAMILIES[kind], kind) for name, kind in COLUMNS.items()}
    accepted, queries = set(), MadeUp()
    for _ in range(TRIED):
        try:
            checked = check_query(queries.query(), "duckdb", lambda table: types)
            for constant in checked.constants:
                together.execute(f"SELECT {constant}")
        except (NoisewiseError, duckdb.Error):
            continue
        try:  # from names and types alone, before a row is read
            together.execute(f"PREPARE made_up AS {checked.sql}")
        except duckdb.Error:
            continue
        accepted.add(checked.sql)
    assert len(accepted) > 200
    for sql in sorted(accepted):
        assert takes_rows_by_themselves(sql, together, alone), sql


@pytest.mark.parametrize("sql", ["SELECT age FROM patients LIMIT 3", "SELECT DISTINCT age FROM patients",
                                 "SELECT rank() OVER (ORDER BY age) AS a FROM patients",
                                 "SELECT count(*) AS n FROM patients", "SELECT age FROM patients WHERE rowid < 3",
                                 "SELECT a.age FROM patients AS a, patients AS b"])
def test_the_search_would_find_a_query_that_does_not(sql: str, tables: tuple[Any, list[Any]]) -> None:
    assert not takes_rows_by_themselves(sql, *tables)


def test_the_search_would_find_a_query_that_fails(tables: tuple[Any, list[Any]]) -> None:
    with pytest.raises(duckdb.Error):
        takes_rows_by_themselves("SELECT age FROM patients WHERE ward = 5", *tables)
