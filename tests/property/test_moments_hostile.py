"""Hostile files of kind moments: a release or one `ReleaseFormatError`, and what is accepted can be shown and written again."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.property.hostile_files import (
    GOLDEN,
    JSON_VALUES,
    Place,
    assert_no_other_file_is_touched,
    assert_read_or_refused,
    changed_at,
    flipped,
    places,
    value_at,
    without,
)

from noisewise.errors import ReleaseFormatError
from noisewise.release import MomentsPart, Release
from noisewise.release.format import decode, encode

DATA = (GOLDEN / "moments-1.3.nwr").read_bytes()
DOCUMENT: dict[str, Any] = json.loads(DATA)
PLACES = list(places(DOCUMENT))
NAMES = {"formula", "blocks", "version", "kind", "columns", "rows"}
OWN = [path for path in PLACES if set(path) & NAMES and path[0] != "schema"]
HEADS = [path for path in OWN if "sums" not in path[:-1]]
FUZZ = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def assert_finite_or_refused(data: bytes) -> Release | None:
    """As for every file; and what is accepted has finite sums, and noise that is no less than none."""
    release = assert_read_or_refused(data)
    if release is None:
        return None
    assert isinstance(release, Release)
    for part in release.parts:
        if isinstance(part, MomentsPart):
            assert np.isfinite(part.matrix).all() and (part.variances >= 0).all()
    return release


def test_the_unchanged_file_is_accepted() -> None:
    assert assert_finite_or_refused(DATA) is not None
    assert assert_finite_or_refused(json.dumps(DOCUMENT).encode()) is not None


@FUZZ
@given(st.sampled_from(HEADS), JSON_VALUES)
def test_any_json_value_in_any_place(path: Place, value: Any) -> None:
    assert_finite_or_refused(changed_at(path, value, DOCUMENT))


@FUZZ
@given(st.sampled_from(OWN), st.sampled_from(PLACES))
def test_values_exchanged_between_places(one: Place, other: Place) -> None:
    assert_finite_or_refused(changed_at(one, value_at(other, DOCUMENT), DOCUMENT))


@pytest.mark.parametrize("path", HEADS, ids=lambda path: ".".join(map(str, path)))
def test_every_field_removed(path: Place) -> None:
    assert assert_finite_or_refused(without(path, DOCUMENT)) is None


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PLACES), value=JSON_VALUES)
def test_reading_touches_no_other_file(path: Place, value: Any, tmp_path: Path) -> None:
    assert_no_other_file_is_touched(changed_at(path, value, DOCUMENT), tmp_path)


@FUZZ
@given(st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 7)), min_size=1, max_size=4))
def test_flipped_bits(flips: list[tuple[int, int]]) -> None:
    assert_finite_or_refused(flipped(DATA, flips))


@pytest.mark.parametrize(("path", "value", "words"), [
    (("version",), "1.2", "came with version 1.3"),
    (("kind",), "gram", "noise"),
    (("kind",), "adassp", "noise"),
    (("formula",), "", "states the formula"),
    (("formula",), None, "formula"),
    (("parts", 0, "blocks"), {}, "a block beside"),
    (("parts", 0, "blocks", "z"), {"weight": 1.0, "noise": 1.0, "sums": [1.0]}, "a block of moments is"),
    (("parts", 0, "blocks", "n"), {"weight": 1.0, "noise": 1.0, "sums": [1.0]}, "not both"),
    (("parts", 0, "blocks", "xxxx"), {"weight": 1.0, "noise": 1.0, "sums": [0.0] * 126}, "same blocks"),
    (("parts", 0, "blocks", "xx", "sums"), [1.0], "21 monomials of 6 columns"),
    (("parts", 0, "blocks", "xx", "sums", 2), 1e200, "ordinary size"),
    (("parts", 0, "blocks", "xx", "sums", 2), "1", "sums"),
    (("parts", 0, "blocks", "xx", "noise"), 0.0, "noise must be positive"),
    (("parts", 0, "blocks", "xx", "weight"), -1.0, "weight must be positive"),
    (("parts", 0, "rows"), None, "not both"),
    (("parts", 0, "rows"), 1.5, "rows"),
    (("parts", 0, "privacy", "delta"), 0.0, "delta = 0"),
    (("terms",), None, "without terms"),
    (("columns",), [{"name": "1", "factors": []}], "without predictors"),
])
def test_what_contradicts_itself_is_refused_in_words(path: Place, value: Any, words: str) -> None:
    with pytest.raises(ReleaseFormatError, match=words):
        decode(changed_at(path, value, DOCUMENT))


def test_many_columns_are_refused_before_a_matrix_is_made() -> None:
    document = copy.deepcopy(DOCUMENT)
    column = {"name": "age", "factors": [{"column": "age", "degree": 1}]}
    for part in document["parts"]:
        part["blocks"] = {"y": part["blocks"]["y"]}
    for many, words in ((3000, "the blocks of a moments release may not be so large"), (100_000, "may not be so large")):
        columns = [DOCUMENT["columns"][0], *[column] * many, DOCUMENT["columns"][-1]]
        with pytest.raises(ReleaseFormatError, match=words):
            decode(json.dumps({**document, "columns": columns}).encode())


def test_many_parts_are_refused_before_their_matrices_are_made() -> None:
    """A part with the block y alone takes some hundred bytes in a file, and its matrix of 2000 columns 32 million."""
    document, names = copy.deepcopy(DOCUMENT), [f"v{place}" for place in range(2000)]
    document["terms"] = None
    document["schema"]["columns"] |= {name: {"bounds": [0, 1]} for name in names}
    columns = [{"name": name, "factors": [{"column": name, "degree": 1}]} for name in names]
    document["columns"] = [document["columns"][0], *columns, document["columns"][-1]]
    part = document["parts"][0]
    for many in (2, 40):
        document["parts"] = [{**part, "blocks": {"y": {**part["blocks"]["y"], "sums": [float(place)]}}} for place in range(many)]
        if many == 2:
            assert decode(json.dumps(document).encode()).holders == 2
        else:
            with pytest.raises(ReleaseFormatError, match="so large together"):
                decode(json.dumps(document).encode())


def test_unknown_fields_are_kept_at_every_level() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["x-note"] = {"a": [1]}
    document["parts"][1]["x-part"] = 3
    document["parts"][1]["blocks"]["xx"]["x-note"] = "kept"
    release = assert_finite_or_refused(json.dumps(document).encode())
    assert release is not None and json.loads(encode(release)) == document
