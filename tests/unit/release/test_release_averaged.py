"""Parts whose rows were averaged: what a file says, and that an older reader refuses it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit.release.examples_of_releases import release_of, schema_with

from noisewise.errors import ReleaseError, ReleaseFormatError
from noisewise.release import combine, load
from noisewise.release.format import decode, encode


def document(**changes: Any) -> Any:
    return json.loads(encode(release_of(**changes)))


def test_it_is_of_kind_gram_in_memory_and_of_another_kind_in_a_file(tmp_path: Path) -> None:
    release = release_of(average=7)
    found = load(release.save(tmp_path / "averaged.nwr"))
    assert found == release and found.kind == "gram" and found.version == "1.1"
    written = document(average=7)
    assert (written["kind"], written["version"], written["parts"][0]["average"]) == ("averaged-gram", "1.1", 7)


def test_a_reader_of_version_1_0_refuses_it() -> None:
    """The rule of docs/format.md for version 1.0: unknown fields are ignored, unknown kinds are refused."""
    assert document(average=7)["kind"] != "gram"


def test_a_file_without_averages_is_as_it_always_was() -> None:
    written = document(average=1)
    assert (written["kind"], written["version"]) == ("gram", "1.0") and "average" not in written["parts"][0]
    assert encode(release_of(average=1)) == encode(release_of())


@pytest.mark.parametrize(("average", "groups"), [(1, 250), (2, 125), (7, 36), (250, 1), (1000, 1)])
def test_groups_are_the_averaged_rows(average: int, groups: int) -> None:
    assert release_of(average=average).parts[0].groups == groups


def test_groups_are_not_known_where_rows_are_not() -> None:
    assert release_of(schema_with(adjacency="add-remove")).parts[0].groups is None


@pytest.mark.parametrize("average", [0, -1, 1.5, True, "2", None, 2**60])
def test_averages_that_are_none_are_refused(average: Any) -> None:
    with pytest.raises(ReleaseError, match="average"):
        release_of(average=average)


def test_averages_need_public_rows_and_gaussian_noise() -> None:
    with pytest.raises(ReleaseError, match="public"):
        release_of(schema_with(adjacency="add-remove"), average=2)
    noise = release_of().parts[0].noise
    with pytest.raises(ReleaseError, match="gaussian"):
        release_of(average=2, noise=type(noise)("laplace", 1.0, 1.0, 0.0), delta=0.0)


@pytest.mark.parametrize("changes", [
    {"kind": "gram"}, {"version": "1.0"}, {"average": 1}, {"average": 0}, {"average": 2.0}, {"average": None}, {"average": "2"},
])
def test_files_that_contradict_themselves_are_refused(changes: dict[str, Any]) -> None:
    written = document(average=7)
    if "average" in changes:
        written["parts"][0] |= changes
    else:
        written |= changes
    with pytest.raises(ReleaseFormatError):
        decode(json.dumps(written).encode())


def test_averaged_and_other_parts_go_together_in_one_file() -> None:
    together = combine([release_of(seed=1), release_of(seed=2, average=3)])
    assert decode(encode(together)) == together
    assert (together.version, together.kind, [part.average for part in together.parts]) == ("1.1", "gram", [1, 3])


def test_words_say_it() -> None:
    assert re.search(r"250 \(public\), averaged in 36 random groups of 7", release_of(average=7).describe())
    assert "averaged" not in release_of().describe()
