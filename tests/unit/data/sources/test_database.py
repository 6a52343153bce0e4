"""Rows of DuckDB and PostgreSQL: types, snapshots, errors that show no value and no password, and what is no table."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.databases import duckdb_table, postgres_address, postgres_table, run_in_duckdb, run_in_postgres

import noisewise as nw
from noisewise.data import gram_sum, open_source
from noisewise.data.sources.base import BATCH_ROWS, UnorderedSource, Wanted
from noisewise.database_query import suited_to
from noisewise.errors import DataError, PrivacyError
from noisewise.run import QUIET
from noisewise.schema import Basis, Schema

pytestmark = pytest.mark.outer

pytest.importorskip("duckdb")
pytest.importorskip("adbc_driver_postgresql")

AGES = pa.table({"age": np.linspace(0.0, 100.0, 1000), "ward": ["A", "B"] * 500})
SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [0, 100]}}})
ADD_REMOVE = Schema.from_dict({"adjacency": "add-remove", "columns": {"age": {"bounds": [0, 100]}}})

Place = Callable[[pa.Table], str]


@pytest.fixture(params=["DuckDB", "PostgreSQL"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Puts a table called patients into a database and returns its address."""
    return (lambda table: duckdb_table(table, tmp_path)) if request.param == "DuckDB" else postgres_table


def run(address: str, *statements: str) -> None:
    if address.endswith(".duckdb"):
        run_in_duckdb(address, statements)
    else:
        run_in_postgres(address, *statements)


def column(data: Any, name: str, role: Any = "number") -> list[Any]:
    tasks = open_source(data).tasks([Wanted(name, role)])
    return [cell for task in tasks for batch in task() for cell in batch.column(0).to_pylist()]


def total(data: Any, schema: Schema = ADD_REMOVE) -> Any:
    return gram_sum(suited_to(data, schema), schema, Basis.of(schema), run=QUIET)


def test_columns_can_be_renamed_and_rows_filtered(place: Place) -> None:
    data = nw.query(place(AGES), "SELECT age AS age, ward AS unit FROM patients WHERE ward = 'A' AND age <= 50")
    expected = AGES.filter(pa.compute.and_(pa.compute.equal(AGES["ward"], "A"), pa.compute.less_equal(AGES["age"], 50.0)))
    assert total(data) == total(expected)
    assert list(open_source(data).column_types()) == ["age", "unit"]


def test_at_most_some_rows_of_each_unit_are_used(place: Place) -> None:
    visits = pa.table({"age": np.arange(30.0), "person": ["ann"] * 20 + ["bob"] * 10})
    schema = Schema.from_dict({"adjacency": "add-remove", "unit": {"column": "person", "max_rows": 15},
                               "columns": {"age": {"bounds": [0, 30]}}})
    data = nw.query(place(visits), "SELECT * FROM patients")
    assert total(data, schema) == total(data, schema)
    assert total(data, schema).rows == 25


def test_a_source_has_no_order_and_small_batches(place: Place) -> None:
    many = pa.table({"age": np.arange(3.0 * BATCH_ROWS)})
    source = open_source(nw.query(place(many), "SELECT * FROM patients"))
    assert isinstance(source, UnorderedSource)
    sizes = [batch.num_rows for task in source.tasks([Wanted("age", "number")]) for batch in task()]
    assert sum(sizes) == many.num_rows and max(sizes) <= BATCH_ROWS


@pytest.mark.inner
def test_a_second_pass_sees_the_same_rows() -> None:
    address = postgres_table(AGES)
    source = open_source(nw.query(address, "SELECT age FROM patients"))
    first = total(source)
    run_in_postgres(address, "INSERT INTO patients VALUES (50, 'A')", "DELETE FROM patients WHERE age < 20")
    assert total(source) == first
    assert total(nw.query(address, "SELECT age FROM patients")) != first


def test_an_open_connection_is_read_in_a_transaction_of_its_own(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(duckdb_table(AGES, tmp_path)) as connection:
        source = open_source(nw.query(connection, "SELECT age FROM patients"))
        first = total(source)
        connection.execute("DELETE FROM patients WHERE age < 20")
        assert total(source) == first
        assert total(nw.query(connection, "SELECT age FROM patients")) != first
        with pytest.raises(DataError, match="pass its connection"):
            open_source(nw.query(str(tmp_path / "rows.duckdb"), "SELECT age FROM patients"))


def test_a_connection_is_closed_with_its_source(place: Place) -> None:
    address = place(AGES)
    source = open_source(nw.query(address, "SELECT age FROM patients"))
    list(source.tasks([Wanted("age", "number")])[0]())
    del source
    gc.collect()
    run(address, "DROP TABLE patients")  # would wait or fail
    with pytest.raises(DataError):
        open_source(nw.query(address, "SELECT age FROM patients"))


def test_a_source_that_is_not_collected_yet_keeps_nobody_out(tmp_path: Path) -> None:
    """As after an error, whose traceback held it in a circle. One that is still used does: two would want other settings."""
    address = duckdb_table(pa.table({"age": [1.0]}), tmp_path)
    forgotten: list[Any] = [open_source(nw.query(address, "SELECT age FROM patients"))]
    with pytest.raises(DataError, match="cannot be opened"):
        open_source(nw.query(address, "SELECT age FROM patients"))
    forgotten.append(forgotten)
    gc.disable()
    try:
        del forgotten
        assert open_source(nw.query(address, "SELECT age FROM patients")) is not None
    finally:
        gc.enable()


def test_reading_can_stop_early(place: Place) -> None:
    source = open_source(nw.query(place(pa.table({"age": np.arange(3.0 * BATCH_ROWS)})), "SELECT * FROM patients"))
    task = source.tasks([Wanted("age", "number")])[0]
    batches = task()
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert sum(batch.num_rows for batch in task()) == 3 * BATCH_ROWS


POSTGRES_TYPES = """
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN years AS int;
CREATE TABLE patients (n numeric, years years, ward char(4), mood mood, day date, id uuid, price money, tags int[]);
INSERT INTO patients VALUES
    (1e400, 3, 'A', 'ok', 'infinity', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 5, '{1}'),
    (1.50, 4, 'B', 'sad', '2026-05-01', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', 5, '{1}'),
    (1.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    ('NaN', NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""


def test_types_of_postgresql() -> None:
    address = postgres_address()
    run_in_postgres(address, *POSTGRES_TYPES.split(";"))
    data = nw.query(address, "SELECT * FROM patients")
    types = open_source(data).column_types()
    assert types["n"] == pa.float64() and types["ward"] == types["mood"] == types["id"] == pa.string()
    np.testing.assert_array_equal(np.array(column(data, "n"), dtype=float), [np.inf, 1.5, 1.5, np.nan])
    assert column(data, "n", "unit")[1:3] == ["1.5", "1.5"]  # one number, one unit
    assert column(data, "years") == [3, 4, None, None]
    assert column(data, "ward", "level") == ["A", "B", None, None]
    assert column(data, "mood", "level") == ["ok", "sad", None, None]
    assert len(set(column(data, "id", "unit"))) == 3
    for name in ("price", "tags", "day"):
        schema = Schema.from_dict({"adjacency": "add-remove", "columns": {name: {"bounds": [0, 1]}}})
        with pytest.raises(DataError, match=f"'{name}' is declared as a number but has another type"):
            total(data, schema)


def test_dates_can_be_units_of_postgresql() -> None:
    address = postgres_address()
    run_in_postgres(address, *POSTGRES_TYPES.split(";"))
    schema = Schema.from_dict({"adjacency": "add-remove", "unit": {"column": "day", "max_rows": 1},
                               "columns": {"years": {"bounds": [0, 10], "missing": 0}}})
    assert total(nw.query(address, "SELECT * FROM patients"), schema).rows == 3  # two days, and rows without one


def test_types_of_duckdb(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.duckdb")
    wide, largest = 2**127 - 1, 2**128 - 1
    run_in_duckdb(path, [
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE patients (n DECIMAL(38, 10), h HUGEINT, u UHUGEINT, mood mood, day DATE, id UUID)",
        f"INSERT INTO patients VALUES (1.5, {wide}, {largest}, 'ok', 'infinity', uuid()), (NULL, 1, 2, 'sad', NULL, NULL)"])
    data = nw.query(path, "SELECT * FROM patients")
    assert column(data, "h") == [float(wide), 1.0] and column(data, "u") == [float(largest), 2.0]
    assert column(data, "u", "unit") == [str(largest), "2"]
    assert column(data, "mood", "level") == ["ok", "sad"]
    assert len(set(column(data, "id", "unit"))) == 2
    schema = Schema.from_dict({"adjacency": "add-remove", "columns": {"n": {"bounds": [0, 2], "missing": 0.0}}})
    assert total(data, schema) == total({"n": [1.5, 0.0]}, schema)


def test_no_cell_makes_a_checked_query_fail(tmp_path: Path) -> None:
    """Cells for which DuckDB fails when it casts them by itself."""
    path = str(tmp_path / "rows.duckdb")
    run_in_duckdb(path, [
        "CREATE TABLE patients (n DECIMAL(38, 10), d DECIMAL(18, 3), ward VARCHAR, age DOUBLE, day DATE)",
        "INSERT INTO patients VALUES (9999999999999999999999999999.5, 999999999999999.9, 'x', 'inf', 'infinity')"])
    where = " OR ".join(["n > 0.00000000000000000000000000000000001", "d < 0.00000000000000000000000000000000001",
                         "n BETWEEN -1.5 AND 1e30", "n IN (1, 0.00000000000000000001)", "ward = '5'", "day >= '2026-05-01'",
                         "COALESCE(d, 0.00000000000000000000000000001) > 1.5"])
    assert column(suited_to(nw.query(path, f"SELECT age FROM patients WHERE {where}"), ADD_REMOVE), "age") == [float("inf")]


def test_a_constant_that_does_not_fit_is_refused_whatever_the_rows(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.duckdb")
    run_in_duckdb(path, ["CREATE TABLE patients (age DOUBLE, day DATE)"])  # no row ever meets the constant
    with pytest.raises(DataError, match="constant must fit.*hello"):
        open_source(nw.query(path, "SELECT age FROM patients WHERE age > 200 AND day > 'hello'"))
    address = postgres_address()
    run_in_postgres(address, "CREATE TABLE patients (age float8, day date)")
    with pytest.raises(DataError, match="cannot be run"):
        open_source(nw.query(address, "SELECT age FROM patients WHERE age > 200 AND day > 'hello'"))


def everything(error: BaseException) -> str:
    """All that a traceback could show of an error."""
    texts = []
    found: BaseException | None = error
    while found is not None:
        texts.append(f"{found!r} {found}")
        found = found.__cause__ or found.__context__
    return " ".join(texts)


def test_what_a_driver_says_is_not_passed_on(place: Place) -> None:
    secret = pa.table({"age": [1.0] * 10, "ward": ["7"] * 9 + ["very-secret"]})
    data = nw.query(place(secret), "SELECT CAST(ward AS integer) AS age FROM patients", trust=True)
    with pytest.raises(DataError, match="could not be read to the end") as refused:
        total(data)
    assert "secret" not in everything(refused.value)


@pytest.mark.parametrize("sql", ["SELECT age FROM nobody", "SELECT nothing FROM patients", "SELECT age FROM nowhere.patients"])
def test_what_is_not_there_is_named(place: Place, sql: str) -> None:
    with pytest.raises(DataError, match="no table|no column") as refused:
        open_source(nw.query(place(AGES), sql))
    assert "postgres:@" not in everything(refused.value)


def test_a_trusted_query_that_cannot_run_is_one_of_our_errors(place: Place) -> None:
    with pytest.raises(DataError, match="the query cannot be run"):
        open_source(nw.query(place(AGES), "SELECT age FROM nobody", trust=True))


def test_two_columns_of_one_name_are_refused(place: Place) -> None:
    with pytest.raises(DataError, match="two columns are called 'age'|cannot be run"):
        open_source(nw.query(place(AGES), "SELECT age, age FROM patients"))


ADDRESSES = ["postgresql://ann:se:cret@{}/x", "postgresql://ann:se/cret@{}/x", "postgresql://ann:se@cret@{}/x",
             "postgres://{}/x?user=ann&password=cret", "postgres://{}/x?user=ann&password=se@cret", "postgresql://ann:se/?cret@{}/x"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_password_is_never_shown(address: str) -> None:
    data = nw.query(address.format("localhost:1"), "SELECT age FROM patients")
    with pytest.raises(DataError, match="could not connect") as refused:
        open_source(data)
    for text in (everything(refused.value), repr(data), str(data), f"{data}"):
        assert "cret" not in text and "se/" not in text
    for function in (open_source, lambda text: nw.release(text, SCHEMA, epsilon=1.0)):
        with pytest.raises(DataError, match="through a query") as refused:
            function(address.format("localhost:1"))
        assert "cret" not in everything(refused.value)


@pytest.mark.parametrize("address", ["host=server password=cret", "ann:cret@server/x", "postgresql+driver://ann:cret@server/x",
                                     "POSTGRESQL://ann:cret@server/x"])
def test_a_password_in_what_is_no_address_is_never_shown(address: str) -> None:
    for function in (open_source, lambda text: nw.query(text, "SELECT age FROM patients")):
        with pytest.raises(DataError) as refused:
            function(address)
        assert "cret" not in everything(refused.value)


def test_a_transaction_of_postgres_does_not_rely_on_its_session() -> None:
    """A pool may run each transaction in another session: what was set for a session before it began would be lost."""
    from noisewise.data.sources.database_postgres import PostgresEngine

    def settings(*names: str) -> list[tuple[Any, ...]]:
        return engine._fetch("SELECT " + ", ".join(f"current_setting('{name}') AS {name}" for name in names))

    engine = PostgresEngine(postgres_address())
    assert settings("transaction_isolation", "transaction_read_only", "DateStyle") == [("repeatable read", "on", "ISO, YMD")]
    engine._connection.rollback()  # which ends the transaction, and with it all that was set in it
    assert settings("transaction_isolation", "transaction_read_only", "DateStyle") == [("read committed", "off", "ISO, MDY")]


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        open_source(nw.query(str(tmp_path / "rows.duckdb"), "SELECT age FROM patients"))
    (tmp_path / "rows.duckdb").write_text("very-secret")
    with pytest.raises(DataError, match="cannot be opened") as refused:
        open_source(nw.query(f"duckdb:{tmp_path}/rows.duckdb", "SELECT age FROM patients"))
    assert "very-secret" not in everything(refused.value)


@pytest.mark.parametrize(("package", "address", "extra"), [
    ("adbc_driver_postgresql", "postgresql://server/x", "postgres"), ("duckdb", "duckdb:", "duckdb")])
def test_without_a_package_the_remedy_is_said(package: str, address: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DataError, match=rf"install noisewise\[{extra}\]"):
        open_source(nw.query(address, "SELECT age FROM patients"))


@pytest.mark.parametrize(("address", "sql", "words"), [
    ("mysql://server/x", "SELECT 1", "not the address"), ("rows.csv", "SELECT 1", "not the address"),
    (7, "SELECT 1", "an address or an open"),
    ("duckdb:", "  ", "begins with SELECT"), ("duckdb:", None, "begins with SELECT")])
def test_what_is_no_query_is_refused(address: Any, sql: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        nw.query(address, sql)


def test_a_result_of_duckdb_is_not_taken_for_rows(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(duckdb_table(AGES, tmp_path)) as connection:
        for data in (connection, connection.sql("SELECT * FROM patients LIMIT 3")):
            with pytest.raises(DataError, match="through a query"):
                open_source(data)


VIEWS = {
    "a view": "CREATE VIEW few AS SELECT age FROM patients LIMIT 3",
    "a materialized view": "CREATE MATERIALIZED VIEW few AS SELECT age FROM patients LIMIT 3",
    "row-level security": "CREATE TABLE few (age float8); ALTER TABLE few ENABLE ROW LEVEL SECURITY; "
                          "ALTER TABLE few FORCE ROW LEVEL SECURITY; CREATE ROLE clerk; GRANT SELECT ON few TO clerk",
}


@pytest.mark.parametrize("what", VIEWS)
def test_what_only_looks_like_a_table_is_refused_by_postgresql(what: str) -> None:
    address = postgres_table(AGES)
    run_in_postgres(address, *VIEWS[what].split(";"))
    if what == "row-level security":  # a superuser is not subject to it
        run_in_postgres(address, "ALTER ROLE clerk LOGIN")
        address = address.replace("postgres:@", "clerk@")
    with pytest.raises(PrivacyError, match=what):
        open_source(nw.query(address, "SELECT age FROM few"))
    assert open_source(nw.query(address, "SELECT age FROM few", trust=True)).column_types()


@pytest.mark.parametrize(("what", "statement"), [
    ("a view", "CREATE VIEW few AS SELECT age FROM patients LIMIT 3"),
    ("computed", "CREATE TABLE few (ward VARCHAR, age INTEGER GENERATED ALWAYS AS (CAST(ward AS INTEGER)))"),
])
def test_what_only_looks_like_a_table_is_refused_by_duckdb(what: str, statement: str, tmp_path: Path) -> None:
    path = duckdb_table(AGES, tmp_path)
    run_in_duckdb(path, [statement])
    with pytest.raises(PrivacyError, match=what):
        open_source(nw.query(path, "SELECT age FROM few"))


def test_files_that_are_not_parquet_and_variables_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("age\n1\n")
    with pytest.raises(PrivacyError, match="not Parquet"):
        open_source(nw.query("duckdb:", f"SELECT age FROM '{tmp_path}/rows.csv'"))
    address = pa.table({"age": [1.0]})  # also the name of a variable where the connection is used
    for trust in (False, True):
        with pytest.raises(DataError, match="no table|cannot be run"):
            open_source(nw.query("duckdb:", "SELECT age FROM address", trust=trust))
    assert address.num_rows == 1


def test_a_filter_needs_a_number_of_rows_that_is_not_public(place: Place) -> None:
    """Replacing someone's value by another can take a row out of the result, which changes a number that would be exact."""
    data = nw.query(place(AGES), "SELECT age FROM patients WHERE age >= 50")
    with pytest.raises(PrivacyError, match="add-remove"):
        total(data, SCHEMA)
    with pytest.raises(PrivacyError, match="add-remove"):  # nobody has said what is public
        gram_sum(data, SCHEMA, Basis.of(SCHEMA))
    assert total(data, ADD_REMOVE).rows == 500
    trusted = nw.query(data.address, data.sql, trust=True)
    assert total(trusted, SCHEMA).rows == 500


def test_nothing_can_be_written() -> None:
    address = postgres_table(AGES)
    run_in_postgres(address, "CREATE SEQUENCE numbers")
    with pytest.raises(DataError, match="could not be read"):
        column(nw.query(address, "SELECT nextval('numbers') AS age FROM patients", trust=True), "age")


@pytest.mark.parametrize(("kind", "delta"), [
    (nw.Gram(), 1e-6), (nw.Gram(average=10), 1e-6), (nw.Moments("ward ~ age"), 1e-6), (nw.AdaSSP("age ~ ward"), 1e-6),
    (nw.Partition("age ~ ward", parts=20, ask={"ask": "posterior-probability", "of": "ward[T.B]", "at": 0}), None),
    (nw.Rows(), None), (nw.Bounds({"age": (0, None)}), None), (nw.Binary("ward", rows=10), None),
], ids=lambda value: value.variant if isinstance(value, nw.kinds.Kind) else "")
def test_every_kind_of_release_takes_a_query(kind: nw.kinds.Kind, delta: float | None, place: Place, tmp_path: Path) -> None:
    schema = Schema.from_dict({"adjacency": "replace-one",
                               "columns": {"age": {"bounds": [0, 100]}, "ward": {"levels": ["A", "B"]}}})
    data = nw.query(place(AGES), "SELECT age, ward FROM patients")
    made = nw.release(data, schema, kind, epsilon=1.0, delta=delta, to=tmp_path / "made.nwr", run=QUIET)
    assert made.contents.rows == 1000
