"""Whatever a file holds, reading it gives a release or one `ReleaseFormatError`, and nothing else happens."""

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
    assert_refused,
    changed_at,
    flipped,
    places,
    value_at,
    without,
)

from noisewise.errors import ReleaseFormatError
from noisewise.release import Release, load
from noisewise.release.format import decode, encode

DATA = (GOLDEN / "gram-1.0.nwr").read_bytes()
DOCUMENT: dict[str, Any] = json.loads(DATA)
WISHART: dict[str, Any] = json.loads((GOLDEN / "gram-1.2.nwr").read_bytes())
"""A release with Wishart noise in its first part, format 1.2."""
FUZZ = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def assert_usable_or_refused(data: bytes) -> Release | None:
    """As for every file; and what is accepted has columns and a bound on the rows that they can be used with."""
    release = assert_read_or_refused(data)
    if release is not None:
        assert isinstance(release, Release) and release.basis.radius > 0 and release.parts
    return release




PLACES = list(places(DOCUMENT))
NOISE_PLACES = [("parts", 0, "noise"), *(("parts", 0, "noise", name) for name in WISHART["parts"][0]["noise"]), ("version",)]


def test_the_unchanged_file_is_accepted() -> None:
    assert assert_usable_or_refused(DATA) is not None
    assert assert_usable_or_refused(json.dumps(DOCUMENT).encode()) is not None


@FUZZ
@given(st.sampled_from(PLACES), JSON_VALUES)
def test_any_json_value_in_any_place(path: Place, value: Any) -> None:
    assert_usable_or_refused(changed_at(path, value, DOCUMENT))


@FUZZ
@given(st.sampled_from(PLACES), st.sampled_from(PLACES))
def test_values_exchanged_between_places(one: Place, other: Place) -> None:
    assert_usable_or_refused(changed_at(one, value_at(other, DOCUMENT), DOCUMENT))


@FUZZ
@given(st.sampled_from(NOISE_PLACES), JSON_VALUES | st.sampled_from(["gaussian", "1.0", "1.1", 74, 75, 4.0625, -4.0625, 2**53]))
def test_any_json_value_in_the_fields_of_wishart_noise(path: Place, value: Any) -> None:
    release = assert_usable_or_refused(changed_at(path, value, WISHART))
    if release is not None and release.parts[0].noise.distribution == "wishart":  # only what is consistent was accepted
        noise = release.parts[0].noise
        assert noise.degrees is not None and noise.scale is not None and noise.degrees >= release.parts[0].size
        assert noise.diagonal == pytest.approx(noise.scale * (2 * noise.degrees) ** 0.5)


@pytest.mark.parametrize("path", NOISE_PLACES, ids=str)
def test_wishart_noise_with_a_field_removed_is_refused(path: Place) -> None:
    assert assert_usable_or_refused(json.dumps(WISHART).encode()) is not None
    assert_refused(without(path, WISHART))


@pytest.mark.parametrize(("path", "value"), [
    (("parts", 0, "noise", "degrees_of_freedom"), 10),  # fewer than columns, and another variance
    (("parts", 0, "noise", "degrees_of_freedom"), 74.0),
    (("parts", 0, "noise", "degrees_of_freedom"), 10**30),
    (("parts", 0, "noise", "scale"), 4.07),
    (("parts", 0, "noise", "scale"), 0.0),
    (("parts", 0, "noise", "scale"), 1e308),
    (("parts", 0, "noise", "distribution"), "gaussian"),
    (("parts", 1, "noise", "distribution"), "wishart"),
    (("parts", 1, "noise", "degrees_of_freedom"), 74),
    (("parts", 0, "average"), 10),
    (("parts", 0, "privacy", "delta"), 0.0),
    (("version",), "1.1"),
])
def test_wishart_noise_that_contradicts_itself_is_refused(path: Place, value: Any) -> None:
    assert_refused(changed_at(path, value, WISHART))


@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)))
def test_every_field_removed(path: Place) -> None:
    """Each is needed, but for words that follow from others, fields with a default, and one of two parts."""
    spared = {"norm_bound", "missing", "other"}
    optional = path[0] == "rules" or path in (("parts", 0), ("parts", 1)) or (path[0] == "schema" and path[-1] in spared)
    assert (assert_usable_or_refused(without(path, DOCUMENT)) is not None) == optional


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PLACES), value=JSON_VALUES)
def test_reading_touches_no_other_file(path: Place, value: Any, tmp_path: Path) -> None:
    assert_no_other_file_is_touched(changed_at(path, value, DOCUMENT), tmp_path)


@FUZZ
@given(st.integers(0, len(DATA) - 1))
def test_truncated(length: int) -> None:
    # Only the line break at the end can be spared.
    assert (assert_usable_or_refused(DATA[:length]) is None) == (length < len(DATA.rstrip()))


@FUZZ
@given(st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 7)), min_size=1, max_size=4))
def test_flipped_bits(flips: list[tuple[int, int]]) -> None:
    assert_usable_or_refused(flipped(DATA, flips))


@FUZZ
@given(st.integers(0, len(DATA)), st.integers(1, 400), st.binary(max_size=12))
def test_slices_replaced(start: int, length: int, inserted: bytes) -> None:
    assert_usable_or_refused(DATA[:start] + inserted + DATA[start + length :])


@FUZZ
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_arbitrary_bytes(data: bytes) -> None:
    assert_refused(data)


@FUZZ
@given(st.dictionaries(st.text(max_size=10), JSON_VALUES, max_size=4), st.sampled_from([p for p in PLACES if len(p) <= 4]))
def test_unknown_fields_are_kept_or_refused_but_never_lost(fields: dict[str, Any], path: Place) -> None:
    inner = value_at(path, DOCUMENT)
    if not isinstance(inner, dict) or path == ("schema", "columns"):
        return
    added = {f"x-{name}": value for name, value in fields.items()}
    data = changed_at(path, {**inner, **added}, DOCUMENT)
    release = assert_usable_or_refused(data)
    if release is not None:
        assert json.loads(encode(release)) == json.loads(data)


@pytest.mark.parametrize(
    "inserted",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "[" * 40 + "]" * 40,
        '{"a":[' * 20 + "]}" * 20,
        "1e400",
        "-1e99999999999",
        "1" + "0" * 400,
        "9" * 100_000,
        "-" + "9" * 20,
        "0." + "0" * 100_000 + "e",
        "NaN",
        "Infinity",
        "-Infinity",
        "'single'",
        "0x10",
        "01",
        "+1",
        "1_000",
        '"\\ud800"',
        '"\\u0000"',
        '"\\u001b[31m"',
        '"tab\there"',
        '"\x7f"',
        "nul",
        "{1: 2}",
        '{"a": 1, "a": 2}',
        "// comment",
        "",
    ],
    ids=lambda text: text[:12],
)
@pytest.mark.parametrize("place", ['"kind": "gram"', '"epsilon": 1.0', '"rows": 1200'])
def test_hostile_values_are_refused_at_once(inserted: str, place: str) -> None:
    """Refused wherever they stand: in a known field and in one that nobody knows."""
    key = place.split(":")[0]
    text = DATA.decode()
    started = time.process_time()
    for replacement in (f"{key}: {inserted}", f'"unknown": {inserted}, {place}'):
        assert_refused(text.replace(place, replacement, 1).encode())
    assert time.process_time() - started < 5


def test_repeated_keys_are_refused_at_every_level() -> None:
    for place in ('"version": "1.0"', '"rows": 1200', '"age": {"bounds": [18, 98], "missing": 60}'):
        with pytest.raises(ReleaseFormatError, match="only once"):
            decode(DATA.decode().replace(place, f"{place}, {place}", 1).encode())


def test_many_wrong_items_cost_little(tmp_path: Path) -> None:
    """A long list of wrong items gives one error, not one for each."""
    for path in (("parts", 0, "statistic"), ("columns",), ("parts",), ("schema", "columns", "ward", "levels")):
        file = tmp_path / "wrong.nwr"
        file.write_bytes(changed_at(path, [[]] * 200_000, DOCUMENT))
        started = time.process_time()
        with pytest.raises(ReleaseFormatError) as refused:
            load(file)
        assert len(str(refused.value)) < 500
        assert time.process_time() - started < 10


def test_many_levels_and_columns_cost_little() -> None:
    """Checking must not grow with the square of what a file claims."""
    many = 20_000
    document = copy.deepcopy(DOCUMENT)
    document["schema"]["columns"] = {"ward": {"levels": list(range(many))}} | {f"c{i}": {"bounds": [0, 1]} for i in range(many)}
    document["columns"] = [
        {"name": "1", "factors": []},
        *({"name": f"ward[{i}]", "factors": [{"column": "ward", "level": i}]} for i in range(1, many)),
        *({"name": f"c{i}", "factors": [{"column": f"c{i}", "degree": 1}]} for i in range(many)),
    ]
    data = json.dumps(document).encode()
    started = time.process_time()
    with pytest.raises(ReleaseFormatError, match="upper triangle of 40000 columns"):
        decode(data)
    assert time.process_time() - started < 10
