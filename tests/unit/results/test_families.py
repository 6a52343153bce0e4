"""Results of logistic, probit and Poisson regressions: there is no sigma, and everything that a user can ask for works."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.refusals import about

import noisewise as nw
from noisewise.errors import ConvergenceWarning, FitError, ResultError
from noisewise.results import FitInfo, Posterior, PriorSummary
from noisewise.results.prediction import count_quantile
from noisewise.run import QUIET
from noisewise.schema import Basis, Design, Schema

DECLARED: dict[str, Any] = {"adjacency": "replace-one", "columns": {
    "back": {"levels": ["no", "yes"]}, "visits": {"bounds": [0, 12]}, "age": {"bounds": [18, 98]},
    "ward": {"levels": ["A", "B"]}}}
TERMS = ("Intercept", "age", "ward[T.B]")
FORMULAS = {"logistic": "back ~ age + ward", "probit": "back ~ age + ward", "poisson": "visits ~ age + ward"}
FAMILIES = list(FORMULAS)
NEW = {"age": [20, 50, 80], "ward": ["A", "B", "A"]}


def samples(seed: int = 3) -> NDArray[np.float64]:
    return np.array([-2.0, 0.03, 0.5]) + np.array([0.2, 0.004, 0.1]) * np.random.default_rng(seed).standard_normal((4, 500, 3))


def posterior(family: str, draws: NDArray[np.float64] | None = None, prior: bool = True, **changes: Any) -> Posterior:
    values = samples() if draws is None else draws
    design = Design.of(FORMULAS[family], Basis.of(Schema.from_dict(DECLARED)))
    info = FitInfo("conditional", family, FORMULAS[family], 1, *values.shape[:2])
    stated = PriorSummary(dict.fromkeys(TERMS, 0.0), dict.fromkeys(TERMS, 2.0)) if prior else None
    return Posterior(values, TERMS, design, replace(info, **changes), stated)


def linear_predictors(post: Posterior) -> NDArray[np.float64]:
    flat = post.samples.reshape(-1, 3)
    return np.column_stack([np.ones(3), NEW["age"], np.array(NEW["ward"]) == "B"]) @ flat.T


@pytest.mark.parametrize("family", FAMILIES)
def test_there_is_no_sigma_anywhere(family: str) -> None:
    post = posterior(family)
    assert list(post.summary().index) == list(post.draws().columns) == list(TERMS) and not post.has_sigma
    assert "sigma" not in post._repr_html_() and family in post._repr_html_() and FORMULAS[family] in repr(post)
    assert post.prior is not None and not post.prior.covers("sigma")
    with pytest.raises(ResultError, match="prior.*sigma"):
        post.prior.interval("sigma", 0.95)
    with pytest.raises(ResultError) as refused:
        post.draws("sigma")
    assert refused.value.argument == "term" and refused.value.found == "sigma"


def test_a_sigma_is_refused_where_there_is_none_and_asked_for_where_there_is_one() -> None:
    known = posterior("logistic")
    with pytest.raises(ResultError, check=about("terms")):
        Posterior(np.ones((1, 2, 4)), (*TERMS, "sigma"), known.design, known.info)
    with pytest.raises(ResultError, check=about("terms")):
        Posterior(known.samples, TERMS, known.design, replace(known.info, family="gaussian"))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("prior", [True, False])
def test_saved_and_loaded(family: str, prior: bool, tmp_path: Path) -> None:
    post = posterior(family, prior=prior)
    post.save(tmp_path / "fit.npz")
    again = Posterior.load(tmp_path / "fit.npz")
    assert np.array_equal(again.samples, post.samples) and again.info == post.info and again.prior == post.prior
    pandas.testing.assert_frame_equal(again.predict(NEW), post.predict(NEW))


@pytest.mark.parametrize("family", FAMILIES)
def test_pictures_with_and_without_a_prior(family: str) -> None:
    for kind in ("forest", "posterior"):
        shown = {prior: _labels(posterior(family, prior=prior).plot(kind)) for prior in (True, False)}
        assert any("prior" in words for words in shown[True]) and not any("prior" in words for words in shown[False])


def _labels(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_a_prior_curve_is_the_density_of_the_prior() -> None:
    panels = posterior("logistic").plot("posterior").axes[0].child_axes
    lines = [line for panel in panels for line in panel.get_lines() if line.get_gid() == "prior"]
    assert len(lines) == 3
    at, height = lines[1].get_data()
    np.testing.assert_allclose(height, stats.norm.pdf(at, 0, 2), rtol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_arviz_gets_all_coefficients(family: str) -> None:
    pytest.importorskip("arviz")
    post = posterior(family)
    found = post.to_arviz()
    assert list(found["posterior"]["coefficient"].coords["term"].values) == list(TERMS)
    assert "sigma" not in found["posterior"] and found["posterior"].attrs["family"] == family
    np.testing.assert_array_equal(found["posterior"]["coefficient"].values, post.samples)


def test_a_warning_says_what_can_be_done_about_a_doubt() -> None:
    with pytest.warns(ConvergenceWarning, match="the noise hides it.*fewer predictors") as told:
        posterior("logistic", doubts=("the noise hides it",)).warn_if_bad()
    assert "draws=" not in str(told[0].message)
    with pytest.warns(ConvergenceWarning, match="fewer predictors.*draws=200"):
        posterior("logistic", samples()[:, :50], doubts=("the noise hides it",)).warn_if_bad()
    with pytest.warns(ConvergenceWarning, match="What to do: fit again with more draws"):
        posterior("logistic", samples()[:, :50]).warn_if_bad()


@pytest.mark.parametrize(("family", "inverse"),
                         [("logistic", stats.logistic.cdf), ("probit", stats.norm.cdf), ("poisson", np.exp)])
def test_the_mean_and_its_interval(family: str, inverse: Any) -> None:
    post = posterior(family)
    means = inverse(linear_predictors(post))
    expected = np.column_stack([means.mean(axis=1), *np.quantile(means, [0.05, 0.95], axis=1)])
    np.testing.assert_allclose(post.predict(NEW, 0.9).to_numpy(), expected, rtol=1e-12)
    pandas.testing.assert_frame_equal(post.predict(NEW), post.predict(NEW, kind="mean"))


@pytest.mark.parametrize("family", ["logistic", "probit"])
def test_a_new_response_with_two_levels_is_the_more_probable_one(family: str) -> None:
    post = posterior(family)
    found = post.predict({"age": [20, 98], "ward": "B"}, kind="response")
    assert list(found.columns) == ["mean", "lower", "upper", "level"] and found["level"].tolist() == ["no", "yes"]
    pandas.testing.assert_frame_equal(found[["mean", "lower", "upper"]], post.predict({"age": [20, 98], "ward": "B"}))


@pytest.mark.parametrize("interval", [0.5, 0.95, 0.999])
def test_a_new_count_by_the_distribution_of_all_draws(interval: float) -> None:
    post = posterior("poisson")
    found = post.predict(NEW, interval, kind="response")
    rates = np.exp(linear_predictors(post))
    np.testing.assert_allclose(found["mean"], rates.mean(axis=1))
    for column, tail in (("lower", (1 - interval) / 2), ("upper", (1 + interval) / 2)):
        counts = found[column].to_numpy()
        assert (counts == np.round(counts)).all()
        up_to = stats.poisson.cdf(counts[:, None], rates).mean(axis=1)
        one_less = stats.poisson.cdf(counts[:, None] - 1, rates).mean(axis=1)
        assert (up_to >= tail).all() and (one_less < tail).all()


@pytest.mark.parametrize("probability", [1e-6, 0.025, 0.5, 0.975, 1 - 1e-6])
@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0])
def test_count_quantiles_of_small_large_and_mixed_rates(probability: float, spread: float) -> None:
    logs = np.array([-30.0, -2.0, 0.0, 3.0, 9.0, 20.0])
    rates = np.exp(logs[:, None] + spread * np.random.default_rng(1).standard_normal((6, 200)))
    found = count_quantile(rates, probability)
    assert (stats.poisson.cdf(found[:, None], rates).mean(axis=1) >= probability).all()
    assert (stats.poisson.cdf(found[:, None] - 1, rates).mean(axis=1) < probability).all()


def test_far_extrapolations_stay_finite() -> None:
    found = posterior("poisson").predict({"age": [1e5, -1e5], "ward": "A"}, kind="response")
    assert np.isfinite(found.to_numpy()).all() and found.iloc[0, 0] > 1e100 and found.iloc[1].tolist() == [0.0, 0.0, 0.0]
    assert posterior("logistic").predict({"age": [1e7, -1e7], "ward": "A"})["mean"].tolist() == [1.0, 0.0]


def test_no_rows_at_all() -> None:
    for family in FAMILIES:
        found = posterior(family).predict({"age": [], "ward": []}, kind="response")
        assert len(found) == 0


@pytest.mark.parametrize(("family", "name"), [("logistic", "odds ratio"), ("poisson", "incidence-rate ratio")])
def test_ratios(family: str, name: str) -> None:
    post = posterior(family)
    found = post.ratios(0.9, per={"age": 10})
    assert list(found.columns) == ["per", name, "5%", "95%", "P(>1)"] and list(found.index) == ["age", "ward[T.B]"]
    assert found["per"].tolist() == [10.0, 1.0]
    age = post.draws("age")
    np.testing.assert_allclose(found.loc["age"].to_numpy()[1:4], np.exp(10 * np.quantile(age, [0.5, 0.05, 0.95])))
    assert found.loc["age", "P(>1)"] == (age > 0).mean()
    np.testing.assert_allclose(post.ratios(per={"age": -10}).loc["age", name], 1 / found.loc["age", name], rtol=1e-9)


def test_ratios_are_refused_where_they_mean_nothing() -> None:
    with pytest.raises(ResultError, match="odds ratios \\(logistic\\), incidence-rate ratios \\(poisson\\)"):
        posterior("probit").ratios()
    bare = Design.of("back ~ 1", Basis.of(Schema.from_dict(DECLARED)))
    with pytest.raises(ResultError, match="predictor"):
        Posterior(samples()[:, :, :1], ("Intercept",), bare, posterior("logistic").info).ratios()


@pytest.mark.parametrize("per", [{"Intercept": 2}, {"size": 1}, {"age": 0}, {"age": math.nan}, {"age": "ten"}, {"age": True},
                                 {"age": np.complex128(2)}, 10])
def test_bad_steps_are_refused(per: Any) -> None:
    with pytest.raises(ResultError, check=about("per")):
        posterior("logistic").ratios(per=per)


def test_methods_are_compared_for_linear_regression_only() -> None:
    table = {"back": ["no", "yes"] * 50, "visits": [0, 1] * 50, "age": list(range(20, 70)) * 2, "ward": ["A", "B"] * 50}
    release = nw.release(table, Schema.from_dict(DECLARED), epsilon=10, delta=1e-6, run=QUIET)
    with pytest.raises(FitError, match="linear regression"):
        nw.compare_methods("back ~ age", release, family="logistic")
