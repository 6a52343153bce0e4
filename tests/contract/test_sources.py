"""One table of cases over every source: the same rows give the identical whole numbers, wherever they come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.databases import duckdb_connection_query, duckdb_parquet_query, duckdb_query, postgres_query

from noisewise.data import GramSum, ModelRows, gram_sum, open_source
from noisewise.data.sources.base import Wanted
from noisewise.errors import DataError
from noisewise.kinds import Model
from noisewise.run import ALONE, QUIET, Run
from noisewise.schema import Basis, Design, Schema
from noisewise.scores.families import FAMILIES
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Layout
from noisewise.scores.rounds import Look, Point

SCHEMA: dict[str, Any] = {
    "adjacency": "replace-one",
    "columns": {
        "age": {"bounds": [18, 98]},
        "stay": {"bounds": [0, 10], "missing": 2.5},
        "visits": {"bounds": [0, 20]},
        "smoker": {"levels": [False, True]},
        "ward": {"levels": ["A", "B", "rest"], "other": "rest", "missing": "A"},
        "grade": {"levels": [1, 2, 3]},
    },
}
TERMS = "age:stay + I(age**2) + age:ward + smoker:ward"


def rows(count: int, *, holes: bool) -> pa.Table:
    """Rows with values outside the bounds, unseen levels and, if asked for, missing cells."""
    generator = np.random.default_rng(count)

    def column(values: Any, kind: pa.DataType) -> pa.Array:
        return pa.array(values, kind, mask=generator.random(count) < 0.1 if holes and count else None)

    return pa.table({
        "age": column(generator.normal(60, 30, count), pa.float64()),
        "stay": column(generator.gamma(2.0, 2.0, count), pa.float64()),
        "visits": column(generator.integers(-3, 30, count), pa.int64()),
        "smoker": column(generator.random(count) < 0.3, pa.bool_()),
        "ward": column(generator.choice(np.array(["A", "B", "C", "D, \"x\""], dtype=object), count), pa.string()),
        "grade": column(generator.integers(0, 5, count), pa.int32()),
        "unused": pa.array([[1]] * count, pa.list_(pa.int64())),
    })


CASES = {
    "no rows": rows(0, holes=False),
    "one row": rows(1, holes=False),
    "complete": rows(10_000, holes=False),
    "with holes": rows(9_001, holes=True),
    "several batches": rows(70_000, holes=True),
    "all missing": pa.table({
        name: pa.nulls(5, kind) for name, kind in (
            ("age", pa.float64()), ("stay", pa.float64()), ("visits", pa.int64()), ("smoker", pa.bool_()),
            ("ward", pa.string()), ("grade", pa.int32()), ("unused", pa.list_(pa.int64())))
    }),
}


def _parquet_file(table: pa.Table, folder: Path) -> Any:
    pq.write_table(table, folder / "rows.parquet")
    return folder / "rows.parquet"


def _parquet_row_groups(table: pa.Table, folder: Path) -> Any:
    pq.write_table(table, folder / "rows.parquet", row_group_size=997)
    return str(folder / "rows.parquet")


def _parquet_dictionaries(table: pa.Table, folder: Path) -> Any:
    index = table.schema.get_field_index("ward")
    pq.write_table(table.set_column(index, "ward", table["ward"].dictionary_encode()), folder / "rows.pq")
    return folder / "rows.pq"


def _write_parts(table: pa.Table, folder: Path) -> None:
    (folder / "deep").mkdir()
    third = table.num_rows // 3
    pq.write_table(table.slice(0, third), folder / "b.parquet")
    pq.write_table(table.slice(third, third), folder / "deep" / "a.parquet")
    pq.write_table(table.slice(2 * third), folder / "c.parquet")
    (folder / "_SUCCESS").write_text("")
    (folder / "notes.txt").write_text("not a Parquet file")


def _parquet_directory(table: pa.Table, folder: Path) -> Any:
    _write_parts(table, folder)
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / "half.parquet").write_text("unfinished")
    return folder


def _parquet_glob(table: pa.Table, folder: Path) -> Any:
    _write_parts(table, folder)
    return f"{folder}/**/*.parquet"


def _csv(table: pa.Table, folder: Path) -> Any:
    pyarrow.csv.write_csv(table.drop_columns("unused"), folder / "rows.csv")
    return folder / "rows.csv"


def _csv_gz(table: pa.Table, folder: Path) -> Any:
    with pa.CompressedOutputStream(str(folder / "rows.csv.gz"), "gzip") as file:
        pyarrow.csv.write_csv(table.drop_columns("unused"), file)
    return folder / "rows.csv.gz"


def _csv_by_pandas(table: pa.Table, folder: Path) -> Any:
    table.drop_columns("unused").to_pandas().to_csv(folder / "rows.csv", index=False, na_rep="NA", quoting=2)
    return folder / "rows.csv"


def _views(table: pa.Table) -> pa.Table:
    index = table.schema.get_field_index("ward")
    return table.set_column(index, "ward", table["ward"].cast(pa.string_view()))


def _large(table: pa.Table) -> pa.Table:
    index = table.schema.get_field_index("ward")
    return table.set_column(index, "ward", table["ward"].cast(pa.large_string()))


def _pandas_categories(table: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas()
    return frame.astype({"ward": "category", "grade": "category"})


def _masked_arrays(table: pa.Table) -> dict[str, Any]:
    """Numbers as masked arrays, text as objects."""
    columns: dict[str, Any] = {}
    for name in SCHEMA["columns"]:
        column = table[name].combine_chunks()
        if pa.types.is_string(column.type):
            columns[name] = np.array(column.to_pylist(), dtype=object)
        else:
            zero = pa.scalar(0).cast(column.type)
            columns[name] = np.ma.MaskedArray(column.fill_null(zero).to_numpy(zero_copy_only=False),
                                              mask=column.is_null().to_numpy(zero_copy_only=False))
    return columns


def _structured(table: pa.Table) -> Any:
    kinds = [("age", "f8"), ("stay", ">f8"), ("visits", "f8"), ("smoker", "O"), ("ward", "O"), ("grade", "f4")]
    result = np.empty(table.num_rows, dtype=kinds)
    for name, kind in kinds:
        cells = table[name].to_pylist()
        result[name] = cells if kind == "O" else [np.nan if cell is None else cell for cell in cells]
    return result


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "Parquet file": _parquet_file,
    "Parquet row groups": _parquet_row_groups,
    "Parquet dictionaries": _parquet_dictionaries,
    "Parquet directory": _parquet_directory,
    "Parquet glob": _parquet_glob,
    "CSV": _csv,
    "CSV, compressed": _csv_gz,
    "CSV by pandas": _csv_by_pandas,
    "Arrow table": lambda table, _: table,
    "Arrow table, small chunks": lambda table, _: pa.Table.from_batches(table.to_batches(max_chunksize=777), table.schema),
    "Arrow batch": lambda table, _: table.combine_chunks().to_batches()[0] if table.num_rows else table,
    "Arrow reader": lambda table, _: table.to_reader(max_chunksize=5000),
    "Arrow string views": lambda table, _: _views(table),
    "Arrow large strings": lambda table, _: _large(table),
    "pandas": lambda table, _: table.to_pandas(),
    "pandas, nullable": lambda table, _: table.drop_columns("unused").to_pandas().convert_dtypes(),
    "pandas, Arrow types": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, categories": lambda table, _: _pandas_categories(table),
    "pandas, objects": lambda table, _: table.to_pandas().astype(object),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars, categories": lambda table, _: pl.from_arrow(table).with_columns(pl.col("ward").cast(pl.Categorical)),  # type: ignore[union-attr]
    "dictionary of arrays": lambda table, _: _masked_arrays(table),
    "dictionary of lists": lambda table, _: table.to_pydict(),
    "dictionary of Arrow columns": lambda table, _: dict(zip(table.column_names, table.columns, strict=True)),
    "dictionary of Arrow arrays": lambda table, _: {name: table[name].combine_chunks() for name in table.column_names},
    "dictionary of pandas series": lambda table, _: dict(table.to_pandas().items()),
    "dictionary of nullable series": lambda table, _: dict(table.drop_columns("unused").to_pandas().convert_dtypes().items()),
    "dictionary of polars series": lambda table, _: pl.from_arrow(table).to_dict(),  # type: ignore[union-attr]
    "structured array": lambda table, _: _structured(table),
    "PostgreSQL": postgres_query,
    "DuckDB": duckdb_query,
    "DuckDB, connection": duckdb_connection_query,
    "DuckDB, Parquet": duckdb_parquet_query,
}


def statistic(data: Any, run: Run = QUIET) -> GramSum:
    schema = Schema.from_dict(SCHEMA)
    return gram_sum(data, schema, Basis.of(schema, TERMS), run=run)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("source", SOURCES)
def test_the_same_rows_give_the_identical_statistic(source: str, case: str, tmp_path: Path) -> None:
    table = CASES[case]
    found = statistic(SOURCES[source](table, tmp_path))
    assert found == statistic(table, ALONE)
    assert found.rows == table.num_rows


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_rows_give_the_identical_rounds_of_a_model(source: str, tmp_path: Path) -> None:
    """Several passes over one opened table."""
    table, (basis, layout, problem, point) = CASES["with holes"], a_round()
    opened, expected = (ModelRows.open(data, basis, layout) for data in (SOURCES[source](table, tmp_path), table))
    first = opened.look(run=QUIET)
    assert first.exact == expected.look(run=ALONE).exact and first.rows == table.num_rows
    for _ in range(2):
        found = opened.round(problem, point, run=QUIET)
        assert found.exact == expected.round(problem, point, run=ALONE).exact and found.fingerprint == first.fingerprint


def a_round() -> tuple[Basis, Layout, Problem, Point]:
    """A logistic regression with products, and a point of it."""
    kind = Model("smoker ~ age * stay + ward + grade", "age:stay", family="logistic")
    basis = kind.settled(Schema.from_dict(SCHEMA))
    layout, design = Layout.of(basis, FAMILIES["logistic"]), Design.of(kind.formula, basis, kind.terms)
    look = Look(noise=0.0, sums=np.zeros(layout.size), rows=1.0, rows_noise=0.0)
    random, terms = np.random.default_rng(4), len(design.terms)
    coefficients, coordinates = random.normal(size=terms) * 0.02, random.normal(size=(terms, basis.size - 1))
    point = Point(coefficients=coefficients, coordinates=coordinates, scale=1.0, spread=True)
    return basis, layout, Problem.of(basis, design, FAMILIES["logistic"], look), point


@pytest.mark.parametrize("source", SOURCES)
def test_names_and_types_are_known_without_reading_rows(source: str, tmp_path: Path) -> None:
    opened = open_source(SOURCES[source](CASES["complete"], tmp_path))
    types = opened.column_types()
    assert set(SCHEMA["columns"]) <= set(types)
    assert all(isinstance(kind, pa.DataType) for kind in types.values())
    assert opened.rows in (None, CASES["complete"].num_rows)
    assert opened.description


@pytest.mark.parametrize("source", SOURCES)
def test_a_missing_column_is_named(source: str, tmp_path: Path) -> None:
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"weight": {"bounds": [0, 1]}}})
    data = SOURCES[source](CASES["one row"], tmp_path)
    with pytest.raises(DataError, match="'weight'"):
        gram_sum(data, schema, Basis.of(schema))


@pytest.mark.parametrize("source", SOURCES)
def test_tasks_hand_out_only_what_is_wanted(source: str, tmp_path: Path) -> None:
    opened = open_source(SOURCES[source](CASES["complete"], tmp_path))
    wanted = [Wanted("age", "number"), Wanted("ward", "level", frozenset({"A", "B"}))]
    batches = [batch for task in opened.tasks(wanted) for batch in task()]
    assert all(set(batch.schema.names) == {"age", "ward"} for batch in batches)
    assert sum(batch.num_rows for batch in batches) == 10_000


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_the_statistic(threads: int, tmp_path: Path) -> None:
    table = rows(300_000, holes=False)
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=40_000)
    assert statistic(tmp_path / "rows.parquet", Run(threads, progress=False)) == statistic(table, ALONE)


def test_a_reader_can_be_read_once() -> None:
    opened = open_source(CASES["complete"].to_reader())
    statistic(opened)
    with pytest.raises(DataError, match="only once"):
        statistic(opened)


def test_anything_with_an_arrow_stream_is_a_source() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return CASES["complete"].__arrow_c_stream__(requested_schema)

    assert statistic(Stream()) == statistic(CASES["complete"])
