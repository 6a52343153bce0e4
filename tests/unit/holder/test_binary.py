"""Synthetic yes-or-no rows of a table: refusals before anything is spent, the ledger, and answers that make sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.refusals import about

import noisewise as nw
from noisewise.errors import DeclarationError, NoisewiseError, PrivacyError
from noisewise.privacy.mechanisms.binary import BetaBinomial
from noisewise.releases.contents.binary import BinaryContribution
from noisewise.run import QUIET

SCHEMA: dict[str, Any] = {"adjacency": "replace-one", "columns": {"smoker": {"levels": ["no", "yes"]}, "age": {"bounds": [0, 99]},
                                                                  "ward": {"levels": ["A", "B", "C"]}}}
TABLE = {"smoker": np.repeat(["yes", "no", None], [300, 650, 50]), "age": np.zeros(1000), "ward": np.repeat("A", 1000)}


def released(adjacency: str = "replace-one", *, rows: int = 200, copies: int = 1, **asked: Any) -> nw.Release:
    schema = nw.Schema.from_dict({**SCHEMA, "adjacency": adjacency})
    return nw.release(TABLE, schema, nw.Binary("smoker", rows, copies), **{"epsilon": 1.0, "run": QUIET, **asked})


def made(adjacency: str = "replace-one", **asked: Any) -> BinaryContribution:
    found = released(adjacency, **asked).contents
    assert isinstance(found, BinaryContribution)
    return found


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
    described = released(copies=2).describe()
    assert "2 copies of 200 synthetic rows of 'smoker'" in described and "1000 (public)" in described
    assert found.table(0).column("smoker").to_pylist().count("yes") == found.counts[0]


def test_what_is_refused_spends_nothing(tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "people.ledger", epsilon=1.5, delta=0.0)
    schema = nw.Schema.from_dict(SCHEMA)
    for column in ("age", "ward", "nobody"):
        with pytest.raises(DeclarationError):
            nw.release(TABLE, schema, nw.Binary(column, rows=10), epsilon=1.0, ledger=ledger)
    people = nw.Schema.from_dict({**SCHEMA, "unit": {"column": "person", "max_rows": 2}})
    with pytest.raises(PrivacyError, match="several rows"):
        nw.release(TABLE, people, nw.Binary("smoker", rows=10), epsilon=1.0, ledger=ledger)
    with pytest.raises(PrivacyError, check=about("delta")):
        released(ledger=ledger, delta=1e-6)
    asked: dict[str, Any]
    for asked in ({"rows": 0}, {"copies": 0}, {"copies": 20_000, "rows": 1}):
        with pytest.raises(NoisewiseError):
            released(ledger=ledger, **asked)
    assert ledger.spent().epsilon == 0
