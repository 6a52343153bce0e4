"""What scikit-learn does around an estimator: leaks are refused, repeated spending is warned of, the rest works."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from tests.unit.estimators.made_tables import of_arrays
from tests.unit.estimators.stand_in import stand_in_fit

import noisewise as nw
from noisewise.errors import PrivacyError
from noisewise.estimators import RepeatedReleaseWarning, base

RNG = np.random.default_rng(2)
X = RNG.uniform(size=(60, 2))
Y = X @ [0.5, 0.3]
WARD = pd.DataFrame({"age": X[:, 0], "ward": RNG.choice(["A", "B"], 60)})


class Centred(TransformerMixin, BaseEstimator):
    """A transformer of a user's own that says nothing about itself."""

    def fit(self, X: Any, y: Any = None) -> Centred:
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X: Any) -> Any:
        return X - self.mean_


@pytest.fixture(autouse=True)
def without_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "fit", stand_in_fit)


@pytest.mark.parametrize("step", [
    StandardScaler(), MinMaxScaler(), PCA(1), Centred(), SimpleImputer(), make_pipeline("passthrough", StandardScaler()),
    FeatureUnion([("same", "passthrough"), ("scaled", StandardScaler())]), make_column_transformer((StandardScaler(), [0])),
    ColumnTransformer([("one", "passthrough", [0])], remainder=StandardScaler()),
    make_column_transformer((OneHotEncoder(), [0])), make_column_transformer((OrdinalEncoder(categories=[[0.0, 1.0]]), [0])),
    OneHotEncoder(categories=[[0.0, 1.0]] * 2, handle_unknown="ignore", min_frequency=2, sparse_output=False),
], ids=lambda step: type(step).__name__)
def test_transformers_that_learn_from_the_rows_are_refused(step: Any) -> None:
    cells = np.round(X)
    with pytest.raises(PrivacyError, match="may not learn from the confidential rows") as caught:
        make_pipeline(step, of_arrays()).fit(cells, Y)
    assert "FrozenEstimator" in str(caught.value.remedy)
    with pytest.raises(PrivacyError, match="may not learn"):
        make_pipeline(make_pipeline(step, make_pipeline(of_arrays()))).fit(cells, Y)


@pytest.mark.parametrize("step", [
    "passthrough", FunctionTransformer(np.square), FrozenEstimator(StandardScaler().fit([[0.0, 0.0], [1.0, 1.0]])),
    PolynomialFeatures(2, include_bias=False), SimpleImputer(strategy="constant", fill_value=0.5),
    FeatureUnion([("same", "passthrough")]),
], ids=lambda step: type(step).__name__)
def test_transformers_that_learn_nothing_may_stand_before(step: Any) -> None:
    model = make_pipeline(step, of_arrays()).fit(X, Y)
    assert model.predict(X[:3]).shape == (3,)


def test_declared_categories_may_be_encoded() -> None:
    encoder = OneHotEncoder(categories=[["A", "B"]], handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((encoder, ["ward"]), ("passthrough", ["age"]), verbose_feature_names_out=False)
    model = make_pipeline(columns.set_output(transform="pandas"), of_arrays()).fit(WARD, Y)
    assert list(model[-1].coef_names_) == ["ward_A", "ward_B", "age"]


def test_a_target_that_is_scaled_by_the_rows_is_refused() -> None:
    with pytest.raises(PrivacyError, match="StandardScaler"):
        TransformedTargetRegressor(of_arrays(), transformer=StandardScaler()).fit(X, Y)
    halved = TransformedTargetRegressor(of_arrays(), func=lambda y: y / 2, inverse_func=lambda y: 2 * y, check_inverse=False)
    assert halved.fit(X, Y).predict(X[:3]).shape == (3,)


def test_a_fit_of_the_users_own_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pipeline(of_arrays()).fit(X, Y)


def test_cross_validation_is_warned_of_once_at_the_users_line() -> None:
    with pytest.warns(RepeatedReleaseWarning, match="spends epsilon=10.0.*nobody counts them") as caught:
        scores = cross_val_score(of_arrays(), X, Y, cv=3)
    assert len(scores) == 3 and np.isfinite(scores).all()
    assert [warning.filename for warning in caught] == [__file__]


def test_searches_are_warned_of() -> None:
    priors = [None, nw.Prior(sd={"x0": 0.1})]
    with pytest.warns(RepeatedReleaseWarning, match="refit_posterior") as caught:
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
    with pytest.raises(PrivacyError, match="every fit has other rows"):
        cross_val_score(of_arrays(delta=None, ledger=ledger, edition="2026"), X, Y, cv=3, error_score="raise")
    assert not ledger.charges()


def test_units_are_routed_through_pipelines_and_folds() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        model = of_arrays(max_rows=2).set_fit_request(unit=True)
        with pytest.warns(RepeatedReleaseWarning):
            scores = cross_val_score(make_pipeline(model), X, Y, params={"unit": np.arange(60) // 2}, cv=3, error_score="raise")
    assert len(scores) == 3
