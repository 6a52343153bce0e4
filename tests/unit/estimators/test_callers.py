"""What scikit-learn does around an estimator: leaks are refused, repeated spending is warned of, the rest works."""

from __future__ import annotations

import warnings
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import RFE, SelectFromModel, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import RANSACRegressor
from sklearn.model_selection import HalvingGridSearchCV, KFold, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor
from tests.unit.estimators.made_tables import X, Y, of_arrays
from tests.unit.estimators.stand_in import stand_in_fit

import noisewise as nw
from noisewise.errors import PrivacyError
from noisewise.estimators import base

WARD = pd.DataFrame({"age": X[:, 0], "ward": np.random.default_rng(3).choice(["A", "B"], 60)})


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


def encoder(**changed: Any) -> OneHotEncoder:
    settings = {"categories": [[0.0, 1.0]] * 2, "handle_unknown": "ignore", "sparse_output": False}
    return OneHotEncoder(**{**settings, **changed})


@pytest.mark.parametrize("step", [
    StandardScaler(), MinMaxScaler(), PCA(1), Centred(), SimpleImputer(), make_pipeline("passthrough", StandardScaler()),
    FeatureUnion([("same", "passthrough"), ("scaled", StandardScaler())]), make_column_transformer((StandardScaler(), [0])),
    ColumnTransformer([("one", "passthrough", [0])], remainder=StandardScaler()),
    make_column_transformer((OneHotEncoder(), [0])), make_column_transformer((OrdinalEncoder(categories=[[0.0, 1.0]]), [0])),
    encoder(min_frequency=2), encoder(drop="first"), encoder(handle_unknown="warn"), encoder(sparse_output=True),
    SimpleImputer(strategy="constant", fill_value=0.5),
    SimpleImputer(strategy="constant", fill_value=0.5, keep_empty_features=True, add_indicator=True),
    FunctionTransformer(np.square, np.sqrt),
], ids=lambda step: type(step).__name__)
def test_transformers_that_learn_from_the_rows_are_refused(step: Any) -> None:
    cells = np.round(X)
    with pytest.raises(PrivacyError, match="must not learn from the confidential rows") as caught:
        make_pipeline(step, of_arrays()).fit(cells, Y)
    assert "FrozenEstimator" in str(caught.value.remedy)
    with pytest.raises(PrivacyError, match="must not learn"):
        make_pipeline(make_pipeline(step, make_pipeline(of_arrays()))).fit(cells, Y)


@pytest.mark.parametrize("step", [
    "passthrough", FunctionTransformer(np.square), FrozenEstimator(StandardScaler().fit([[0.0, 0.0], [1.0, 1.0]])),
    PolynomialFeatures(2, include_bias=False), encoder(),
    SimpleImputer(strategy="constant", fill_value=0.5, keep_empty_features=True), FeatureUnion([("same", "passthrough")]),
    OrdinalEncoder(categories=[[0.0, 1.0]] * 2, handle_unknown="use_encoded_value", unknown_value=-1),
    FunctionTransformer(np.square, np.sqrt, check_inverse=False),
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
    with pytest.raises(PrivacyError, match="check_inverse=True"):
        TransformedTargetRegressor(of_arrays(), func=np.sqrt, inverse_func=np.square).fit(X, Y)
    halved = TransformedTargetRegressor(of_arrays(), func=lambda y: y / 2, inverse_func=lambda y: 2 * y, check_inverse=False)
    assert halved.fit(X, Y).predict(X[:3]).shape == (3,)


def test_a_fit_of_the_users_own_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pipeline(of_arrays()).fit(X, Y)


def test_units_are_routed_through_pipelines() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        model = of_arrays(max_rows=2).set_fit_request(unit=True)
        fitted = make_pipeline(model).fit(X, Y, unit=np.arange(60) // 2)
    assert fitted[-1].release_.schema.unit.to_dict() == {"column": "unit", "max_rows": 2}


class HandMade(Pipeline):
    """A pipeline of a user's own, in a module outside scikit-learn."""

    def fit(self, X: Any, y: Any = None) -> HandMade:
        for _, step in self.steps[:-1]:
            X = step.fit_transform(X)
        self.steps[-1][1].fit(X, y)
        return self


def test_pipelines_of_a_users_own_are_looked_at_too() -> None:
    assert HandMade([("same", FunctionTransformer()), ("model", of_arrays())]).fit(X, Y)[-1].coef_.shape == (2,)
    with pytest.raises(PrivacyError, match="StandardScaler"):
        HandMade([("scaled", StandardScaler()), ("model", of_arrays())]).fit(X, Y)


class OnOutliers(BaseEstimator):
    """An estimator of a user's own that fits another to rows of its choice."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> OnOutliers:
        self.model.fit(X[y > y.mean()], y[y > y.mean()])
        return self


class OwnRegression(nw.PrivateLinearRegression):
    def fit(self, X: Any, y: Any, unit: Any = None) -> OwnRegression:
        return super().fit(X, y, unit)


def test_a_subclass_is_not_its_own_caller() -> None:
    assert OwnRegression(**of_arrays().get_params()).fit(X, Y).coef_.shape == (2,)


@pytest.mark.parametrize("around", [
    BaggingRegressor(of_arrays(), n_estimators=2), RANSACRegressor(of_arrays(), min_samples=20),
    StackingRegressor([("tree", DecisionTreeRegressor())], final_estimator=of_arrays()), VotingRegressor([("one", of_arrays())]),
    RFE(of_arrays()), SelectFromModel(of_arrays()), SequentialFeatureSelector(of_arrays()), OnOutliers(of_arrays()),
    IterativeImputer(estimator=of_arrays()), MultiOutputRegressor(of_arrays()),
    HalvingGridSearchCV(of_arrays(), {"draws": [10, 20]}, cv=KFold(2), error_score="raise"),
], ids=lambda around: type(around).__name__)
def test_whoever_chooses_or_repeats_rows_is_refused(around: Any) -> None:
    refused = (PrivacyError, ValueError)  # scikit-learn says that all fits failed, with the error of each in its words
    with pytest.raises(refused, match=r"may fit a private estimator.*found: " + type(around).__name__) as caught:
        if isinstance(around, IterativeImputer):
            around.fit(np.where(X > 0.9, np.nan, X))
        else:
            around.fit(X, Y[:, None] if isinstance(around, MultiOutputRegressor) else Y)
    assert "refit_posterior" in str(caught.value)


def test_workers_are_refused_though_they_do_not_see_who_sent_them() -> None:
    with joblib.parallel_config("threading"):
        with pytest.raises(PrivacyError, match=r"sklearn\.ensemble"):
            BaggingRegressor(of_arrays(), n_estimators=2, n_jobs=2).fit(X, Y)
        with pytest.raises(PrivacyError, match="must be visible"):
            cross_val_score(of_arrays(), X, Y, cv=2, n_jobs=2, error_score="raise")
