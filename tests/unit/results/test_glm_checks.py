"""The predictive check of logistic, probit and Poisson regressions: calibrated where the model holds, loud where it does not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.unit.posterior.seeded_release import seeded_release
from tests.unit.results import made_outcomes as made

import noisewise as nw
from noisewise.errors import ResultError
from noisewise.posterior.glm.expectations import Expectations
from noisewise.posterior.glm.holder_law import dispersion
from noisewise.results import FitInfo
from noisewise.results.check_findings import ALL, DISPERSION, LEFT_OUT, MEAN_RESPONSE, OVERALL
from noisewise.results.checks import PredictiveCheck
from noisewise.run import QUIET
from noisewise.schema import Design


def checked(family: str, release: nw.Release, formula: str | None = None, **settings: Any) -> PredictiveCheck:
    return made.quick_fit(family, release, formula).check(release, **settings)


SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("logistic", {}),
    ("poisson", {}),
    ("logistic", {"mechanism": "laplace", "sd": 40.0}),
    ("probit", {"probit": True, "adjacency": "add-remove", "sd": 60.0}),
    ("poisson", {"adjacency": "add-remove", "rows": 20_000, "sd": 5.0}),
]


QUICK = 1
"""The others are slow."""


@pytest.mark.parametrize(("family", "settings"), [
    *(pytest.param(*setting, id=str(setting)) for setting in SETTINGS[:QUICK]),
    *(pytest.param(*setting, id=str(setting), marks=pytest.mark.slow) for setting in SETTINGS[QUICK:]),
])
def test_p_values_are_uniform_where_the_model_holds(family: str, settings: dict[str, Any]) -> None:
    """16 studies of 4 holders; the bounds are four standard errors wide, as statistics of one study depend on each other."""
    kinds: dict[str, list[float]] = {"single": [], "overall": [], "agreement": [], "left out": []}
    named = 0
    for seed in range(16):
        check = checked(family, made.consortium(200 + seed, 4, **settings))
        for (holder, statistic), p in check.table["p"].items():
            if statistic == OVERALL:
                kinds["agreement" if holder == ALL else "overall"].append(p)
            elif statistic.endswith(LEFT_OUT):
                kinds["left out"].append(p)
            elif holder != ALL:
                kinds["single"].append(p)
        named += bool(check.problems())
    looked_at = [("single", 0.05), ("single", 0.5), ("overall", 0.1), ("overall", 0.5), ("agreement", 0.5), ("left out", 0.5)]
    for kind, level in looked_at:
        values = np.array(kinds[kind])
        error = math.sqrt(level * (1 - level) / len(values))
        assert abs(np.mean(values < level) - level) < 4 * math.sqrt(2) * error, (kind, level)
    assert named <= 1  # at the level of 0.01 there is more than one in 16 studies with a probability of 0.01


@pytest.mark.outer(but=["logistic-odd0-mean response is higher"])
@pytest.mark.parametrize(("family", "odd", "words"), [
    ("logistic", {"shift": 0.5}, "mean response is higher"),
    ("logistic", {"slope": 0.0}, "coefficient of age looks smaller"),
    pytest.param("probit", {"ward_b": -0.5}, "coefficient of ward[T.B] looks smaller", marks=pytest.mark.slow),
    ("poisson", {"shift": -0.6}, "mean response is lower"),
    ("poisson", {"overdispersion": 1.0}, "counts vary more than Poisson counts"),
])
def test_the_holder_with_another_model_is_named_first(family: str, odd: dict[str, float], words: str) -> None:
    settings = {"probit": True} if family == "probit" else {}
    problems = checked(family, made.consortium(7, 5, odd=odd, **settings)).problems()
    assert problems and problems[0].startswith("holder 5 does not fit the others") and words in problems[0]


@pytest.mark.outer
def test_a_holder_with_other_predictors_is_not_named() -> None:
    """Its patients are older; the coefficients are the same."""
    for family in ("logistic", "poisson"):
        assert checked(family, made.consortium(3, 4, odd={"age": 70.0})).problems() == []


@pytest.mark.outer
def test_overdispersed_counts_are_told_once_and_not_of_each_holder() -> None:
    check = checked("poisson", made.consortium(5, 4, overdispersion=0.7))
    (problem,) = check.problems()
    assert "counts vary more than Poisson counts" in problem and "intervals too narrow" in problem
    assert check.table.loc[(ALL, DISPERSION), "observed"] == pytest.approx(_true_dispersion(0.7), rel=0.1)


def test_a_single_holder_can_be_overdispersed() -> None:
    assert checked("poisson", made.consortium(5, 1)).problems() == []
    (problem,) = checked("poisson", made.consortium(5, 1, overdispersion=0.7)).problems()
    assert problem.startswith("counts vary more than Poisson counts") and "holder" not in problem


def test_a_skewed_predictor_with_a_strong_effect_is_suspected() -> None:
    """The fit is wrong there, and the counts seem to vary too little; with a weak effect nothing is wrong."""
    settings: dict[str, Any] = {"skewed": True, "rows": 20_000, "sd": 5.0}
    assert checked("poisson", made.consortium(5, 2, slope=0.02, **settings)).problems() == []
    problems = checked("poisson", made.consortium(5, 2, slope=0.1, **settings)).problems()
    assert any("counts vary less" in problem and "far from normal" in problem for problem in problems)


def _true_dispersion(overdispersion: float) -> float:
    """(E λ + E λ² φ) / E λ for counts whose largest values are hardly ever cut off."""
    generator = np.random.default_rng(1)
    eta = 0.04 * generator.normal(0, 12, 200_000) + 0.8 * (generator.random(200_000) < 0.3)
    rate = np.exp(0.5 * eta + 0.5)
    return float(1.0 + overdispersion * np.mean(rate**2) / np.mean(rate))


@pytest.mark.slow
def test_a_column_that_is_left_out_is_found() -> None:
    for family, formula, holders in (("logistic", "back ~ age", 1), ("poisson", "visits ~ age", 3)):
        problems = checked(family, made.consortium(2, holders), formula).problems()
        assert any("depend on ward[B], which the formula leaves out" in problem for problem in problems)


def test_the_mean_response_is_in_the_units_of_the_table() -> None:
    release = made.consortium(4, 2)
    table = checked("logistic", release).table
    for number, part in enumerate(release.contributions, start=1):
        share = 0.5 + 0.5 * part.matrix[0, 1] / part.rows
        assert table.loc[(str(number), MEAN_RESPONSE), "observed"] == pytest.approx(share, abs=1e-9)
    counts = checked("poisson", release).table
    mean = 6 + 6 * release.contributions[0].matrix[0, 2] / release.contributions[0].rows
    assert counts.loc[("1", MEAN_RESPONSE), "observed"] == pytest.approx(mean, abs=1e-9)


def test_names_interval_words_and_picture() -> None:
    check = checked("poisson", made.consortium(6, 3), holders=["north", "east", "south"], interval=0.5)
    assert list(dict.fromkeys(check.table.index.get_level_values("holder"))) == ["north", "east", "south", ALL]
    assert "3 holders" in repr(check) and "dispersion" in check._repr_html_()
    inside = (check.table["observed"] > check.table["lower"]) & (check.table["observed"] < check.table["upper"])
    assert 0.2 < inside.mean() < 0.9
    assert {"mean response", "dispersion", "overall"} <= {text.get_text() for text in check.plot().axes[0].texts}


@pytest.mark.outer
def test_formulas_without_an_intercept_and_without_predictors() -> None:
    release = made.consortium(8, 3)
    assert checked("logistic", release, "back ~ 1").table.loc[("1", MEAN_RESPONSE), "p"] > 1e-4
    found = checked("poisson", release, "visits ~ C(ward) + age - 1")
    assert found.problems() == [] and "residual × ward[A]" in found.table.index.get_level_values("statistic")


@pytest.mark.slow
def test_many_columns() -> None:
    """More than can be sampled: the released matrix itself is the distribution of the columns."""
    generator = np.random.default_rng(3)
    names = [f"x{number}" for number in range(16)]
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
        "visits": {"bounds": [0, 10]}, **{name: {"bounds": [-4, 4]} for name in names}}})
    releases = []
    for shift in (0.0, 0.0, 0.5):
        x = generator.normal(0, 1, (8000, 16))
        counts = np.minimum(generator.poisson(np.exp(0.2 * x[:, 0] - 0.2 * x[:, 1] + shift)), 10)
        rows = dict(zip(names, x.T, strict=True)) | {"visits": counts}
        releases.append(nw.release(rows, schema, epsilon=20, delta=1e-6, run=QUIET))
    formula = "visits ~ " + " + ".join(names)
    well = nw.combine(releases[:2])
    assert made.quick_fit("poisson", well, formula).check(well).table.loc[(ALL, DISPERSION), "p"] > 1e-4
    odd = nw.combine(releases)
    assert "holder 3" in made.quick_fit("poisson", odd, formula).check(odd).problems()[0]


@pytest.mark.slow
def test_a_release_of_moments_has_no_dispersion() -> None:
    releases = [_moments(seed, shift) for seed, shift in enumerate((0.0, 0.0, 0.6))]
    well, odd = nw.combine(releases[:2]), nw.combine(releases)
    check = checked("poisson", well, "visits ~ age")
    assert check.problems() == [] and DISPERSION not in check.table.index.get_level_values("statistic")
    assert checked("poisson", odd, "visits ~ age").problems()[0].startswith("holder 3")


def _moments(seed: int, shift: float) -> nw.Release:
    generator = np.random.default_rng(seed)
    age = np.clip(generator.normal(58, 12, 5000), 18, 98)
    counts = np.minimum(generator.poisson(np.exp(0.02 * (age - 58) + shift)), 8)
    columns = {"visits": {"bounds": [0, 8]}, "age": {"bounds": [18, 98]}}
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": columns})
    return nw.release({"visits": counts, "age": age}, schema, nw.Moments("visits ~ age"), epsilon=20, delta=1e-6,
                      run=QUIET)


@pytest.mark.slow
def test_another_response_than_that_of_a_moments_release() -> None:
    """The sum of squares of the response that it was made for is not there, so that this column cannot be looked at."""
    generator = np.random.default_rng(1)
    age, back = np.clip(generator.normal(58, 12, 5000), 18, 98), generator.choice(["no", "yes"], 5000)
    table = {"visits": generator.poisson(np.exp(0.02 * (age - 58))), "age": age, "ward": generator.choice(list("ABC"), 5000),
             "back": back}
    release = nw.release(table, made.schema(), nw.Moments("back ~ visits + age + ward"), epsilon=20, delta=1e-6,
                         run=QUIET)
    check = checked("poisson", release, "visits ~ age")
    left_out = [name for name in check.table.index.get_level_values("statistic") if name.endswith(LEFT_OUT)]
    assert left_out == [f"residual × ward[{level}]{LEFT_OUT}" for level in "BC"]


@pytest.mark.outer
def test_a_predictor_that_the_noise_hides_is_no_reason_for_alarm() -> None:
    """The coefficient of a column that hardly varies can be anything; a single holder's mean response fits nevertheless."""
    generator = np.random.default_rng(1)
    columns = {"visits": {"bounds": [0, 10]}, "dose": {"bounds": [0, 10]}}
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": columns})
    table = {"visits": generator.poisson(1.0, 5000), "dose": np.full(5000, 5.0)}
    release = seeded_release(table, schema, seed=1, epsilon=1, delta=1e-6)
    design = Design.of("visits ~ dose", release.basis, None)
    slopes = generator.normal(0, 10, (2, 200))
    info = FitInfo("conditional", "poisson", "visits ~ dose", 1, 2, 200)
    posterior = nw.Posterior(np.stack([-5 * slopes, slopes], axis=2), design.terms, design, info)
    assert posterior.check(release).problems() == []


def test_what_was_fitted_is_what_is_checked() -> None:
    release = made.consortium(1, 2)
    posterior = made.quick_fit("logistic", release)
    with pytest.raises(ResultError, match="2 holders and the releases of 1"):
        posterior.check(nw.Release(nw.Gram(), release.schema, release.contributions[:1]))
    with pytest.raises(ResultError, match="schema"):
        posterior.check(made.consortium(1, 2, adjacency="add-remove"))
    with pytest.raises(ResultError) as refused:
        posterior.check(release, holders=["a", "a"])
    assert refused.value.argument == "holders"
    other = nw.Posterior(posterior.samples, posterior.terms, posterior.design, replace(posterior.info, family="poisson"))
    with pytest.raises(nw.NoisewiseError, match="must be a count"):
        other.check(release)


def test_dispersion_has_the_moments_of_simulated_counts() -> None:
    """Σ r² and Σ y of simulated tables, their columns' moments regressed out, against the formulas."""
    generator = np.random.default_rng(9)
    tables, rows, largest, theta = 4000, 400, 6, np.array([0.3, 0.5])
    x = generator.normal(0, 1, (tables, rows))
    y = (np.minimum(generator.poisson(np.exp(theta[0] + theta[1] * x)), largest) - largest / 2) / (largest / 2)
    law = Expectations.of(theta, np.ones(1), np.array([[1.0, 0.0]]), np.diag([0.0, 1.0]), np)
    data = {"response_half": np.array(largest / 2), "response_centre": np.array(largest / 2), "largest": np.array(float(largest))}
    found = dispersion(law, theta, data)
    residual = y - found.linear[0] - found.linear[1] * x
    squares, sums, products = (residual**2).sum(axis=1), y.sum(axis=1), (y * x).sum(axis=1)
    known = np.column_stack([np.ones(tables), x.sum(axis=1), (x**2).sum(axis=1)])
    left = np.column_stack([squares, sums, products])
    left = left - known @ np.linalg.lstsq(known, left, rcond=None)[0]
    covariance = left.T @ left / (tables - 3) / rows
    expected = np.array([found.variance, *found.covariance])
    scale = np.sqrt(np.array([found.variance**2, found.variance * covariance[1, 1], found.variance * covariance[2, 2]]))
    # The error of a covariance of 4000 draws is about √(2/4000) = 0.022 of the scale.
    assert np.abs((covariance[0] - expected) / scale).max() < 0.08
    counts = np.arange(largest + 1)
    rate = np.exp(theta[0] + theta[1] * x[:20].ravel())[:, None]
    weights = np.append(stats.poisson.pmf(counts[:-1], rate), stats.poisson.sf(largest - 1, rate), axis=1)
    variance = weights @ counts**2 - (weights @ counts) ** 2
    assert found.explained == pytest.approx(np.mean(variance) / (largest / 2) ** 2, rel=0.02)
