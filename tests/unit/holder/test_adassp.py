"""The holder's side of an adassp release: the order of things, what is refused, and what the release then says."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.recorder import Recorder

import noisewise as nw
import noisewise.data
from noisewise.errors import BudgetError, DataError, DeclarationError, FormulaError, NoisewiseError, PrivacyError
from noisewise.privacy.mechanisms import SymmetricGaussian
from noisewise.release import AdasspPart

ROWS = 300
FORMULA = "stay ~ age + ward"


def made_rows(count: int = ROWS) -> dict[str, NDArray[Any]]:
    generator = np.random.default_rng(12)
    return {
        "stay": generator.uniform(0, 60, count),
        "age": generator.uniform(18, 98, count),
        "ward": generator.choice(["A", "B", "C"], count),
        "patient": np.repeat(np.arange(count), 3)[:count],
    }


def schema_with(adjacency: str = "replace-one", unit: Any = "row", **more: Any) -> nw.Schema:
    return nw.Schema.from_dict({"adjacency": adjacency, "unit": unit, **more, "columns": {
        "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]},
        "unused": {"bounds": [0, 1]}}})


def make(data: Any = None, schema: nw.Schema | None = None, **options: Any) -> nw.Release:
    options = {"kind": "adassp", "formula": FORMULA, "epsilon": 0.9, "delta": 3e-6, "progress": False} | options
    return nw.release(made_rows() if data is None else data, schema or schema_with(), **options)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happened in which order: rows read, ledger charged, noise drawn."""
    happened: list[str] = []
    original, read = SymmetricGaussian.perturb, noisewise.data.gram_sum

    def perturb(self: Any, matrix: Any) -> Any:
        happened.append("noise")
        return original(self, matrix)

    def gram_sum(*arguments: Any, **options: Any) -> Any:
        happened.append("rows")
        return read(*arguments, **options)

    monkeypatch.setattr(SymmetricGaussian, "perturb", perturb)
    monkeypatch.setattr(noisewise.data, "gram_sum", gram_sum)
    return happened


def test_the_budget_is_charged_once_after_reading_and_before_noise(events: list[str]) -> None:
    ledger = Recorder(events)
    make(ledger=ledger)
    assert events == ["rows", "charge", "noise", "noise", "complete"]
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
    "response that is no number": ({"formula": "ward ~ age"}, FormulaError),
    "column that was not declared": ({"formula": "stay ~ height"}, FormulaError),
    "term that was not asked for": ({"formula": "stay ~ I(age**2)"}, FormulaError),
    "no delta": ({"delta": None}, PrivacyError),
    "delta of 0": ({"delta": 0.0}, PrivacyError),
    "epsilon of 0": ({"epsilon": 0}, PrivacyError),
    "laplace": ({"mechanism": "laplace"}, PrivacyError),
    "formula of a gram release": ({"kind": "gram"}, DeclarationError),
    "averaged rows": ({"average": 3}, DeclarationError),
    "text that no file can hold": ({"formula": "stay ~ age\x1b"}, NoisewiseError),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_can_be_refused_without_rows_is_refused_before_they_are_opened(case: str, events: list[str], tmp_path: Path) -> None:
    changes, error = WRONG[case]
    with pytest.raises(error):
        make(tmp_path / "not there.parquet", ledger=Recorder(events), **changes)
    assert events == []


def test_too_many_predictors_are_refused_with_a_remedy() -> None:
    levels = {"ward": {"levels": list(range(150))}, "stay": {"bounds": [0, 1]}}
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": levels})
    with pytest.raises(DeclarationError, match="at most 100 columns.*kind gram"):
        make({}, schema, formula="stay ~ ward")


def test_only_the_columns_of_the_formula_are_read() -> None:
    rows = made_rows()
    made = make({name: rows[name] for name in ("stay", "age", "ward")})
    assert made.basis.names == ("1", "age", "ward[B]", "ward[C]", "stay")
    with pytest.raises(DataError):
        make({name: rows[name] for name in ("stay", "age")})


def exact_sums(schema: nw.Schema) -> NDArray[np.float64]:
    rows = made_rows()
    a = np.column_stack([np.ones(ROWS), (rows["age"] - 58) / 40, rows["ward"] == "B", rows["ward"] == "C",
                         (rows["stay"] - 30) / 30]).astype(float)
    return np.asarray(a.T @ a)


def test_with_hardly_any_noise_it_holds_the_sums_and_the_eigenvalue() -> None:
    [part] = make(epsilon=1e6, delta=0.01).parts
    assert isinstance(part, AdasspPart)
    exact = exact_sums(schema_with())
    # Values are rounded to 2**-20, sums to 2**-16; the noise has an sd of about 0.004, so that 0.05 is twelve of them.
    assert part.noise.diagonal < 0.01
    np.testing.assert_allclose(part.matrix, exact[:-1, :-1], atol=0.05)
    np.testing.assert_allclose(part.moments, exact[:-1, -1], atol=0.05)
    assert part.smallest_eigenvalue.value == pytest.approx(np.linalg.eigvalsh(exact[:-1, :-1])[0], abs=0.05)


@pytest.mark.parametrize(("adjacency", "unit", "words"), [
    ("replace-one", "row", "Replacing any one row"),
    ("add-remove", "row", "Adding or removing any one row"),
    ("replace-one", {"column": "patient", "max_rows": 3}, "Replacing all rows of any one value of patient (at most 3 rows)"),
    ("add-remove", {"column": "patient", "max_rows": 3}, "Adding or removing all rows of any one value of patient"),
])
def test_every_adjacency_and_unit(adjacency: str, unit: Any, words: str, tmp_path: Path) -> None:
    schema = schema_with(adjacency, unit)
    made = make(schema=schema)
    [part] = made.parts
    assert isinstance(part, AdasspPart)
    assert part.statement.startswith(words) and "epsilon = 0.9 and delta = 3e-06" in part.statement
    assert (part.rows is None) != schema.rows_are_public
    assert (part.noise.corner == 0.0) == schema.rows_are_public
    share = part.smallest_eigenvalue
    assert Fraction(share.epsilon) * 3 <= Fraction(0.9) and share.epsilon == pytest.approx(0.3)
    assert share.delta == pytest.approx(1e-6)
    assert share.sensitivity == pytest.approx((1 if unit == "row" else 3) * 3, rel=1e-3)
    assert nw.load(made.save(tmp_path / "made.nwr")) == made


def test_a_norm_bound_is_kept_and_lowers_the_noise() -> None:
    tight, loose = make(schema=schema_with(norm_bound=1.2)), make()
    assert tight.parts[0].noise.diagonal < loose.parts[0].noise.diagonal
    assert any("shortened to the norm 1.2" in rule for rule in _rules(tight))


def _rules(made: nw.Release) -> list[str]:
    import json

    from noisewise.release.format import encode

    return list(json.loads(encode(made))["rules"])


def test_terms_add_columns_for_the_formula() -> None:
    made = make(formula="stay ~ age + I(age**2)", terms="I(age**2)")
    assert made.basis.names == ("1", "age", "T2(age)", "stay")
