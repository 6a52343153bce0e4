"""Private bounds from a table: refusals before anything is spent, the order of events, repeats, and answers that make sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.recorder import Recorder

import noisewise
from noisewise import private_bounds
from noisewise.errors import BudgetError, DataError, DeclarationError, NoisewiseError, PrivacyError
from noisewise.privacy.mechanisms import Selection

ROWS = 4000
RANDOM = np.random.default_rng(7)
TABLE: dict[str, Any] = {
    "age": RANDOM.integers(18, 99, ROWS),
    "stay": RANDOM.gamma(2.0, 3.0, ROWS),
    "person": np.arange(ROWS) // 2,
    "name": np.array(["x"] * ROWS),
}
PUBLIC: dict[str, Any] = {"epsilon": 2.0, "adjacency": "replace-one", "digits": 2}


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
    assert (found.adjacency, found.unit) == (people["adjacency"], people.get("unit", "row"))
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
    with pytest.raises(PrivacyError, match=r"so few rows .* 10 rows, \d+ are needed"):
        private_bounds({"x": np.zeros(10)}, "x", epsilon=1.0, adjacency="replace-one", ledger=ledger)
    assert not ledger.charges
    persons = {"x": np.zeros(10), "person": np.arange(10)}  # where someone may have several rows, their number is not public
    assert private_bounds(persons, "x", epsilon=1.0, adjacency="replace-one", unit={"column": "person", "max_rows": 2}, digits=1)


REFUSED: dict[str, tuple[Any, dict[str, Any], type[NoisewiseError], str]] = {
    "no adjacency": ("age", {"adjacency": "?"}, DeclarationError, "adjacency must be declared"),
    "unit": ("age", {"unit": "person"}, DeclarationError, "unit must be"),
    "unit is the column": ("person", {"unit": {"column": "person", "max_rows": 2}}, DeclarationError, "cannot be an analysed"),
    "partition": ("age", {"partition": {"year": 2024}}, DeclarationError, "partition"),
    "epsilon": ("age", {"epsilon": 0.0}, PrivacyError, "epsilon must be positive"),
    "tail": ("age", {"tail": 0.5}, DeclarationError, "tail"),
    "digits": ("age", {"digits": 9}, DeclarationError, "significant digits"),
    "edition": ("age", {"edition": "a\nb"}, DeclarationError, "edition"),
    "ledger": ("age", {"ledger": 3}, PrivacyError, "a ledger must be able"),
    "no columns": ([], {}, DeclarationError, "bounds are estimated of columns"),
    "no name": ([3], {}, DeclarationError, "named by texts"),
    "twice": (["age", "age"], {}, DeclarationError, "named once"),
    "both known": ({"age": (0, 100)}, {}, DeclarationError, "nothing to estimate"),
    "not a pair": ({"age": 5}, {}, DeclarationError, "two numbers"),
    "not finite": ({"age": (float("inf"), None)}, {}, DeclarationError, "two numbers"),
    "no room": ({"age": (1e15, None)}, {}, DeclarationError, "leave room"),
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


def test_the_budget_is_charged_before_anything_is_drawn_and_after_the_rows_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    choose = Selection.choose

    def recorded(self: Selection, scores: Any) -> int:
        events.append("draw")
        return choose(self, scores)

    monkeypatch.setattr(Selection, "choose", recorded)
    private_bounds(TABLE, "age", ledger=Recorder(events), progress=lambda done, total: events.append("read"), **PUBLIC)
    assert events == ["read", "charge", "draw", "draw", "complete"]
    events.clear()
    with pytest.raises(BudgetError):
        private_bounds(TABLE, "age", ledger=Recorder(events, refuse=True), **PUBLIC)
    assert events == ["charge"]


def test_what_is_charged_says_what_for() -> None:
    ledger = Recorder([])
    private_bounds(TABLE, ["age", "stay"], ledger=ledger, edition="May", **PUBLIC)
    assert ledger.charges == [(2.0, 0.0, "bounds of age, stay, edition May")]


def test_a_repeat_is_answered_from_the_ledger(tmp_path: Path) -> None:
    ledger = noisewise.Ledger.open(tmp_path / "budget.db", epsilon=5.0)
    first = private_bounds(TABLE, "stay", ledger=ledger, **PUBLIC)
    nobody: dict[str, Any] = {}  # no row is read
    assert private_bounds(nobody, "stay", ledger=ledger, **PUBLIC) == first
    assert ledger.spent().epsilon == 2.0 and not ledger.unfinished() and not ledger.verify()
    private_bounds(TABLE, "stay", ledger=ledger, edition="May", **PUBLIC)
    assert ledger.spent().epsilon == 4.0
    with pytest.raises(BudgetError):
        private_bounds(TABLE, "age", ledger=ledger, **PUBLIC)


def test_a_partition_is_charged_to_its_people_only(tmp_path: Path) -> None:
    ledger = noisewise.Ledger.open(tmp_path / "budget.db", epsilon=2.0)
    for year in ("2023", "2024"):
        private_bounds(TABLE, "stay", ledger=ledger, partition={"year": year}, **PUBLIC)
    assert ledger.spent().epsilon == 2.0
