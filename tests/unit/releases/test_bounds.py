"""What is special to a bounds release: rounding outwards, lines for a schema, and bounds that are of no use."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.releases.examples_of_releases import AGE, STAY, bounds, bounds_of, schema_with

import noisewise as nw
from noisewise.errors import ReleaseError
from noisewise.releases.contents.bounds import ColumnBounds, rounded_outwards
from noisewise.releases.release import Release
from noisewise.schema import Schema

BAD = ColumnBounds("x", 7.0, -3.0, ("lower", "upper"), outside=117, error=58, rows_needed=235)

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


@pytest.mark.parametrize(("found", "rounder"), [
    ((22.4, 94.9), (22, 96)), ((1990, 2020), (1990, 2020)), ((4.99, 5.01), (4.99, 5.01)), ((4240, 112000), (0, 115000)),
    ((-1.69e-5, 1.68e-5), (-1.7e-5, 1.7e-5)), ((1, 5), (1, 5)), ((7, -3), (7, -3)),
])
def test_rounder_numbers(found: tuple[float, float], rounder: tuple[float, float]) -> None:
    rounded = rounded_outwards(replace(AGE, lower=float(found[0]), upper=float(found[1])))
    assert (rounded.lower, rounded.upper) == rounder


def test_the_lines_belong_into_a_schema() -> None:
    text = bounds().contents.to_toml()
    assert text == '[columns.age]\nbounds = [18, 98]\n\n[columns."length of stay"]\nbounds = [0, 42.5]\n'
    schema = Schema.from_dict({"adjacency": "replace-one", **tomllib.loads(text)})
    assert schema.names == ("age", "length of stay")


def test_bounds_in_the_wrong_order_are_left_open_and_said_to_be_of_no_use() -> None:
    schema = schema_with(columns={"x": {"bounds": "unknown"}})
    made = Release(nw.Bounds("x"), schema, (bounds_of(BAD),))
    assert not made.contents.columns[0].usable and 'bounds = ["?", "?"]' in made.contents.to_toml()
    assert "no usable bounds" in made.describe() and "235 rows" in made.describe()


def test_the_words_say_nothing_of_a_tail_that_is_none() -> None:
    words = " ".join(bounds(tail=0.0).describe().split())
    assert "%" not in words.partition("at most 117 rows")[2].partition("lie beyond each")[0]
    assert "cells without a number were left out" in words


def test_bounds_by_name() -> None:
    assert bounds().contents["age"] == (18.0, 98.0)
    with pytest.raises(KeyError):
        bounds().contents["other"]


@pytest.mark.parametrize(("changes", "words"), [
    ({"delta": 1e-6}, "delta must be 0"), ({"probability": 1.0}, "between 0 and 1"), ({"probability": "0.9"}, "must be a number"),
    ({"columns": (STAY, AGE)}, "requested columns, in their order"), ({"columns": (AGE,)}, "requested columns"),
    ({"columns": (AGE, replace(STAY, asked=("lower", "upper")))}, "'length of stay': known bounds must be unchanged.*lower"),
    ({"columns": (AGE, replace(STAY, lower=1.0))}, "'length of stay': known bounds must be unchanged.*lower"),
])
def test_what_contradicts_itself_is_refused(changes: dict[str, Any], words: str) -> None:
    columns = changes.pop("columns", (AGE, STAY))
    with pytest.raises(ReleaseError, match=words):
        bounds().with_contributions((bounds_of(*columns, **changes),))


@pytest.mark.parametrize("changes", [
    {"lower": float("nan")}, {"lower": 1e300}, {"upper": "1"}, {"asked": ()}, {"asked": ("middle",)}, {"outside": -1},
    {"outside": 1.5}, {"error": True}, {"rows_needed": 2**60}])
def test_columns_are_checked(changes: dict[str, Any]) -> None:
    with pytest.raises(ReleaseError, match="bounds: "):
        replace(AGE, **changes)
