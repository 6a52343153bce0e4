"""Release files: exact round trip, unknown fields kept, versions, and what does not fit together."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.release.examples_of_releases import TERMS, part_of, release_of, schema_with

from noisewise.errors import ReleaseError, ReleaseFormatError
from noisewise.release import EntryNoise, Release
from noisewise.release.format import decode, encode


def document(release: Release | None = None) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(encode(release_of() if release is None else release))
    return read


def decoded(changed: dict[str, Any]) -> Release:
    return decode(json.dumps(changed).encode())


@pytest.mark.parametrize(
    "release",
    [
        release_of(),
        release_of(terms=None),
        release_of(schema_with(adjacency="add-remove")),
        release_of(schema_with(unit={"column": "person", "max_rows": 4})),
        release_of(schema_with(norm_bound=1.5), delta=0.0, noise=EntryNoise("laplace", 1 / 3, 2 / 3, 0.0)),
        release_of(schema_with(columns={"c": {"levels": [True, 1.5, 7, "x\ty\nz", "ß €"]}}), None),
        release_of(schema_with(columns={"x": {"bounds": [-1e300, 0.1]}, "a:b": {"bounds": [-0.0, 5e-300]}}), None),
        Release("gram", schema_with(), TERMS, tuple(part_of(schema_with(), seed=seed) for seed in range(3))),
    ],
)
def test_round_trip_is_exact(release: Release) -> None:
    data = encode(release)
    assert decode(data) == release
    assert encode(decode(data)) == data
    assert decode(data).basis == release.basis


def test_the_file_says_what_an_analyst_needs_and_not_the_number_of_rows_if_it_is_private() -> None:
    public, private = document(), document(release_of(schema_with(adjacency="add-remove")))
    assert public["parts"][0]["rows"] == 250
    assert "rows" not in private["parts"][0]
    assert public["rules"][0] == "age: clipped to [18, 98]; a missing value becomes 58.0"
    assert set(public) == {"format", "version", "kind", "schema", "terms", "rules", "columns", "parts"}
    assert set(public["parts"][0]) == {"rows", "privacy", "noise", "library", "created", "statistic"}


def test_rules_of_rows_are_stated() -> None:
    schema = schema_with(norm_bound=1.5, unit={"column": "person", "max_rows": 4})
    rules = document(release_of(schema))["rules"]
    assert rules[-2:] == ["every row: the scaled columns are shortened to the norm 1.5", "every person: at most 4 rows are used"]


def _with_unknown_fields() -> dict[str, Any]:
    changed = document()
    changed["version"] = "1.7"
    changed["future"] = {"nested": [1, 2.5, None, {"deep": True}]}
    changed["declared"] = "a name that is used inside"
    changed["schema"]["licence"] = "open"
    changed["schema"]["columns"]["age"]["unit_of_measure"] = "years"
    changed["columns"][1]["label"] = "Age"
    changed["columns"][-1]["factors"][1]["note"] = "n"
    changed["parts"][0]["holder"] = "site 1"
    changed["parts"][0]["privacy"]["accountant"] = "exact"
    changed["parts"][0]["noise"]["kurtosis"] = 3
    changed["parts"][0]["model_config"] = {"__class__": "x", "model_extra": 1}
    return changed


def test_unknown_fields_are_kept_at_every_level_with_their_version() -> None:
    changed = _with_unknown_fields()
    release = decoded(changed)
    assert json.loads(encode(release)) == changed
    assert decode(encode(release)) == release
    assert release.version == "1.7"
    assert release.extra["future"] == changed["future"]
    assert release.extra["schema"] == {"licence": "open", "columns": {"age": {"unit_of_measure": "years"}}}
    assert release.parts[0].extra["noise"] == {"kurtosis": 3}
    assert release.schema == release_of().schema


@pytest.mark.parametrize("version", ["2.0", "9.3", "999999.0"])
def test_a_newer_major_version_is_refused_by_name(version: str) -> None:
    with pytest.raises(ReleaseFormatError, match=rf"version {version}\); upgrade noisewise"):
        decoded({"format": "noisewise-release", "version": version, "anything": "else"})


@pytest.mark.parametrize("version", ["0.9", "1", "1.0.0", "1.x", "", 1.0, None, "1.0\n", "-1.0", "１.０"])
def test_other_versions_are_refused(version: object) -> None:
    with pytest.raises(ReleaseFormatError, match="version"):
        decoded({**document(), "version": version})


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(ReleaseFormatError, match=r"'quantiles' in a file of version 1\.4\); upgrade"):
        decoded({**document(), "kind": "quantiles", "version": "1.4"})


def _set(*path: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    def change(changed: Any) -> None:
        for step in path[:-1]:
            changed = changed[step]
        changed[path[-1]] = to

    return change


def _remove(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(changed: Any) -> None:
        for step in path[:-1]:
            changed = changed[step]
        del changed[path[-1]]

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set("format", to="other"), "noisewise-release"),
        (_remove("schema"), "schema: Field required"),
        (_remove("parts", 0, "privacy", "epsilon"), "parts.0.privacy.epsilon: Field required"),
        (_set("parts", 0, "privacy", "epsilon", to="1"), "valid number"),
        (_set("parts", 0, "privacy", "epsilon", to=True), "valid number"),
        (_set("parts", 0, "privacy", "epsilon", to=-1.0), "epsilon must be positive"),
        (_set("parts", 0, "privacy", "delta", to=0), "no guarantee"),
        (_set("parts", 0, "noise", "diagonal", to=0), "must be positive"),
        (_set("parts", 0, "noise", "distribution", to="cauchy"), "gaussian"),
        (_set("parts", 0, "noise", "corner", to=1.0), "if, and only if"),
        (_remove("parts", 0, "rows"), "if, and only if"),
        (_set("parts", 0, "rows", to=250.0), "parts.0.rows"),
        (_set("parts", 0, "rows", to=-1), "0 or more"),
        (_set("parts", 0, "rows", to=2**62), "0 or more"),
        (_set("parts", 0, "rows", to=251), "must equal the public number"),
        (_set("parts", 0, "statistic", 0, to=251), "must equal the public number"),
        (_set("parts", 0, "statistic", 3, to=1e200), "ordinary size"),
        (_set("parts", 0, "statistic", 3, to="1"), r"parts\.0\.statistic\.3"),
        (_remove("parts", 0, "statistic", 3), r"8 columns has 36 numbers \(found: 35\)"),
        (_set("parts", to=[]), "at least one part"),
        (_set("parts", to={}), "valid list"),
        (_set("columns", to=[]), "has columns"),
        (_set("columns", 0, to={"name": "T3(age)", "factors": [{"column": "age", "degree": 3}]}), "begin with the constant"),
        (_set("columns", 1, "name", to="AGE"), "name of a released column must fit"),
        (_set("columns", 1, "factors", 0, "column", to="height"), "does not declare"),
        (_set("columns", 1, "factors", 0, "degree", to=10**9), "degree 1 to 1000"),
        (_set("columns", 1, "factors", 0, "degree", to=0), "degree 1 to 1000"),
        (_set("columns", 2, "factors", 0, "level", to="A"), "after the first"),
        (_set("columns", 2, "factors", 0, "degree", to=1), "after the first"),
        (_set("columns", 4, "factors", 0, "degree", to=2), "degree 1 to 1"),
        (_set("columns", 7, to={"name": "age", "factors": [{"column": "age", "degree": 1}]}), "only once"),
        (_set("terms", to=None), "without terms"),
        (_set("terms", to=["age"]), "terms"),
        (_set("schema", "adjacency", to="sometimes"), "adjacency"),
        (_set("schema", "adjacency", to="add-remove"), "noisy and not stated"),
        (_set("schema", "unit", to="person"), "unit"),
        (_set("schema", "norm_bound", to=1e200), "between 2\\*\\*-20 and"),
        (_set("schema", "columns", "age", "bounds", to=[98, 18]), "below the upper"),
        (_set("schema", "columns", "age", "bounds", to=[-1e308, 1e308]), "distance between the bounds"),
        (_set("schema", "columns", "age", "bounds", to=None), "schema.columns.age.bounds"),
        (_set("schema", "columns", "ward", "levels", to=["A", "B", "B"]), "different values"),
        (_set("schema", "columns", to={}), "columns"),
        (_set("parts", 0, "created", to="2026-11-15T09:00:00"), "must be a day"),
        (_set("parts", 0, "privacy", "statement", to=""), "statement"),
        (_set("parts", 0, "privacy", "statement", to="\x1b[2Jgone"), "control characters"),
        (_set("parts", 0, "library", to="\ud800"), "halves of characters"),
    ],
)
def test_what_does_not_fit_together_is_refused(change: Callable[[dict[str, Any]], None], words: str) -> None:
    changed = document()
    change(changed)
    with pytest.raises(ReleaseFormatError, match=words):
        decoded(changed)


def test_products_have_their_factors_in_order() -> None:
    changed = document()
    changed["columns"][-1]["factors"].reverse()
    changed["columns"][-1]["name"] = "ward[C]:age"
    with pytest.raises(ReleaseFormatError, match="alphabetical order"):
        decoded(changed)


def test_levels_that_python_calls_equal_stay_different() -> None:
    schema = schema_with(columns={"c": {"levels": ["x", 1, 2]}})
    changed = document(release_of(schema, None))
    changed["columns"][1]["factors"][0]["level"] = True
    with pytest.raises(ReleaseFormatError, match="after the first"):
        decoded(changed)


def test_reading_never_parses_the_terms() -> None:
    """`terms` is a note for people; a formula that would take for ever to expand is only a text."""
    changed = document()
    changed["terms"] = "(" + " + ".join("abcdefghij") + ")**60"
    assert decoded(changed).basis.names == release_of().basis.names


@pytest.mark.parametrize(
    "extra",
    [
        *({"future": value} for value in ({1, 2}, float("nan"), (1, 2), "\x00")),
        *({"kind": "other"}, {"parts": []}, {1: 2}),
    ],
)
def test_what_cannot_be_read_back_is_not_written(extra: Any) -> None:
    release = dataclasses.replace(release_of(), extra=extra)
    with pytest.raises(ReleaseError, match=r"read|JSON"):
        encode(release)


def test_rows_cannot_slip_into_the_file_as_an_extra_field() -> None:
    schema = schema_with(adjacency="add-remove")
    with pytest.raises(ReleaseError, match="read"):
        encode(release_of(schema, extra={"rows": 1234}))


def test_importing_the_room_is_light() -> None:
    program = "import sys, noisewise.release; print([name for name in ['pydantic', 'formulaic'] if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
