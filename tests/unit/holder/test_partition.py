"""The holder's side of a partition release: the order of things, what is refused, what is charged, and what it then says."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.recorder import Recorder

import noisewise as nw
from noisewise.data import part_grams
from noisewise.data.split import GivenSplit
from noisewise.errors import BudgetError, DataError, DeclarationError, FormulaError, NoisewiseError, PrivacyError
from noisewise.holder import partition as holder_partition
from noisewise.parts.limits import centre_candidates, limits_about, width_candidates
from noisewise.parts.statistics import on_scale
from noisewise.privacy.partition import STEPS, PartitionMechanism

ROWS = 400
FORMULA = "stay ~ age + ward"
QUESTIONS: list[dict[str, Any]] = [
    {"ask": "posterior-probability", "of": "age", "at": [0, 0.5]},
    {"ask": "posterior-quantile", "of": "age"},
    {"ask": "bayes-factor", "of": "ward"},
    {"ask": "bic", "of": ["age", "ward[T.B]"]},
]


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


def make(data: Any = None, schema: nw.Schema | None = None, **options: Any) -> nw.PartitionRelease:
    options = {"kind": "partition", "formula": FORMULA, "parts": 8, "questions": QUESTIONS, "epsilon": 0.9,
               "progress": False} | options
    made = nw.release(made_rows() if data is None else data, schema or schema_with(), **options)
    assert isinstance(made, nw.PartitionRelease)
    return made


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happened in which order: rows read, ledger charged, limits selected, noise drawn."""
    happened: list[str] = []
    perturb, select, read = PartitionMechanism.perturb, PartitionMechanism.select, part_grams.part_moments

    def noted(name: str, call: Any) -> Any:
        def called(*arguments: Any, **options: Any) -> Any:
            happened.append(name)
            return call(*arguments, **options)

        return called

    monkeypatch.setattr(PartitionMechanism, "perturb", noted("noise", perturb))
    monkeypatch.setattr(PartitionMechanism, "select", noted("select", select))
    monkeypatch.setattr(part_grams, "part_moments", noted("rows", read))
    return happened


def test_the_budget_is_charged_once_before_limits_are_selected_and_noise_is_drawn(events: list[str]) -> None:
    ledger = Recorder(events)
    make(ledger=ledger)
    assert events == ["rows", "charge", "select", "select", "noise", "complete"]
    [(epsilon, delta, description)] = ledger.charges
    assert (epsilon, delta) == (0.9, 0.0)
    assert FORMULA in description and "partition" in description


def test_a_refused_charge_draws_nothing(events: list[str]) -> None:
    with pytest.raises(BudgetError, match="is spent"):
        make(ledger=Recorder(events, refuse=True))
    assert events == ["rows", "charge"]


WRONG: dict[str, tuple[dict[str, Any], type[Exception]]] = {
    "no formula": ({"formula": None}, DeclarationError),
    "formula that is no text": ({"formula": 5}, DeclarationError),
    "formula without response": ({"formula": "age"}, FormulaError),
    "column that was not declared": ({"formula": "stay ~ height"}, FormulaError),
    "terms": ({"terms": "age:ward"}, DeclarationError),
    "no parts": ({"parts": None}, DeclarationError),
    "one part": ({"parts": 1}, DeclarationError),
    "too many parts": ({"parts": 100_001}, DeclarationError),
    "parts that are no whole number": ({"parts": 8.0}, DeclarationError),
    "parts that are a boolean": ({"parts": True}, DeclarationError),
    "no questions": ({"questions": []}, DeclarationError),
    "questions that are none": ({"questions": None}, DeclarationError),
    "a question twice": ({"questions": [QUESTIONS[0], QUESTIONS[0]]}, DeclarationError),
    "a question about nothing": ({"questions": [{"ask": "bic", "of": "height"}]}, FormulaError),
    "a question that is not known": ({"questions": [{"ask": "mean", "of": "age"}]}, DeclarationError),
    "a question with other fields": ({"questions": [{"ask": "bic", "of": "age", "at": [0]}]}, DeclarationError),
    "limits the wrong way round": ({"questions": [{"ask": "bic", "of": "age", "limits": [3, -3]}]}, DeclarationError),
    "limits that are infinite": ({"questions": [{"ask": "bic", "of": "age", "limits": [-1, float("inf")]}]}, DeclarationError),
    "too many numbers": ({"questions": [{**QUESTIONS[0], "of": {"age": 1, "Intercept": weight}, "at": list(range(100))}
                                        for weight in range(1, 12)]}, NoisewiseError),
    "shares that leave nothing": ({"questions": [{"ask": "posterior-quantile", "of": "age", "centre_share": 0.6,
                                                  "width_share": 0.4}]}, PrivacyError),
    "two quantiles without bounds": ({"questions": [{"ask": "posterior-quantile", "of": of} for of in ("age", "Intercept")]},
                                     PrivacyError),
    "an unknown prior": ({"prior": "cauchy"}, DeclarationError),
    "zellner without g": ({"prior": "zellner"}, DeclarationError),
    "epsilon of 0": ({"epsilon": 0}, PrivacyError),
    "epsilon too small for 64 bits": ({"epsilon": 1e-13}, PrivacyError),
    "delta of 0": ({"delta": 0.0}, PrivacyError),
    "gaussian without delta": ({"mechanism": "gaussian"}, PrivacyError),
    "laplace for several numbers": ({"mechanism": "laplace"}, PrivacyError),
    "blocks": ({"blocks": {"x": 1}}, DeclarationError),
    "averaged rows": ({"average": 3}, DeclarationError),
    "parts of a gram release": ({"kind": "gram", "formula": None}, DeclarationError),
    "text that no file can hold": ({"formula": "stay ~ age\x1b"}, NoisewiseError),
    "an edition of two lines": ({"edition": "a\nb"}, DeclarationError),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_can_be_refused_without_rows_is_refused_before_they_are_opened(case: str, events: list[str], tmp_path: Path) -> None:
    changes, error = WRONG[case]
    with pytest.raises(error) as refused:
        make(tmp_path / "not there.parquet", ledger=Recorder(events), **changes)
    assert events == []
    assert isinstance(refused.value, NoisewiseError) and refused.value.found


def test_only_the_columns_of_the_formula_are_read() -> None:
    rows = made_rows()
    make({name: rows[name] for name in ("stay", "age", "ward")})
    with pytest.raises(DataError):
        make({name: rows[name] for name in ("stay", "age")})


@pytest.mark.parametrize(("adjacency", "unit", "words"), [
    ("replace-one", "row", "Replacing any one row"),
    ("add-remove", "row", "Adding or removing any one row"),
    ("replace-one", {"column": "patient", "max_rows": 3}, "Replacing all rows of any one value of patient (at most 3 rows)"),
    ("add-remove", {"column": "patient", "max_rows": 3}, "Adding or removing all rows of any one value of patient"),
])
@pytest.mark.parametrize("delta", [None, 3e-6])
def test_every_adjacency_and_unit(adjacency: str, unit: Any, words: str, delta: float | None, tmp_path: Path) -> None:
    schema = schema_with(adjacency, unit)
    made = make(schema=schema, delta=delta)
    assert made.statement.startswith(words) and "epsilon = 0.9" in made.statement
    assert made.rows == (ROWS if schema.rows_are_public else None) and made.balanced == schema.rows_are_public
    assert (made.mechanism, made.delta) == (("k-norm", 0.0) if delta is None else ("gaussian", 3e-6))
    assert nw.load(made.save(tmp_path / "made.nwr")) == made


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
        assert len(made.numbers) == 6 and all(np.isfinite(number.sum) for number in made.numbers)


def test_whatever_is_selected_there_are_limits_that_doubles_can_tell_apart() -> None:
    """At a small epsilon a far centre and a tiny distance are often selected together; the budget is spent by then."""
    for centre in centre_candidates()[[0, 1, 1980, -1]]:
        for distance in width_candidates()[[0, 60, -1]]:
            lower, upper = limits_about(float(centre), float(distance))
            found = on_scale(np.array([lower, (lower + upper) / 2, upper, np.nan, np.inf, -np.inf]), (lower, upper), STEPS)
            assert found.tolist() == [0, STEPS // 2, STEPS, STEPS // 2, STEPS, 0]
    for _ in range(60):
        make(questions=QUESTIONS[1], epsilon=1e-3, parts=2)


def test_with_hardly_any_noise_it_holds_the_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of the parts, computed one by one without the library: normal scores of t probabilities, clipped."""
    from scipy import stats

    belongs = np.random.default_rng(1).permutation(np.arange(ROWS) % 4)
    monkeypatch.setattr(part_grams, "BalancedSplit", lambda rows, parts: GivenSplit(belongs))
    made = make(formula="stay ~ age", parts=4, questions={**QUESTIONS[0], "at": [0.3]}, epsilon=1e6)
    rows, total = made_rows(), 0.0
    for part in range(4):
        x = np.column_stack([np.ones((belongs == part).sum()), rows["age"][belongs == part]])
        y = rows["stay"][belongs == part]
        estimate, rest, *_ = np.linalg.lstsq(x, y)
        scale = np.sqrt(rest[0] / (len(y) - 2) * np.linalg.inv(x.T @ x)[1, 1])
        score = stats.norm.ppf(stats.t.cdf((0.3 - estimate[1]) / scale, len(y) - 2))
        total += (np.clip(score, -1.5, 1.5) + 1.5) / 3.0
    [number] = made.numbers
    assert number.sum == pytest.approx(total, abs=1e-3)
    assert made.noise == pytest.approx(1e-6)


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
    "other points": {"questions": [{**QUESTIONS[0], "at": [0]}, *QUESTIONS[1:]]},
    "other limits": {"questions": [*QUESTIONS[:3], {**QUESTIONS[3], "limits": [-8, 8]}]},
    "another way to combine": {"questions": [{**QUESTIONS[0], "combine": "fisher"}, *QUESTIONS[1:]]},
    "other shares": {"questions": [QUESTIONS[0], {**QUESTIONS[1], "centre_share": 0.3}, *QUESTIONS[2:]]},
    "declared bounds": {"questions": [QUESTIONS[0], {**QUESTIONS[1], "bounds": [-1, 1]}, *QUESTIONS[2:]]},
    "another prior of the coefficients": {"questions": [*QUESTIONS[:2], {**QUESTIONS[2], "prior": "hyper-g"}, QUESTIONS[3]]},
    "a question less": {"questions": QUESTIONS[:3]},
    "other parts": {"parts": 9},
    "another prior": {"prior": {"name": "zellner", "g": 400}},
    "another g": {"prior": {"name": "zellner", "g": 401}},
    "another formula": {"formula": "stay ~ age + ward + age:ward"},
    "another epsilon": {"epsilon": 0.8},
    "a delta": {"delta": 1e-6},
    "another delta": {"delta": 2e-6},
    "another edition": {"edition": "2027"},
    "another schema": {"schema": schema_with(partition={"year": "2026"})},
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
    again.append(make(ledger=ledger, questions=written))
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
    make(schema=schema, formula="stay ~ age", questions=QUESTIONS[0], ledger=ledger)
    nw.release(made_rows(), schema, epsilon=0.9, ledger=ledger, progress=False)
    assert charges(ledger) == 2


def test_what_the_ledger_has_no_budget_for_is_refused_without_noise(tmp_path: Path, events: list[str]) -> None:
    small = nw.Ledger.open(tmp_path / "small.ledger", epsilon=1.0)
    make(ledger=small)
    events.clear()
    with pytest.raises(BudgetError):
        make(ledger=small, parts=9)
    assert "noise" not in events and "select" not in events


def test_the_plan_is_what_is_released() -> None:
    asked = [nw.PosteriorProbability("age", at=(0.0,))]
    planned = holder_partition.plan_partition(schema_with(), asked, 0.9, 1e-6)
    made = make(questions=asked, delta=1e-6)
    assert made.noise == planned.scale and made.statement == planned.statement()
