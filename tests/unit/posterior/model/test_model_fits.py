"""`fit` for model releases: every family, robust intervals, what goes with a fit, and calls that are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, ndtr
from tests.refusals import about
from tests.unit.posterior.model import made_models as made

import noisewise as nw
import noisewise.posterior.fit_many as fit_many_module
from noisewise.errors import ConvergenceWarning, FitError
from noisewise.posterior.glm.fit import GlmModel
from noisewise.posterior.request import Sampled
from noisewise.results import Posterior
from noisewise.run import QUIET

FAMILIES = tuple(made.RESPONSES)
NEW = {"dose": [0.5, 4.0], "ward": ["A", "C"]}


def linear_predictors(post: Posterior) -> np.ndarray:
    rows = np.array([[1, 0.5, 0, 0], [1, 4.0, 0, 1]])
    return rows @ post.samples.reshape(-1, len(post.terms))[:, :4].T


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fit_needs_no_formula_and_finds_the_truth(family: str) -> None:
    """Five standard deviations: of 20 coefficients one would be beyond in 1e5 runs, and the seeds are fixed."""
    post = made.fitted(family)
    assert (post.info.family, post.info.method, post.info.robust) == (family, "rounds", False)
    half = 0.5 if family in ("poisson", "negative-binomial") else 1.0
    truth = half * np.array(list(made.TRUTH.values()))
    table = post.summary().iloc[:4]
    assert (np.abs(table["mean"] - truth) < 5 * table["sd"]).all() and post.diagnose() == []
    assert (table["sd"] < 0.2).all() and post.info.estimand.startswith("the ")
    scale = {"gaussian": ("sigma", 1.0), "negative-binomial": ("dispersion", made.DISPERSION)}.get(family)
    if scale is not None:
        low, high = np.quantile(post.draws(scale[0]), [0.001, 0.999])
        assert post.terms[-1] == scale[0] and low < scale[1] < high


@pytest.mark.parametrize("family", FAMILIES)
def test_means_of_new_rows(family: str) -> None:
    inverse: Any = {"gaussian": lambda eta: eta, "logistic": expit, "probit": ndtr}.get(family, np.exp)
    means = inverse(linear_predictors(made.fitted(family)))
    found = made.fitted(family).predict(NEW, 0.9, kind="mean")
    expected = np.column_stack([means.mean(axis=1), *np.quantile(means, [0.05, 0.95], axis=1)])
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-10)


def test_intervals_of_a_new_number_are_those_of_the_mixture() -> None:
    post = made.fitted("gaussian")
    found = post.predict(NEW, 0.9)
    at = linear_predictors(post)
    for place in range(2):
        for end, tail in (("lower", 0.05), ("upper", 0.95)):
            below = stats.norm.cdf(found[end][place], at[place], post.draws("sigma")).mean()
            assert below == pytest.approx(tail, abs=1e-5)


@pytest.mark.parametrize("family", ["poisson", "negative-binomial"])
@pytest.mark.parametrize("interval", [0.5, 0.95])
def test_intervals_of_a_new_count_are_those_of_the_mixture(family: str, interval: float) -> None:
    post = made.fitted(family)
    found, rates = post.predict(NEW, interval, kind="response"), np.exp(linear_predictors(post))
    assert (found == found.round()).all()[["lower", "upper"]].all()
    for place in range(2):
        if family == "poisson":
            law = stats.poisson(rates[place])
        else:
            size = 1 / post.draws("dispersion")
            law = stats.nbinom(size, size / (size + rates[place]))
        for end, tail in (("lower", (1 - interval) / 2), ("upper", (1 + interval) / 2)):
            count = found[end][place]
            assert law.cdf(count).mean() >= tail > (law.cdf(count - 1).mean() if count > 0 else -1)
    assert np.allclose(found["mean"], rates.mean(axis=1))


def test_more_dispersion_makes_wider_intervals() -> None:
    """With the same coefficients: what makes the interval wide is the dispersion, not the rate."""
    post = made.fitted("negative-binomial")
    samples = np.array(post.samples)
    samples[..., -1] = 2.0
    wide = Posterior(samples, post.terms, post.design, post.info).predict(NEW, kind="response")
    samples[..., -1] = 1e-9
    narrow = Posterior(samples, post.terms, post.design, post.info).predict(NEW, kind="response")
    assert (wide["upper"] >= narrow["upper"] + 2).all()
    rates = np.exp(linear_predictors(post))  # with almost none, those of Poisson counts
    assert narrow["upper"][1] == next(k for k in range(99) if stats.poisson(rates[1]).cdf(k).mean() >= 0.975)


@pytest.mark.parametrize("family", FAMILIES)
def test_everything_that_goes_with_a_fit(family: str, tmp_path: Path) -> None:
    post = made.fitted(family)
    post.save(tmp_path / "fit.npz")
    back = Posterior.load(tmp_path / "fit.npz")
    assert back.info == post.info and back.terms == post.terms and back.prior == post.prior
    assert back.samples.tobytes() == post.samples.tobytes()
    assert back.check(made.usual(family)).table.equals(post.check(made.usual(family)).table)
    post.plot(path=tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 1000
    exported = post.to_arviz()["posterior"]
    assert list(exported["term"].values) == list(post.design.terms)
    for name in post.terms[len(post.design.terms):]:
        assert exported[name].shape == post.samples.shape[:2]
        np.testing.assert_array_equal(exported[name].values, post.samples[..., -1])
    assert exported.attrs["family"] == family


@pytest.mark.parametrize("family", ["logistic", "poisson", "negative-binomial"])
def test_ratios(family: str) -> None:
    post = made.fitted(family)
    found = post.ratios(per={"dose": 2})
    assert list(found.index) == ["dose", "ward[T.B]", "ward[T.C]"]
    assert found.iloc[0, 1] == pytest.approx(np.exp(2 * np.median(post.draws("dose"))))


def test_robust_intervals_of_overdispersed_counts_are_wider() -> None:
    """Counts vary 1 + 0.5 · rate times as much as Poisson counts; of Poisson counts, robust intervals are about as wide."""
    over = made.release("poisson", epsilon=10.0, law="negative-binomial", rows=40_000)
    with pytest.warns(ConvergenceWarning, match="counts vary"):
        usual = nw.fit(over, seed=1, run=QUIET)
    robust = nw.fit(over, robust=True, seed=1, run=QUIET)
    assert robust.info.robust and robust.info.method == "rounds-robust"
    ratio = robust.summary()["sd"] / usual.summary()["sd"]
    assert (ratio > 1.1).all() and np.allclose(robust.summary()["mean"], usual.summary()["mean"], atol=0.05)
    fair = made.release("poisson", epsilon=10.0, rows=40_000)
    same = nw.fit(fair, robust=True, seed=1, run=QUIET).summary()["sd"] / nw.fit(fair, seed=1, run=QUIET).summary()["sd"]
    assert (np.abs(same - 1) < 0.1).all()


def test_many_fits_are_those_one_by_one() -> None:
    many = nw.fit_many("visits ~ dose + ward", [made.usual("poisson"), made.usual("poisson")], seed=1, run=QUIET)
    assert many[0].samples.tobytes() == made.fitted("poisson").samples.tobytes() != many[1].samples.tobytes()


def gram() -> nw.Release:
    return nw.release(made.table("logistic", 1, 3000), made.schema("logistic"), epsilon=1e4, delta=1e-6, run=QUIET)


REFUSED: dict[str, tuple[Any, str | None]] = {
    "no formula for gram": (lambda: nw.fit(gram()), "formula"),
    "formula of another regression": (lambda: nw.fit("back ~ dose", made.usual("logistic")), "formula"),
    "response of another regression": (lambda: nw.fit("visits ~ dose + ward", made.usual("logistic")), "formula"),
    "another family": (lambda: nw.fit(made.usual("poisson"), family="negative-binomial"), "family"),
    "linear regression": (lambda: nw.fit(made.usual("poisson"), family="gaussian"), "family"),
    "a method for gram": (lambda: nw.fit(made.usual("poisson"), method="laplace"), "method"),
    "site": (lambda: nw.fit(made.usual("poisson"), site="random"), "site"),
    "robust on gram": (lambda: nw.fit("back ~ dose", gram(), family="logistic", robust=True), "robust"),
    "robust for two levels": (lambda: nw.fit(made.usual("logistic"), robust=True), "robust"),
    "negative binomial on gram": (lambda: nw.fit("back ~ dose", gram(), family="negative-binomial"), "family"),
    "compare methods": (lambda: nw.compare_methods("stay ~ dose + ward", made.usual("gaussian")), None),
    "many of two kinds": (lambda: nw.fit_many("back ~ dose + ward", [made.usual("logistic"), gram()]), "releases"),
    "many of gram, robust": (lambda: nw.fit_many("back ~ dose + ward", gram(), robust=True), "robust"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused(name: str) -> None:
    call, argument = REFUSED[name]
    with pytest.raises(FitError, check=about(argument)) if argument else pytest.raises(FitError, match="one method"):
        call()


def test_a_doubt_about_the_rounds_asks_for_a_release_not_for_draws() -> None:
    post = made.fitted("poisson")
    doubtful = Posterior(post.samples, post.terms, post.design, replace(post.info, doubts=("it looked far off",)))
    with pytest.warns(ConvergenceWarning, match=r"it looked far off.*begins where this one ended \(Model\(") as told:
        doubtful.warn_if_bad()
    assert "draws=" not in str(told[0].message)


def test_numbers_are_taken_for_normal_unless_the_user_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sampling, which would take most of the time."""
    draws = np.random.default_rng(1).normal(size=(4, 1000, 4))
    sampled = Sampled(draws[..., :3], np.zeros((4, 1000), dtype=bool))
    monkeypatch.setattr(GlmModel, "sample", lambda model, **_: replace(
        sampled, samples=draws[..., :model.data["features"].shape[1]]))
    monkeypatch.setattr(fit_many_module, "_sample", lambda jobs, *_: ([replace(sampled, samples=draws[..., :2])], [1.0]))
    release, settings = gram(), {"family": "logistic", "seed": 1, "run": QUIET}
    with pytest.warns(ConvergenceWarning, match=r"taken for normal \(dose\).*near_normal=True.*kind model") as told:
        assert nw.fit("back ~ dose + ward", release, **settings).info.taken_for_normal
    assert len(told) == 1
    assert nw.fit("back ~ dose + ward", release, near_normal=True, **settings).diagnose() == []
    assert nw.fit("back ~ ward", release, **settings).diagnose() == []
    assert nw.fit_many("back ~ dose", release, near_normal=True, **settings)[0].diagnose() == []
    with pytest.warns(ConvergenceWarning, match="1 of 1"):
        assert nw.fit_many("back ~ dose", release, **settings)[0].info.taken_for_normal
