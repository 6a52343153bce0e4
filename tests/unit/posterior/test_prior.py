"""Priors depend on public declarations only, and are stated in the user's units."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.refusals import about

from noisewise.errors import FitError
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.schema import Basis, Design, Schema


def design_of(formula: str, stay: tuple[float, float] = (0.0, 60.0), age: tuple[float, float] = (18.0, 98.0)) -> Design:
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
        "stay": {"bounds": list(stay)}, "age": {"bounds": list(age)}, "ward": {"levels": ["A", "B", "C"]}}})
    return Design.of(formula, Basis.of(schema))


def test_the_default_scales_come_from_the_bounds() -> None:
    prior = ResolvedPrior.of(design_of("stay ~ age + ward"), None)
    half_width = 30.0
    assert np.allclose(prior.sd, [2.5 * half_width, 2.5 * half_width / 40.0, 2.5 * half_width / 0.5, 2.5 * half_width / 0.5])
    assert prior.sigma == pytest.approx(half_width / 2)


def test_a_change_of_units_changes_nothing_else() -> None:
    days = ResolvedPrior.of(design_of("stay ~ age"), None)
    hours = ResolvedPrior.of(design_of("stay ~ age", stay=(0.0, 60.0 * 24), age=(18.0 * 12, 98.0 * 12)), None)
    assert hours.sd[0] == pytest.approx(24 * days.sd[0])
    assert hours.sd[1] == pytest.approx(24 / 12 * days.sd[1])
    assert hours.sigma == pytest.approx(24 * days.sigma)
    assert hours.marginals()[0][0] == pytest.approx(24 * days.marginals()[0][0])
    assert hours.marginals()[1][0] == pytest.approx(24 * days.marginals()[1][0])


def test_the_intercept_is_the_response_in_the_middle_of_the_ranges() -> None:
    prior = ResolvedPrior.of(design_of("stay ~ age + ward"), None)
    assert np.allclose(prior.functionals[0], [1.0, 58.0, 0.5, 0.5])
    assert np.array_equal(prior.functionals[1:], np.eye(4)[1:])
    assert prior.mean[0] == 30.0
    assert np.array_equal(prior.mean[1:], np.zeros(3))


def test_without_an_intercept_there_is_no_centre() -> None:
    prior = ResolvedPrior.of(design_of("stay ~ 0 + age"), None)
    assert np.array_equal(prior.functionals, np.eye(1))
    assert list(prior.mean) == [0.0]


def test_overrides_take_the_place_of_defaults() -> None:
    design = design_of("stay ~ age + ward")
    default = ResolvedPrior.of(design, None)
    given = ResolvedPrior.of(design, Prior(mean={"age": 0.1}, sd={"ward[T.B]": 7.0}, sigma=3.0))
    assert list(given.mean) == [30.0, 0.1, 0.0, 0.0]
    assert list(given.sd) == [default.sd[0], default.sd[1], 7.0, default.sd[3]]
    assert given.sigma == 3.0
    assert np.array_equal(given.functionals, default.functionals)


@pytest.mark.parametrize("prior", [Prior(mean={"Intercept": 5.0}), Prior(sd={"Intercept": 5.0})])
def test_a_prior_for_the_intercept_is_for_the_intercept_itself(prior: Prior) -> None:
    resolved = ResolvedPrior.of(design_of("stay ~ age"), prior)
    assert np.array_equal(resolved.functionals, np.eye(2))
    assert resolved.mean[0] == prior.mean.get("Intercept", 0.0)
    assert resolved.sd[0] == prior.sd.get("Intercept", 2.5 * 30.0)


def test_marginals_are_those_of_draws_from_the_prior() -> None:
    prior = ResolvedPrior.of(design_of("stay ~ age + ward"), Prior(mean={"age": 0.5}))
    standard = np.random.default_rng(3).normal(size=(40_000, 4))
    draws = np.linalg.solve(prior.functionals, (prior.mean + standard * prior.sd).T)
    mean, sd = prior.marginals()
    # Standard errors: sd/√n of a mean, sd/√(2n) of a standard deviation; 8 comparisons at |z| < 4.5.
    assert np.all(np.abs(draws.mean(axis=1) - mean) < 4.5 * sd / 200)
    assert np.all(np.abs(draws.std(axis=1) - sd) < 4.5 * sd / (200 * math.sqrt(2)))
    assert sd[0] > 1.3 * prior.sd[0]  # at age 0 the response is less certain than in the middle: the identity would fail


@pytest.mark.parametrize("sd", [0.0, -1.0, math.nan, math.inf, True, "1"])
def test_scales_must_be_positive_and_finite(sd: Any) -> None:
    with pytest.raises(FitError, match="positive finite"):
        Prior(sd={"age": sd})
    with pytest.raises(FitError, match="positive finite"):
        Prior(sigma=sd)


@pytest.mark.parametrize("mean", [math.nan, math.inf, -math.inf, None, "1"])
def test_means_must_be_finite(mean: Any) -> None:
    with pytest.raises(FitError, match="finite number.*age"):
        Prior(mean={"age": mean})


@pytest.mark.parametrize("wrong", [0.5, ["age"], "age"])
def test_means_and_scales_are_named(wrong: Any) -> None:
    with pytest.raises(FitError, match="given by term"):
        Prior(sd=wrong)
    with pytest.raises(FitError, match="given by term"):
        Prior(mean=wrong)


@pytest.mark.parametrize("prior", [Prior(mean={"ages": 1.0}), Prior(sd={"ages": 1.0}), Prior(sd={"sigma": 1.0})])
def test_a_term_that_is_not_in_the_formula_is_named(prior: Prior) -> None:
    with pytest.raises(FitError, check=about("prior")):
        ResolvedPrior.of(design_of("stay ~ age"), prior)


def test_one_mean_per_category_has_the_prior_of_an_intercept() -> None:
    """``y ~ 0 + ward`` is ``y ~ ward``: a response far from 0 must not be pulled to 0."""
    with_intercept = ResolvedPrior.of(design_of("stay ~ ward + age", stay=(1000.0, 1060.0)), None)
    means = ResolvedPrior.of(design_of("stay ~ 0 + ward + age", stay=(1000.0, 1060.0)), None)
    assert np.allclose(means.mean, [1030.0, 1030.0, 1030.0, 0.0])
    assert np.allclose(means.sd[:3], with_intercept.sd[0])
    assert np.allclose(means.functionals[:3], [[1, 0, 0, 58.0], [0, 1, 0, 58.0], [0, 0, 1, 58.0]])
    # Columns that do not add up to the constant say that the line goes through 0, and are taken at their word.
    assert np.allclose(ResolvedPrior.of(design_of("stay ~ 0 + age", stay=(1000.0, 1060.0)), None).mean, 0.0)


def test_a_named_mean_of_a_category_keeps_what_it_is_given() -> None:
    named = Prior(mean={"ward[B]": 7.0}, sd={"ward[B]": 2.0})
    prior = ResolvedPrior.of(design_of("stay ~ 0 + ward", stay=(1000.0, 1060.0)), named)
    assert prior.mean[1] == 7.0 and prior.sd[1] == 2.0 and np.allclose(prior.functionals[1], [0, 1, 0])
