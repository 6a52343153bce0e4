"""Suggested bounds as data: rounding outwards, lines for a schema, words, and the stored form."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import ReleaseFormatError
from noisewise.release.bounds import ColumnBounds, SuggestedBounds, request_of, rounded_outwards
from noisewise.schema import Schema

BOTH = ("lower", "upper")
AGE = ColumnBounds("age", 18.0, 98.0, BOTH, outside=117, error=58, rows_needed=235)
STAY = ColumnBounds("length of stay", 0.0, 42.5, ("upper",), outside=99, error=49, rows_needed=100)
BAD = ColumnBounds("x", 7.0, -3.0, BOTH, outside=117, error=58, rows_needed=235)


def suggested(*columns: ColumnBounds) -> SuggestedBounds:
    return SuggestedBounds(columns, epsilon=0.1, tail=0.005, digits=3, probability=0.95, adjacency="replace-one", unit="row",
                           partition={}, statement="Replacing any one row …", created="2026-01-01", library="noisewise 0.1.0")


candidates = st.integers(-999, 999).flatmap(lambda number: st.integers(-9, 10).map(lambda power: float(f"{number}e{power}")))


@given(candidates, candidates)
def test_rounding_goes_outwards_by_a_twentieth_at_most(first: float, second: float) -> None:
    if first == second:
        return
    lower, upper = min(first, second), max(first, second)
    found = rounded_outwards(replace(AGE, lower=lower, upper=upper))
    most = (upper - lower) / 20 * (1 + 1e-12)
    assert lower - most <= found.lower <= lower and upper <= found.upper <= upper + most
    assert rounded_outwards(replace(AGE, lower=lower, upper=upper, asked=("upper",))).lower == lower


@pytest.mark.parametrize(("bounds", "rounder"), [
    ((22.4, 94.9), (22, 96)), ((1990, 2020), (1990, 2020)), ((4.99, 5.01), (4.99, 5.01)), ((4240, 112000), (0, 115000)),
    ((-1.69e-5, 1.68e-5), (-1.7e-5, 1.7e-5)), ((1, 5), (1, 5)), ((7, -3), (7, -3)),
])
def test_rounder_numbers(bounds: tuple[float, float], rounder: tuple[float, float]) -> None:
    found = rounded_outwards(replace(AGE, lower=float(bounds[0]), upper=float(bounds[1])))
    assert (found.lower, found.upper) == rounder


def test_the_lines_belong_into_a_schema() -> None:
    text = suggested(AGE, STAY).to_toml()
    assert text == '[columns.age]\nbounds = [18, 98]\n\n[columns."length of stay"]\nbounds = [0, 42.5]\n'
    schema = Schema.from_dict({"adjacency": "replace-one", **tomllib.loads(text)})
    assert schema.names == ("age", "length of stay")


def test_bounds_in_the_wrong_order_are_left_open_and_said_to_be_of_no_use() -> None:
    found = suggested(BAD)
    assert not found.columns[0].usable and 'bounds = ["?", "?"]' in found.to_toml()
    assert "nothing that could be used" in found.describe() and "235 rows" in found.describe()


def test_the_words_say_what_was_spent_and_how_far_off_it_may_be() -> None:
    words = " ".join(suggested(AGE, STAY).describe().split())
    assert "18 to 98. With probability 95 % at most 117 rows" in words
    assert "(or 0.5 % of the rows and 58, if that is more) lie beyond each" in words
    assert "lie beyond the upper bound, which does not lie further out" in words
    assert "epsilon 0.1, delta 0, in equal parts for 3 bounds" in words and "Replacing any one row" in words
    assert "%" not in " ".join(replace(suggested(AGE), tail=0.0).describe().split()).partition("at most 117 rows")[2]


def test_bounds_by_name() -> None:
    assert suggested(AGE, STAY)["age"] == (18.0, 98.0)
    with pytest.raises(KeyError):
        suggested(AGE)["other"]


def test_what_is_stored_is_read_back() -> None:
    found = replace(suggested(AGE, STAY, BAD), unit={"column": "person", "max_rows": 3}, partition={"year": "2024"})
    assert SuggestedBounds.decode(found.encode()) == found


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"null", b"\xff", b'{"format": "noisewise-bounds", "version": "1.0"}',
                                     b'{"format": "noisewise-release", "version": "1.0"}',
                                     b'{"format": "noisewise-bounds", "version": "1.0", "columns": [1]}'])
def test_another_document_is_refused(content: bytes) -> None:
    with pytest.raises(ReleaseFormatError, match="no bounds"):
        SuggestedBounds.decode(content)


def test_a_request_is_all_but_the_day_and_the_version() -> None:
    found = suggested(AGE)
    same = replace(found, created="2030-12-31", library="noisewise 9", statement="in other words",
                   columns=(replace(AGE, outside=1, error=2, rows_needed=3),))
    assert request_of(found, "") == request_of(same, "") != request_of(found, "May")
    for other in (replace(found, epsilon=0.2), replace(found, tail=0.01), replace(found, digits=2), suggested(STAY),
                  suggested(replace(AGE, asked=("upper",))), suggested(replace(AGE, lower=17.0)),
                  replace(found, unit={"column": "person", "max_rows": 2}), replace(found, partition={"year": "2024"})):
        assert request_of(other, "") != request_of(found, "")
    assert json.dumps(request_of(found, ""))
