"""The holder's side of a model release: its rounds, and what stops them. What holds for every kind is in `test_contract`."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.holder.asked import ROWS, made_table, order_of
from tests.unit.holder.asked import events as events
from tests.unit.holder.one_regression import MODEL
from tests.unit.recorder import Recorder

import noisewise as nw
from noisewise.data.reading import RowCounter
from noisewise.data.statistics.model import ModelRows
from noisewise.errors import DataError, DeclarationError, NoisewiseError
from noisewise.holder.model import STOPPED
from noisewise.holder.plan import plan_of
from noisewise.privacy.mechanisms.model import ModelDraws
from noisewise.run import QUIET, Run

make = MODEL.release
schema_with = MODEL.schema
FAMILIES = {"gaussian": "stay ~ age + ward", "logistic": "smoker ~ age + ward", "probit": "smoker ~ age + ward",
            "poisson": "visits ~ age + ward", "negative-binomial": "visits ~ age + ward"}


@pytest.fixture
def ledger(tmp_path: Path) -> nw.Ledger:
    return nw.Ledger.open(tmp_path / "table.ledger", epsilon=100.0, delta=1e-3, rule="basic")


def before_round(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]) -> None:
    """Do this before the pass of this round."""
    own, passes = ModelRows.round, []

    def watched(self: ModelRows, *arguments: Any, **options: Any) -> Any:
        passes.append(1)
        if len(passes) == number:
            act()
        return own(self, *arguments, **options)

    monkeypatch.setattr(ModelRows, "round", watched)


# What is released ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_and_adjacency(family: str, adjacency: str, tmp_path: Path) -> None:
    made = make(schema=schema_with(adjacency), family=family, formula=FAMILIES[family], epsilon=5.0)
    one = made.contents
    one.check_promise()
    assert nw.load(made.save(tmp_path / "made.nwr")) == made
    assert 1 <= len(one.rounds) <= 7 and one.rounds[-1].point.spread == (family not in ("logistic", "probit"))
    assert not any(each.point.spread for each in one.rounds[:-1])
    assert sum(one.shares()) == pytest.approx(1.0) and one.shares()[0] == pytest.approx(0.04, rel=1e-3)


def test_with_hardly_any_noise_it_finds_the_least_squares_fit() -> None:
    """Clipping at 2.3 standard deviations hardly matters for normal residuals."""
    rows, made = made_table(), make(epsilon=1e6, delta=0.01)
    x = np.column_stack([np.ones(ROWS), rows["age"], rows["ward"] == "B", rows["ward"] == "C"]).astype(float)
    fitted, residual = np.linalg.lstsq(x, rows["stay"], rcond=None)[:2]
    last = made.contents.last
    assert last.point.coefficients == pytest.approx(fitted, abs=1.0)
    assert last.point.coefficients[1] == pytest.approx(fitted[1], abs=0.02)
    assert last.point.scale == pytest.approx(np.sqrt(residual[0] / ROWS), rel=0.15)


def test_the_rounds_go_on_where_a_release_ended() -> None:
    first = make(epsilon=50.0)
    last = first.contents.last
    start = {"coefficients": last.point.coefficients.tolist(), "coordinates": last.point.coordinates.tolist(),
             "scale": last.point.scale}
    [alone] = make(start=start, epsilon=50.0).contents.rounds
    assert np.array_equal(alone.point.coefficients, last.point.coefficients)
    # The same directions, as long as this noise makes best; a point is rounded to the values that were measured with.
    ratio = alone.point.coordinates / last.point.coordinates
    assert np.allclose(ratio, ratio.flat[0], rtol=1e-6)
    assert alone.noise.score < last.noise.score  # nothing was spent on finding it


def test_rounds_can_be_limited() -> None:
    assert len(make(rounds=0, epsilon=9.0).contents.rounds) == 1
    assert len(make(rounds=1, epsilon=9.0).contents.rounds) <= 2


@pytest.mark.parametrize("unit", ["row", {"column": "patient", "max_rows": 2}])
def test_a_unit_column_may_have_several_rows(unit: Any) -> None:
    made = make(schema=schema_with("replace-one", unit))
    assert (made.contents.rows is None) == (unit != "row") == (made.contents.look.rows_noise > 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_columns_that_tell_nothing_apart_do_no_harm(family: str) -> None:
    """Three columns that are the same, one of a single value, and a response without variation."""
    rows, response = made_table(), FAMILIES[family].partition(" ")[0]
    rows |= {"twin": rows["age"], "other": 116 - rows["age"], "fixed": np.full(ROWS, 3.0)}
    columns = {**schema_with().to_dict()["columns"], "twin": {"bounds": [18, 98]}, "other": {"bounds": [18, 98]},  # type: ignore[dict-item]
               "fixed": {"bounds": [0, 10]}}
    schema = schema_with(columns=columns)
    formula = f"{response} ~ age + twin + other + fixed"
    assert np.all(np.isfinite(make(rows, schema, family=family, formula=formula, epsilon=100.0).contents.last.score))
    rows[response] = np.repeat(rows[response][:1], ROWS)
    assert np.all(np.isfinite(make(rows, schema, family=family, formula=formula, epsilon=100.0).contents.last.score))


# What is refused before anything is spent -----------------------------------------------------------------------------------


def test_fewer_rows_than_coefficients_are_refused_before_the_charge(events: list[str]) -> None:
    few = {name: values[:3] for name, values in made_table().items()}
    with pytest.raises(DataError, match="as many rows as coefficients; nothing was spent") as refused:
        make(few, ledger=Recorder(events))
    assert events == [] and refused.value.found == "3 rows, 4 coefficients"


def test_a_private_number_of_rows_is_not_told() -> None:
    few = {name: values[:3] for name, values in made_table().items()}
    assert make(few, schema_with("add-remove")).contents.rows is None


@pytest.mark.parametrize(("bounds", "family"), [
    ([-1e200, 1e200], "gaussian"), ([0, 1e-200], "gaussian"), ([1e15, 1e15 + 1], "gaussian"), ([0, 1e9], "poisson"),
    ([0, 10**8], "negative-binomial"),
])
def test_bounds_with_which_floats_cannot_compute_are_refused(bounds: list[float], family: str) -> None:
    columns = {"y": {"bounds": bounds}, "x": {"bounds": [0, 1]}}
    with pytest.raises(DeclarationError) as refused:
        make({}, schema_with(columns=columns), formula="y ~ x", family=family)
    assert refused.value.found and refused.value.remedy


# The order of things, and what stops the rounds ---------------------------------------------------------------------------


def test_the_rounds_are_read_after_the_charge(events: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelRows, "look", noted(ModelRows.look, events, "look"))
    monkeypatch.setattr(ModelRows, "round", noted(ModelRows.round, events, "round"))
    make(ledger=Recorder(events), epsilon=20.0)
    assert order_of(events) == ["look", "charge", "noise", "round", "complete"]
    assert events.count("charge") == 1 and events.count("noise") == 1 + events.count("round") > 2


def noted(call: Any, events: list[str], name: str) -> Any:
    def called(*arguments: Any, **options: Any) -> Any:
        events.append(name)
        return call(*arguments, **options)

    return called


def test_rows_that_change_between_two_passes_are_refused_and_the_charge_stays(
    ledger: nw.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, path = made_table(), tmp_path / "rows.parquet"
    pq.write_table(pa.table(rows), path)

    def change() -> None:
        rows["age"][7] += 1
        pq.write_table(pa.table(rows), path)

    before_round(monkeypatch, 2, change)
    with pytest.raises(DataError, match="the same in every round.*nobody is writing to; the budget stays charged") as refused:
        make(path, ledger=ledger, to=tmp_path / "made.nwr", epsilon=20.0)
    assert refused.value.found == "other rows than in the first pass"
    assert [entry.what for entry in ledger.entries()] == ["opened", "charged"] and len(ledger.unfinished()) == 1
    assert not (tmp_path / "made.nwr").exists()


def test_a_file_that_is_gone_says_that_the_charge_stays(
    ledger: nw.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(made_table()), path)
    before_round(monkeypatch, 1, path.unlink)
    with pytest.raises(NoisewiseError, match="the budget stays charged, and nothing was released"):
        make(path, ledger=ledger)
    assert [entry.what for entry in ledger.entries()] == ["opened", "charged"]


def test_any_other_failure_says_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise MemoryError

    before_round(monkeypatch, 1, fail)
    with pytest.raises(MemoryError) as failed:
        make()
    assert failed.value.__notes__ == ["the budget stays charged, and nothing was released"]


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_between_rounds(presses: int, ledger: nw.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: the release is finished first. Twice: it stops at once, and the charge counts."""
    def press() -> None:
        for _ in range(presses):
            os.kill(os.getpid(), signal.SIGINT)

    before_round(monkeypatch, 2, press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt, match="again at no cost" if presses == 1 else re.escape(STOPPED)):
            make(ledger=ledger, to=tmp_path / "made.nwr", epsilon=20.0)
    finally:
        signal.signal(signal.SIGINT, before)
    made = [entry.what for entry in ledger.entries()]
    assert made == ["opened", "charged", *(["released"] if presses == 1 else [])]
    assert not (tmp_path / "made.nwr").exists()
    if presses == 1:
        for name in ("perturb_look", "perturb_round"):
            monkeypatch.setattr(ModelDraws, name, lambda *_: pytest.fail("noise is not drawn again"))
        make({}, ledger=ledger, epsilon=20.0)
        assert len(ledger.charges()) == 1


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_in_the_first_pass_costs_nothing(ledger: nw.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowCounter, "add", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            make(ledger=ledger)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ledger.spent().epsilon == 0


# Progress ------------------------------------------------------------------------------------------------------------------


def test_each_pass_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    said, own = [], Run.bar

    def bar(self: Run, description: str, unit: str) -> Any:
        said.append(description)
        return own(self, description, unit)

    monkeypatch.setattr(Run, "bar", bar)
    made = make(epsilon=20.0)
    assert said == ["Reading rows", *(f"Round {number}" for number in range(1, len(made.contents.rounds) + 1))]
    assert len(said) > 2


def test_a_callback_hears_of_every_pass() -> None:
    heard: list[tuple[int, int | None]] = []
    made = make(epsilon=20.0, run=Run(progress=lambda done, total: heard.append((done, total))))
    assert heard == [(ROWS, ROWS)] * (1 + len(made.contents.rounds))


# What is planned -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_the_plan_has_the_noise_of_the_release(family: str, adjacency: str) -> None:
    kind = nw.Model(FAMILIES[family], family=family)
    blank = plan_of(kind, schema_with(adjacency), 1.0, 1e-6).blank.contents
    made = make({name: values for name, values in made_table().items()}, schema_with(adjacency), formula=FAMILIES[family],
                family=family, epsilon=1.0, delta=1e-6, run=QUIET).contents
    assert (made.look.noise, made.look.rows_noise) == (blank.look.noise, blank.look.rows_noise)
    assert not np.any(blank.look.sums) and not any(np.any(one.score) for one in blank.rounds)
    blank.check_promise()
