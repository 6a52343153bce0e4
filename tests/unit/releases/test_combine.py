"""Releases are combined if they describe the same thing, and a refusal names what differs."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from tests.unit.releases.examples_of_releases import (
    DECLARED,
    TERMS,
    columns_with,
    laplace,
    release_of,
    schema_with,
)

from noisewise.errors import IncompatibleReleasesError
from noisewise.releases.combine import combine
from noisewise.releases.format import decode, encode


def test_contributions_are_put_one_after_the_other() -> None:
    one = release_of(seed=1)
    two = release_of(seed=2, epsilon=0.1, noise=laplace(25.0))
    three = release_of(seed=3)
    combined = combine([combine([one, two]), three])
    assert combined.contributions == one.contributions + two.contributions + three.contributions
    assert combined.holders == 3
    assert combined.schema == one.schema
    assert decode(encode(combined)) == combined


def test_one_release_is_itself_and_any_iterable_will_do() -> None:
    assert combine([release_of()]) == release_of()
    assert combine(release_of(seed=seed) for seed in range(3)).holders == 3


def test_nothing_or_something_else_is_refused() -> None:
    with pytest.raises(IncompatibleReleasesError, match="at least one"):
        combine([])
    with pytest.raises(IncompatibleReleasesError, match=r"found: str.*load"):
        combine(["site.nwr"])  # type: ignore[list-item]
    with pytest.raises(IncompatibleReleasesError, match="expected a release"):
        combine(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"adjacency": "add-remove"}, "adjacency: 'replace-one' and 'add-remove'"),
        ({"unit": {"column": "person", "max_rows": 2}}, "unit: 'row' and {'column': 'person', 'max_rows': 2}"),
        ({"norm_bound": 1.5}, "norm_bound: None and 1.5"),
        ({"columns": columns_with(age={"bounds": [18, 99]})}, "column 'age', bounds: [18, 98] and [18, 99]"),
        ({"columns": columns_with(age={"bounds": [18, 98], "missing": 18})}, "column 'age', missing: 58.0 and 18.0"),
        ({"columns": columns_with(ward={"levels": ["A", "C", "B"], "other": "C"})}, "column 'ward', levels: ['A', 'B', 'C'] and"),
        ({"columns": columns_with(ward={"levels": ["A", "B", "C"], "other": "B"})}, "column 'ward', other: 'C' and 'B'"),
        ({"columns": columns_with(smoker={"bounds": [0, 1]})}, "column 'smoker': a number in one and a category in the other"),
        ({"columns": columns_with(height={"bounds": [0, 3]})}, "column 'height': only in release 2"),
        ({"columns": dict(reversed(columns_with().items()))}, "order of the columns: age, ward, smoker and smoker, ward, age"),
    ],
)
def test_a_refusal_names_what_differs(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(IncompatibleReleasesError) as refused:
        combine([release_of(), release_of(schema_with(**changes), seed=2)])
    assert "release 2 does not describe the same thing as release 1" in str(refused.value)
    assert words in str(refused.value)
    assert "terms" not in (refused.value.found or "")


def test_all_differences_are_named_and_different_terms_too() -> None:
    fewer = {name: column for name, column in DECLARED["columns"].items() if name != "smoker"}
    other = release_of(schema_with(adjacency="add-remove", columns=fewer), seed=2)
    with pytest.raises(IncompatibleReleasesError, match=r"adjacency: .*; column 'smoker': only in release 1"):
        combine([release_of(), other])
    with pytest.raises(IncompatibleReleasesError, match=r"adjacency: .*; terms: "):
        combine([release_of(), release_of(schema_with(adjacency="add-remove"), terms=None, seed=2)])
    with pytest.raises(IncompatibleReleasesError, match=r"terms: 'age:ward \+ I\(age\*\*2\)' and None"):
        combine([release_of(), release_of(terms=None, seed=2)])


def test_levels_that_python_calls_equal_are_different() -> None:
    numbers, booleans = schema_with(columns={"c": {"levels": [0, 1]}}), schema_with(columns={"c": {"levels": [False, True]}})
    with pytest.raises(IncompatibleReleasesError, match=r"levels: \[0, 1\] and \[False, True\]"):
        combine([release_of(numbers, None), release_of(booleans, None, seed=2)])


def test_the_same_thing_said_differently_is_no_difference() -> None:
    said = schema_with(columns=columns_with(age={"bounds": [18.0, 98.0], "missing": 58}))
    reworded = release_of(terms="I(age**2) + ward:age", seed=2)
    assert combine([release_of(), release_of(said, seed=2)]).holders == 2
    assert combine([release_of(), reworded]).terms == TERMS


def test_unknown_fields_survive_where_all_agree() -> None:
    one = dataclasses.replace(release_of(extra={"holder": "a"}), extra={"study": "x", "note": 1}, version="1.2")
    two = dataclasses.replace(release_of(seed=2, extra={"holder": "b"}), extra={"study": "x", "note": 2}, version="1.10")
    combined = combine([one, two])
    assert combined.extra == {"study": "x"}
    assert [one.extra for one in combined.contributions] == [{"holder": "a"}, {"holder": "b"}]
    assert combined.version == "1.10"


@pytest.mark.parametrize(("given", "found"), [
    ("patients.nwr", "str"), (["patients.nwr"], "str"), (b"x", "bytes"), (3, "int"), ([None], "NoneType"), ({"a": 1}, "dict"),
    ([], "an empty list")])
def test_what_is_no_release_is_named_by_its_own_type(given: Any, found: str) -> None:
    with pytest.raises(IncompatibleReleasesError, match=rf"release.*found: {found}\)"):
        combine(given)
