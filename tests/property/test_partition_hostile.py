"""Hostile files of kind partition: a release or one `ReleaseFormatError`, and what is accepted can be shown and written again."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import Any

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
from noisewise.release import PartitionRelease
from noisewise.release.format import decode, encode

DATA = (GOLDEN / "partition-1.4.nwr").read_bytes()
DOCUMENT: dict[str, Any] = json.loads(DATA)
PLACES = list(places(DOCUMENT))
OWN = [path for path in PLACES if path[0] not in ("schema", "rules")]
FUZZ = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def assert_partition_or_refused(data: bytes) -> PartitionRelease | None:
    """As for every file; and what is accepted has noise on every number, and limits that hold a number."""
    release = assert_read_or_refused(data)
    if release is None:
        return None
    assert isinstance(release, PartitionRelease)
    assert release.noise > 0 and all(number.lower < number.upper for number in release.numbers)
    return release


def test_the_unchanged_file_is_accepted() -> None:
    assert assert_partition_or_refused(DATA) is not None
    assert assert_partition_or_refused(json.dumps(DOCUMENT).encode()) is not None


@FUZZ
@given(st.sampled_from(PLACES), JSON_VALUES)
def test_any_json_value_in_any_place(path: Place, value: Any) -> None:
    if path != ("kind",):
        assert_partition_or_refused(changed_at(path, value, DOCUMENT))


@FUZZ
@given(st.sampled_from(OWN), st.sampled_from(PLACES))
def test_values_exchanged_between_places(one: Place, other: Place) -> None:
    assert_partition_or_refused(changed_at(one, value_at(other, DOCUMENT), DOCUMENT))


@pytest.mark.parametrize(("place", "short_form"), [
    ((2, "at"), 1e-7), ((0, "of"), "age"), ((0, "of"), [["age", 1.0]]), ((6, "of"), {"ward[T.B]": 1.0, "ward[T.C]": -1.0}),
    ((0, "limit"), None),
])
def test_short_forms_of_questions_are_for_callers_not_for_files(place: Place, short_form: Any) -> None:
    with pytest.raises(ReleaseFormatError, match=f"{place[1]} of a .* question is not in the form of a file"):
        decode(changed_at(("questions", *place), short_form, DOCUMENT))


@pytest.mark.parametrize("path", [path for path in OWN if path[0] not in ("questions", "rules")],
                         ids=lambda path: ".".join(map(str, path)))
def test_every_field_removed(path: Place) -> None:
    assert assert_partition_or_refused(without(path, DOCUMENT)) is None


@pytest.mark.parametrize("path", [path for path in OWN if path[0] == "questions"], ids=lambda path: ".".join(map(str, path)))
def test_questions_without_a_field(path: Place) -> None:
    """A field with a default may be missing, if the numbers still have the limits that it says."""
    accepted = assert_partition_or_refused(without(path, DOCUMENT)) is not None
    assert not accepted or path[-1] in ("combine", "limit", "centre_share", "width_share", "bounds")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PLACES), value=JSON_VALUES)
def test_reading_touches_no_other_file(path: Place, value: Any, tmp_path: Path) -> None:
    assert_no_other_file_is_touched(changed_at(path, value, DOCUMENT), tmp_path)


@FUZZ
@given(st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 7)), min_size=1, max_size=4))
def test_flipped_bits(flips: list[tuple[int, int]]) -> None:
    assert_partition_or_refused(flipped(DATA, flips))


@pytest.mark.parametrize(("path", "value", "words"), [
    (("version",), "1.3", "came with version 1.4"),
    (("version",), "2.0", "version 1 of the release format"),
    (("kind",), "gram", "columns"),
    (("formula",), "", "formula"),
    (("formula",), "income ~ height", "not declared"),
    (("formula",), "income ~ age", "coefficients of the formula"),
    (("prior",), {"name": "cauchy"}, "prior"),
    (("prior", "scale"), -1.0, "positive number"),
    (("prior", "g"), 3.0, "leave g out"),
    (("parts",), 1, "whole number from 2"),
    (("parts",), 10**9, "whole number from 2"),
    (("parts",), 8.5, "parts"),
    (("balanced",), "yes", "balanced"),
    (("rows",), -1, "rows"),
    (("rows",), None, "number of rows"),
    (("schema", "adjacency"), "add-remove", "number of rows"),
    (("noise",), 0.0, "noise must be positive"),
    (("noise",), 1e300, "noise must be positive"),
    (("noise",), "1", "noise"),
    (("privacy", "delta"), 0.0, "delta is positive for gaussian"),
    (("privacy", "mechanism"), "k-norm", "0 for k-norm"),
    (("privacy", "mechanism"), "laplace", "mechanism of a partition release"),
    (("privacy", "epsilon"), -1.0, "epsilon must be positive"),
    (("questions",), [], "1 to 1000 numbers"),
    (("questions", 0, "ask"), "mean", "says what it asks"),
    (("questions", 0, "at"), [], "different finite numbers"),
    (("questions", 0, "at"), [0.0, 0.0, 1.0], "different finite numbers"),
    (("questions", 0, "at"), [0.0, 1.0, 2.0], "one number for each"),
    (("questions", 0, "of"), {"height": 1.0}, "coefficients of the formula"),
    (("questions", 0, "of"), {}, "about a coefficient"),
    (("questions", 0, "of"), {"age": 0.0}, "about a coefficient"),
    (("questions", 0, "limit"), 3.0, "limits of its question"),
    (("questions", 0, "limits"), [0.0, 1.0], "other fields"),
    (("questions", 5, "of"), [{"ward[T.B]": 1.0}, {"ward[T.B]": 2.0}], "follow from one another"),
    (("questions", 5, "of"), [{"Intercept": 1.0}], "slopes, not about the intercept"),
    (("numbers",), [], "one number for each"),
    (("numbers", 0, "name"), "P(age <= 7)", "one number for each"),
    (("numbers", 0, "lower"), 3.0, "below the upper"),
    (("numbers", 0, "lower"), -1.0, "limits of its question"),
    (("numbers", 5, "upper"), 1e200, "ordinary size"),
    (("numbers", 0, "sum"), 1e200, "ordinary size"),
    (("numbers", 0, "sum"), None, "sum"),
])
def test_what_contradicts_itself_is_refused_in_words(path: Place, value: Any, words: str) -> None:
    with pytest.raises(ReleaseFormatError, match=words):
        decode(changed_at(path, value, DOCUMENT))


def test_unknown_fields_are_kept_at_every_level() -> None:
    """Of a newer minor version: also in a question and in the prior."""
    document = copy.deepcopy(DOCUMENT)
    document["version"] = "1.9"
    document["x-note"] = {"a": [1]}
    document["privacy"]["x-more"] = 3
    document["prior"]["x-prior"] = "kept"
    document["questions"][3]["x-question"] = [None]
    document["numbers"][2]["x-number"] = {"b": {}}
    document["schema"]["columns"]["age"]["x-column"] = True
    release = assert_partition_or_refused(json.dumps(document).encode())
    assert release is not None and json.loads(encode(release)) == document


@pytest.mark.parametrize("formula", [
    "income ~ " + "(" * 5000 + "age" + ")" * 5000,
    "income ~ (age + smoker + ward)**40",
    "income ~ " + " + ".join(f"I(age**{power})" for power in range(2, 400)),
    "income ~ I(age**99999999)",
    "income ~ " + "age + " * 100_000 + "age",
    "income ~ __import__('os').system('true')",
], ids=["brackets", "powers", "many terms", "degree", "long", "python"])
def test_hostile_formulas_end_soon(formula: str) -> None:
    started = time.process_time()
    assert_partition_or_refused(changed_at(("formula",), formula, DOCUMENT))
    assert time.process_time() - started < 20


def test_many_questions_end_soon() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["questions"] = [{"ask": "posterior-probability", "of": {"age": float(place + 1)}, "at": list(range(100))}
                             for place in range(3000)]
    started = time.process_time()
    assert assert_partition_or_refused(json.dumps(document).encode()) is None
    document["questions"] = [DOCUMENT["questions"][0]] * 20_000
    assert assert_partition_or_refused(json.dumps(document).encode()) is None
    assert time.process_time() - started < 10
