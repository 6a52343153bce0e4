"""Private bounds from a table: refusals before anything is spent, the order of events, repeats, and answers that make sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.recorder import Recorder

import noisewise as nw
from noisewise.errors import DataError, DeclarationError, NoisewiseError, PrivacyError
from noisewise.releases.contents.bounds import BoundsContribution
from noisewise.run import QUIET

ROWS = 4000
RANDOM = np.random.default_rng(7)
TABLE: dict[str, Any] = {
    "age": RANDOM.integers(18, 99, ROWS),
    "stay": RANDOM.gamma(2.0, 3.0, ROWS),
    "person": np.arange(ROWS) // 2,
    "name": np.array(["x"] * ROWS),
}
PUBLIC: dict[str, Any] = {"epsilon": 2.0, "adjacency": "replace-one", "digits": 2}
UNKNOWN: dict[str, Any] = {"bounds": "unknown"}


def private_bounds(data: Any, of: Any, *, adjacency: str, unit: Any = "row", tail: float = 0.005, digits: int = 3,
                   **request: Any) -> BoundsContribution:
    columns = dict.fromkeys(("age", "stay", "weight", "name", "x"), UNKNOWN) | {"named": {"levels": ["x", "y"]}}
    schema = nw.Schema.from_dict({"adjacency": adjacency, "unit": unit, "columns": columns})
    made = nw.release(data, schema, nw.Bounds(of, tail, digits), **{"run": QUIET, **request})
    assert isinstance(made.contents, BoundsContribution)
    return made.contents


@pytest.mark.parametrize("people", [
    {"adjacency": "replace-one"}, {"adjacency": "add-remove"},
    {"adjacency": "replace-one", "unit": {"column": "person", "max_rows": 2}},
    {"adjacency": "add-remove", "unit": {"column": "person", "max_rows": 2}},
], ids=str)
def test_ages_are_found(people: dict[str, Any]) -> None:
    """Each whole age has about 50 rows, and 200 are to be left outside: twice as many, or none, once in e**50."""
    found = private_bounds(TABLE, "age", epsilon=4.0, digits=2, tail=0.05, **people)
    lower, upper = found["age"]
    assert 14 <= lower <= 26 and 90 <= upper <= 102
    assert found.rows == (ROWS if people == {"adjacency": "replace-one"} else None)
    assert found.columns[0].asked == ("lower", "upper") and found.epsilon == 4.0


def test_a_known_bound_is_kept_and_more_is_known_of_the_other() -> None:
    both = private_bounds(TABLE, ["age", "stay"], **PUBLIC)
    one = private_bounds(TABLE, {"age": (None, 120), "stay": (0, None)}, **PUBLIC)
    assert one["stay"][0] == 0 and one["age"][1] == 120
    assert [column.asked for column in one.columns] == [("lower",), ("upper",)]
    assert all(fewer.error < more.error for fewer, more in zip(one.columns, both.columns, strict=True))


def test_a_column_of_one_value_has_bounds_around_it() -> None:
    lower, upper = private_bounds({"x": np.full(ROWS, 5.0)}, "x", tail=0.1, **PUBLIC)["x"]
    assert lower < 5 < upper and upper - lower <= 0.4


def test_infinite_huge_and_missing_cells_are_no_failure() -> None:
    cells = np.concatenate([TABLE["stay"], [np.inf, -np.inf, np.nan, 1e300]])
    lower, upper = private_bounds({"x": cells}, "x", epsilon=8.0, adjacency="add-remove", tail=0.05)["x"]
    assert -1 <= lower < upper < 40


@pytest.mark.parametrize("cells", [[], [None, None], [1.0]])
def test_too_few_numbers_are_no_failure_where_their_number_is_secret(cells: list[float | None]) -> None:
    found = private_bounds({"x": pa.array(cells, pa.float64())}, "x", epsilon=1.0, adjacency="add-remove", digits=1)
    assert found.columns[0].rows_needed > 100


def test_too_few_rows_are_refused_where_their_number_is_public_and_nothing_is_spent() -> None:
    ledger = Recorder([])
    with pytest.raises(PrivacyError, match=r"nothing was spent.* 10 rows; \d+ are needed"):
        private_bounds({"x": np.zeros(10)}, "x", epsilon=1.0, adjacency="replace-one", ledger=ledger)
    assert not ledger.charges
    persons = {"x": np.zeros(10), "person": np.arange(10)}  # where someone may have several rows, their number is not public
    assert private_bounds(persons, "x", epsilon=1.0, adjacency="replace-one", unit={"column": "person", "max_rows": 2}, digits=1)


REFUSED: dict[str, tuple[Any, dict[str, Any], type[NoisewiseError], str]] = {
    "tail": ("age", {"tail": 0.5}, DeclarationError, "tail"),
    "digits": ("age", {"digits": 9}, DeclarationError, "significant digits"),
    "no columns": ([], {}, DeclarationError, "must name the columns"),
    "no name": ([3], {}, DeclarationError, "must name the columns"),
    "twice": (["age", "age"], {}, DeclarationError, "named only once"),
    "both known": ({"age": (0, 100)}, {}, DeclarationError, "nothing to estimate"),
    "not a pair": ({"age": 5}, {}, DeclarationError, "pair of numbers"),
    "not finite": ({"age": (float("inf"), None)}, {}, DeclarationError, "pair of numbers"),
    "no room": ({"age": (1e15, None)}, {}, DeclarationError, "leave room"),
    "not declared": ("height", {}, DeclarationError, "height"),
    "levels": ("named", {}, DeclarationError, "has levels"),
    "a delta": ("age", {"delta": 1e-6}, PrivacyError, "delta"),
    "no such column": ("weight", {}, DataError, "no column 'weight'"),
    "no number": ("name", {}, DataError, "declared as a number"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_spend_nothing(case: str) -> None:
    columns, more, error, words = REFUSED[case]
    events: list[str] = []
    with pytest.raises(error, match=words):
        private_bounds(TABLE, columns, **{**PUBLIC, "ledger": Recorder(events), **more})
    assert not events
