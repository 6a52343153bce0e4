"""``noisewise bounds``: by options or from a schema that is not complete, with a ledger, and its refusals."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import WARDS, declare, one_error

import noisewise

FAST = ("--digits", 2, "--epsilon", 4, "--tail", 0.05)
OPTIONS = ("--adjacency", "replace-one", *FAST)


@pytest.fixture
def template(tmp_path: Path) -> Path:
    return declare(tmp_path / "open.toml", "add-remove", stay=(0, "?"), age=("?", "?"), ward=WARDS)


def test_bounds_by_options(nw: Any, table: Path) -> None:
    result = nw("bounds", table, "--column", "stay", "--lower", 0, *OPTIONS)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "kind bounds" in words and "epsilon 4, delta 0" in words and "With probability 99 %" in words
    assert "[columns.stay] bounds = [0, " in words and "Repeating the request costs budget again" in words


def test_bounds_of_a_schema_that_is_not_complete(nw: Any, table: Path, template: Path) -> None:
    document = nw.json("bounds", table, "--schema", template, *FAST)
    assert (document["kind"]["name"], document["schema"]["adjacency"], document["file"]) == ("bounds", "add-remove", None)
    columns = document["contributions"][0]["columns"]
    asked = {column["name"]: column["asked"] for column in columns}
    assert asked == {"stay": ["upper"], "age": ["lower", "upper"]}
    declared = tomllib.loads(template.read_text())["columns"] | tomllib.loads(document["toml"])["columns"]
    schema = noisewise.Schema.from_dict({"adjacency": "add-remove", "columns": declared})
    lower, upper = columns[1]["lower"], columns[1]["upper"]
    assert 14 <= lower < 30 and 85 < upper <= 102 and schema.column("age").lower == lower  # ages are uniform from 18 to 98
    only = nw.json("bounds", table, "--schema", template, "--column", "age", *FAST)
    assert [column["name"] for column in only["contributions"][0]["columns"]] == ["age"]


def test_quiet_prints_the_lines_for_the_schema_only(nw: Any, table: Path) -> None:
    result = nw("bounds", table, "-c", "age", *OPTIONS, "--quiet")
    assert list(tomllib.loads(result.stdout)["columns"]) == ["age"]


def test_several_rows_of_a_person(nw: Any, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("person,stay\n" + "".join(f"{number // 3},{number % 40}\n" for number in range(3000)))
    document = nw.json("bounds", path, "-c", "stay", "--unit", "person", "--max-rows", 2, *OPTIONS)
    assert document["schema"]["unit"] == {"column": "person", "max_rows": 2}
    assert "at most 2 rows" in document["contributions"][0]["statement"]


def test_a_ledger_is_charged_once(nw: Any, table: Path, tmp_path: Path) -> None:
    place = tmp_path / "budget.db"
    noisewise.Ledger.open(place, epsilon=5.0)
    first = nw.json("bounds", table, "-c", "stay", *OPTIONS, "--ledger", place)
    again = nw("bounds", table, "-c", "stay", *OPTIONS, "--ledger", place, "--json")
    assert json.loads(again.stdout) == first and "nothing was spent" in again.stderr
    assert noisewise.Ledger.open(place).spent().epsilon == 4.0
    assert "budget" in one_error(nw("bounds", table, "-c", "age", *OPTIONS, "--ledger", place))


def test_bounds_without_use_are_warned_about(nw: Any, tmp_path: Path) -> None:
    """Of a table without rows they come out at random: in the wrong order in every second run, in one of 60 almost surely."""
    path = tmp_path / "empty.csv"
    path.write_text("x\n")
    for _ in range(60):
        result = nw("bounds", path, "-c", "x", "-e", 1, "--digits", 1, "--adjacency", "add-remove")
        assert result.exit_code == 0
        if "?" in result.stdout:
            assert "Warning: " in result.stderr and "no usable bounds" in result.stdout
            return
    pytest.fail("the bounds were never in the wrong order")


@pytest.mark.parametrize(("more", "code", "words"), [
    ((), 2, "name the columns"),
    (("-c", "stay"), 2, "number of rows is public"),
    (("-c", "stay", "--adjacency", "replace-one", "--unit", "person"), 2, "--max-rows"),
    (("-c", "stay", "-c", "age", "--lower", 0, "--adjacency", "replace-one"), 2, "single column"),
    (("-c", "stay", "--adjacency", "both"), 1, "adjacency"),
    (("-c", "nothing", "--adjacency", "replace-one"), 1, "no column 'nothing'"),
    (("-c", "stay", "--lower", 0, "--upper", 9, "--adjacency", "replace-one"), 1, "nothing to estimate"),
    (("-c", "stay", "--adjacency", "replace-one", "--ledger", "none.db"), 1, "the ledger does not exist"),
    (("-c", "stay", "--adjacency", "replace-one", "--edition", "May"), 2, "required with --total-epsilon"),
])
def test_refusals(nw: Any, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[Any, ...], code: int,
                  words: str) -> None:
    monkeypatch.chdir(tmp_path)
    result = nw("bounds", table, "-e", 1, *more)
    assert result.exit_code == code and result.stdout == ""
    assert words in " ".join(result.stderr.replace("│", " ").split())


def test_refusals_with_a_schema(nw: Any, table: Path, schema: Path, template: Path) -> None:
    assert "nothing to estimate" in one_error(nw("bounds", table, "-e", 1, "--schema", schema))
    assert "known: stay, age" in one_error(nw("bounds", table, "-e", 1, "--schema", template, "-c", "ward"))
    assert nw("bounds", table, "-e", 1, "--schema", template, "--lower", 0).exit_code == 2


def test_an_error_names_no_value(nw: Any, table: Path) -> None:
    message = one_error(nw("bounds", table, "-c", "ward", "-e", 1, "--adjacency", "replace-one"))
    assert "'ward'" in message and "string" in message


def test_a_release_file_of_bounds(nw: Any, table: Path, tmp_path: Path) -> None:
    first, second, declared = tmp_path / "one.nwr", tmp_path / "two.nwr", tmp_path / "unknown.toml"
    document = nw.json("bounds", table, "-c", "stay", *OPTIONS, "-o", first)
    assert document["file"] == str(first) and noisewise.load(first).contents.to_toml() == document["toml"]
    assert "--force" in one_error(nw("bounds", table, "-c", "stay", *OPTIONS, "-o", first))
    declare(declared, stay="unknown")
    result = nw("release", "bounds", table, "-s", declared, "-c", "stay", *FAST, "-o", second)
    assert result.exit_code == 0 and "[columns.stay]" in result.stdout, result.output
    assert noisewise.load(second).kind == noisewise.load(first).kind
    assert nw("release", "bounds", table, "-s", declared, "-c", "stay", "-e", 4, "-d", 1e-6, "-o", second).exit_code == 2
