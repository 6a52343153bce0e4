"""The linear estimator is `release` and `fit`, no more: the same release, the same posterior, the same predictions."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.refusals import about
from tests.unit.estimators.made_tables import GRAM, linear, of_arrays, patients
from tests.unit.estimators.stand_in import stand_in_fit

import noisewise as nw
from noisewise.errors import BudgetError, ConvergenceWarning, FitError
from noisewise.estimators import RowsError, base
from noisewise.run import QUIET

# With few draws, and noise that differs in every run, posteriors say that they are doubtful. That is no failure.
pytestmark = pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")

X, Y = patients()
without_sampler = pytest.mark.usefixtures("stand_in")
NEW = pd.DataFrame({"age": [30.0, 80.0], "ward": ["B", "A"]}, index=["one", "two"])


@pytest.fixture(scope="module")
def fitted() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return linear().fit(X, Y)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what does not depend on how the posterior is computed."""
    monkeypatch.setattr(base, "fit", stand_in_fit)


@pytest.mark.parametrize("kind", [{}, GRAM, {"robust": True}], ids=["model", "gram", "robust"])
def test_coefficients_are_recovered(kind: dict[str, Any]) -> None:
    """Within six standard deviations, which are so small that a wrong column, sign or unit would not come near."""
    model = linear(epsilon=100.0, **kind).fit(X, Y)
    assert list(model.coef_names_) == ["age", "ward[T.B]"]
    deviation = model.posterior_.summary()["sd"][:3]
    assert np.all(np.abs(np.append(model.intercept_, model.coef_) - [2.0, 0.1, 3.0]) < 6 * deviation)
    assert np.all(deviation < [0.2, 0.005, 0.2])
    assert model.score(X, Y) > 0.5


def test_coefficients_and_intervals_are_those_of_the_posterior(fitted: Any) -> None:
    summary = fitted.posterior_.summary()
    shown = np.vstack([fitted.intercept_interval_, fitted.coef_interval_])
    assert np.allclose([fitted.intercept_, *fitted.coef_], summary["mean"][:3], rtol=1e-12)
    assert np.allclose(shown, summary[["2.5%", "97.5%"]][:3], rtol=1e-12)
    assert fitted.coef_.shape == (2,) and fitted.coef_interval_.shape == (2, 2) and fitted.intercept_interval_.shape == (2,)
    narrow = clone(fitted).set_params(interval=0.5)
    narrow.release_, narrow.formula_ = fitted.release_, fitted.formula_
    assert np.all(np.diff(narrow.refit_posterior().coef_interval_) < np.diff(fitted.coef_interval_))


def test_predictions_are_those_of_the_posterior(fitted: Any) -> None:
    mean, deviation = fitted.predict(NEW, return_std=True)
    assert np.allclose(mean, fitted.posterior_.predict(NEW, kind="mean")["mean"], rtol=1e-12)
    assert np.allclose(fitted.predict(NEW), fitted.intercept_ + NEW["age"] * fitted.coef_[0] + [fitted.coef_[1], 0], rtol=1e-9)
    for kind in ("response", "mean", None):
        expected = fitted.posterior_.predict(NEW, 0.8, kind)[["lower", "upper"]]
        assert np.array_equal(fitted.predict_interval(NEW, 0.8, kind), expected)
    half = np.diff(fitted.predict_interval(NEW, 0.95))[:, 0] / 2
    assert np.allclose(deviation, half / 1.96, rtol=0.05)  # the predictive law is nearly normal


def test_the_release_can_be_saved_and_fitted_elsewhere(fitted: Any, tmp_path: Path) -> None:
    fitted.release_.save(tmp_path / "patients.nwr")
    again = nw.fit(fitted.formula_, nw.load(tmp_path / "patients.nwr"), draws=250, chains=2, seed=3, run=QUIET)
    assert np.array_equal(again.samples, fitted.posterior_.samples)
    assert fitted.formula_ == "`stay` ~ `age` + `ward`"


def test_random_state_is_of_the_draws_and_never_of_the_noise() -> None:
    first, second = (linear(random_state=np.random.RandomState(1)).fit(X, Y) for _ in range(2))
    assert not np.any(first.release_.contents.look.sums == second.release_.contents.look.sums)
    seed = first.posterior_.info.seed
    again = nw.fit(first.formula_, first.release_, draws=250, chains=2, seed=seed, run=QUIET)
    assert np.array_equal(again.samples, first.posterior_.samples)


@without_sampler
@pytest.mark.parametrize(("changed", "kind"), [
    ({}, "model"), ({"delta": None}, "gram"), ({"release_kind": "gram"}, "gram"), ({"release_kind": "model"}, "model"),
    ({"release_kind": "gram", "mechanism": "laplace"}, "gram"),
])
def test_a_delta_chooses_the_kind_of_release_unless_it_is_named(changed: dict[str, Any], kind: str) -> None:
    release = linear(**changed, draws=50, chains=1).fit(X[:50], Y[:50]).release_
    assert release.kind.name == kind
    assert release.contributions[0].mechanism == ("laplace" if {"delta", "mechanism"} & set(changed) else "gaussian")


@pytest.mark.parametrize(("changed", "argument"), [
    ({"release_kind": "rows"}, "release_kind"), ({"release_kind": "model", "delta": None}, "delta"),
    ({"mechanism": "laplace"}, "mechanism"), ({"method": "laplace"}, "method"), ({"prior": nw.Prior(correlation=2.0)}, "prior"),
    ({"delta": None, "robust": True}, "robust"), ({"release_kind": "gram", "method": "rounds"}, "method"),
], ids=repr)
def test_what_a_kind_of_release_does_not_have_costs_nothing(changed: dict[str, Any], argument: str, tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "budget.db", epsilon=10.0, delta=1e-5)
    with pytest.raises(nw.NoisewiseError, check=about(argument)):
        linear(ledger=ledger, **changed).fit(X, Y)
    assert not ledger.charges()


def test_a_model_release_needs_a_row_for_each_coefficient() -> None:
    """A ValueError in scikit-learn's words, where the number of rows is public."""
    with pytest.raises(RowsError, match=r"2 sample\(s\) while a minimum of 3") as caught:
        linear().fit(X[:2], Y[:2])
    assert isinstance(caught.value, ValueError) and "gram" in str(caught.value.remedy)
    assert linear(adjacency="add-remove", draws=50, chains=1).fit(X[:2], Y[:2]).release_.contents.rows is None
    assert linear(**GRAM).fit(X[:2], Y[:2]).coef_.shape == (2,)


def test_intervals_can_be_made_robust_for_nothing(fitted: Any) -> None:
    robust = clone(fitted).set_params(robust=True)
    robust.release_, robust.formula_ = fitted.release_, fitted.formula_
    assert robust.refit_posterior().posterior_.info.robust and not fitted.posterior_.info.robust
    again = nw.fit(fitted.release_, robust=True, draws=250, chains=2, seed=3, run=QUIET)
    assert np.array_equal(robust.posterior_.samples, again.samples)


@without_sampler
def test_fitted_names() -> None:
    named = linear(**GRAM).fit(X, Y)
    assert list(named.feature_names_in_) == ["age", "ward"] and named.n_features_in_ == 2
    plain = of_arrays().fit(np.zeros((5, 3)), np.zeros(5))
    assert plain.formula_ == "`y` ~ `x0` + `x1` + `x2`" and not hasattr(plain, "feature_names_in_")
    taken = of_arrays().fit(pd.DataFrame({"y": [0.5], "unit": [0.5]}), pd.Series([0.5], name="unit"))
    assert taken.formula_ == "`unit_` ~ `y` + `unit`"


@without_sampler
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "objects", "lists"])
def test_tables_of_every_kind_mean_the_same(kind: str) -> None:
    """At epsilon 10⁹ with Laplace noise, which is zero on the grid of the sums, two fits of the same rows agree."""
    made = {"pandas": lambda t: t, "polars": pl.from_pandas, "arrow": lambda t: pa.table(t.to_dict("list")),
            "objects": lambda t: t.to_numpy(dtype=object), "lists": lambda t: t.to_numpy(dtype=object).tolist()}[kind]
    few, stay = X[:300], Y[:300]
    named = kind in ("pandas", "polars", "arrow")
    names = ("age", "ward") if named else ("x0", "x1")
    model = linear(epsilon=1e9, delta=None, bounds={names[0]: (20, 90)}, levels={names[1]: ["A", "B"]})
    targets = {"polars": pl.Series("stay", stay.to_numpy()), "lists": stay.tolist()}
    model.fit(made(few), targets.get(kind, stay))
    expected = linear(epsilon=1e9, delta=None).fit(few, stay)
    assert np.allclose(model.predict(made(NEW)), expected.predict(NEW), rtol=1e-9)
    assert hasattr(model, "feature_names_in_") == named


def test_intervals_come_in_the_container_that_is_asked_for(fitted: Any) -> None:
    model = pickle.loads(pickle.dumps(fitted))
    assert isinstance(model.predict_interval(NEW), np.ndarray)
    frame = model.set_output(transform="pandas").predict_interval(NEW)
    assert list(frame.columns) == ["lower", "upper"] and list(frame.index) == ["one", "two"]
    assert clone(model)._sklearn_output_config == {"transform": "pandas"}
    assert isinstance(model.set_output(transform="polars").predict_interval(NEW), pl.DataFrame)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(fitted.predict_interval(NEW), pd.DataFrame)
    assert isinstance(model.predict(NEW), np.ndarray)


def test_a_posterior_can_be_fitted_again_for_nothing(tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "budget.db", epsilon=10.0, delta=1e-6)
    model = linear(ledger=ledger).fit(X, Y)
    sure = model.set_params(prior=nw.Prior(mean={"age": 0.0}, sd={"age": 1e-6})).refit_posterior()
    assert abs(sure.coef_[0]) < 1e-4 and len(ledger.charges()) == 1
    with pytest.raises(FitError, check=about("prior")):
        model.set_params(prior=nw.Prior(sd={"nothing": 1.0})).refit_posterior()


@without_sampler
def test_the_ledger_is_charged_before_any_noise_and_every_fit_is_a_release(tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "budget.db", epsilon=20.0)
    model = linear(delta=None, ledger=ledger)
    first = model.fit(X, Y).release_
    assert model.fit(X[::2], Y[::2]).release_.contents.rows == len(X) // 2, "other rows are another release"
    assert len(ledger.charges()) == 2
    with pytest.raises(BudgetError):
        model.fit(X, Y)
    assert first.contributions[0].rows == len(X)


@without_sampler
def test_what_the_posterior_would_refuse_costs_nothing(tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "budget.db", epsilon=10.0)
    wrong = [{"prior": nw.Prior(sd={"nothing": 1.0})}, {"method": "magic"}, {"draws": 0}, {"chains": 0.5}, {"interval": 95},
             {"random_state": -1}]
    for changed in wrong:
        with pytest.raises(nw.NoisewiseError):
            linear(delta=None, ledger=ledger, **changed).fit(X, Y)
    assert not ledger.charges()


def test_a_release_survives_a_posterior_that_fails() -> None:
    model = linear(method="fast", delta=None)  # this method needs Gaussian noise
    with pytest.raises(FitError) as caught:
        model.fit(X, Y)
    assert "refit_posterior" in caught.value.__notes__[0]
    with pytest.raises(NotFittedError):
        model.predict(NEW)
    assert model.set_params(method="laplace").refit_posterior().predict(NEW).shape == (2,)


@without_sampler
def test_units_protect_people_with_several_rows() -> None:
    person = np.repeat(np.arange(len(X) // 4), 4)
    model = linear(max_rows=2, draws=50, chains=1).fit(X, Y, unit=person)
    assert model.release_.schema.unit.to_dict() == {"column": "unit", "max_rows": 2}
    assert model.release_.contents.rows is None and "unit" not in model.formula_
    with sklearn.config_context(enable_metadata_routing=True):
        assert model.set_fit_request(unit=True).get_metadata_routing().fit.requests["unit"] is True


def test_rows_to_predict_may_be_wrong_in_plain_words(fitted: Any) -> None:
    for rows, message in [(NEW.assign(age=np.nan), "missing"), (NEW.assign(age=np.inf), "finite"),
                          (NEW.assign(ward="Z"), "levels"), (NEW.drop(columns="ward"), "feature names")]:
        with pytest.raises(ValueError, match=message):
            fitted.predict(rows)
    with pytest.raises(RowsError, match="missing"):
        fitted.predict_interval(NEW.assign(age=np.nan))
    with pytest.warns(UserWarning, match="valid feature names"):
        assert fitted.predict(NEW.to_numpy(dtype=object)).shape == (2,)
    with pytest.raises(NotFittedError):
        linear().predict(NEW)
    with pytest.raises(NotFittedError):
        linear().refit_posterior()
    with pytest.raises(nw.NoisewiseError) as caught:
        linear().set_output(transform="excel")
    assert caught.value.argument == "transform" and caught.value.found == "'excel'"


def test_doubts_come_with_a_remedy_that_spends_nothing() -> None:
    with pytest.warns(ConvergenceWarning, match="refit_posterior") as caught:
        linear(draws=10, chains=1).fit(X, Y)
    assert [warning.filename for warning in caught] == [__file__]
