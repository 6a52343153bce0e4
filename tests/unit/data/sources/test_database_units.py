"""Which rows of a unit are kept is decided by that unit's rows alone (D2 of database.md): a search for a counterexample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.databases import postgres_address

import noisewise as nw
from noisewise.data import gram_sum, open_source
from noisewise.data.sources.base import UnorderedSource, Wanted
from noisewise.data.sources.database_duckdb import DuckdbEngine
from noisewise.data.sources.database_postgres import PostgresEngine
from noisewise.run import QUIET
from noisewise.schema import Basis, Schema

pytestmark = pytest.mark.outer

pytest.importorskip("duckdb")
pytest.importorskip("adbc_driver_postgresql")

WANTED = [Wanted("age", "number"), Wanted("ward", "level"), Wanted("person", "unit")]
KEPT = 2
ROUNDS = 12

Tables = Callable[[pa.Table], tuple[Any, str]]
Rows = list[tuple[float, str, str]]


@pytest.fixture(params=["DuckDB", "PostgreSQL"])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Tables:
    """Puts one table after the other into a database; returns its address and the table's name."""
    made: list[str] = []
    if request.param == "DuckDB":
        import duckdb

        connection = duckdb.connect(str(tmp_path / "rows.duckdb"))

        def in_duckdb(table: pa.Table) -> tuple[Any, str]:
            made.append(f"t{len(made)}")
            connection.register("given", table)
            connection.execute(f"CREATE TABLE {made[-1]} AS SELECT * FROM given")
            return connection, made[-1]

        return in_duckdb
    address = postgres_address()

    def in_postgres(table: pa.Table) -> tuple[Any, str]:
        from adbc_driver_postgresql import dbapi

        made.append(f"t{len(made)}")
        with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(made[-1], table, mode="create")
        return address, made[-1]

    return in_postgres


def people(generator: np.random.Generator, count: int, name: str) -> Rows:
    """Persons with one to nine rows each, some of them equal, some that differ only in the sign of a zero."""
    rows: Rows = []
    for person in range(count):
        for _ in range(generator.integers(1, 10)):
            age = float(generator.choice([-0.0, 0.0, 1.5, generator.normal()]))
            rows.append((age, str(generator.choice(["A", "a", "B", ""])), f"{name}{person}"))
    return rows


def as_table(rows: Rows) -> pa.Table:
    ages, wards, persons = zip(*rows, strict=True)
    return pa.table({"age": pa.array(ages, pa.float64()), "ward": pa.array(wards, pa.string()), "person": pa.array(persons)})


def kept(tables: Tables, rows: Rows) -> Mapping[str, Rows]:
    address, name = tables(as_table(rows))
    source = open_source(nw.query(address, f"SELECT * FROM {name}"))
    assert isinstance(source, UnorderedSource)
    few = source.with_few_rows_of_each("person", KEPT, WANTED)
    found: dict[str, Rows] = defaultdict(list)
    for task in few.tasks(WANTED):
        for batch in task():
            for row in batch.to_pylist():
                person = row["person"].decode() if isinstance(row["person"], bytes) else row["person"]
                found[person].append((row["age"], row["ward"], person))
    return {person: sorted(own, key=repr) for person, own in found.items()}


def search(tables: Tables) -> int:
    """In how many neighbouring tables, in another order, someone else's kept rows are others."""
    generator = np.random.default_rng(20261115)
    rows = people(generator, 30, "p")
    before = kept(tables, rows)
    assert all(len(own) == min(KEPT, sum(row[2] == person for row in rows)) for person, own in before.items())
    counterexamples = 0
    for step in range(ROUNDS):
        gone = f"p{generator.integers(30)}" if step % 3 else ""
        others = [row for row in rows if row[2] != gone] + (people(generator, 1, "new") * (1 + 50 * (step % 2)))
        changed = [others[place] for place in generator.permutation(len(others))]
        after = kept(tables, changed)
        # By their texts: -0.0 and 0.0 are different rows.
        counterexamples += any(repr(after[person]) != repr(own) for person, own in before.items() if person != gone)
    return counterexamples


def test_no_neighbour_changes_the_kept_rows_of_others(tables: Tables) -> None:
    assert search(tables) == 0


def test_the_search_finds_a_rule_that_is_wrong(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rows in the order of the table: right for a file, wrong for a database."""
    for engine in (DuckdbEngine, PostgresEngine):
        monkeypatch.setattr(engine, "content_order", lambda self, columns, prefix: "CAST(NULL AS integer)")
    assert search(tables) > 0


def test_the_chosen_rows_are_not_those_with_small_values(tables: Tables) -> None:
    """A hash decides: the mean of the kept ages is that of all, within four standard errors; of the smallest it is not."""
    generator = np.random.default_rng(7)
    ages = generator.normal(size=(400, 8))
    rows = [(float(age), "A", f"p{person}") for person, own in enumerate(ages) for age in own]
    chosen = [row[0] for own in kept(tables, rows).values() for row in own]
    standard_error = 1 / np.sqrt(len(chosen))
    assert len(chosen) == 400 * KEPT
    assert abs(np.mean(chosen) - ages.mean()) < 4 * standard_error
    assert abs(np.sort(ages, axis=1)[:, :KEPT].mean() - ages.mean()) > 4 * standard_error


def test_a_statistic_uses_those_rows_and_rows_without_a_unit_are_one(tables: Tables) -> None:
    rows = as_table([(1.0, "A", "x")] * 5 + [(1.0, "A", "y")])
    without = pa.table({"age": [1.0] * 7, "ward": ["A"] * 7, "person": pa.nulls(7, pa.string())})
    address, name = tables(pa.concat_tables([rows, without]))
    schema = Schema.from_dict({"adjacency": "replace-one", "unit": {"column": "person", "max_rows": KEPT},
                               "columns": {"age": {"bounds": [0, 1]}}})
    data = nw.query(address, f"SELECT age, person FROM {name} WHERE ward = 'A'")  # a filter does no harm with a unit
    assert gram_sum(data, schema, Basis.of(schema), run=QUIET).rows == KEPT + 1 + KEPT
