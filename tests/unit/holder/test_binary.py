"""Synthetic yes-or-no rows of a table: refusals before anything is spent, the ledger, and answers that make sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.errors import BudgetError, DeclarationError, NoisewiseError, PrivacyError
from noisewise.privacy.mechanisms import BetaBinomial

SCHEMA: dict[str, Any] = {"adjacency": "replace-one", "columns": {"smoker": {"levels": ["no", "yes"]}, "age": {"bounds": [0, 99]},
                                                                  "ward": {"levels": ["A", "B", "C"]}}}
TABLE = {"smoker": np.repeat(["yes", "no", None], [300, 650, 50]), "age": np.zeros(1000), "ward": np.repeat("A", 1000)}


def made(adjacency: str = "replace-one", **asked: Any) -> nw.BinarySynthesis:
    given = {"epsilon": 1.0, "rows": 200, "progress": False, **asked}
    return nw.synthesize_binary(TABLE, nw.Schema.from_dict({**SCHEMA, "adjacency": adjacency}), "smoker", **given)


def test_the_urn_gets_the_counts_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing cell is the first level, by the schema's rule."""
    seen: list[tuple[int, int]] = []

    def perturb(self: BetaBinomial, ones: int, zeros: int) -> tuple[int, ...]:
        seen.append((ones, zeros))
        return (7,) * self.copies

    monkeypatch.setattr(BetaBinomial, "perturb", perturb)
    found = made(copies=3)
    assert seen == [(300, 700)] and found.counts == (7, 7, 7) and found.rows == 1000
    assert made("add-remove").rows is None


def test_what_is_stated() -> None:
    found = made(copies=2, epsilon=0.5)
    assert (found.synthetic_rows, found.copies, found.epsilon) == (200, 2, 0.5)
    assert found.alpha == 705  # 200 / (e^0.25 − 1) = 704.17
    assert "epsilon = 0.5 and delta = 0 (replace-one" in found.statement
    assert found.describe().startswith("synthetic rows of 'smoker': 2 copies of 200, made from 1,000 rows")
    assert found.table(0).column("smoker").to_pylist().count("yes") == found.counts[0]


def test_the_ledger_is_charged_once(tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "people.ledger", epsilon=1.5, delta=0.0)
    first = made(ledger=ledger)
    assert ledger.spent().epsilon == pytest.approx(1.0)
    assert made(ledger=ledger) == first and ledger.spent().epsilon == pytest.approx(1.0)
    for other in ({"edition": "2"}, {"rows": 100}, {"copies": 2}):
        with pytest.raises(BudgetError):
            made(ledger=ledger, **other)


def test_what_is_refused_spends_nothing(tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "people.ledger", epsilon=1.5, delta=0.0)
    schema = nw.Schema.from_dict(SCHEMA)
    for column in ("age", "ward", "nobody"):
        with pytest.raises(DeclarationError):
            nw.synthesize_binary(TABLE, schema, column, epsilon=1.0, rows=10, ledger=ledger)
    people = nw.Schema.from_dict({**SCHEMA, "unit": {"column": "person", "max_rows": 2}})
    with pytest.raises(PrivacyError, match="several rows"):
        nw.synthesize_binary(TABLE, people, "smoker", epsilon=1.0, rows=10, ledger=ledger)
    asked: dict[str, Any]
    for asked in ({"rows": 0}, {"copies": 0}, {"copies": 20_000, "rows": 1}, {"epsilon": -1.0}, {"edition": "a\nb"}):
        with pytest.raises(NoisewiseError):
            made(ledger=ledger, **asked)
    with pytest.raises(DeclarationError, match="Schema"):
        nw.synthesize_binary(TABLE, SCHEMA, "smoker", epsilon=1.0, rows=10)  # type: ignore[arg-type]
    assert ledger.spent().epsilon == 0
