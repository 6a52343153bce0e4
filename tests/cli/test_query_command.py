"""``noisewise release DATABASE --query``, and the other commands that read rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.cli.command_line import change, one_error, rows
from tests.databases import duckdb_table, postgres_table

import noisewise

pytest.importorskip("duckdb")
pytest.importorskip("adbc_driver_postgresql")

SELECT = "SELECT age, stay, ward FROM patients"
BUDGET = ("--epsilon", 1, "--delta", 1e-6)


@pytest.fixture(params=["DuckDB", "PostgreSQL"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    table = pa.table(rows(5))
    return duckdb_table(table, tmp_path) if request.param == "DuckDB" else postgres_table(table)


def test_a_query_is_released_like_a_table(nw: Any, database: str, schema: Path, tmp_path: Path) -> None:
    target = tmp_path / "patients.nwr"
    result = nw("release", database, "--query", SELECT, "-s", schema, *BUDGET, "-o", target)
    assert result.exit_code == 0, result.output
    made = noisewise.load(target)
    assert isinstance(made, noisewise.Release) and made.contributions[0].rows == 2000
    assert "SELECT" not in target.read_text() and "rows.duckdb" not in target.read_text()


def test_a_password_is_in_no_output(nw: Any, schema: Path, tmp_path: Path) -> None:
    """A server on a local socket asks for none, and takes any."""
    address = postgres_table(pa.table(rows(5))).replace("postgres:@", "postgres:very-secret@")
    ledger = tmp_path / "budget.db"
    arguments = ("--query", SELECT, "-s", schema, *BUDGET, "--ledger", ledger, "--total-epsilon", 3, "--total-delta", 1e-5)
    target = tmp_path / "patients.nwr"
    result = nw("release", address, *arguments, "-o", target)
    assert result.exit_code == 0, result.output
    refused = nw("release", address, "--query", f"{SELECT} LIMIT 5", *arguments[2:], "--edition", "2", "-o", tmp_path / "b.nwr")
    lost = nw("release", address.replace("host=", "host=/nowhere"), *arguments, "--edition", "3", "-o", tmp_path / "c.nwr")
    assert "LIMIT" in one_error(refused) and "could not connect" in one_error(lost)
    for text in (result.output, refused.output, lost.output, target.read_text(), ledger.read_bytes().decode("latin-1")):
        assert "very-secret" not in text


def test_what_is_refused_spends_nothing_and_names_the_remedy(nw: Any, database: str, schema: Path, tmp_path: Path) -> None:
    target = tmp_path / "patients.nwr"
    for ending, words in (("LIMIT 10", "LIMIT"), ("WHERE age > 50", "add-remove")):
        arguments = ("release", database, "--query", f"{SELECT} {ending}", "-s", schema, *BUDGET, "-o", target)
        message = one_error(nw(*arguments))
        assert words in message and "--trust-query" in message and not target.exists()
    result = nw(*arguments, "--trust-query")
    assert result.exit_code == 0, result.output


def test_a_filter_goes_with_add_remove(nw: Any, database: str, schema: Path, tmp_path: Path) -> None:
    change(schema, "replace-one", "add-remove")
    result = nw("release", database, "--query", f"{SELECT} WHERE age > 50", "-s", schema, *BUDGET, "-o", tmp_path / "a.nwr")
    assert result.exit_code == 0, result.output


def test_a_database_needs_a_query_and_trust_one_too(nw: Any, database: str, schema: Path, table: Path, tmp_path: Path) -> None:
    target = tmp_path / "patients.nwr"
    assert "--query" in one_error(nw("release", database, "-s", schema, *BUDGET, "-o", target))
    assert "not the address" in one_error(nw("release", table, "--query", SELECT, "-s", schema, *BUDGET, "-o", target))
    assert nw("release", table, "--trust-query", "-s", schema, *BUDGET, "-o", target).exit_code == 2


def test_a_release_does_not_replace_a_database(nw: Any, schema: Path, tmp_path: Path) -> None:
    path = duckdb_table(pa.table(rows(5)), tmp_path)
    message = one_error(nw("release", path, "--query", SELECT, "-s", schema, *BUDGET, "-o", path, "--force"))
    assert ".nwr" in message


def test_bounds_and_binary_rows_of_a_query(nw: Any, schema: Path, tmp_path: Path) -> None:
    address = duckdb_table(pa.table({**rows(5), "smoker": ["no", "yes"] * 1000}), tmp_path)
    asked = ("--column", "age", "--adjacency", "replace-one", "--lower", 0, "--epsilon", 1)
    found = nw.json("bounds", address, "--query", "SELECT age FROM patients", *asked)
    assert 90 < found["contributions"][0]["columns"][0]["upper"] < 105
    assert "--query" in one_error(nw("bounds", address, *asked))
    assert "LIMIT" in one_error(nw("bounds", address, "--query", "SELECT age FROM patients LIMIT 5", *asked))
    schema.write_text(schema.read_text() + '\n[columns.smoker]\nlevels = ["no", "yes"]\n')
    result = nw("release", "binary", address, "--query", "SELECT smoker FROM patients", "-s", schema, "-c", "smoker", "-e", 1,
                "--rows", 20, "-o", tmp_path / "smokers.nwr")
    assert result.exit_code == 0 and "2000 (public)" in result.stdout, result.output
