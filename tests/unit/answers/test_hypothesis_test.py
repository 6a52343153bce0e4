"""Calibrated tests: uniform p-values, type I error rates that are never too large, critical values that agree."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom, chi2, kstest
from studies.partition_world import Plan, draw, slopes_of
from tests.refusals import about
from tests.unit.answers.simulated import released

import noisewise as nw
from noisewise.answers.asked import MeanNoise
from noisewise.answers.hypothesis_test import NullRequest, null_draws
from noisewise.errors import FitError, ReleaseError
from noisewise.releases.release import Release
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile, Question

Array = npt.NDArray[np.float64]

QUESTIONS: list[Question] = [
    Criterion("likelihood-ratio", "x3"), Criterion("bic", "x3"), Criterion("aic", "x3"), BayesFactor("x3"),
    BayesFactor("x3", "zellner-siow"), BayesFactor("x3", "hyper-g"),
    PosteriorProbability("x3", 0.0), PosteriorProbability("x3", 0.0, "rescaled-normal"),
    PosteriorProbability("x3", 0.0, "fisher"),
]


def p_values(question: Question, parts: int, epsilon: float, repeats: int, *, mechanism: str = "k-norm", censored: bool = True,
             rows: int = 40) -> Array:
    """Of releases of tables in which the last slope is zero."""
    random = np.random.default_rng(parts)
    plan = Plan.of(3, parts, rows, (question,), epsilon, mechanism=mechanism)
    found = []
    for _ in range(repeats):
        release = plan.release(draw(random, parts, rows, slopes_of(3, null=True)), random)
        found.append(next(iter(nw.hypothesis_test(release, censored=censored))).p_value)
    return np.array(found)


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
@pytest.mark.parametrize(("parts", "epsilon", "mechanism"), [(2, 5.0, "k-norm"), (10, 1.0, "gaussian")])
def test_p_values_are_uniform_if_the_hypothesis_is_true(question: Question, parts: int, epsilon: float, mechanism: str) -> None:
    found = p_values(question, parts, epsilon, 300, mechanism=mechanism, censored=False)
    assert kstest(found, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("question", QUESTIONS[::3], ids=str)
@pytest.mark.parametrize("parts", [2, 5])
def test_clipped_p_values_are_valid(question: Question, parts: int) -> None:
    """Much of the released means is clipped here: p-values may be larger than uniform ones, never smaller."""
    found = p_values(question, parts, 0.5, 300)
    for level in (0.01, 0.05, 0.2, 0.5):
        assert binom.sf((found <= level).sum() - 1, len(found), level) > 1e-4


def test_someone_who_ignores_the_noise_rejects_far_too_often() -> None:
    """What the calibration is for: the quantile of chi-squared against the released likelihood ratio."""
    random = np.random.default_rng(5)
    plan = Plan.of(3, 5, 40, (Criterion("likelihood-ratio", "x3"),), 0.5)
    releases = (plan.release(draw(random, 5, 40, slopes_of(3, null=True)), random) for _ in range(300))
    results = [next(iter(nw.hypothesis_test(release))) for release in releases]
    uncalibrated = [one.statistic >= one.uncalibrated[0.05] for one in results if one.uncalibrated is not None]
    assert results[0].uncalibrated is not None and results[0].uncalibrated[0.05] == pytest.approx(chi2.ppf(0.95, 1))
    assert np.mean(uncalibrated) > 0.12 > np.mean([one.rejects(0.05) for one in results])


def test_a_strong_effect_is_found() -> None:
    random = np.random.default_rng(6)
    plan = Plan.of(3, 10, 100, (Criterion("likelihood-ratio", "x1"), BayesFactor(["x1", "x2"]), PosteriorProbability("x1", 0.0)),
                   10.0)
    results = nw.hypothesis_test(plan.release(draw(random, 10, 100, slopes_of(3)), random))
    assert len(results) == 3 and all(one.rejects(0.01) for one in results)
    assert "rejected at 0.01" in results["P(x1 <= 0)"].sentence
    assert list(results.summary().index) == [one.name for one in results]
    with pytest.raises(KeyError):
        results["x9"]


def test_sides() -> None:
    """A positive coefficient makes P(coefficient <= 0) small and -2 log of it large."""
    for combine, mean in (("stouffer", -1.4), ("rescaled-normal", 0.02), ("fisher", 13.0)):
        release = released((PosteriorProbability("x1", 0.0, combine),), [mean], parts=100, epsilon=5.0)
        sides = ("greater", "less", "two-sided")
        greater, less, both = (next(iter(nw.hypothesis_test(release, alternative=side))).p_value for side in sides)
        assert greater < 0.001 < 0.99 < less and both == pytest.approx(2 * greater)


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
@pytest.mark.parametrize("censored", [True, False])
def test_critical_values_say_what_p_values_say(question: Question, censored: bool) -> None:
    question = replace(question, of=(("x1", 1.0),) if isinstance(question, PosteriorProbability) else ((("x1", 1.0),),))
    assert question.numbers()[0][1] is not None
    lower, upper = question.numbers()[0][1]  # type: ignore[misc]
    for mean in [*np.linspace(lower - 1.0, upper + 1.0, 41), lower, upper]:
        [one] = nw.hypothesis_test(released((question,), [float(mean)], parts=5, epsilon=2.0), censored=censored)
        for level, (low, high) in one.critical.items():
            beyond = (low is not None and one.statistic <= low) or (high is not None and one.statistic >= high)
            assert beyond == one.rejects(level)
    [one] = nw.hypothesis_test(released((question,), [upper], parts=5, epsilon=2.0), censored=censored)
    critical = one.critical[0.05][1]
    if critical is not None and math.isfinite(critical):  # the critical value itself rejects, the number before it does not
        beyond = released((question,), [critical + 1e-6], parts=5, epsilon=2.0)
        assert nw.hypothesis_test(beyond, censored=censored).tests[0].rejects(0.05)


def test_a_limit_with_more_than_the_level_on_it_never_rejects() -> None:
    """Clipping to a narrow range with much noise: about half of all releases are at each end."""
    question = BayesFactor("x1", limits=(-0.1, 0.1))
    [one] = nw.hypothesis_test(released((question,), [5.0], parts=5, epsilon=0.1), censored=True)
    assert one.p_value > 0.3 and one.critical == {0.05: (None, math.inf), 0.01: (None, math.inf)}
    [one] = nw.hypothesis_test(released((question,), [5.0], parts=5, epsilon=0.1), censored=False)
    assert math.isfinite(one.critical[0.05][1] or math.inf)


def test_the_null_law_of_one_part_without_noise_is_the_exact_one() -> None:
    """Two parts and almost no noise: the mean of two likelihood ratios, by their F distributions."""
    random = np.random.default_rng(1)
    request = NullRequest(Criterion("likelihood-ratio", "x1", (0.0, 100.0)), 2, 20.0, 3, MeanNoise("k-norm", 1e-9, 1), False)
    f = random.f(1, 17, size=(400_000, 2))
    expected = np.quantile((20.0 * np.log1p(f / 17.0)).mean(axis=1), [0.5, 0.95, 0.99])
    np.testing.assert_allclose(np.quantile(null_draws(request), [0.5, 0.95, 0.99]), expected, rtol=0.015)


@pytest.mark.parametrize("parts", [50, 5000])
def test_very_many_parts_have_a_normal_mean(parts: int) -> None:
    question = PosteriorProbability("x1", 0.0, "rescaled-normal")
    request = NullRequest(question, parts, 100.0, 2, MeanNoise("k-norm", 1e-9, 1), False)
    found = null_draws(request)
    assert found.std() == pytest.approx(math.sqrt(1 / 12 / parts), rel=0.01) and (np.diff(found) >= 0).all()


def test_seeds_are_reproducible() -> None:
    release = released((BayesFactor("x1"),), [0.3], parts=5)

    def tested(seed: int) -> float:
        null_draws.cache_clear()
        return nw.hypothesis_test(release, seed=seed).tests[0].p_value

    assert tested(1) == tested(1) != tested(2)
    assert tested(1) == pytest.approx(tested(2), abs=0.01)


def private_rows(release: Release) -> Release:
    schema = nw.Schema.from_dict({**release.schema.to_dict(), "adjacency": "add-remove"})
    return replace(release, schema=schema, contributions=(replace(release.contents, rows=None, balanced=False),))


def test_rows_that_are_not_public_must_be_given_for_what_depends_on_them() -> None:
    public = released((BayesFactor("x1"),), [0.3], parts=5)
    factor = private_rows(public)
    with pytest.raises(FitError, check=about("rows")):
        nw.hypothesis_test(factor)
    assert nw.hypothesis_test(factor, rows=500).tests[0].p_value == nw.hypothesis_test(public).tests[0].p_value
    ratio = private_rows(released((Criterion("likelihood-ratio", "x1"),), [3.0], parts=5))
    own, many = (nw.hypothesis_test(ratio, rows=rows).tests[0].p_value for rows in (None, 50_000))
    assert own == pytest.approx(many, abs=0.01)


def test_what_cannot_be_tested_is_refused() -> None:
    factor = released((BayesFactor("x1"),), [0.3], parts=5)
    with pytest.raises(FitError, match="no question that can be tested"):
        nw.hypothesis_test(released((PosteriorQuantile("x1", (0.0, 1.0)),), [0.5, 0.1]))
    with pytest.raises(FitError, match="too few rows for a test"):
        nw.hypothesis_test(released((BayesFactor("x1"),), [0.3], parts=50, rows=4))
    with pytest.raises(FitError, check=about("alternative")):
        nw.hypothesis_test(factor, alternative="both")
    for rows in (0, -5, math.nan, "many"):
        with pytest.raises(FitError, match="rows, the approximate number"):
            nw.hypothesis_test(factor, rows=rows)  # type: ignore[arg-type]
    for levels in ((), (0.0,), (0.7,), ("0.05",)):
        with pytest.raises(FitError, match="levels of a test"):
            nw.hypothesis_test(factor, levels=levels)  # type: ignore[arg-type]
    with pytest.raises(ReleaseError, match="kind partition"):
        nw.hypothesis_test("a release")
