"""Whatever a file holds, reading it gives a release or one `ReleaseFormatError`, and nothing else happens."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import given
from hypothesis import strategies as st
from tests.property.hostile_cases import (
    CLAIMS,
    CONTENTS,
    EVERYWHERE,
    FORMULAS,
    NOISE,
    OPTIONAL,
    PRIVACY,
    SPARED,
    SPECIAL,
    TEXTS,
    TOO_LITTLE,
)
from tests.property.hostile_files import (
    DOCUMENTS,
    FILES,
    JSON_VALUES,
    PLACES,
    USABLE,
    Place,
    assert_no_other_file_is_touched,
    assert_read_or_refused,
    assert_refused,
    changed_at,
    dotted,
    flipped,
    raw_at,
    value_at,
    without,
)
from tests.unit.holder.asked import Asked, every_kind

from noisewise.errors import ReleaseFormatError
from noisewise.holder.plan import plan_of
from noisewise.kinds import kinds
from noisewise.releases.format import decode, encode

INSIDE = ("gram", "partition", "rows")
"""Files that the inner ring attacks in every way. The outer ring attacks all."""


def case(name: str, *values: object, label: str = "") -> ParameterSet:
    """A case about one file, in its ring."""
    return pytest.param(name, *values, id=f"{name}-{label}" if label else name, marks=() if name in INSIDE else pytest.mark.outer)


every_file = pytest.mark.parametrize("name", [case(name) for name in FILES])


def test_every_kind_is_attacked() -> None:
    """A kind that is added needs a golden file, and to say what can be done with it."""
    assert {decode(data).kind.name for data in FILES.values()} == {kind.name for kind in kinds()} == set(USABLE)


@every_file
def test_the_unchanged_file_is_accepted(name: str) -> None:
    assert assert_read_or_refused(FILES[name]) is not None
    assert assert_read_or_refused(json.dumps(DOCUMENTS[name]).encode()) is not None


# Chance --------------------------------------------------------------------------------------------------------------------


@every_file
@given(data=st.data(), value=JSON_VALUES)
def test_any_json_value_in_any_place(name: str, data: st.DataObject, value: Any) -> None:
    assert_read_or_refused(changed_at(data.draw(st.sampled_from(PLACES[name])), value, DOCUMENTS[name]))


@every_file
@given(data=st.data())
def test_values_exchanged_between_places(name: str, data: st.DataObject) -> None:
    one, other = (data.draw(st.sampled_from(PLACES[name])) for _ in range(2))
    assert_read_or_refused(changed_at(one, value_at(other, DOCUMENTS[name]), DOCUMENTS[name]))


@every_file
@given(data=st.data())
def test_truncated(name: str, data: st.DataObject) -> None:
    whole = FILES[name]
    length = data.draw(st.integers(0, len(whole) - 1))
    # Only the line break at the end can be spared.
    assert (assert_read_or_refused(whole[:length]) is None) == (length < len(whole.rstrip()))


@every_file
@given(data=st.data())
def test_flipped_bits(name: str, data: st.DataObject) -> None:
    one = st.tuples(st.integers(0, len(FILES[name]) - 1), st.integers(0, 7))
    assert_read_or_refused(flipped(FILES[name], data.draw(st.lists(one, min_size=1, max_size=4))))


@every_file
@given(data=st.data(), length=st.integers(1, 400), inserted=st.binary(max_size=12))
def test_slices_replaced(name: str, data: st.DataObject, length: int, inserted: bytes) -> None:
    start = data.draw(st.integers(0, len(FILES[name])))
    assert_read_or_refused(FILES[name][:start] + inserted + FILES[name][start + length :])


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_arbitrary_bytes(data: bytes) -> None:
    assert_refused(data)


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b"{}", b"\x80\x04", b"PK\x03\x04", b"\xff", b"PAR1",
                                  b'{"format": "noisewise-release"}', b'{"format": "noisewise-release", "version": "1.0"}'])
def test_other_files_are_refused(data: bytes) -> None:
    assert_refused(data)


@every_file
@given(data=st.data(), fields=st.dictionaries(st.text(max_size=10), JSON_VALUES, max_size=4))
def test_unknown_fields_are_kept_or_refused_but_never_lost(name: str, data: st.DataObject, fields: dict[str, Any]) -> None:
    document = DOCUMENTS[name]
    path = data.draw(st.sampled_from([path for path in PLACES[name] if isinstance(value_at(path, document), dict)]))
    added = {f"x-{field}": value for field, value in fields.items()}
    changed = changed_at(path, {**value_at(path, document), **added}, document)
    release = assert_read_or_refused(changed)
    if release is not None and path != ("schema", "stratum"):
        assert json.loads(encode(release)) == json.loads(changed)


@every_file
@given(data=st.data(), value=JSON_VALUES)
def test_reading_touches_no_other_file(name: str, data: st.DataObject, value: Any, tmp_path: Path) -> None:
    place = data.draw(st.sampled_from(PLACES[name]))
    assert_no_other_file_is_touched(changed_at(place, value, DOCUMENTS[name]), tmp_path)


# What chance may miss ------------------------------------------------------------------------------------------------------


@every_file
def test_what_is_extreme_in_every_place(name: str) -> None:
    for path in PLACES[name]:
        for value in (1e300, -1e308, 5e-324, 10**18, "", "a\nb", [[]], {"a\nb": 1}):
            assert_read_or_refused(changed_at(path, value, DOCUMENTS[name]))


def test_bounds_whose_squares_overflow_make_no_column_a_combination_of_others() -> None:
    assert assert_read_or_refused(changed_at(("schema", "columns", "age", "bounds", 1), 1e300, DOCUMENTS["partition-k-norm"]))


# Fields that are missing ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("name", "path"), [
    case(name, path, label=dotted(path)) for name in FILES for path in PLACES[name]])
def test_every_field_removed(name: str, path: Place) -> None:
    optional = path[0] == "rules" or (path[0] == "schema" and path[-1] in SPARED) \
        or dotted(path).replace(" ", "_") in OPTIONAL[name].split()
    assert (assert_read_or_refused(without(path, DOCUMENTS[name])) is not None) == optional


# What costs memory or time -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inserted", TEXTS, ids=lambda text: text[:12])
@every_file
def test_hostile_values_are_refused_at_once(name: str, inserted: str) -> None:
    """Refused wherever they stand: in a known field and in one that nobody knows."""
    document = DOCUMENTS[name]
    contents = ("contributions", 0, "contents")
    own = next(iter(value_at(contents, document)))
    started = time.process_time()
    for place in (("kind",), ("contributions", 0, "privacy", "epsilon"), ("contributions", 0, "rows"), (*contents, own),
                  ("unknown",), (*contents, "unknown")):
        assert_refused(raw_at(place, inserted, document))
    assert time.process_time() - started < 60


@every_file
def test_repeated_keys_are_refused_at_every_level(name: str) -> None:
    document = DOCUMENTS[name]
    whole = json.dumps(document)
    for path in [(), *PLACES[name]]:
        inner = value_at(path, document)
        if isinstance(inner, dict) and inner:
            key, value = list(inner.items())[-1]
            twice = f"{json.dumps(inner)[:-1]}, {json.dumps(key)}: {json.dumps(value)}}}"
            with pytest.raises(ReleaseFormatError, match="only once"):
                decode(raw_at(path, twice, document) if path else whole.replace(json.dumps(inner), twice).encode())


@pytest.mark.outer
@pytest.mark.parametrize("name", USABLE)
def test_many_wrong_items_cost_little(name: str) -> None:
    """A long list of wrong items gives one error, not one for each."""
    lists = [path for path in PLACES[name] if isinstance(value_at(path, DOCUMENTS[name]), list) and not {1, 2} & set(path)]
    for path in lists if name == "gram" else [path for path in lists if path[0] not in ("schema", "rules")]:
        data = changed_at(path, [[]] * 200_000, DOCUMENTS[name])
        started = time.process_time()
        with pytest.raises(ReleaseFormatError) as refused:
            decode(data)
        assert len(str(refused.value)) < 800
        assert time.process_time() - started < 60


@pytest.mark.outer
def test_many_levels_and_columns_cost_little() -> None:
    """Checking must not grow with the square of what a file claims."""
    many = 20_000
    document = copy.deepcopy(DOCUMENTS["gram"])
    document["schema"]["columns"] = {"ward": {"levels": list(range(many))}} | {f"c{i}": {"bounds": [0, 1]} for i in range(many)}
    document["columns"] = [
        {"name": "1", "factors": []},
        *({"name": f"ward[{i}]", "factors": [{"column": "ward", "level": i}]} for i in range(1, many)),
        *({"name": f"c{i}", "factors": [{"column": f"c{i}", "degree": 1}]} for i in range(many)),
    ]
    data = json.dumps(document).encode()
    started = time.process_time()
    with pytest.raises(ReleaseFormatError, match="upper triangle for 40000 columns"):
        decode(data)
    assert time.process_time() - started < 60


@pytest.mark.outer(but=["3000-the blocks of a moments release are too large"])
@pytest.mark.parametrize(("many", "words"), [(3000, "the blocks of a moments release are too large"),
                                             (100_000, "may have at most .* entries together")])
def test_many_columns_are_refused_before_a_matrix_is_made(many: int, words: str) -> None:
    document = copy.deepcopy(DOCUMENTS["moments"])
    column = {"name": "age", "factors": [{"column": "age", "degree": 1}]}
    document["columns"][1:-1] = [column] * many
    document["contributions"] = [only_y(document["contributions"][0], 1.0)]
    with pytest.raises(ReleaseFormatError, match=words):
        decode(json.dumps(document).encode())


def test_many_contributions_are_refused_before_their_matrices_are_made() -> None:
    """One with the block y alone takes some hundred bytes in a file, and its matrix of 2000 columns 32 million."""
    document, names = copy.deepcopy(DOCUMENTS["moments"]), [f"v{place}" for place in range(2000)]
    document["kind"] = {"name": "moments", "formula": "visits ~ ."}
    document["schema"]["columns"] |= {name: {"bounds": [0, 1]} for name in names}
    document["columns"][1:-1] = [{"name": name, "factors": [{"column": name, "degree": 1}]} for name in names]
    one = document["contributions"][0]
    document["contributions"] = [only_y(one, float(place)) for place in range(2)]
    assert decode(json.dumps(document).encode()).holders == 2
    document["contributions"] = [only_y(one, float(place)) for place in range(40)]
    with pytest.raises(ReleaseFormatError, match="may have at most .* entries together"):
        decode(json.dumps(document).encode())


def only_y(one: dict[str, Any], value: float) -> dict[str, Any]:
    return {**one, "contents": {"blocks": {"y": {**one["contents"]["blocks"]["y"], "sums": [value]}}}}


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize(("name", "option", "before"), [
    ("gram", "terms", ""), ("model-start", "formula", "smoker ~ "), ("model", "terms", ""),
    ("moments", "formula", "visits ~ "), ("moments", "terms", ""), ("adassp", "formula", "smoker ~ "), ("adassp", "terms", ""),
    ("partition", "formula", "income ~ "),
])
def test_hostile_formulas_end_soon(name: str, option: str, before: str, formula: str) -> None:
    """A file must state its columns, so that a formula is read only where it is fitted or where there are no columns."""
    started = time.process_time()
    assert_read_or_refused(changed_at(("kind", option), before + FORMULAS[formula], DOCUMENTS[name]))
    assert time.process_time() - started < 60


def test_many_questions_end_soon() -> None:
    probability = {"ask": "posterior-probability", "at": [float(place) for place in range(100)], "combine": "rescaled-normal"}
    many = [{**probability, "of": {"age": float(place + 1)}} for place in range(3000)]
    started = time.process_time()
    for questions in (many, [DOCUMENTS["partition"]["kind"]["ask"][0]] * 20_000):
        with pytest.raises(ReleaseFormatError, match="1 to 1000 numbers"):
            decode(changed_at(("kind", "ask"), questions, DOCUMENTS["partition"]))
    assert time.process_time() - started < 60


# What contradicts itself ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("name", "path", "value", "words"), [
    case(name, *each, label=f"{dotted(each[0])}-{each[2]}") for name in FILES for each in (*EVERYWHERE, *SPECIAL[name])])
def test_what_contradicts_itself_is_refused_in_words(name: str, path: Place, value: Any, words: str) -> None:
    data = changed_at(path, value, DOCUMENTS[name])
    assert_refused(data)
    with pytest.raises(ReleaseFormatError, match=words):
        decode(data)


def test_a_formula_beside_the_kind_is_kept_as_a_field_that_nobody_knows() -> None:
    release = assert_read_or_refused(json.dumps({**DOCUMENTS["gram"], "formula": "age ~ ward"}).encode())
    assert release is not None and release.formula is None and release.extra == {"formula": "age ~ ward"}


def test_holders_with_other_blocks_are_refused() -> None:
    document = copy.deepcopy(DOCUMENTS["moments"])
    del document["kind"]["blocks"]
    assert assert_read_or_refused(json.dumps(document).encode()) is not None
    with pytest.raises(ReleaseFormatError, match="same blocks"):
        decode(without(("contributions", 1, "contents", "blocks", "xxx"), document))


@every_file
def test_the_contents_of_another_kind_are_refused(name: str) -> None:
    """Of another one's kind, contents or contributions with the rest of one's own."""
    for other in FILES:
        mine, theirs = DOCUMENTS[name], DOCUMENTS[other]
        if mine["kind"]["name"] != theirs["kind"]["name"]:
            assert_refused(changed_at(("kind",), theirs["kind"], mine))
            assert_refused(changed_at(("contributions",), theirs["contributions"], mine))
            assert_refused(changed_at(CONTENTS, value_at(CONTENTS, theirs), mine))


# Promises that are not kept ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("name", "place", "factor"), [(name, *claim) for name in FILES for claim in CLAIMS[name]])
def test_a_file_that_states_too_little_noise_is_refused(name: str, place: str, factor: float) -> None:
    """For each holder: with less noise than the budget and the sensitivity need, or with less of a budget than the noise."""
    steps = tuple(int(step) if step.isdigit() else step for step in place.split("."))
    for holder in range(len(DOCUMENTS[name]["contributions"])):
        path = ("contributions", holder, *steps)
        stated = value_at(path, DOCUMENTS[name])
        if stated:  # pure epsilon has no delta
            changed = int(stated * factor) if isinstance(stated, int) else stated * factor
            with pytest.raises(ReleaseFormatError, match=TOO_LITTLE):
                decode(changed_at(path, changed, DOCUMENTS[name]))


@pytest.mark.parametrize(("degrees", "scale", "words"), [
    (65, 4.0625, None), (66, 4.5, None), (20, 4.0625, "20 degrees of freedom for 11 columns"),
    (10, 4.0625, "as many degrees of freedom as columns"), (65, 4.0, "at least the sensitivity")])
def test_wishart_noise_of_other_degrees_and_scales(degrees: int, scale: float, words: str | None) -> None:
    """Consistent in itself."""
    noise = {"distribution": "wishart", "diagonal": scale * (2 * degrees) ** 0.5, "off_diagonal": scale * degrees**0.5,
             "corner": 0.0, "degrees_of_freedom": degrees, "scale": scale}
    data = changed_at(NOISE, noise, DOCUMENTS["gram-wishart"])
    if words is None:
        assert assert_read_or_refused(data) is not None
    else:
        assert_refused(data)
        with pytest.raises(ReleaseFormatError, match=words):
            decode(data)


@every_kind()
def test_a_planned_release_keeps_its_promise_and_no_better_one(asked: Asked) -> None:
    """What a holder would write, with a smaller epsilon or delta, or with a larger sensitivity."""
    blank = plan_of(asked.kind, asked.schema, asked.epsilon, asked.delta).blank
    document = json.loads(encode(blank))
    loose = blank.kind.name == "adassp" or blank.contents.mechanism == "wishart"  # see above
    factors = {"epsilon": 0.5 if loose else 0.99, "delta": 1e-4 if loose else 0.9, "sensitivity": 1.5 if loose else 1.01}
    if blank.kind.name == "bounds":
        del factors["epsilon"]  # a selection has no noise to state
    for name, factor in factors.items():
        stated = value_at((*PRIVACY, name), document)
        if stated:
            assert_refused(changed_at((*PRIVACY, name), stated * factor, document))
