"""What a query may do: take each row of one table by itself, and nothing that could fail because of a cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("sqlglot")

from noisewise.data.sources.query_check import CellType, CheckedQuery, check_query
from noisewise.errors import DataError, PrivacyError

COLUMNS: Mapping[str, CellType] = {
    "id": CellType("integer", "BIGINT"), "visits": CellType("integer", "INTEGER"), "age": CellType("fraction", "DOUBLE"),
    "stay": CellType("fraction", "DOUBLE"), "price": CellType("fraction", "DECIMAL(10,2)"), "ward": CellType("text", "VARCHAR"),
    "smoker": CellType("truth", "BOOLEAN"), "day": CellType("other", "DATE"),
}


def checked(sql: str, dialect: str = "duckdb", columns: Any = lambda table: COLUMNS) -> CheckedQuery:
    return check_query(sql, dialect, columns)


ALLOWED = {
    "SELECT age, stay FROM patients": 'SELECT "age", "stay" FROM "patients"',
    "SELECT * FROM patients": 'SELECT * FROM "patients"',
    "select p.age as a from hospital.patients p;": 'SELECT "age" AS "a" FROM "hospital"."patients" AS "p"',
    "SELECT Patients.* FROM patients": 'SELECT * FROM "patients"',
    "SELECT age FROM patients WHERE smoker IS TRUE OR (age > 1) IS FALSE OR ward IS NULL":
        'SELECT "age" FROM "patients" WHERE "smoker" IS TRUE OR ("age" > 1e0) IS FALSE OR "ward" IS NULL',
    "SELECT age /* years */ FROM patients -- all of them": 'SELECT "age" FROM "patients"',
    "SELECT age FROM patients WHERE ward = 'A' AND NOT (id IN (1, -2) OR visits BETWEEN 1 AND 3)":
        "SELECT \"age\" FROM \"patients\" WHERE \"ward\" = 'A' AND NOT (\"id\" IN (1, -2) OR \"visits\" BETWEEN 1 AND 3)",
    "SELECT CASE WHEN smoker THEN 'yes' ELSE 'no' END AS s FROM patients":
        "SELECT CASE WHEN \"smoker\" THEN 'yes' ELSE 'no' END AS \"s\" FROM \"patients\"",
    "SELECT COALESCE(ward, 'rest') AS ward FROM patients": "SELECT COALESCE(\"ward\", 'rest') AS \"ward\" FROM \"patients\"",
    "SELECT age FROM patients WHERE age < stay": 'SELECT "age" FROM "patients" WHERE "age" < "stay"',
    "SELECT age > 65 AS old, 1 AS one, NULL AS nothing FROM patients":
        'SELECT "age" > 65e0 AS "old", 1 AS "one", NULL AS "nothing" FROM "patients"',
}


@pytest.mark.parametrize("sql", ALLOWED)
def test_what_looks_at_one_row_is_written_anew(sql: str) -> None:
    assert checked(sql).sql == ALLOWED[sql]


def test_what_is_run_is_read_as_it_was_checked() -> None:
    """DuckDB reads NOT w IN (b) < c as NOT (w IN (b) < c), which is not what was checked."""
    given = "SELECT smoker NOT IN (TRUE) < (age > 1) AS a FROM patients WHERE NOT ward IS NULL OR NOT age = stay AND smoker"
    assert checked(given).sql == (
        'SELECT (NOT ("smoker" IN (TRUE))) < ("age" > 1e0) AS "a" FROM "patients" '
        'WHERE NOT ("ward" IS NULL) OR (NOT ("age" = "stay") AND "smoker")'
    )


REFUSED = {
    "SELECT age FROM patients LIMIT 10": "LIMIT",
    "SELECT age FROM patients OFFSET 10": "OFFSET",
    "SELECT age FROM patients FETCH FIRST 3 ROWS ONLY": "LIMIT",
    "SELECT age FROM patients ORDER BY age": "ORDER BY",
    "SELECT DISTINCT age FROM patients": "DISTINCT",
    "SELECT ward FROM patients GROUP BY ward": "GROUP BY",
    "SELECT ward FROM patients GROUP BY ward HAVING ward > 'A'": "GROUP BY|HAVING",
    "SELECT age FROM patients JOIN visits ON TRUE": "JOIN",
    "SELECT age FROM patients, visits": "JOIN",
    "SELECT age FROM patients NATURAL JOIN visits": "JOIN",
    "SELECT age FROM patients, LATERAL (SELECT 1)": "JOIN|LATERAL",
    "SELECT age FROM patients UNION ALL SELECT age FROM patients": "UNION",
    "SELECT age FROM patients EXCEPT SELECT age FROM patients": "EXCEPT",
    "SELECT age FROM patients INTERSECT SELECT age FROM patients": "INTERSECT",
    "WITH p AS (SELECT * FROM patients) SELECT age FROM p": "WITH",
    "SELECT age FROM (SELECT * FROM patients)": "sub-select",
    "SELECT age FROM patients WHERE id IN (SELECT id FROM vips)": "sub-select",
    "SELECT age FROM patients WHERE EXISTS (SELECT 1)": "sub-select",
    "SELECT age FROM patients WHERE age > (SELECT avg(age) FROM patients)": "sub-select|SUBQUERY",
    "SELECT (SELECT max(age) FROM patients) AS a FROM patients": "sub-select",
    "SELECT avg(age) AS a FROM patients": "aggregate \\(AVG\\)",
    "SELECT count(*) AS n FROM patients": "aggregate",
    "SELECT row_number() OVER () AS n FROM patients": "window function",
    "SELECT sum(age) OVER (ORDER BY id) AS n FROM patients": "window function",
    "SELECT age FROM patients QUALIFY row_number() OVER () = 1": "QUALIFY",
    "SELECT age FROM patients WHERE row_number() OVER () = 1": "window function",
    "SELECT age FROM patients TABLESAMPLE BERNOULLI (10 PERCENT)": "sampling",
    "SELECT age FROM patients USING SAMPLE 10": "sampling",
    "SELECT age FROM patients AT (VERSION => 3)": "version",
    "SELECT age FROM patients FOR UPDATE": "FOR UPDATE",
    "SELECT unnest(tags) AS t FROM patients": "function UNNEST|UNNEST|EXPLODE",
    "SELECT age + 1 AS a FROM patients": "operator ADD",
    "SELECT 1 / age AS a FROM patients": "operator DIV",
    "SELECT -age AS a FROM patients": "operator NEG",
    "SELECT CAST(ward AS INTEGER) AS a FROM patients": "a cast",
    "SELECT ward::INTEGER AS a FROM patients": "a cast",
    "SELECT log(age) AS a FROM patients": "function",
    "SELECT my_function(age) AS a FROM patients": "function MY_FUNCTION",
    "SELECT random() AS a FROM patients": "function RAND",
    "SELECT age FROM patients WHERE random() < 0.1": "function RAND",
    "SELECT age FROM patients WHERE ward LIKE 'A%'": "LIKE",
    "SELECT age FROM patients WHERE day > CURRENT_DATE": "CURRENTDATE|CURRENT_DATE|function",
    "SELECT * EXCLUDE (age) FROM patients": "EXCEPT",
    "SELECT COLUMNS('a.*') FROM patients": "COLUMNS",
    "SELECT age FROM read_csv('patients.csv')": "a function in FROM",
    "SELECT age FROM generate_series(1, 10)": "in FROM",
    "SELECT 1 AS one": "no FROM",
    "DELETE FROM patients": "other than SELECT \\(DELETE\\)",
    "SELECT age FROM patients WHERE (age, stay) = (1, 2)": "TUPLE",
    "SELECT age FROM patients WHERE visits BETWEEN SYMMETRIC 1 AND 2": "SYMMETRIC",
    # A database would cast a column, which fails for some cells: DuckDB 2.0 reads every cell of ward as a number here.
    "SELECT age FROM patients WHERE ward = 5": "a number with VARCHAR",
    "SELECT age FROM patients WHERE ward IN ('A', 5)": "a number with VARCHAR",
    "SELECT age FROM patients WHERE age = '5'": "a text with DOUBLE",
    "SELECT age FROM patients WHERE smoker = 1": "a number with BOOLEAN",
    "SELECT age FROM patients WHERE age < visits": "different types",
    "SELECT COALESCE(age, ward) AS a FROM patients": "different types",
    "SELECT COALESCE(visits, 'x') AS a FROM patients": "a text with INTEGER",
    "SELECT COALESCE(day, 'x') AS a FROM patients": "a text with DATE",
    "SELECT CASE WHEN smoker THEN day ELSE '2026-05-01' END AS d FROM patients": "a text with DATE",
    "SELECT CASE WHEN smoker THEN 'x' ELSE 1 END AS d FROM patients": "a number with a text",
    "SELECT age FROM patients WHERE id = 99999999999999999999": "64 bits",
    "SELECT age FROM patients WHERE ward": "not boolean",
    # DuckDB 2.0 reads every cell of ward as true or false here.
    "SELECT age FROM patients WHERE ward IS TRUE": "not boolean",
    "SELECT day IS NOT FALSE AS d FROM patients": "not boolean",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_anything_else_is_refused_by_name(sql: str) -> None:
    with pytest.raises(PrivacyError, match=f"separately.*found: .*({REFUSED[sql]}).*trust=True"):
        checked(sql)


@pytest.mark.parametrize("name", ["rowid", "ctid", "file_row_number", "patients"])
def test_only_columns_of_the_table_are_columns(name: str) -> None:
    """Where a row is stored depends on other rows: a WHERE on it would be a LIMIT."""
    for dialect in ("duckdb", "postgres"):
        with pytest.raises(DataError, match=f"no column '{name}'"):
            checked(f"SELECT age FROM patients WHERE {name} < 100", dialect)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize("sql", ["SELECT age FROM patients WHERE info.visits = 5", "SELECT info.* FROM patients",
                                 "SELECT patients.age FROM patients AS p"])
def test_what_stands_before_a_point_is_the_table(sql: str, dialect: str) -> None:
    """In DuckDB info.visits may be a part of the cells of info, of another type than the column visits: then it is cast."""
    with pytest.raises(DataError, match="which is not the table"):
        checked(sql, dialect)


@pytest.mark.parametrize("sql", ["SELECT age FROM patients; SELECT stay FROM patients", "SELECT age FROM", "((((", ""])
def test_a_query_is_one_statement(sql: str) -> None:
    with pytest.raises(DataError, match="one valid SELECT statement"):
        checked(sql)


def test_a_filter_is_told_apart() -> None:
    assert checked("SELECT age FROM patients WHERE smoker").filtered
    assert not checked("SELECT age FROM patients").filtered


def test_names_are_those_that_the_database_would_read() -> None:
    """PostgreSQL makes names lower-case unless they are quoted; DuckDB takes them in any case."""
    query = "SELECT AGE AS Years FROM Patients"
    assert checked(query, "postgres").sql == 'SELECT "age" AS "years" FROM "patients"'
    assert checked(query, "duckdb").sql == 'SELECT "AGE" AS "Years" FROM "Patients"'
    with pytest.raises(DataError, match="no column 'AGE'"):
        checked('SELECT "AGE" FROM patients', "postgres")


def test_numbers_beside_decimals_are_written_as_doubles_for_duckdb() -> None:
    """It would cast the column to a wider decimal, which fails for large cells."""
    assert checked("SELECT age FROM patients WHERE price > 0.001").sql.endswith('"price" > 0.001e0')
    assert checked("SELECT age FROM patients WHERE price > -5").sql.endswith('"price" > -5e0')
    assert checked("SELECT age FROM patients WHERE id > 5 AND id < 1.5").sql.endswith('"id" > 5 AND "id" < 1.5e0')
    assert checked("SELECT age FROM patients WHERE price > 0.001", "postgres").sql.endswith('"price" > 0.001')


def test_constants_of_other_types_are_to_be_tried_first() -> None:
    """DuckDB would read them when the first row comes to them, and fail or not as other conditions say."""
    query = "SELECT age FROM patients WHERE ward = 'A' AND day >= 'hello'"
    assert checked(query).constants == ("CAST('hello' AS DATE)",)
    assert checked(query, "postgres").constants == ()


def test_quotes_stay_within_texts() -> None:
    found = checked("SELECT age FROM patients WHERE ward = 'x'' OR TRUE --'")
    assert found.sql == "SELECT \"age\" FROM \"patients\" WHERE \"ward\" = 'x'' OR TRUE --'"
