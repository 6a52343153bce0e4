"""Cells that do not fit follow the declared rule, and nothing is raised because of a value."""

from __future__ import annotations

import datetime
import decimal
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.data import GramSum, gram_sum, open_source
from noisewise.data.plan import Plan
from noisewise.data.sources.cells import number_from_object, number_from_text, numbers_from_text
from noisewise.errors import DataError, DeclarationError
from noisewise.run import ALONE
from noisewise.schema import Basis, Schema


def declare(adjacency: str = "replace-one", **columns: Any) -> Schema:
    return Schema.from_dict({"adjacency": adjacency, "columns": columns})


def statistic(data: Any, schema: Schema, terms: str | None = None) -> GramSum:
    return gram_sum(data, schema, Basis.of(schema, terms), run=ALONE)


def means(data: Any, schema: Schema) -> list[float]:
    """The sums of the scaled columns."""
    return [float(value) / 2**40 for value in statistic(data, schema).total[0]]


@pytest.mark.parametrize(("cell", "scaled"), [
    (5.0, 0.0), (10.0, 1.0), (11.0, 1.0), (-1e300, -1.0), (np.inf, 1.0), (-np.inf, -1.0),
    (np.nan, 0.5), (1.8e308, 1.0), (5e-324, -1.0),
])
def test_a_number_is_clipped_or_filled(cell: float, scaled: float) -> None:
    schema = declare(x={"bounds": [0, 10], "missing": 7.5})
    assert means({"x": np.array([cell])}, schema) == [1.0, scaled]


def test_a_missing_number_is_the_middle_by_default() -> None:
    assert means({"x": [None, 10, "abc", object()]}, declare(x={"bounds": [0, 10]})) == [4.0, 1.0]


@pytest.mark.parametrize(("array", "total"), [
    (pa.array([True, False, None]), 0.0),
    (pa.array([0, 10, None], pa.int8()), -1.0),
    (pa.array([0, 10, None], pa.uint64()), -1.0),
    (pa.array([np.float16(0), np.float16(1), None], pa.float16()), 0.0),
    (pa.array([0, 1, None], pa.float32()), 0.0),
    (pa.array([decimal.Decimal("0.00"), decimal.Decimal("1.00"), None], pa.decimal128(5, 2)), 0.0),
    (pa.array([decimal.Decimal("0.00"), decimal.Decimal("1.00"), None], pa.decimal256(50, 2)), 0.0),
    (pa.array([0.0, 1.0, None]).dictionary_encode(), 0.0),
    (pa.nulls(3), 0.0),
])
def test_every_numeric_type_is_a_number(array: pa.Array, total: float) -> None:
    upper = 10 if pa.types.is_integer(array.type) else 1
    schema = declare(x={"bounds": [0, upper], "missing": upper / 2 if upper == 1 else 0})
    assert means(pa.table({"x": array}), schema) == [3.0, total]


def test_single_precision_is_widened_before_scaling() -> None:
    """In single precision 16777217 would be 16777216 and both rows the same."""
    schema = declare(x={"bounds": [16777210, 16777220]})
    narrow = pa.table({"x": pa.array([16777212.0], pa.float32())})
    assert statistic(narrow, schema) == statistic({"x": np.array([16777212.0])}, schema)
    whole = {"x": np.array([16777217], dtype=np.int64)}
    assert statistic(whole, schema) == statistic({"x": np.array([16777217.0])}, schema)


def test_hidden_numbers_under_missing_cells_are_not_read() -> None:
    values = pa.array(np.array([1.0, 123.0, 3.0]), mask=np.array([False, True, False]))
    schema = declare(x={"bounds": [0, 4]})
    assert statistic(pa.table({"x": values}), schema) == statistic({"x": [1.0, None, 3.0]}, schema)


LEVELS: dict[str, Any] = {"levels": ["A", "B", "rest"], "other": "rest", "missing": "B"}


@pytest.mark.parametrize("array", [
    pa.array(["A", "B", "zzz", None]),
    pa.array(["A", "B", "zzz", None], pa.large_string()),
    pa.array(["A", "B", "zzz", None], pa.string_view()),
    pa.array([b"A", b"B", b"\xff\xfe", None], pa.binary()),
    pa.array(["A", "B", "zzz", None]).dictionary_encode(),
    pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.int8()), pa.array(["A", "B", "zzz", None])),
    pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], pa.uint16()), pa.array(["A", "B", "zzz"], pa.large_string())),
])
def test_levels_unseen_and_missing(array: pa.Array) -> None:
    """Four cells: the reference, B, an unseen one that becomes `rest`, a missing one that becomes B."""
    assert means(pa.table({"ward": array}), declare(ward=LEVELS)) == [4.0, 2.0, 1.0]


@pytest.mark.parametrize("array", [
    pa.array([1, 2, 3, 7, None]), pa.array([1.0, 2.0, 3.0, 2.5, None]), pa.array(["1", "2", "3", "x", None]),
    pa.array(["1.0", " 2", "3e0", "1_0", None]), pa.array([1, 2, 3, 7, None], pa.uint8()).dictionary_encode(),
    pa.array([1.0, 2.0, 3.0, float("inf"), float("nan")], pa.float32()),
])
def test_levels_that_are_numbers_match_by_number(array: pa.Array) -> None:
    grade = {"levels": [1, 2, 3], "other": 3, "missing": 2}
    assert means(pa.table({"grade": array}), declare(grade=grade)) == [5.0, 2.0, 2.0]


def test_text_levels_match_a_numeric_column() -> None:
    assert means({"g": np.array([0, 1, 2])}, declare(g={"levels": ["0", "1", "2"]})) == [3.0, 1.0, 1.0]


def test_a_fraction_is_found_in_single_precision() -> None:
    assert means({"g": np.array([0.1, 0.2], dtype=np.float32)}, declare(g={"levels": [0.1, 0.2, 0.3]})) == [2.0, 1.0, 0.0]


@pytest.mark.parametrize("data", [
    pa.table({"s": pa.array([False, True, True, None])}), pa.table({"s": pa.array([0, 1, 1, 5])}),
    pa.table({"s": ["false", "True", "1", "?"]}), {"s": [False, True, 1, None]}, {"s": np.array([False, True, True, False])},
])
def test_two_levels_are_signs(data: Any) -> None:
    assert means(data, declare(s={"levels": [False, True]})) == [4.0, 0.0]


def test_text_levels_match_a_boolean_column() -> None:
    assert means(pa.table({"s": pa.array([False, True, True])}), declare(s={"levels": ["false", "true"]})) == [3.0, 1.0]


@pytest.mark.parametrize(("array", "levels"), [
    (pa.array([0, 1]), ["no", "yes"]), (pa.array([False, True]), ["no", "yes"]), (pa.array([0.0, 1.0]), ["no", "NaN"]),
    (pa.array([0, 1]).dictionary_encode(), ["no", "yes"]), (pa.array([0, 1]), ["false", "true"]), (pa.array([0, 1]), [0.5, 1.5]),
    (pa.array([True]), [2, 3]), (pa.array([decimal.Decimal("1.0")]), ["no", "yes"]),
])
def test_levels_that_cannot_occur_in_a_type_are_refused(array: pa.Array, levels: list[Any]) -> None:
    with pytest.raises(DataError, match="column 's' has a type that cannot hold any of its declared levels") as caught:
        statistic(pa.table({"s": array}).slice(0, 0), declare(s={"levels": levels}))
    assert str(array.type) in str(caught.value) and caught.value.advice


@pytest.mark.parametrize(("array", "levels"), [
    (pa.array([0, 1]), [0, 1, "unknown"]), (pa.array([0, 1]), [False, True]), (pa.array([True]), ["False", "True"]),
    (pa.array([True]), [0, 1]), (pa.array([0.5]), [0.5, 1.5]), (pa.nulls(1), ["no", "yes"]), (pa.array(["a"]), [1, 2]),
])
def test_levels_of_which_one_can_occur_are_not_refused(array: pa.Array, levels: list[Any]) -> None:
    assert statistic(pa.table({"s": array}), declare(s={"levels": levels})).rows == len(array)


@pytest.mark.parametrize("spelling", ["nan", "NaN", "-nan"])
def test_a_level_that_spells_nan_does_not_hide_the_others(spelling: str) -> None:
    schema = declare(g={"levels": ["0", spelling, "5", "3"]})
    assert means({"g": np.array([3.0, 5.0, 0.0, 5.0])}, schema) == [4.0, 0.0, 2.0, 1.0]


LARGE = 2**53 + 1


@pytest.mark.parametrize("levels", [[0, LARGE - 1, LARGE], ["0", str(LARGE - 1), str(LARGE)]])
@pytest.mark.parametrize("array", [
    pa.array([LARGE, LARGE, LARGE - 1, LARGE + 1, None]), pa.array([LARGE, LARGE, LARGE - 1, LARGE + 1, None], pa.uint64()),
    pa.array([LARGE, LARGE, LARGE - 1, LARGE + 1, None]).dictionary_encode(),
    pa.array([str(LARGE), f"{LARGE}", f"{LARGE - 1}", f"{LARGE + 1}", None]),
])
def test_large_whole_numbers_are_compared_exactly(array: pa.Array, levels: list[Any]) -> None:
    assert means(pa.table({"g": array}), declare(g={"levels": levels})) == [5.0, 1.0, 2.0]
    assert means({"g": array.to_pylist()}, declare(g={"levels": levels})) == [5.0, 1.0, 2.0]


def test_levels_beyond_the_range_of_a_narrow_type_are_not_found() -> None:
    schema = declare(g={"levels": [0, 1, 300, 1e30, -1, str(10**30 + 1), "1" * 400]})
    assert means({"g": np.array([1, 44, 255], dtype=np.uint8)}, schema) == [3.0, 1.0, *[0.0] * 5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert means({"g": np.array([1, 300], dtype=np.float16)}, schema) == [2.0, 1.0, 1.0, *[0.0] * 4]


def test_digits_of_other_scripts_are_no_number_as_text_or_as_bytes() -> None:
    assert number_from_object("\u0663") is None and number_from_object("\u0663".encode()) is None
    assert number_from_object("\xa03") is None and number_from_object(" 3 ") == 3.0


def test_too_many_columns_for_an_exact_norm_are_refused() -> None:
    def plan(columns: int) -> Plan:
        schema = Schema.from_dict({"adjacency": "replace-one", "norm_bound": 1.0,
                                   "columns": {f"x{index}": {"bounds": [0, 1]} for index in range(columns)}})
        return Plan.of(Basis.of(schema))

    assert plan(8191).norm is not None
    with pytest.raises(DeclarationError, match="at most 8191"):
        plan(8192)


def test_rows_are_dropped_where_declared() -> None:
    schema = declare("add-remove", x={"bounds": [0, 10], "missing": "drop"},
                     ward={"levels": ["A", "B", "C"], "missing": "drop", "other": "C"}, y={"bounds": [0, 1], "missing": 1})
    table = pa.table({"x": [10.0, None, 0.0, 10.0, float("nan")], "ward": ["A", "B", None, "?", "A"],
                      "y": [None, 1.0, 1.0, 0.0, 1.0]})
    assert means(table, schema) == [2.0, 2.0, 0.0, 1.0, 0.0]
    assert statistic(table, schema).rows == 2
    repeated = pa.concat_tables([table] * 20_000)
    assert statistic(repeated, schema).rows == 40_000


def test_an_undeclared_level_can_drop_its_row() -> None:
    schema = declare("add-remove", s={"levels": ["no", "yes"], "missing": "drop"})
    assert means({"s": ["yes", "maybe", None, "no"]}, schema) == [2.0, 0.0]


@given(st.lists(st.one_of(st.none(), st.text(), st.binary(), st.floats(), st.integers(), st.booleans(), st.dates(),
                          st.just(object()), st.lists(st.integers(), max_size=2), st.decimals()), max_size=20))
def test_no_python_object_stops_the_pass(cells: list[Any]) -> None:
    schema = declare(x={"bounds": [-1, 1]}, g={"levels": ["a", True, 2.5]})
    objects = pd.Series(cells, dtype=object)
    for data in ({"x": cells, "g": cells}, pd.DataFrame({"x": objects, "g": objects})):
        assert statistic(data, schema).rows == len(cells)


numberlike = st.one_of(st.text(), st.floats().map(repr), st.integers().map(str), st.from_regex(r"[-+0-9.eE_nNaAiIfF ]{0,8}"))


@given(st.lists(numberlike, max_size=8))
def test_a_text_is_a_number_by_itself_whatever_its_neighbours(texts: list[str]) -> None:
    together = numbers_from_text(pa.array(texts, pa.string())).to_pylist()
    for text, number in zip(texts, together, strict=True):
        expected = number_from_text(text)
        alone = numbers_from_text(pa.array([text], pa.string()))[0].as_py()
        for found in (number, alone):
            missing = found is None or found != found
            assert missing if expected is None or expected != expected else found == expected


def test_bad_cells_and_lines_of_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(
        b"x,ward,note\n10,A,fine\nabc,B,\"two\nlines\"\n,,empty\nNA,NA,\n 5 ,rest,\n1,2\n1,A,B,C\n1e400,\xff\xfe,\n-inf,\"A\",\n"
    )
    schema = declare(x={"bounds": [0, 10], "missing": 7.5}, ward=LEVELS)
    # x: 1, .5 and .5 (two lines), .5 (empty), .5 (NA), 0, .5 and .5 (wrong number of cells), 1, -1;
    # ward: A B B B B rest B B rest A
    assert means(path, schema) == [10.0, 4.0, 6.0, 2.0]


def test_a_declared_level_is_not_a_spelling_of_missing(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("continent\nEU\nNA\nNULL\n\"\"\n")
    assert means(path, declare(continent={"levels": ["EU", "NA", "AS"], "missing": "AS"})) == [4.0, 1.0, 2.0]


@given(st.lists(st.lists(st.text(alphabet="ab01.,\"\t é", max_size=5), min_size=1, max_size=4), max_size=10))
def test_well_written_csv_never_stops_the_pass(tmp_path_factory: pytest.TempPathFactory, lines: list[list[str]]) -> None:
    import csv

    path = tmp_path_factory.mktemp("csv") / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["x", "g"])
        writer.writerows(lines)
    schema = declare(x={"bounds": [-1, 1]}, g={"levels": ["a", "b", "ab"]})
    assert statistic(path, schema).rows == len(lines)


def test_no_warning_about_arithmetic() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        statistic({"x": np.array([np.inf, -1.8e308, 1e308, np.nan])}, declare(x={"bounds": [-1.5e-308, 1e-308]}), "I(x**4)")


@given(st.lists(st.lists(st.floats(-1.5, 1.5), min_size=4, max_size=4), min_size=1, max_size=30), st.floats(0.01, 1.99))
def test_a_clipped_norm_is_never_exceeded_in_exact_arithmetic(rows: list[list[float]], bound: float) -> None:
    """Row by row: the trace of one row's matrix is its squared norm."""
    schema = Schema.from_dict({"adjacency": "replace-one", "norm_bound": bound,
                               "columns": {name: {"bounds": [-1, 1]} for name in "abcd"}})
    for row in rows:
        data = {name: np.array([cell]) for name, cell in zip("abcd", row, strict=True)}
        total = statistic(data, schema).total
        squared = Fraction(int(np.trace(total[1:, 1:])), 2**40)
        assert squared <= Fraction(bound) ** 2
        unclipped = sum(min(cell * cell, 1.0) for cell in row)
        if unclipped > 1.01 * bound**2:  # shortened to the bound and not to much less
            assert float(squared) >= bound**2 * (1 - 1e-4) - 1e-7
        elif unclipped < 0.99 * bound**2:
            free = Schema.from_dict({"adjacency": "replace-one", "columns": schema.to_dict()["columns"]})
            assert (total == statistic(data, free).total).all()


def test_norms_of_missing_and_dropped_rows() -> None:
    schema = Schema.from_dict({"adjacency": "add-remove", "norm_bound": 0.5, "columns": {
        "a": {"bounds": [-1, 1], "missing": 1}, "b": {"bounds": [-1, 1], "missing": "drop"}}})
    data = {"a": np.array([np.nan, 0.25, 1.0]), "b": np.array([0.0, 0.0, np.nan])}
    assert means(data, schema) == [2.0, 0.75 - 2.0**-20, 0.0]  # 0.5 shortened from 1 is one unit below, towards zero


@pytest.mark.parametrize("norm_bound", [None, 0.8])
def test_missing_cells_are_as_if_the_declared_value_had_been_there(norm_bound: float | None) -> None:
    """With categories, polynomials and a norm; missing cells are met first in the second block."""
    generator = np.random.default_rng(4)
    declared: dict[str, Any] = {"adjacency": "add-remove", "columns": {
        "a": {"bounds": [-2, 2], "missing": 1.5}, "b": {"bounds": [-1, 1]}, "g": {"levels": ["x", "y", "z"], "missing": "z"}}}
    schema = Schema.from_dict(declared | ({} if norm_bound is None else {"norm_bound": norm_bound}))
    complete = pa.table({"a": generator.normal(size=30_000), "b": generator.normal(size=30_000),
                         "g": generator.choice(["x", "y", "z"], 30_000).tolist()})
    holes = generator.random((3, 30_000)) < 0.2
    holes[:, :10_000] = False
    filled, missing = {}, {}
    for name, value, hole in zip(("a", "b", "g"), (1.5, 0.0, "z"), holes, strict=True):
        cells = complete[name].to_pylist()
        filled[name] = [value if gone else cell for cell, gone in zip(cells, hole, strict=True)]
        missing[name] = pa.array([None if gone else cell for cell, gone in zip(cells, hole, strict=True)])
    terms = "a:b + I(a**2) + a:g"
    assert statistic(pa.table(missing), schema, terms) == statistic(pa.table(filled), schema, terms)


def test_an_empty_line_is_a_missing_cell_if_there_is_one_column(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("x\n10\n\n10\n")
    (tmp_path / "two.csv").write_text("x,y\n10,1\n\n10,1\n\n")
    schema = declare(x={"bounds": [0, 10], "missing": 0})
    assert means(tmp_path / "one.csv", schema) == [3.0, 1.0]
    assert means(tmp_path / "two.csv", schema) == [2.0, 2.0]


def test_text_that_is_not_unicode_is_an_unseen_level() -> None:
    schema = declare(g=LEVELS | {"levels": ["A", "B", "rest"]})
    texts = ["A", "\ud800", "B"]
    for data in ({"g": texts}, {"g": np.array(texts)}, pd.DataFrame({"g": pd.Series(texts, dtype="string[python]")})):
        assert means(data, schema) == [3.0, 1.0, 1.0]


def test_indices_of_any_width() -> None:
    for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.uint32(), pa.int64(), pa.uint64()):
        array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], kind), pa.array(["B", "A"]))
        assert means(pa.table({"ward": array}), declare(ward=LEVELS)) == [3.0, 2.0, 0.0]


@pytest.mark.parametrize(("array", "declared"), [
    (pa.array([datetime.datetime(2026, 1, 1)]), {"bounds": [0, 1]}), (pa.array([[1.0]]), {"bounds": [0, 1]}),
    (pa.array(["1"]), {"bounds": [0, 1]}), (pa.array([datetime.date(2026, 1, 1)]), {"levels": ["a", "b"]}),
    (pa.array([{"a": 1}]), {"levels": ["a", "b"]}), (pa.array(["1"]).dictionary_encode(), {"bounds": [0, 1]}),
])
def test_a_wrong_type_is_named_before_a_row_is_read(array: pa.Array, declared: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        statistic(pa.table({"x": array}), declare(x=declared))
    assert "'x'" in str(caught.value) and str(array.type) in str(caught.value) and caught.value.advice
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": array}), path)
    with pytest.raises(DataError, match="'x'"):
        statistic(path, declare(x=declared))


WIDE = [pl.Series("x", [1], dtype=pl.Int128)] if hasattr(pl, "Int128") else []
"""Polars has this type from 1.18 on."""


@pytest.mark.parametrize("data", [
    *(pl.DataFrame({"x": x}) for x in WIDE), *({"x": x} for x in WIDE),
    {"x": pd.Series(pd.period_range("2026", periods=1, freq="Y"))}, {"x": pa.array([[1]])},
    np.zeros(1, dtype=[("x", [("y", "f8")])]),
    pd.DataFrame({"x": np.array([1j])}), {"x": np.array([1j])}, {"x": np.array(["2026-01-01"], dtype="M8[D]")},
    pd.DataFrame({"x": pd.period_range("2026", periods=1, freq="Y")}), pl.DataFrame({"x": [object()]}, schema={"x": pl.Object}),
])
def test_types_that_arrow_lacks_are_refused_too(data: Any) -> None:
    with pytest.raises(DataError, match="'x' is declared as a number"):
        statistic(data, declare(x={"bounds": [0, 1]}))


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 but no more")
    (tmp_path / "rows.xlsx").write_bytes(b"")
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "rows.bin")
    (tmp_path / "nothing.csv").write_bytes(b"")
    (tmp_path / "unreadable.csv.gz").write_bytes(b"not compressed")
    twice = pa.table([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    cases: list[tuple[Any, str]] = [
        (tmp_path / "absent.parquet", "does not exist"), (tmp_path / "absent.csv", "does not exist"),
        (tmp_path / "empty", "no Parquet file"), (str(tmp_path / "*.parq*x"), "no Parquet file"),
        (tmp_path / "broken.parquet", "cannot be read as Parquet"), (tmp_path / "rows.xlsx", "must end in"),
        (tmp_path / "nothing.csv", "cannot be read as CSV"), (tmp_path / "unreadable.csv.gz", "cannot be read as CSV"),
        (twice, "two columns"), (object(), "data must be a path"), (np.zeros((2, 2)), "named columns"),
        (pa.array([1.0]), "must be a Table"), (pa.chunked_array([[1.0]]), "must be a Table"),
        (pa.array([{"x": 1.0}]), "must be a Table"), (pyarrow.dataset.dataset(pa.table({"x": [1.0]})), "must be a Table"),
        (pq.ParquetFile(tmp_path / "rows.bin"), "must be a Table"),
        ({"x": 5}, "'x' must hold one value per row"), ({"x": "abc"}, "'x' must hold one value per row"),
        ({"x": None}, "'x' must hold one value per row"), ({"x": {1.0, 2.0}}, "'x' must hold one value per row"),
        (np.zeros(2, dtype=[("x", "f8", (3,))]), "'x' must have one dimension"),
        ({"x": pd.DataFrame({"y": [1]})}, "one dimension"),
        ({"x": np.zeros((2, 2))}, "one dimension"), ({"x": [1], "y": [1, 2]}, "same length"),
        (pd.Series([1.0]), "DataFrame"), (pl.LazyFrame({"x": [1.0]}), "collect"),
    ]
    for data, message in cases:
        with pytest.raises(DataError, match=message) as caught:
            open_source(data)
        assert caught.value.advice


def test_files_with_other_columns_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0], "y": [1.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1], "y": [1.0]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"'x' is double in .*a\.parquet and int64 in .*b\.parquet"):
        open_source(tmp_path)
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"'y' is double in .* and absent in"):
        open_source(tmp_path)


def test_a_damaged_file_is_reported_without_its_content(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": np.arange(100_000.0)}), path, compression="zstd", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[1000:60_000] = b"\xa5" * 59_000
    path.write_bytes(content)
    with pytest.raises(DataError, match="could not be read to the end") as caught:
        statistic(path, declare(x={"bounds": [0, 1]}))
    assert caught.value.__cause__ is None and caught.value.__context__ is None
