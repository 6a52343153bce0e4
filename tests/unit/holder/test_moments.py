"""The holder's side of a moments release: the order of things, what is refused, and what the release then says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.recorder import Recorder

import noisewise as nw
import noisewise.data
from noisewise.errors import BudgetError, DataError, DeclarationError, FormulaError, NoisewiseError, PrivacyError
from noisewise.privacy.moments import MomentsMechanism
from noisewise.release import MomentsPart

ROWS = 300
FORMULA = "visits ~ age + ward"


def made_rows(count: int = ROWS) -> dict[str, NDArray[Any]]:
    generator = np.random.default_rng(12)
    return {
        "visits": generator.integers(0, 11, count),
        "age": generator.uniform(18, 98, count),
        "ward": generator.choice(["A", "B", "C"], count),
        "patient": np.repeat(np.arange(count), 3)[:count],
    }


def schema_with(adjacency: str = "replace-one", unit: Any = "row", **more: Any) -> nw.Schema:
    return nw.Schema.from_dict({"adjacency": adjacency, "unit": unit, **more, "columns": {
        "visits": {"bounds": [0, 10]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]},
        "unused": {"bounds": [0, 1]}}})


def make(data: Any = None, schema: nw.Schema | None = None, **options: Any) -> nw.Release:
    options = {"kind": "moments", "formula": FORMULA, "epsilon": 0.9, "delta": 3e-6, "progress": False} | options
    return nw.release(made_rows() if data is None else data, schema or schema_with(), **options)


def part_of(made: nw.Release) -> MomentsPart:
    [part] = made.parts
    assert isinstance(part, MomentsPart)
    return part


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happened in which order: rows read, ledger charged, noise drawn."""
    happened: list[str] = []
    original, read = MomentsMechanism.perturb, noisewise.data.moments_sum

    def perturb(self: Any, sums: Any) -> Any:
        happened.append("noise")
        return original(self, sums)

    def moments_sum(*arguments: Any, **options: Any) -> Any:
        happened.append("rows")
        return read(*arguments, **options)

    monkeypatch.setattr(MomentsMechanism, "perturb", perturb)
    monkeypatch.setattr(noisewise.data, "moments_sum", moments_sum)
    return happened


def test_the_budget_is_charged_once_after_reading_and_before_noise(events: list[str]) -> None:
    ledger = Recorder(events)
    make(ledger=ledger)
    assert events == ["rows", "charge", "noise", "complete"]
    [(epsilon, delta, description)] = ledger.charges
    assert (epsilon, delta) == (0.9, 3e-6)
    assert FORMULA in description


def test_a_refused_charge_draws_no_noise(events: list[str]) -> None:
    with pytest.raises(BudgetError, match="is spent"):
        make(ledger=Recorder(events, refuse=True))
    assert "noise" not in events


WRONG: dict[str, tuple[dict[str, Any], type[Exception]]] = {
    "no formula": ({"formula": None}, DeclarationError),
    "formula that is no text": ({"formula": 5}, DeclarationError),
    "formula without response": ({"formula": "age"}, FormulaError),
    "response with three levels": ({"formula": "ward ~ age"}, FormulaError),
    "response that is no count": ({"formula": "age ~ visits"}, DeclarationError),
    "column that was not declared": ({"formula": "visits ~ height"}, FormulaError),
    "term that was not asked for": ({"formula": "visits ~ I(age**2)"}, FormulaError),
    "no delta": ({"delta": None}, PrivacyError),
    "delta of 0": ({"delta": 0.0}, PrivacyError),
    "epsilon of 0": ({"epsilon": 0}, PrivacyError),
    "laplace": ({"mechanism": "laplace"}, PrivacyError),
    "wishart": ({"mechanism": "wishart"}, PrivacyError),
    "formula of a gram release": ({"kind": "gram"}, DeclarationError),
    "blocks of a gram release": ({"kind": "gram", "formula": None, "blocks": {"x": 1}}, DeclarationError),
    "averaged rows": ({"average": 3}, DeclarationError),
    "no blocks": ({"blocks": {}}, DeclarationError),
    "blocks that are a list": ({"blocks": ["x"]}, DeclarationError),
    "an unknown block": ({"blocks": {"xy": 1}}, DeclarationError),
    "a block of order 7": ({"blocks": {"yxxxxxx": 1}}, DeclarationError),
    "the rows, which are public": ({"blocks": {"n": 1, "x": 1}}, DeclarationError),
    "a weight of 0": ({"blocks": {"x": 0}}, DeclarationError),
    "a weight that is no number": ({"blocks": {"x": "1"}}, DeclarationError),
    "a weight that is infinite": ({"blocks": {"x": float("inf")}}, DeclarationError),
    "a weight that is not a number": ({"blocks": {"x": float("nan")}}, DeclarationError),
    "predictors' blocks without predictors": ({"formula": "visits ~ 1"}, DeclarationError),
    "text that no file can hold": ({"formula": "visits ~ age\x1b"}, NoisewiseError),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_can_be_refused_without_rows_is_refused_before_they_are_opened(case: str, events: list[str], tmp_path: Path) -> None:
    changes, error = WRONG[case]
    with pytest.raises(error) as refused:
        make(tmp_path / "not there.parquet", ledger=Recorder(events), **changes)
    assert events == []
    assert isinstance(refused.value, NoisewiseError) and refused.value.found


def test_too_many_sums_are_refused_with_a_remedy() -> None:
    columns = {f"a{i}": {"bounds": [0, 1]} for i in range(40)} | {"y": {"levels": [0, 1]}}
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": columns})
    formula = "y ~ " + " + ".join(f"a{i}" for i in range(40))
    with pytest.raises(DeclarationError, match="xxxxxx of 40 columns.*blocks of high order"):
        make({}, schema, formula=formula, blocks={"x": 1, "xxxxxx": 1})


def test_only_the_columns_of_the_formula_are_read() -> None:
    rows = made_rows()
    made = make({name: rows[name] for name in ("visits", "age", "ward")})
    assert made.basis.names == ("1", "age", "ward[B]", "ward[C]", "visits")
    with pytest.raises(DataError):
        make({name: rows[name] for name in ("visits", "age")})


def test_with_hardly_any_noise_it_holds_the_sums() -> None:
    weights = {"x": 1, "xx": 1, "xxx": 1, "y": 1, "yx": 1, "yxx": 1}
    part = part_of(make(epsilon=1e6, delta=0.01, blocks=weights))
    rows = made_rows()
    a = np.column_stack([np.ones(ROWS), (rows["age"] - 58) / 40, rows["ward"] == "B", rows["ward"] == "C",
                         (rows["visits"] - 5) / 5]).astype(float)
    expected = a.T @ a
    expected[-1, -1] = 0.0  # Σ y² is not released
    assert all(block.noise < 0.05 for block in part.blocks.values())
    np.testing.assert_allclose(part.matrix, expected, atol=0.2)
    assert part.rows == ROWS and np.isinf(part.variances[-1, -1]) and part.variances[0, 0] == 0
    cubes = part.higher["xxx"].sums
    assert cubes[0] == pytest.approx(np.sum(a[:, 1] ** 3), abs=0.2)
    assert part.higher["yxx"].sums[1] == pytest.approx(np.sum(a[:, 4] * a[:, 1] * a[:, 2]), abs=0.2)


@pytest.mark.parametrize(("adjacency", "unit", "words"), [
    ("replace-one", "row", "Replacing any one row"),
    ("add-remove", "row", "Adding or removing any one row"),
    ("replace-one", {"column": "patient", "max_rows": 3}, "Replacing all rows of any one value of patient (at most 3 rows)"),
    ("add-remove", {"column": "patient", "max_rows": 3}, "Adding or removing all rows of any one value of patient"),
])
def test_every_adjacency_and_unit(adjacency: str, unit: Any, words: str, tmp_path: Path) -> None:
    schema = schema_with(adjacency, unit)
    made = make(schema=schema)
    part = part_of(made)
    assert part.statement.startswith(words) and "epsilon = 0.9 and delta = 3e-06" in part.statement
    assert (part.rows is None) != schema.rows_are_public
    assert ("n" in part.blocks) != schema.rows_are_public
    assert (part.noise.corner == 0.0) == schema.rows_are_public
    if unit != "row":
        alone = part_of(make(schema=schema_with(adjacency, {"column": "patient", "max_rows": 1})))
        assert part.sensitivity == pytest.approx(3 * alone.sensitivity, rel=1e-4)
    assert nw.load(made.save(tmp_path / "made.nwr")) == made


def test_the_number_of_rows_can_have_another_weight() -> None:
    one, four = (part_of(make(schema=schema_with("add-remove"), blocks={"n": weight, "x": 1, "yx": 1})) for weight in (1, 4))
    assert one.blocks["n"].noise / one.blocks["x"].noise == pytest.approx(1.0)
    assert four.blocks["n"].noise / four.blocks["x"].noise == pytest.approx(0.5)


def test_a_norm_bound_on_the_predictors_lowers_the_noise() -> None:
    tight, loose = make(schema=schema_with(norm_bound=0.8)), make()
    assert part_of(tight).noise.diagonal < part_of(loose).noise.diagonal
    assert (tight.clipped_norm, loose.clipped_norm) == (0.8, None)
    # With the response the norm of a row could be √3; the predictors' is at most √2, so this bound shortens nothing.
    assert make(schema=schema_with(norm_bound=1.5)).clipped_norm is None


def test_weights_move_noise_between_blocks() -> None:
    even, uneven = (part_of(make(blocks={"x": 1, "xx": 1, "y": 1, "yx": weight})) for weight in (1, 16))
    assert uneven.blocks["yx"].noise < even.blocks["yx"].noise and uneven.blocks["xx"].noise > even.blocks["xx"].noise
    assert uneven.blocks["xx"].noise / uneven.blocks["yx"].noise == pytest.approx(4.0, rel=1e-6)


def test_terms_add_columns_for_the_formula() -> None:
    made = make(formula="visits ~ age + I(age**2)", terms="I(age**2)")
    assert made.basis.names == ("1", "age", "T2(age)", "visits")


def test_a_response_without_predictors() -> None:
    part = part_of(make(formula="visits ~ 1", blocks={"y": 1}, epsilon=1e6, delta=0.01))
    assert part.matrix.shape == (2, 2) and part.matrix[0, 1] == pytest.approx(np.sum((made_rows()["visits"] - 5) / 5), abs=0.05)
