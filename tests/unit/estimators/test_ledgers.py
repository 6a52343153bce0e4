"""Ledgers of estimators: an edition is released once, a clone charges the ledger of its original."""

from __future__ import annotations

import pickle
import threading
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from tests.refusals import about
from tests.unit.estimators.made_tables import GRAM, linear, patients
from tests.unit.estimators.stand_in import stand_in_fit

import noisewise as nw
from noisewise.errors import PrivacyError
from noisewise.estimators import StoredReleaseWarning, base
from noisewise.privacy.ledger.entries import Total
from noisewise.privacy.ledger.store import Store

X, Y = patients(400)


@pytest.fixture(autouse=True)
def without_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "fit", stand_in_fit)


def test_an_edition_is_released_once(tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "budget.db", epsilon=10.0)
    model = linear(delta=None, ledger=ledger, edition="2026")
    first = model.fit(X, Y).release_
    with pytest.warns(StoredReleaseWarning, match="no row was used") as caught:
        assert model.fit(X, Y).release_ == first
    assert [warning.filename for warning in caught] == [__file__] and len(ledger.charges()) == 1


def test_a_stored_release_is_not_handed_out_for_another_public_number_of_rows(tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "budget.db", epsilon=10.0)
    model = linear(delta=None, ledger=ledger, edition="2026").fit(X, Y)
    with pytest.raises(PrivacyError, check=about("edition")) as refused:
        model.fit(X[:-1], Y[:-1])
    assert refused.value.argument == "edition"
    hidden = nw.Ledger.open(tmp_path / "hidden.db", epsilon=10.0)
    model.set_params(ledger=hidden, adjacency="add-remove").fit(X, Y)
    with pytest.warns(StoredReleaseWarning) as caught:
        model.fit(X[:-1], Y[:-1])
    assert str(len(X)) not in str(caught[0].message) and len(hidden.charges()) == 1


class InMemory:
    """A ledger of a user's own, which cannot be copied."""

    def __init__(self) -> None:
        self.charged: list[str] = []
        self.lock = threading.Lock()

    def earlier(self, request: str) -> bytes | None:
        return None

    def charge(self, cost: Any, **about: Any) -> int:
        self.charged.append(about["request"])
        return len(self.charged)

    def complete(self, entry: int, content: bytes) -> None:
        assert content


def test_a_clone_charges_the_same_ledger() -> None:
    ledger = InMemory()
    model = linear(**GRAM, ledger=ledger).set_output(transform="pandas")
    cloned = clone(model)
    assert cloned.ledger is ledger is model.ledger and cloned.bounds == model.bounds and cloned.bounds is not model.bounds
    assert not hasattr(clone(cloned.fit(X, Y)), "release_") and len(ledger.charged) == 1
    clone(make_pipeline(model)).fit(X, Y)
    assert len(ledger.charged) == 2


def test_what_is_no_ledger_is_refused_by_its_own_name() -> None:
    with pytest.raises(PrivacyError, match="found: int"):
        linear(ledger=7).fit(X, Y)


@pytest.mark.parametrize(("address", "kept"), [
    ("postgresql://ann:s3cret@server/x?sslmode=require&password=s3cret", "postgresql://ann@server/x?sslmode=require"),
    ("postgresql://server/x?user=ann&p%61ssword=s3cret&sslpassword=s3cret", "postgresql://server/x?user=ann"),
    ("postgresql://ann:a@s3cret@server/x", "postgresql://ann@server/x"),
    ("postgresql://server/x?password=a@s3cret&sslmode=require", "postgresql://..."),
])
def test_a_pickled_estimator_has_no_password(address: str, kept: str) -> None:
    ledger = nw.Ledger(Store(address), Total(1.0, 0.0, "basic"))
    content = pickle.dumps(linear(ledger=ledger))
    assert b"s3cret" not in content and pickle.loads(content).ledger._store.place == kept
    assert ledger._store.place == deepcopy(ledger)._store.place == address, "within the process it can still be used"


def test_a_pickled_ledger_in_a_file_is_the_same_ledger(tmp_path: Path) -> None:
    model = linear(delta=None, ledger=nw.Ledger.open(tmp_path / "budget.db", epsilon=10.0))
    pickle.loads(pickle.dumps(model)).fit(X, Y)
    assert len(model.ledger.charges()) == 1
