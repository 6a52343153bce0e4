"""``noisewise schema``: names and types only."""

from __future__ import annotations

import datetime
import json
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.command_line import one_error

from noisewise.schema import Schema


@pytest.fixture
def mixed(tmp_path):
    """One column of each sort of type, with values that would stand out in any output."""
    path = tmp_path / "mixed.parquet"
    pq.write_table(
        pa.table(
            {
                "age": [91919, 2], "weight": [0.71717, 1.0], "ward": ["Xyzzy", "B"], "dead": [True, False],
                "sort": pa.array(["Plugh", "q"]).dictionary_encode(), "day": [datetime.date(1971, 3, 4)] * 2,
                "odd name": [1.0, None], "nothing": pa.nulls(2),
            }
        ),
        path,
    )
    return path


def test_a_template_from_names_and_types_alone(nw, mixed, tmp_path) -> None:
    output = tmp_path / "new.toml"
    result = nw("schema", "init", mixed, "-o", output)
    assert result.exit_code == 0, result.stderr
    text = output.read_text()
    assert not any(value in text + result.output for value in ("91919", "71717", "Xyzzy", "Plugh", "1971"))
    columns = tomllib.loads(text)["columns"]
    assert columns == {
        **{name: {"bounds": ["?", "?"]} for name in ("age", "weight", "odd name")},
        **{name: {"levels": ["?"]} for name in ("ward", "sort")},
        "dead": {"levels": [False, True]},
        "nothing": {},
    }
    assert '"day": date32[day]' in text
    assert f"noisewise schema check {output} {mixed}" in result.stdout.replace("\n", "")


def test_no_row_is_read_for_a_template(nw, mixed, tmp_path, monkeypatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a row was read")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", refuse)
    monkeypatch.setattr(pq.ParquetFile, "read", refuse)
    assert nw("schema", "init", mixed, "-o", "-").exit_code == 0


def test_csv_has_no_types_so_the_choice_is_left_open(nw, tmp_path) -> None:
    templates = []
    for name, row in (("a.csv", "31,A,2.5"), ("b.csv", "x,7,true")):
        (tmp_path / name).write_text(f"age,ward,stay\n{row}\n")
        templates.append(nw("schema", "init", tmp_path / name, "-o", "-").stdout)
    assert templates[0] == templates[1]
    assert tomllib.loads(templates[0])["columns"] == {"age": {}, "ward": {}, "stay": {}}


def test_a_csv_without_header_is_refused_without_quoting_it(nw, tmp_path) -> None:
    (tmp_path / "t.csv").write_text("31.25,Jane\n44,Joe\n")
    result = nw("schema", "init", tmp_path / "t.csv", "-o", "-")
    assert "header" in one_error(result) and "31.25" not in result.output and "Jane" not in result.output


def test_a_template_does_not_replace_a_schema(nw, mixed, schema) -> None:
    before = schema.read_text()
    assert "--force" in one_error(nw("schema", "init", mixed, "-o", schema))
    assert schema.read_text() == before
    assert nw("schema", "init", mixed, "-o", schema, "--force").exit_code == 0
    assert schema.read_text() != before


def test_an_unfilled_template_is_not_valid(nw, mixed, tmp_path) -> None:
    nw("schema", "init", mixed, "-o", tmp_path / "new.toml")
    assert "not been filled in" in one_error(nw("schema", "check", tmp_path / "new.toml"))


def test_a_filled_template_is(nw, mixed, tmp_path) -> None:
    text = nw("schema", "init", mixed, "-o", "-").stdout
    text = text.replace('["?", "?"]', "[0, 1]", 3).replace('["?"]', '["A", "B"]').replace('"?"   #', '"add-remove"   #')
    text = text.replace('# bounds = ["?", "?"]', "bounds = [0, 1]")
    (tmp_path / "full.toml").write_text(text)
    assert len(Schema.load(tmp_path / "full.toml").columns) == 7


def test_check_says_what_a_schema_means(nw, schema, table) -> None:
    result = nw("schema", "check", schema, table)
    assert result.exit_code == 0, result.stderr
    for words in ("complete and valid", "number from 18 to 98", "becomes A", "one row", "1.732", "4 columns"):
        assert words in result.stdout


def test_check_for_machines(nw, schema, table) -> None:
    found = nw.json("schema", "check", schema, table, "--terms", "I(age**2)")
    assert found["released_columns"] == ["stay", "age", "ward[B]", "ward[C]", "T2(age)"]
    assert found["norm"] == 2 and found["undeclared_columns"] == []
    less = nw.json("schema", "check", schema, "--epsilon", 2)
    assert less["noise"]["sd"]["diagonal"] < found["noise"]["sd"]["diagonal"]
    assert less["noise"]["sd"]["rows"] == 0 and less["data"] is None


def test_the_noise_that_check_announces_is_the_noise_of_a_release(nw, schema, table, tmp_path) -> None:
    made = nw.json("release", table, "--schema", schema, "--epsilon", 1, "--delta", 1e-6, "-o", tmp_path / "out.nwr")
    assert nw.json("schema", "check", schema)["noise"]["sd"] == made["contributions"][0]["noise_sd"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [({"stay": [1.0], "ward": ["A"]}, "no column 'age'"), ({"stay": [1.0], "ward": ["A"], "age": ["Jane"]}, "another type")],
)
def test_check_compares_names_and_types(nw, schema, tmp_path, columns, said) -> None:
    pq.write_table(pa.table(columns), tmp_path / "other.parquet")
    message = one_error(nw("schema", "check", schema, tmp_path / "other.parquet"))
    assert said in message and "Jane" not in message


def test_check_names_what_is_not_declared(nw, schema, table, tmp_path) -> None:
    pq.write_table(pq.read_table(table).append_column("name", pa.array(["Jane"] * 2000)), tmp_path / "wide.parquet")
    result = nw("schema", "check", schema, tmp_path / "wide.parquet")
    assert "never read: name" in " ".join(result.stdout.split()) and "Jane" not in result.output


def test_check_of_a_schema_that_is_not_there(nw, tmp_path) -> None:
    result = nw("schema", "check", tmp_path / "none.toml", "--json")
    assert json.loads(result.stdout)["error"]["kind"] == "DeclarationError"
    assert "none.toml" in one_error(result, as_json=True)
