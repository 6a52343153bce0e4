"""A release with Wishart noise, from rows to a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.recorder import Recorder

import noisewise as nw
from noisewise.errors import PrivacyError
from noisewise.releases.format import decode, encode
from noisewise.run import QUIET

ROWS = 4000


def schema(adjacency: str = "replace-one", **changes: Any) -> nw.Schema:
    return nw.Schema.from_dict({"adjacency": adjacency, "columns": {"stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}},
                                **changes})


def rows(n: int = ROWS) -> dict[str, Any]:
    random = np.random.default_rng(3)
    age = random.uniform(18, 98, n)
    return {"age": age, "stay": np.clip(5 + 0.3 * age + random.normal(0, 3, n), 0, 60), "patient": np.arange(n) // 2}


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", ["wishart", "wishart-paper"])
def test_the_matrix_is_the_statistic_and_noise_of_the_stated_size(adjacency: str, mechanism: str) -> None:
    made = nw.release(rows(), schema(adjacency), nw.Gram(mechanism=mechanism), epsilon=1.0, delta=1e-6, run=QUIET)
    [part] = made.contributions
    assert (made.version, part.mechanism, part.noise.distribution) == ("1.0", mechanism, "wishart")
    assert part.sensitivity == part.noise.scale == 3.0 and part.noise.degrees is not None
    assert (part.rows, part.noise.corner == 0) == ((ROWS, True) if adjacency == "replace-one" else (None, False))
    u = np.column_stack([np.ones(ROWS), rows()["stay"] / 30 - 1, (rows()["age"] - 58) / 40])
    error = np.abs(part.matrix - u.T @ u)
    assert np.all(error <= 9 * np.sqrt(part.noise.variances(3)) + 1e-3)
    assert np.count_nonzero(error) == (8 if adjacency == "replace-one" else 9)
    assert "Wishart noise" in part.statement and decode(encode(made)) == made


def test_the_exact_sum_is_used_and_not_one_on_the_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flooring would give a change more eigenvalues than the proof allows (V8)."""
    from noisewise.data.statistics.gram import GramSum

    def refuse(_: GramSum) -> None:
        raise AssertionError("the sum was put on the grid before the noise was added")

    monkeypatch.setattr(GramSum, "to_grid", refuse)
    nw.release(rows(10), schema(), nw.Gram(mechanism="wishart"), epsilon=1.0, delta=1e-6, run=QUIET)
    with pytest.raises(AssertionError):
        nw.release(rows(10), schema(), epsilon=1.0, delta=1e-6, run=QUIET)


@pytest.mark.parametrize(
    ("request_", "rule"),
    [
        ({"kind": nw.Gram(mechanism="wishart")}, "needs a delta"),
        ({"kind": nw.Gram(mechanism="wishart", average=5), "delta": 1e-6}, "only with Gaussian noise"),
        ({"kind": nw.Gram(mechanism="wishart-paper"), "delta": 1e-6, "epsilon": 10.0}, "paper 004"),
        ({"kind": nw.Gram(mechanism="wishart"), "delta": 1e-6, "epsilon": 1e-6}, "degrees of freedom"),
        ({"kind": nw.Gram(mechanism="wishart"), "delta": 1e-16}, "precision"),
    ],
)
def test_what_is_refused_is_refused_before_the_budget_is_charged(request_: dict[str, Any], rule: str) -> None:
    ledger = Recorder([])
    with pytest.raises(PrivacyError, match=rule):
        nw.release(rows(10), schema(), ledger=ledger, run=QUIET, **{"epsilon": 1.0, **request_})
    assert ledger.charges == []
    nw.release(rows(10), schema(), nw.Gram(mechanism="wishart"), ledger=ledger, epsilon=1.0, delta=1e-6, run=QUIET)
    assert [charge[:2] for charge in ledger.charges] == [(1.0, 1e-6)]


def test_a_unit_with_several_rows_is_refused() -> None:
    declared = schema("add-remove", unit={"column": "patient", "max_rows": 2})
    with pytest.raises(PrivacyError, match="where a unit is one row"):
        nw.release(rows(10), declared, nw.Gram(mechanism="wishart"), epsilon=1.0, delta=1e-6, run=QUIET)
    single = schema("replace-one", unit={"column": "patient", "max_rows": 1})
    [part] = nw.release(rows(10), single, nw.Gram(mechanism="wishart"), epsilon=1.0, delta=1e-6, run=QUIET).contributions
    assert part.rows is None and part.noise.corner == part.noise.diagonal


def test_an_analyst_can_fit_it() -> None:
    made = nw.release(rows(40_000), schema(), nw.Gram(mechanism="wishart"), epsilon=2.0, delta=1e-6, run=QUIET)
    summary = nw.fit("stay ~ age", made, method="laplace", seed=1, run=QUIET).summary()
    # The noise on a sum is about 20 in 40,000 rows: the slope 0.3 is found within a small part of itself.
    assert summary.loc["age", "mean"] == pytest.approx(0.3, abs=0.03)
    assert 0 < summary.loc["age", "sd"] < 0.02
