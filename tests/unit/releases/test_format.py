"""The text of a release file: versions, columns and declarations that do not fit together, and what is never done in reading."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.releases.examples_of_releases import (
    Change,
    adassp,
    columns_with,
    decoded,
    document,
    every_example,
    release_of,
    schema_with,
    setting,
)

from noisewise.errors import ReleaseFormatError
from noisewise.releases.fields import LevelField
from noisewise.releases.format import encode
from noisewise.releases.json_text import MAX_DEPTH, parse


@pytest.mark.parametrize("version", ["2.0", "9.3", "999999.0"])
def test_a_newer_major_version_is_refused_by_name(version: str) -> None:
    with pytest.raises(ReleaseFormatError, match=rf"version {version}\); upgrade noisewise"):
        decoded({"format": "noisewise-release", "version": version, "anything": "else"})


@pytest.mark.parametrize("version", ["0.9", "1", "1.0.0", "1.x", "", 1.0, None, "1.0\n", "-1.0", "１.０"])
def test_other_versions_are_refused(version: object) -> None:
    with pytest.raises(ReleaseFormatError, match="version"):
        decoded({**document(release_of()), "version": version})


@pytest.mark.parametrize("version", ["1.0", "1.4"])
def test_files_from_before_the_first_published_version_are_told_apart(version: str) -> None:
    """They are of the same version by name: what tells them is that their kind is a text."""
    with pytest.raises(ReleaseFormatError, match=rf"before noisewise 0\.2.*'{version}'.*spends privacy again"):
        decoded({"format": "noisewise-release", "version": version, "kind": "gram", "parts": []})


def test_an_unknown_kind_is_refused_by_name_before_anything_else() -> None:
    with pytest.raises(ReleaseFormatError, match=r"'quantiles' in a file of version 1\.4\); upgrade"):
        decoded({"format": "noisewise-release", "version": "1.4", "kind": {"name": "quantiles", "of": ["x"]}})


WRONG: list[tuple[Change, str]] = [
    (setting("columns", 0, to={"name": "T3(age)", "factors": [{"column": "age", "degree": 3}]}), "begin with the constant"),
    (setting("columns", 1, "name", to="AGE"), "name of a released column must match"),
    (setting("columns", 1, "factors", 0, "column", to="height"), "does not declare"),
    (setting("columns", 1, "factors", 0, "degree", to=10**9), "degree 1 to 1000"),
    (setting("columns", 1, "factors", 0, "degree", to=0), "degree 1 to 1000"),
    (setting("columns", 2, "factors", 0, "level", to="A"), "after the first"),
    (setting("columns", 2, "factors", 0, "degree", to=1), "after the first"),
    (setting("columns", 4, "factors", 0, "degree", to=2), "degree 1 to 1"),
    (setting("columns", 7, to={"name": "age", "factors": [{"column": "age", "degree": 1}]}), "only once"),
    (setting("kind", to={"name": "gram"}), "without terms"),
    (setting("kind", "terms", to=["age"]), "terms"),
    (setting("schema", "norm_bound", to=1e200), r"between 2\*\*-20 and"),
    (setting("schema", "columns", "age", "bounds", to=[98, 18]), "below the upper"),
    (setting("schema", "columns", "age", "bounds", to=[-1e308, 1e308]), "distance between the bounds"),
    (setting("schema", "columns", "age", "bounds", to=None), "schema.columns.age.bounds"),
    (setting("schema", "columns", "age", "bounds", to="unknown"), "age"),
    (setting("schema", "columns", "ward", "levels", to=["A", "B", "B"]), "different values"),
]


@pytest.mark.parametrize(("change", "words"), WRONG)
def test_columns_and_declarations_that_do_not_fit_are_refused(change: Change, words: str) -> None:
    changed = document(release_of())
    change(changed)
    with pytest.raises(ReleaseFormatError, match=words):
        decoded(changed)


@every_example(["gram", "adassp", "moments"])
def test_a_kind_with_columns_states_them(make: Any) -> None:
    changed = document(make())
    del changed["columns"]
    with pytest.raises(ReleaseFormatError, match="must state its columns"):
        decoded(changed)


def test_products_have_their_factors_in_order() -> None:
    changed = document(release_of())
    changed["columns"][-1]["factors"].reverse()
    changed["columns"][-1]["name"] = "ward[C]:age"
    with pytest.raises(ReleaseFormatError, match="alphabetical order"):
        decoded(changed)


def test_levels_that_python_calls_equal_stay_different() -> None:
    changed = document(release_of(schema_with(columns={"c": {"levels": ["x", 1, 2]}}), None))
    changed["columns"][1]["factors"][0]["level"] = True
    with pytest.raises(ReleaseFormatError, match="after the first"):
        decoded(changed)
    assert bool in LevelField.__args__


def test_reading_never_parses_a_formula() -> None:
    """`terms` and `formula` are notes for people; one that would take for ever to expand is only a text."""
    endless = "(" + " + ".join("abcdefghij") + ")**60"
    for made, option in ((release_of(), "terms"), (adassp(terms="age:ward"), "formula"), (adassp(terms="age:ward"), "terms")):
        changed = document(made)
        changed["kind"][option] = endless
        assert decoded(changed).basis.names == made.basis.names


def test_no_file_makes_a_message_longer_than_a_screen() -> None:
    changed = document(release_of(schema_with(columns=columns_with(ward={"levels": [f"{n:0100}" for n in range(30)]})), None))
    changed["columns"][2]["factors"][0]["level"] = "x" * 100_000
    with pytest.raises(ReleaseFormatError) as refused:
        decoded(changed)
    assert len(str(refused.value)) < 1500


@pytest.mark.parametrize(("text", "words"), [
    ("[1, 2]", "one JSON object"), ("1", "one JSON object"), ("null", "one JSON object"), ("", "not valid JSON"),
    ("{", "not valid JSON"), ('{"a": 1, "b": 2, "a": 3}', "only once.*'a'"), ('{"a": NaN}', "must be finite.*NaN"),
    ('{"a": -Infinity}', "must be finite"), ('{"a": 1e999}', "finite doubles"), ('{"a": 18446744073709551616}', "64 bits"),
    ('{"a": ' + "9" * 5000 + "}", "64 bits"), ('{"a": ' * 40 + "1" + "}" * 40, "32 levels"), ("[" * 100_000, "32 levels"),
    ('{"a": "\\u0007"}', "control characters"), ('{"\\u0000": 1}', "control characters"), ('{"a": "\\ud800"}', "lone surrogates"),
])
def test_what_is_no_plain_json_is_refused(text: str, words: str) -> None:
    with pytest.raises(ReleaseFormatError, match=words):
        parse(text.encode())


def test_ordinary_json_is_read() -> None:
    nested: Any = 1
    for _ in range(MAX_DEPTH - 1):
        nested = [nested]
    for value in (nested, "a\tb\nc", -9223372036854775808, 1e-320, [{"ä": None}], True):
        assert parse(json.dumps({"a": value}).encode()) == {"a": value}


def test_the_file_is_for_people_too() -> None:
    """Short objects have one line, a matrix one for each of its rows."""
    lines = encode(release_of()).decode().splitlines()
    assert '    {"name": "age", "factors": [{"column": "age", "degree": 1}]},' in lines
    numbers = [line.count(",") for line in lines if line.startswith("          ") and line.lstrip()[0] in "-0123456789"]
    assert numbers == [8, 7, 6, 5, 4, 3, 2, 0]
    assert max(len(line) for line in lines) < 200


def test_importing_the_room_is_light() -> None:
    program = "import sys, noisewise.releases; print([name for name in ['pydantic', 'formulaic'] if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    assert done.stdout.strip() == "[]"
