"""Cross-validation: allowed where folds do not depend on anybody's row, warned of there, refused elsewhere."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    permutation_test_score,
)
from sklearn.pipeline import make_pipeline
from tests.unit.estimators.made_tables import X, Y, of_arrays
from tests.unit.estimators.stand_in import stand_in_fit

import noisewise as nw
from noisewise.errors import PrivacyError
from noisewise.estimators import RepeatedReleaseWarning, base

LABELS = (Y > 0.4).astype(int)
KNOWN = [KFold(3), KFold(3, shuffle=True, random_state=1), RepeatedKFold(n_splits=3, n_repeats=2, random_state=1),
         ShuffleSplit(3, random_state=1), PredefinedSplit(np.arange(60) % 3)]


@pytest.fixture(autouse=True)
def without_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "fit", stand_in_fit)


def logistic() -> Any:
    return nw.PrivateLogisticRegression(epsilon=10.0, delta=1e-6, bounds=(0, 1), classes=(0, 1), adjacency="replace-one",
                                        release_kind="gram", draws=50, chains=1, progress=False)


def moved_by_one_label(splitter: Any) -> int:
    """How many rows one label moves into or out of a fold, at most; a row that is there twice counts as many."""
    other = LABELS.copy()
    other[0] = 1 - other[0]
    folds = zip(splitter.split(X, LABELS), splitter.split(X, other), strict=True)
    return max(len(set(one) ^ set(two)) + len(one) - len(set(one)) for (one, _), (two, _) in folds)


@pytest.mark.parametrize("splitter", KNOWN, ids=repr)
def test_known_splitters_put_the_same_places_into_a_fold_whatever_the_rows_are(splitter: Any) -> None:
    assert moved_by_one_label(splitter) == 0
    with pytest.warns(RepeatedReleaseWarning):
        assert np.isfinite(cross_val_score(logistic(), X, LABELS, cv=splitter, error_score="raise")).all()


def test_a_line_is_warned_of_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            cross_val_score(logistic(), X, LABELS, cv=KFold(2))
        cross_val_score(logistic(), X, LABELS, cv=KFold(2))
    first, second = [warning.lineno for warning in caught if warning.category is RepeatedReleaseWarning]
    assert second == first + 1


@pytest.mark.parametrize("splitter", [None, 3, StratifiedKFold(3), StratifiedKFold(3, shuffle=True, random_state=1),
                                      list(KFold(3).split(X))], ids=lambda splitter: type(splitter).__name__)
def test_other_splitters_are_refused(splitter: Any) -> None:
    for call in (lambda: cross_val_score(logistic(), X, LABELS, cv=splitter, error_score="raise"),
                 lambda: GridSearchCV(logistic(), {"draws": [50]}, cv=splitter, error_score="raise").fit(X, LABELS)):
        with pytest.raises(PrivacyError, match="must not depend on any row") as caught:
            call()
        assert "KFold(5)" in str(caught.value.remedy)


def test_stratified_folds_do_depend_on_labels() -> None:
    assert moved_by_one_label(StratifiedKFold(3, shuffle=True, random_state=1)) > 1


def test_groups_are_refused() -> None:
    with pytest.raises(PrivacyError, match="GroupKFold"):
        cross_val_score(of_arrays(), X, Y, groups=np.arange(60) // 2, cv=GroupKFold(3), error_score="raise")


def test_folds_need_a_public_number_of_rows_that_are_persons() -> None:
    with pytest.raises(PrivacyError, match="public number of rows"):
        cross_val_score(of_arrays(adjacency="add-remove"), X, Y, cv=3, error_score="raise")
    with pytest.raises(PrivacyError, match="public number of rows"):
        cross_val_score(of_arrays(max_rows=2), X, Y, params={"unit": np.arange(60) // 2}, cv=3, error_score="raise")


@pytest.mark.parametrize(("call", "name"), [
    (lambda: permutation_test_score(of_arrays(), X, Y, cv=KFold(3), n_permutations=2), "permutation_test_score"),
    (lambda: cross_val_predict(of_arrays(), X, Y, cv=KFold(3)), "_fit_and_predict"),
    (lambda: learning_curve(of_arrays(), X, Y, cv=KFold(3), error_score="raise"), "learning_curve"),
], ids=["permutation_test_score", "cross_val_predict", "learning_curve"])
def test_other_ways_are_refused(call: Any, name: str) -> None:
    with pytest.raises(PrivacyError, match=name):
        call()


def test_an_outer_splitter_is_looked_at_too() -> None:
    inner = GridSearchCV(logistic(), {"draws": [50]}, cv=KFold(2), error_score="raise")
    with pytest.raises(PrivacyError, match="StratifiedKFold"):
        cross_val_score(inner, X, LABELS, cv=3, error_score="raise")
    with pytest.warns(RepeatedReleaseWarning):
        assert len(cross_val_score(inner, X, LABELS, cv=KFold(2), error_score="raise")) == 2


def test_cross_validation_is_warned_of_once_at_the_users_line() -> None:
    with pytest.warns(RepeatedReleaseWarning, match="spends epsilon=10.0.*nobody counts them") as caught:
        scores = cross_val_score(of_arrays(), X, Y, cv=3)
    assert len(scores) == 3 and np.isfinite(scores).all()
    assert [warning.filename for warning in caught] == [__file__]


def test_searches_are_warned_of() -> None:
    priors = [None, nw.Prior(sd={"x0": 0.1})]
    with pytest.warns(RepeatedReleaseWarning, match="best_params_, best_estimator_.*refit_posterior") as caught:
        search = GridSearchCV(make_pipeline(of_arrays()), {"privatelinearregression__prior": priors}, cv=2).fit(X, Y)
    assert len(caught) == 1 and search.predict(X[:3]).shape == (3,)


def test_a_ledger_counts_every_fold_and_refuses_what_it_does_not_cover(tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "budget.db", epsilon=30.0)
    with pytest.warns(RepeatedReleaseWarning, match="The ledger counts them"):
        cross_val_score(of_arrays(delta=None, ledger=ledger), X, Y, cv=3, error_score="raise")
    assert len(ledger.charges()) == 3
    with pytest.warns(RepeatedReleaseWarning), pytest.raises(nw.NoisewiseError, match="budget"):
        cross_val_score(of_arrays(delta=None, ledger=ledger), X, Y, cv=2, error_score="raise")


def test_folds_are_not_answered_with_the_release_of_other_rows(tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "budget.db", epsilon=30.0)
    with pytest.raises(PrivacyError, match="every fit uses different rows"):
        cross_val_score(of_arrays(delta=None, ledger=ledger, edition="2026"), X, Y, cv=3, error_score="raise")
    assert not ledger.charges()
