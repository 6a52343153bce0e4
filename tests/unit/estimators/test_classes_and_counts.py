"""The logistic and the Poisson estimator: labels, counts and shapes; with the real posterior also coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import d2_tweedie_score, get_scorer, log_loss
from tests.refusals import about
from tests.unit.estimators.stand_in import stand_in_fit

import noisewise as nw
from noisewise.errors import DeclarationError
from noisewise.estimators import base

RNG = np.random.default_rng(11)
X = RNG.normal(0, 1, (3000, 2)).clip(-4, 4)
SECOND = RNG.random(3000) < 1 / (1 + np.exp(0.5 - 1.0 * X[:, 0] + 0.5 * X[:, 1]))
COUNTS = RNG.poisson(np.exp(0.5 + 0.3 * X[:, 0] - 0.2 * X[:, 1]))
PUBLIC: dict[str, Any] = {"epsilon": 100.0, "delta": 1e-6, "bounds": (-4, 4), "adjacency": "replace-one", "draws": 300,
                          "chains": 2, "random_state": 1, "progress": False}
GRAM: dict[str, Any] = {"release_kind": "gram", "near_normal": True}


@pytest.fixture
def without_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "fit", stand_in_fit)


def logistic(classes: Any, **changed: Any) -> Any:
    return nw.PrivateLogisticRegression(classes=classes, **{**PUBLIC, **GRAM, **changed})


@pytest.mark.usefixtures("without_sampler")
@pytest.mark.parametrize("classes", [("no", "yes"), ("yes", "no"), (0, 1), (-1, 1), (False, True), (1.0, 2.0), np.array([3, 7])],
                         ids=repr)
def test_labels_of_every_kind_are_declared_and_returned(classes: Any) -> None:
    low, high = sorted(np.asarray(classes).tolist())
    labels = np.where(SECOND[:300], high, low)
    for y in (labels, labels.astype(object), labels.tolist()):
        model = logistic(classes).fit(X[:300], y)
        assert model.classes_.tolist() == [low, high]
        assert set(model.predict(X).tolist()) == {low, high} and model.score(X[:300], labels) > 0.6
    assert model.coef_.shape == (1, 2) and model.intercept_.shape == (1,)
    assert model.coef_interval_.shape == (1, 2, 2) and model.intercept_interval_.shape == (1, 2)


@pytest.mark.usefixtures("without_sampler")
def test_probabilities_are_those_of_the_posterior_in_the_order_of_the_classes() -> None:
    model = logistic(("yes", "no")).fit(X, np.where(SECOND, "yes", "no"))
    second = model.posterior_.predict({"x0": X[:9, 0], "x1": X[:9, 1]})["mean"]
    assert np.allclose(model.predict_proba(X[:9]), np.column_stack([1 - second, second]), rtol=1e-12)
    assert np.array_equal(model.predict_log_proba(X[:9]), np.log(model.predict_proba(X[:9])))
    truth = np.where(SECOND, "yes", "no")
    assert log_loss(truth, model.predict_proba(X)) < 0.69  # it sorts the labels: that of the other order would be above log 2
    assert get_scorer("roc_auc")(model, X, truth) > 0.7
    assert model.predict_interval(X[:9]).shape == (9, 2)


@pytest.mark.usefixtures("without_sampler")
def test_what_is_no_declared_class_counts_as_the_first() -> None:
    """No label can make a fit fail: three labels, NaN and numbers give the same public attributes."""
    strange = np.array(["maybe", None, np.nan, 7.5, "no", "yes"] * 500, dtype=object)
    plain = np.array(["no", "no", "no", "no", "no", "yes"] * 500, dtype=object)
    fits = [logistic(("no", "yes"), epsilon=1e9, delta=None).fit(X, y) for y in (strange, plain)]
    assert np.allclose(fits[0].predict_proba(X), fits[1].predict_proba(X), rtol=1e-9)


@pytest.mark.usefixtures("without_sampler")
def test_a_posterior_that_is_fitted_again_keeps_the_labels_of_its_release() -> None:
    model = logistic(("no", "yes")).fit(X, np.where(SECOND, "yes", "no"))
    assert model.set_params(classes=("a", "b")).refit_posterior().classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("classes", [("a",), ("a", "b", "c"), ("a", "a"), "ab", ("a", 1), 2, [["a", "b"]]], ids=repr)
def test_classes_are_two_labels(classes: Any) -> None:
    with pytest.raises(DeclarationError, check=about("classes")):
        logistic(classes).fit(X, SECOND)


def poisson(**changed: Any) -> Any:
    return nw.PrivatePoissonRegressor(**{"target_bounds": 15, **PUBLIC, **GRAM, **changed})


@pytest.mark.usefixtures("without_sampler")
def test_counts_begin_at_zero_and_end_at_the_largest() -> None:
    for largest in (15, 15.0, np.int64(15), (0, 15), [0, 15], np.array([0, 15])):
        model = poisson(target_bounds=largest).fit(X, COUNTS)
        assert model.release_.schema.column("y").to_dict() == {"bounds": [0, 15]}
    for wrong in ((1, 15), (0, 5, 15), "many", -3):
        with pytest.raises(DeclarationError):
            poisson(target_bounds=wrong).fit(X, COUNTS)


@pytest.mark.usefixtures("without_sampler")
def test_expected_counts_are_those_of_the_posterior() -> None:
    model = poisson().fit(X, COUNTS)
    new = {"x0": X[:9, 0], "x1": X[:9, 1]}
    mean, deviation = model.predict(X[:9], return_std=True)
    assert np.allclose(mean, model.posterior_.predict(new, kind="mean")["mean"], rtol=1e-12)
    assert np.allclose(deviation, np.sqrt(mean), rtol=1e-3)  # the stand-in's coefficients are nearly certain
    assert model.score(X, COUNTS) == d2_tweedie_score(COUNTS, model.predict(X), power=1)
    whole = model.predict_interval(X[:9], kind="response")
    assert np.array_equal(whole, np.round(whole))


@pytest.mark.parametrize("kind", ["model", pytest.param("gram", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("default::noisewise.errors.ConvergenceWarning")
def test_coefficients_are_recovered_by_the_real_posterior(kind: str) -> None:
    """Within six standard deviations, which are small enough to tell a wrong sign or column."""
    for model, y, truth in [(logistic((False, True), release_kind=kind), SECOND, [-0.5, 1.0, -0.5]),
                            (poisson(release_kind=kind), COUNTS, [0.5, 0.3, -0.2]),
                            (poisson(release_kind=kind, robust=kind == "model"), COUNTS, [0.5, 0.3, -0.2])]:
        assert model.fit(X, y).release_.kind.name == kind
        deviation = model.posterior_.summary()["sd"]
        assert np.all(np.abs(np.append(model.intercept_, model.coef_) - truth) < 6 * deviation)
        assert np.all(deviation < 0.1)


@pytest.mark.usefixtures("without_sampler")
def test_predictors_are_taken_for_normal_in_gram_releases_only_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user says about them goes to `noisewise.fit`, which warns."""
    asked: list[bool] = []

    def fit(*arguments: Any, near_normal: bool, **options: Any) -> nw.Posterior:
        asked.append(near_normal)
        return stand_in_fit(*arguments, **options)

    monkeypatch.setattr(base, "fit", fit)
    for model, y in [(logistic((False, True)), SECOND), (poisson(), COUNTS)]:
        model.fit(X, y).set_params(near_normal=False).refit_posterior()
    assert asked == [True, False] * 2
