"""Posterior: the table, the draws, and what it says about a bad fit."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas
import pytest
from tests.refusals import about
from tests.unit.results import draws_with_known_answers as known

from noisewise.errors import ConvergenceWarning, ResultError
from noisewise.results import Posterior, PriorSummary

COLUMNS = ["mean", "sd", "2.5%", "97.5%", "ess_bulk", "ess_tail", "r_hat", "P(>0)"]


def test_summary_has_the_promised_names() -> None:
    table = known.posterior().summary()
    assert list(table.columns) == COLUMNS
    assert list(table.index) == ["Intercept", "age", "ward[T.B]", "ward[T.C]", "sigma"]


@pytest.mark.parametrize(
    ("interval", "labels"),
    [(0.9, ["5%", "95%"]), (0.5, ["25%", "75%"]), (0.99, ["0.5%", "99.5%"]), (0.999, ["0.05%", "99.95%"])],
)
def test_percent_labels_follow_the_interval(interval: float, labels: list[str]) -> None:
    assert list(known.posterior().summary(interval).columns[2:4]) == labels


def test_summary_of_a_known_normal() -> None:
    """4000 independent draws: the mean is right to 5 sd / sqrt(4000), and a 2.5 % quantile to 5 times
    sqrt(0.025 * 0.975 / 4000) / 0.0584 = 0.0423 sd. Half an interval width off would be refused."""
    table = known.posterior().summary()
    mean, sd = known.CENTRE, known.SPREAD
    assert (np.abs(table["mean"] - mean) < 5 * sd / np.sqrt(4000)).all()
    assert (np.abs(table["sd"] / sd - 1) < 5 / np.sqrt(2 * 4000)).all()
    assert (np.abs(table["2.5%"] - (mean - 1.959964 * sd)) < 5 * 0.0423 * sd).all()
    assert (np.abs(table["97.5%"] - (mean + 1.959964 * sd)) < 5 * 0.0423 * sd).all()
    assert table.loc["sigma", "P(>0)"] == 1.0
    assert table.loc["ward[T.B]", "P(>0)"] < 0.01
    assert (table["ess_bulk"] > 3000).all()
    assert (table["r_hat"] < 1.01).all()


def test_draws_that_never_move_have_no_deviation_at_all() -> None:
    """Not that of rounding, 1e-15, all digits of which a table would show."""
    samples = known.normal_samples(draws=30)
    samples[..., -1] = 20 / 3
    assert known.posterior(samples).summary()["sd"].iloc[-1] == 0.0


def test_probability_of_being_positive_is_counted() -> None:
    samples = np.ones((1, 4, 5))
    samples[0, :, 1] = [-1.0, 0.0, 2.0, 3.0]
    assert known.posterior(samples).summary().loc["age", "P(>0)"] == 0.5


@pytest.mark.parametrize("interval", [0, 1, 1.2, -0.5, float("nan"), "0.95", True])
def test_an_interval_is_a_probability(interval: object) -> None:
    with pytest.raises(ResultError, check=about("interval")):
        known.posterior().summary(interval)  # type: ignore[arg-type]


def test_draws_are_chain_after_chain() -> None:
    post = known.posterior()
    ages = post.draws("age")
    assert ages.shape == (4000,)
    np.testing.assert_array_equal(ages[1000:2000], post.samples[1, :, 1])
    frame = post.draws()
    assert isinstance(frame, pandas.DataFrame)
    np.testing.assert_array_equal(frame["age"], ages)


def test_an_unknown_term_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ResultError, check=about("term", found="weight", known="ward[T.B]")):
        known.posterior().draws("weight")


def test_samples_cannot_be_changed() -> None:
    source = known.normal_samples()
    post = known.posterior(source)
    with pytest.raises(ValueError, match="read-only"):
        post.samples[0, 0, 0] = 1.0
    first = post.samples[0, 0, 0]
    source[0, 0, 0] = 99.0
    assert post.samples[0, 0, 0] == first


def test_malformed_posteriors_are_refused() -> None:
    good = known.normal_samples(draws=10)
    design, info = known.design(), known.info()
    not_finite = good.copy()
    not_finite[0, 0, 0] = np.inf
    negative = good.copy()
    negative[0, 0, -1] = -1.0
    for samples in (good[0], good[:, :, :3], good[:, :0], not_finite, negative):
        with pytest.raises(ResultError):
            Posterior(samples, known.TERMS, design, info)
    with pytest.raises(ResultError, check=about("terms")):
        Posterior(good, ("a", "b", "c", "d", "sigma"), design, info)
    with pytest.raises(ResultError, check=about("diverging")):
        Posterior(good, known.TERMS, design, info, None, np.zeros(3, dtype=bool))


def test_prior_intervals_and_densities() -> None:
    prior = PriorSummary(mean={"age": 1.0}, sd={"age": 2.0}, sigma_scale=3.0)
    assert prior.interval("age", 0.95) == pytest.approx((1 - 3.919928, 1 + 3.919928))
    # |N(0, 3)|: quantiles 3 * ndtri(0.5125) and 3 * ndtri(0.9875)
    assert prior.interval("sigma", 0.95) == pytest.approx((0.0940131, 6.7242082), rel=1e-5)
    grid = np.linspace(-20, 30, 20001)
    for term in ("age", "sigma"):
        assert np.trapezoid(prior.density(term, grid), grid) == pytest.approx(1.0, abs=2e-3)
    assert prior.density("sigma", np.array([-1.0]))[0] == 0
    for mean, sd, scale in (({}, {"a": 1.0}, 1.0), ({"a": 0.0}, {"a": 0.0}, 1.0), ({}, {}, float("inf"))):
        with pytest.raises(ResultError):
            PriorSummary(mean=mean, sd=sd, sigma_scale=scale)


def test_a_good_fit_is_silent() -> None:
    post = known.posterior()
    assert post.diagnose() == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        post.warn_if_bad()


def test_disagreeing_chains_are_named_with_a_remedy() -> None:
    samples = known.normal_samples()
    samples[0, :, 1] += 0.03
    post = known.posterior(samples)
    assert len(post.diagnose()) == 2
    assert "disagree on age (R-hat up to" in post.diagnose()[0]
    assert "too few effective draws for age" in post.diagnose()[1]
    with pytest.warns(ConvergenceWarning, match="draws=4000") as caught:
        post.warn_if_bad()
    assert caught[0].filename == __file__


@pytest.mark.parametrize("method", ["conditional", "conditional-flat", "collapsed"])
def test_more_draws_are_no_remedy_for_noise_that_hides_the_predictors(method: str) -> None:
    with pytest.warns(ConvergenceWarning, match="drop some predictors") as caught:
        known.posterior(method=method, doubts=("the noise hides the predictors",)).warn_if_bad()
    assert "draws=" not in str(caught[0].message)


def test_few_draws_are_a_problem() -> None:
    found = known.posterior(known.normal_samples(draws=50)).diagnose()
    assert any("too few effective draws" in problem for problem in found)


def test_divergences_are_counted() -> None:
    assert known.posterior(divergences=9).diagnose() == [
        "9 divergent transitions in 4000 draws; the sampler may have missed part of the posterior"
    ]
    assert known.posterior(divergences=8).diagnose() == []  # two in a thousand are nothing to worry about
    with pytest.warns(ConvergenceWarning, match="narrower prior"):
        known.posterior(divergences=12).warn_if_bad()


def test_draws_that_never_move_are_a_problem() -> None:
    samples = known.normal_samples()
    samples[:, :, 2] = 1.0
    assert known.posterior(samples).diagnose() == ["all draws of ward[T.B] are the same"]


def test_many_bad_terms_are_counted_not_listed() -> None:
    from noisewise.results.summary import problems

    samples = np.random.default_rng(1).standard_normal((4, 500, 9)) + np.arange(4.0)[:, None, None]
    assert "a, b, c, d, e and 4 more" in problems(samples, list("abcdefghi"), 0)[0]


def test_short_forms() -> None:
    post = known.posterior(formula="stay ~ I(a < b)")
    assert repr(post) == "<Posterior 'stay ~ I(a < b)', method conditional: 5 terms, 4 chains of 1000 draws>"
    html = post._repr_html_()
    assert "I(a &lt; b)" in html
    assert "<td>" in html
    assert "ward[T.B]" in html
    assert "<li>" not in html
    assert "<li>30 divergent" in known.posterior(divergences=30)._repr_html_()


def test_a_function_that_fits_can_blame_its_caller() -> None:
    def fit() -> None:
        known.posterior(divergences=30).warn_if_bad(stacklevel=2)

    with pytest.warns(ConvergenceWarning) as caught:
        line = sys._getframe().f_lineno + 1
        fit()
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)
