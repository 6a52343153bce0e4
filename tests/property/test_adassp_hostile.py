"""Hostile files of kind adassp: a release or one `ReleaseFormatError`, and what is accepted can be shown, written and fitted."""

from __future__ import annotations

import copy
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.property.test_release_hostile import JSON_VALUES, changed_at, flipped, places, value_at, without

from noisewise.errors import FitError, NoisewiseWarning, ReleaseFormatError
from noisewise.posterior.adassp import point_estimate
from noisewise.release import Release
from noisewise.release.format import decode, encode

DATA = (Path(__file__).parents[1] / "golden" / "adassp-1.1.nwr").read_bytes()
DOCUMENT: dict[str, Any] = json.loads(DATA)
PLACES = list(places(DOCUMENT))
NAMES = {"formula", "moments", "smallest_eigenvalue", "version", "kind", "columns", "statistic"}
OWN = [path for path in PLACES if set(path) & NAMES and path[0] != "schema"]
FUZZ = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def read(data: bytes) -> Release | None:
    try:
        release = decode(data)
    except ReleaseFormatError as error:
        assert 0 < len(str(error)) < 2000
        return None
    assert release.describe() and repr(release)
    assert decode(encode(release)) == release
    if release.formula is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoisewiseWarning)
            try:
                point_estimate(release.formula, release)
            except FitError:  # a formula that does not fit the columns of the file
                pass
    return release


def test_the_unchanged_file_is_accepted() -> None:
    assert read(DATA) is not None
    assert read(json.dumps(DOCUMENT).encode()) is not None


@FUZZ
@given(st.sampled_from(OWN), JSON_VALUES)
def test_any_json_value_in_any_place(path: tuple[str | int, ...], value: Any) -> None:
    read(changed_at(path, value, DOCUMENT))


@FUZZ
@given(st.sampled_from(OWN), st.sampled_from(PLACES))
def test_values_exchanged_between_places(one: tuple[str | int, ...], other: tuple[str | int, ...]) -> None:
    read(changed_at(one, value_at(other, DOCUMENT), DOCUMENT))


@pytest.mark.parametrize("path", OWN, ids=lambda path: ".".join(map(str, path)))
def test_every_field_removed(path: tuple[str | int, ...]) -> None:
    assert read(without(path, DOCUMENT)) is None


@FUZZ
@given(st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 7)), min_size=1, max_size=4))
def test_flipped_bits(flips: list[tuple[int, int]]) -> None:
    read(flipped(DATA, flips))


@pytest.mark.parametrize(("path", "value", "words"), [
    (("version",), "1.0", "came with version 1.1"),
    (("kind",), "gram", "columns"),
    (("formula",), "", "states the formula"),
    (("formula",), None, "formula"),
    (("parts", 0, "moments"), [1.0], "one moment for each predictor"),
    (("parts", 0, "moments", 2), 1e200, "ordinary size"),
    (("parts", 0, "moments", 2), "1", "moments"),
    (("parts", 0, "smallest_eigenvalue", "noise"), 0.0, "standard deviation"),
    (("parts", 0, "smallest_eigenvalue", "value"), 1e300, "ordinary size"),
    (("parts", 0, "smallest_eigenvalue", "epsilon"), 1.0, "share"),
    (("parts", 0, "smallest_eigenvalue", "delta"), 0.0, "positive"),
    (("parts", 0, "noise", "distribution"), "laplace", "gaussian"),
    (("parts", 0, "average"), 3, "average"),
    (("terms",), None, "without terms"),
])
def test_what_contradicts_itself_is_refused_in_words(path: tuple[str | int, ...], value: Any, words: str) -> None:
    with pytest.raises(ReleaseFormatError, match=words):
        decode(changed_at(path, value, DOCUMENT))


def test_unknown_fields_are_kept_at_every_level() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["x-note"] = {"a": [1]}
    document["parts"][1]["smallest_eigenvalue"]["x-note"] = "kept"
    release = read(json.dumps(document).encode())
    assert release is not None and json.loads(encode(release)) == document


def test_a_gram_file_keeps_a_formula_field_as_one_that_it_does_not_know() -> None:
    document = json.loads((Path(__file__).parents[1] / "golden" / "gram-1.0.nwr").read_bytes())
    document["formula"] = "age ~ ward"
    release = read(json.dumps(document).encode())
    assert release is not None and release.formula is None and release.extra == {"formula": "age ~ ward"}
