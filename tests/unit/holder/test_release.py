"""A release of kind gram, the default: what is refused, and what it then says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.recorder import Recorder

import noisewise as nw
import noisewise.data
from noisewise.errors import FormulaError, NoisewiseError, PrivacyError
from noisewise.run import QUIET, Run

ROWS = 300


def made_rows(count: int = ROWS) -> dict[str, NDArray[Any]]:
    generator = np.random.default_rng(12)
    return {
        "stay": generator.uniform(0, 60, count),
        "age": generator.uniform(18, 98, count),
        "patient": np.repeat(np.arange(count), 3)[:count],
    }


def schema_with(adjacency: str = "replace-one", unit: Any = "row") -> nw.Schema:
    return nw.Schema.from_dict({"adjacency": adjacency, "unit": unit, "columns": {
        "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}}})


def test_laplace_noise_is_not_charged_a_delta_that_it_does_not_spend() -> None:
    ledger = Recorder([])
    nw.release(made_rows(), schema_with(), nw.Gram(mechanism="laplace"), epsilon=0.7, delta=1e-6, ledger=ledger, run=QUIET)
    assert ledger.charges[0][:2] == (0.7, 0.0)


@pytest.mark.parametrize(("kind", "delta", "error"), [
    (nw.Gram(mechanism="uniform"), 1e-6, PrivacyError),
    (nw.Gram(mechanism="gaussian"), None, PrivacyError),
    (nw.Gram("age:height"), 1e-6, FormulaError),
])
def test_what_can_be_refused_without_rows_is_refused_before_they_are_opened(
    kind: nw.Gram, delta: float | None, error: type[NoisewiseError], tmp_path: Path
) -> None:
    ledger = Recorder([])
    with pytest.raises(error):
        nw.release(tmp_path / "not there.parquet", schema_with(), kind, epsilon=1.0, delta=delta, ledger=ledger)
    assert ledger.events == []


def test_gram_is_what_is_made_if_no_kind_is_named() -> None:
    assert nw.release(made_rows(), schema_with(), epsilon=1.0, run=QUIET).kind == nw.Gram(mechanism="laplace")


def test_rows_are_exact_where_they_are_public() -> None:
    [part] = nw.release(made_rows(), schema_with(), epsilon=1.0, delta=1e-6, run=QUIET).contributions
    assert part.rows == part.matrix[0, 0] == ROWS
    assert part.noise.corner == 0.0
    assert part.noise.diagonal > 1.0


@pytest.mark.parametrize("delta", [1e-6, None])
def test_rows_are_noisy_where_they_are_private(delta: float | None) -> None:
    corners = []
    for _ in range(8):
        [part] = nw.release(made_rows(), schema_with("add-remove"), epsilon=0.1, delta=delta, run=QUIET).contributions
        assert part.rows is None
        assert part.noise.corner == part.noise.diagonal
        corners.append(part.matrix[0, 0])
    # All eight within ±0.01 of the truth has probability below (0.01 / sd)⁸ < 1e-24.
    assert max(abs(corner - ROWS) for corner in corners) > 0.01
    assert max(abs(corner - ROWS) for corner in corners) < 40 * part.noise.corner


@pytest.mark.parametrize(("adjacency", "delta", "words"), [
    ("replace-one", 1e-6, ["Replacing any one row", "epsilon = 0.5 and delta = 1e-06", "Gaussian"]),
    ("replace-one", None, ["Replacing any one row", "epsilon = 0.5 and delta = 0", "Laplace"]),
    ("add-remove", 1e-6, ["Adding or removing any one row", "epsilon = 0.5"]),
])
def test_the_statement_says_what_is_guaranteed(adjacency: str, delta: float | None, words: list[str]) -> None:
    [part] = nw.release(made_rows(), schema_with(adjacency), epsilon=0.5, delta=delta, run=QUIET).contributions
    assert all(word in part.statement for word in words)
    assert (part.epsilon, part.delta) == (0.5, delta or 0.0)
    assert part.mechanism == part.noise.distribution == ("laplace" if delta is None else "gaussian")
    assert part.library == f"noisewise {nw.__version__}"


def test_a_unit_column_bounds_the_rows_of_one_unit_and_costs_noise() -> None:
    by_row = nw.release(made_rows(), schema_with("add-remove"), epsilon=1e6, delta=1e-6, run=QUIET).contributions[0]
    unit = {"column": "patient", "max_rows": 2}
    by_patient = nw.release(made_rows(), schema_with("add-remove", unit), epsilon=1e6, delta=1e-6, run=QUIET).contributions[0]
    assert "any one value of patient (at most 2 rows)" in by_patient.statement
    assert by_patient.sensitivity == pytest.approx(2 * by_row.sensitivity, rel=1e-3)
    assert by_patient.noise.diagonal == pytest.approx(2 * by_row.noise.diagonal, rel=1e-2)
    # 100 patients with 3 rows each, of which 2 are used; the noise at this epsilon has an sd of about 0.01.
    assert by_patient.matrix[0, 0] == pytest.approx(200, abs=1.0)
    assert by_row.matrix[0, 0] == pytest.approx(300, abs=1.0)


def test_the_matrix_is_the_statistic_and_noise_of_the_stated_size() -> None:
    rows = made_rows()
    u = np.column_stack([np.ones(ROWS), rows["stay"] / 30 - 1, (rows["age"] - 58) / 40])
    [part] = nw.release(rows, schema_with(), epsilon=1e6, delta=1e-6, run=QUIET).contributions
    # Rounding to 2**-20 per value and 2**-16 per entry is far below the noise; 5 noisy entries within 9 sd.
    error = np.abs(part.matrix - u.T @ u)
    assert np.all(error <= 9 * np.sqrt(part.noise.variances(3)) + 1e-3)


def test_only_what_the_schema_declares_is_read() -> None:
    rows = made_rows() | {"name": np.array(["secret"] * ROWS)}
    release = nw.release(rows, schema_with(), epsilon=1.0, delta=1e-6, run=QUIET)
    assert release.basis.names[1:] == ("stay", "age")


def test_progress_is_told() -> None:
    told: list[tuple[int, int | None]] = []
    run = Run(progress=lambda done, total: told.append((done, total)))
    nw.release(made_rows(), schema_with(), epsilon=1.0, delta=1e-6, run=run)
    assert told[-1][0] == ROWS


@pytest.mark.parametrize(
    "request_",
    [
        {"epsilon": 1e-20},  # noise that 64 bits cannot hold
        {"epsilon": 1e-30, "delta": 1e-16},
        {"epsilon": 1e40},
        {"epsilon": 10**400},
        {"epsilon": 1, "kind": nw.Gram("I(x**2)\x1b")},  # a text that no release file can hold
    ],
)
def test_what_the_release_or_its_file_would_refuse_is_refused_before_the_budget_is_charged(request_: dict[str, Any]) -> None:
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [0, 10]}}})
    ledger = Recorder([])
    with pytest.raises(NoisewiseError):
        nw.release({"x": np.array([1.0, 2.0])}, schema, ledger=ledger, **request_)
    assert ledger.charges == []
    nw.release({"x": np.array([1.0, 2.0])}, schema, epsilon=1, ledger=ledger)
    assert len(ledger.charges) == 1
