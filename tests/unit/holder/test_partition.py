"""The holder's side of a partition release: what is charged, and what it then says. More is in `test_contract`."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.holder.one_regression import QUESTIONS

import noisewise as nw
from noisewise.data.splitting.parts import GivenSplit
from noisewise.data.statistics import partition
from noisewise.errors import DataError
from noisewise.holder import partition as holder_partition
from noisewise.privacy.mechanisms.partition import STEPS
from noisewise.run import QUIET
from noisewise.schema.partition import on_scale
from noisewise.schema.search_grid import centre_candidates, limits_about, width_candidates

ROWS = 400
FORMULA = "stay ~ age + ward"


def made_rows(count: int = ROWS) -> dict[str, NDArray[Any]]:
    generator = np.random.default_rng(12)
    age = generator.normal(50, 20, count)
    return {
        "stay": 0.3 * age + generator.normal(0, 4, count),
        "age": age,
        "ward": generator.choice(["A", "B", "C"], count),
        "patient": np.repeat(np.arange(count), 3)[:count],
    }


def schema_with(adjacency: str = "replace-one", unit: Any = "row", **more: Any) -> nw.Schema:
    return nw.Schema.from_dict({"adjacency": adjacency, "unit": unit, **more, "columns": {
        "stay": {"bounds": "unknown"}, "age": {"bounds": "unknown"}, "ward": {"levels": ["A", "B", "C"]},
        "unused": {"bounds": [0, 1]}}})


def make(data: Any = None, schema: nw.Schema | None = None, **options: Any) -> nw.Release:
    asked = {name: options.pop(name, usual) for name, usual in
             (("formula", FORMULA), ("parts", 8), ("ask", QUESTIONS), ("prior", None), ("mechanism", None))}
    options = {"epsilon": 0.9, "run": QUIET} | options
    return nw.release(made_rows() if data is None else data, schema or schema_with(), nw.Partition(**asked), **options)


EMPTY: dict[str, dict[str, NDArray[Any]]] = {
    "no rows": {name: values[:0] for name, values in made_rows().items()},
    "fewer rows than parts": {name: values[:3] for name, values in made_rows().items()},
    "one value": {**made_rows(), "age": np.full(ROWS, 3.0), "stay": np.zeros(ROWS)},
    "infinite": {**made_rows(), "age": np.full(ROWS, np.inf)},
    "missing": {**made_rows(), "stay": np.full(ROWS, np.nan)},
    "largest": {**made_rows(), "age": np.resize([1.7e308, -1.7e308], ROWS)},
    "smallest": {**made_rows(), "age": np.resize([5e-324, 1e-200, 0.0], ROWS)},
    "texts": {**made_rows(), "age": np.resize(np.array(["a", None, "1e999", b"", 7], dtype=object), ROWS)},
    "unknown levels": {**made_rows(), "ward": np.full(ROWS, "?")},
}


@pytest.mark.parametrize("case", EMPTY)
@pytest.mark.parametrize("unit", ["row", {"column": "patient", "max_rows": 2}])
def test_no_table_is_refused_for_what_is_in_it(case: str, unit: Any) -> None:
    """Whatever the rows hold, there is a release, and it says nothing about how many parts could be fitted."""
    for adjacency in ("replace-one", "add-remove"):
        made = make(EMPTY[case], schema_with(adjacency, unit), epsilon=1.0)
        assert len(made.contents.numbers) == 6 and all(np.isfinite(number.sum) for number in made.contents.numbers)


def test_whatever_is_selected_there_are_limits_that_doubles_can_tell_apart() -> None:
    """At a small epsilon a far centre and a tiny distance are often selected together; the budget is spent by then."""
    for centre in centre_candidates()[[0, 1, 1980, -1]]:
        for distance in width_candidates()[[0, 60, -1]]:
            lower, upper = limits_about(float(centre), float(distance))
            found = on_scale(np.array([lower, (lower + upper) / 2, upper, np.nan, np.inf, -np.inf]), (lower, upper), STEPS)
            assert found.tolist() == [0, STEPS // 2, STEPS, STEPS // 2, STEPS, 0]
    for _ in range(60):
        make(ask=QUESTIONS[1], epsilon=1e-3, parts=2)


def test_with_hardly_any_noise_it_holds_the_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of the parts, computed one by one without the library: normal scores of t probabilities, clipped."""
    from scipy import stats

    belongs = np.random.default_rng(1).permutation(np.arange(ROWS) % 4)
    monkeypatch.setattr(partition, "BalancedSplit", lambda rows, parts: GivenSplit(belongs))
    made = make(formula="stay ~ age", parts=4, ask={**QUESTIONS[0], "at": [0.3]}, epsilon=1e6)
    rows, total = made_rows(), 0.0
    for part in range(4):
        x = np.column_stack([np.ones((belongs == part).sum()), rows["age"][belongs == part]])
        y = rows["stay"][belongs == part]
        estimate, rest, *_ = np.linalg.lstsq(x, y)
        scale = np.sqrt(rest[0] / (len(y) - 2) * np.linalg.inv(x.T @ x)[1, 1])
        score = stats.norm.ppf(stats.t.cdf((0.3 - estimate[1]) / scale, len(y) - 2))
        total += (np.clip(score, -1.5, 1.5) + 1.5) / 3.0
    [number] = made.contents.numbers
    assert number.sum == pytest.approx(total, abs=1e-3)
    assert made.contents.noise == pytest.approx(1e-6)


def test_an_error_in_the_data_pass_quotes_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that breaks off: nothing of its rows is in what is raised, nor in what that was raised from."""
    import pyarrow as pa

    table = pa.table({"stay": [12345.678] * 3, "age": [1.0] * 3, "ward": ["secret"] * 3})

    def broken() -> Any:
        yield from table.to_batches()
        raise pa.ArrowInvalid("row 3: 12345.678 secret")

    reader = pa.RecordBatchReader.from_batches(table.schema, broken())
    with pytest.raises(DataError) as raised:
        make(reader, schema_with("add-remove"))
    assert raised.value.__context__ is None is raised.value.__cause__
    assert "secret" not in "".join(traceback.format_exception(raised.value))


# The ledger --------------------------------------------------------------------------------------------------------------

OTHER: dict[str, dict[str, Any]] = {
    "other points": {"ask": [{**QUESTIONS[0], "at": [0]}, *QUESTIONS[1:]]},
    "other limits": {"ask": [*QUESTIONS[:3], {**QUESTIONS[3], "limits": [-8, 8]}]},
    "another way to combine": {"ask": [{**QUESTIONS[0], "combine": "fisher"}, *QUESTIONS[1:]]},
    "other shares": {"ask": [QUESTIONS[0], {**QUESTIONS[1], "centre_share": 0.3}, *QUESTIONS[2:]]},
    "declared bounds": {"ask": [QUESTIONS[0], {**QUESTIONS[1], "bounds": [-1, 1]}, *QUESTIONS[2:]]},
    "another prior of the coefficients": {"ask": [*QUESTIONS[:2], {**QUESTIONS[2], "prior": "hyper-g"}, QUESTIONS[3]]},
    "a question less": {"ask": QUESTIONS[:3]},
    "other parts": {"parts": 9},
    "another prior": {"prior": {"name": "zellner", "g": 400}},
    "another g": {"prior": {"name": "zellner", "g": 401}},
    "another formula": {"formula": "stay ~ age + ward + age:ward"},
    "another epsilon": {"epsilon": 0.8},
    "a delta": {"delta": 1e-6},
    "another delta": {"delta": 2e-6},
    "another edition": {"edition": "2027"},
    "another schema": {"schema": schema_with(stratum={"year": "2026"})},
}


@pytest.fixture
def ledger(tmp_path: Path) -> nw.Ledger:
    return nw.Ledger.open(tmp_path / "table.ledger", epsilon=100.0, delta=1e-3)


def charges(ledger: nw.Ledger) -> int:
    return len(ledger.charges())


def test_the_same_request_gets_the_stored_release(ledger: nw.Ledger) -> None:
    first = make(ledger=ledger)
    assert charges(ledger) == 1
    again = [make(ledger=ledger), make(ledger=ledger, prior="flat"), make(ledger=ledger, mechanism="k-norm"),
             make(ledger=ledger, formula=f" {FORMULA} "), make({}, ledger=ledger)]
    written = [nw.PosteriorProbability("age", at=(0.0, 0.5)), nw.PosteriorQuantile({"age": 1}),
               nw.BayesFactor(["ward[T.B]", "ward[T.C]"]), nw.Criterion("bic", ("age", "ward[T.B]"))]
    again.append(make(ledger=ledger, ask=written))
    assert charges(ledger) == 1 and all(one == first for one in again)


def test_every_other_request_is_charged(ledger: nw.Ledger) -> None:
    first = make(ledger=ledger)
    for place, (case, changes) in enumerate(OTHER.items(), start=2):
        schema = changes.get("schema")
        made = make(schema=schema, ledger=ledger, **{name: value for name, value in changes.items() if name != "schema"})
        assert charges(ledger) == place, case
        assert made != first


def test_more_rows_of_a_unit_are_another_request(ledger: nw.Ledger) -> None:
    for count in (3, 4):
        make(schema=schema_with("add-remove", {"column": "patient", "max_rows": count}), ledger=ledger)
    assert charges(ledger) == 2


def test_a_release_of_another_kind_is_charged(ledger: nw.Ledger) -> None:
    columns = {"stay": {"bounds": [0, 60]}, "age": {"bounds": [0, 99]}}
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": columns})
    make(schema=schema, formula="stay ~ age", ask=QUESTIONS[0], ledger=ledger)
    nw.release(made_rows(), schema, epsilon=0.9, ledger=ledger, run=QUIET)
    assert charges(ledger) == 2


def test_the_plan_is_what_is_released() -> None:
    asked = [nw.PosteriorProbability("age", at=(0.0,))]
    planned = holder_partition.plan_partition(schema_with(), asked, 0.9, 1e-6)
    made = make(ask=asked, delta=1e-6)
    assert made.contents.noise == planned.scale and made.contents.statement == planned.statement()
