"""Hostile files of kind adassp: a release or one `ReleaseFormatError`, and what is accepted can be shown, written and fitted."""

from __future__ import annotations

import copy
import json
import warnings
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
    assert_short_and_printable,
    changed_at,
    flipped,
    places,
    value_at,
    without,
)

from noisewise.errors import FitError, NoisewiseWarning, ReleaseFormatError
from noisewise.posterior.adassp import point_estimate
from noisewise.release import Release
from noisewise.release.format import decode, encode

DATA = (GOLDEN / "adassp-1.1.nwr").read_bytes()
DOCUMENT: dict[str, Any] = json.loads(DATA)
PLACES = list(places(DOCUMENT))
NAMES = {"formula", "moments", "smallest_eigenvalue", "version", "kind", "columns", "statistic"}
OWN = [path for path in PLACES if set(path) & NAMES and path[0] != "schema"]
FUZZ = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def assert_fitted_or_refused(data: bytes) -> Release | None:
    """As for every file; and what is accepted gives finite numbers, unless its formula does not fit its columns."""
    release = assert_read_or_refused(data)
    if release is None:
        return None
    assert isinstance(release, Release)
    if release.formula is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoisewiseWarning)
            try:
                found = point_estimate(release.formula, release)
            except FitError as error:
                assert_short_and_printable(error)
            else:
                assert np.isfinite(found.coefficients).all()
    return release


def test_the_unchanged_file_is_accepted() -> None:
    assert assert_fitted_or_refused(DATA) is not None
    assert assert_fitted_or_refused(json.dumps(DOCUMENT).encode()) is not None


@FUZZ
@given(st.sampled_from(OWN), JSON_VALUES)
def test_any_json_value_in_any_place(path: Place, value: Any) -> None:
    assert_fitted_or_refused(changed_at(path, value, DOCUMENT))


@FUZZ
@given(st.sampled_from(OWN), st.sampled_from(PLACES))
def test_values_exchanged_between_places(one: Place, other: Place) -> None:
    assert_fitted_or_refused(changed_at(one, value_at(other, DOCUMENT), DOCUMENT))


@pytest.mark.parametrize("path", OWN, ids=lambda path: ".".join(map(str, path)))
def test_every_field_removed(path: Place) -> None:
    assert assert_fitted_or_refused(without(path, DOCUMENT)) is None


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PLACES), value=JSON_VALUES)
def test_reading_touches_no_other_file(path: Place, value: Any, tmp_path: Path) -> None:
    assert_no_other_file_is_touched(changed_at(path, value, DOCUMENT), tmp_path)


@FUZZ
@given(st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 7)), min_size=1, max_size=4))
def test_flipped_bits(flips: list[tuple[int, int]]) -> None:
    assert_fitted_or_refused(flipped(DATA, flips))


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
def test_what_contradicts_itself_is_refused_in_words(path: Place, value: Any, words: str) -> None:
    with pytest.raises(ReleaseFormatError, match=words):
        decode(changed_at(path, value, DOCUMENT))


def test_unknown_fields_are_kept_at_every_level() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["x-note"] = {"a": [1]}
    document["parts"][1]["smallest_eigenvalue"]["x-note"] = "kept"
    release = assert_fitted_or_refused(json.dumps(document).encode())
    assert release is not None and json.loads(encode(release)) == document


def test_a_gram_file_keeps_a_formula_field_as_one_that_it_does_not_know() -> None:
    document = json.loads((GOLDEN / "gram-1.0.nwr").read_bytes())
    document["formula"] = "age ~ ward"
    release = assert_fitted_or_refused(json.dumps(document).encode())
    assert release is not None and release.formula is None and release.extra == {"formula": "age ~ ward"}
