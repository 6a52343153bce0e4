"""Columns: what may be declared, and a clear refusal for everything else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noisewise.errors import DeclarationError
from noisewise.schema.columns import Categorical, Numeric, column_from_dict

REFUSED: dict[str, tuple[Any, str]] = {
    "inverted": ({"bounds": [2, 1]}, "lower bound must be below"),
    "equal": ({"bounds": [1, 1]}, "lower bound must be below"),
    "equal zeros": ({"bounds": [-0.0, 0.0]}, "lower bound must be below"),
    "infinite": ({"bounds": [0, math.inf]}, "two finite numbers"),
    "minus infinite": ({"bounds": [-math.inf, 0]}, "two finite numbers"),
    "not a number": ({"bounds": [math.nan, 1]}, "two finite numbers"),
    "not a number above": ({"bounds": [0, math.nan]}, "two finite numbers"),
    "a boolean bound": ({"bounds": [False, True]}, "two finite numbers"),
    "a text bound": ({"bounds": ["0", "1"]}, "two finite numbers"),
    "no bound": ({"bounds": [None, 1]}, "two finite numbers"),
    "a whole number beyond doubles": ({"bounds": [0, 10**400]}, "two finite numbers"),
    "a width beyond doubles": ({"bounds": [-1.7e308, 1.7e308]}, "distance between the bounds"),
    "whole numbers that are one double": ({"bounds": [2**53, 2**53 + 1]}, "distance between the bounds"),
    "whole numbers too far apart": ({"bounds": [-17 * 10**307, 17 * 10**307]}, "two finite numbers"),
    "a width below doubles": ({"bounds": [0.0, 5e-324]}, "distance between the bounds"),
    "template bounds": ({"bounds": ["?", "?"]}, "bounds have not been filled in"),
    "half a template": ({"bounds": [0, "?"]}, "bounds have not been filled in"),
    "one bound": ({"bounds": [1]}, "list of two numbers"),
    "three bounds": ({"bounds": [1, 2, 3]}, "list of two numbers"),
    "bounds as a text": ({"bounds": "01"}, "list of two numbers"),
    "missing above": ({"bounds": [0, 1], "missing": 2}, "missing must be a value within the bounds"),
    "missing below": ({"bounds": [0, 1], "missing": -0.1}, "missing must be a value within the bounds"),
    "missing not a number": ({"bounds": [0, 1], "missing": math.nan}, "missing must be a value within the bounds"),
    "missing boolean": ({"bounds": [0, 1], "missing": True}, "missing must be a value within the bounds"),
    "missing text": ({"bounds": [0, 1], "missing": "mean"}, "missing must be a value within the bounds"),
    "missing beyond doubles": ({"bounds": [0, 1], "missing": 10**400}, "missing must be a value within the bounds"),
    "other for a number": ({"bounds": [0, 1], "other": 0}, "other is only for columns with levels"),
    "template levels": ({"levels": ["?"]}, "levels have not been filled in"),
    "no level": ({"levels": []}, "at least two different values"),
    "one level": ({"levels": ["A"]}, "at least two different values"),
    "a level twice": ({"levels": ["A", "B", "A"]}, "at least two different values"),
    "levels with one text": ({"levels": ["1", 1]}, "at least two different values"),
    "levels with one value": ({"levels": [1, 1.0]}, "at least two different values"),
    "true is one": ({"levels": [1, True]}, "at least two different values"),
    "levels as a text": ({"levels": "AB"}, "levels must be a list"),
    "a list as a level": ({"levels": ["A", ["B"]]}, "strings, finite numbers or booleans"),
    "nothing as a level": ({"levels": ["A", None]}, "strings, finite numbers or booleans"),
    "a level that is not a number": ({"levels": [0.0, math.nan]}, "strings, finite numbers or booleans"),
    "the word drop as a level": ({"levels": ["keep", "drop"]}, '"drop" cannot be a level'),
    "half a surrogate pair": ({"levels": ["A", "\ud800"]}, "must not contain control characters"),
    "missing not a level": ({"levels": ["A", "B"], "missing": "C"}, "missing must be one of the declared levels"),
    "missing of another type": ({"levels": [0, 1], "missing": True}, "missing must be one of the declared levels"),
    "missing as text": ({"levels": [0, 1], "missing": "1"}, "missing must be one of the declared levels"),
    "missing as float": ({"levels": [0, 1], "missing": 1.0}, "missing must be one of the declared levels"),
    "other not a level": ({"levels": ["A", "B"], "other": "C"}, "other must be one of the declared levels"),
    "other drops": ({"levels": ["A", "B"], "other": "drop"}, "other must be one of the declared levels"),
    "unknown key": ({"bounds": [0, 1], "bound": 3}, "unknown key (found: bound)"),
    "a key that is no text": ({"bounds": [0, 1], 3: 3}, "unknown key (found: 3)"),
    "neither": ({"missing": 1}, "exactly one of bounds and levels must be declared (found: neither)"),
    "both": ({"bounds": [0, 1], "levels": ["A", "B"]}, "exactly one of bounds and levels must be declared (found: both)"),
    "no table": (3, "a column is declared with bounds or levels"),
}


@pytest.mark.parametrize(("declared", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_wrong_declaration_is_refused_by_name(declared: Any, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        column_from_dict("pulse", declared)
    assert message in str(caught.value)
    assert "column 'pulse'" in str(caught.value)


ACCEPTED: dict[str, dict[str, Any]] = {
    "whole numbers": {"bounds": [0, 1]},
    "floats": {"bounds": [-1e300, 1e300]},
    "close together": {"bounds": [1.0, 1.0 + 2**-50]},
    "missing at a bound": {"bounds": [0, 1], "missing": 0},
    "missing drops": {"bounds": [0, 1], "missing": "drop"},
    "texts": {"levels": ["A", "B"]},
    "an empty text": {"levels": ["", "B"]},
    "booleans": {"levels": [False, True], "missing": True},
    "numbers": {"levels": [1, 2, 3.5], "missing": 3.5, "other": 1},
    "mixed": {"levels": ["A", 1, 2.5, False]},
    "levels drop": {"levels": ["A", "B", "rest"], "missing": "drop", "other": "rest"},
}


@pytest.mark.parametrize("declared", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_right_declaration_reads_and_writes_the_same(declared: dict[str, Any]) -> None:
    column = column_from_dict("pulse", declared)
    assert column.to_dict() == declared
    assert column_from_dict("pulse", column.to_dict()) == column


def test_a_tuple_serves_as_a_list() -> None:
    assert column_from_dict("a", {"bounds": (0, 1)}) == Numeric("a", 0, 1)
    assert column_from_dict("a", {"levels": ("A", "B")}) == Categorical("a", ("A", "B"))


@pytest.mark.parametrize(
    ("missing", "other", "fill", "unseen"),
    [
        (None, None, "A", "A"),
        ("B", None, "B", "B"),
        (None, "C", "C", "C"),
        ("B", "C", "B", "C"),
        ("drop", None, "drop", "drop"),
        ("drop", "C", "drop", "C"),
    ],
)
def test_what_missing_and_unseen_become(missing: str | None, other: str | None, fill: str, unseen: str) -> None:
    column = Categorical("ward", ("A", "B", "C"), missing, other)
    assert (column.fill, column.unseen) == (fill, unseen)


@pytest.mark.parametrize(("missing", "fill"), [(None, 15.0), (10, 10.0), (20.0, 20.0), ("drop", "drop")])
def test_what_a_missing_number_becomes(missing: Any, fill: object) -> None:
    found = Numeric("a", 10, 20, missing).fill
    assert found == fill
    assert type(found) is type(fill)


def test_two_levels_are_told_from_more() -> None:
    assert Categorical("a", ("A", "B")).two_level
    assert not Categorical("a", ("A", "B", "C")).two_level


def test_numpy_floats_are_floats() -> None:
    column = Numeric("a", np.float64(1.0), np.float64(3.0))
    assert (column.centre, column.half_width) == (2.0, 1.0)


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, finite)
def test_the_middle_lies_within_any_bounds_and_fills_missing_cells(lower: float, upper: float) -> None:
    assume(lower < upper)
    try:
        column = Numeric("a", lower, upper)
    except DeclarationError as error:
        assert "distance between the bounds" in str(error)
        assume(False)
    assert lower <= column.centre <= upper
    assert column.fill == column.centre
    assert 0 < column.half_width < math.inf
    scaled = (np.array([lower, upper]) - column.centre) / column.half_width
    assert np.all(np.abs(scaled) <= 1 + 1e-6) or column.half_width < 1e-9 * max(abs(lower), abs(upper))
