"""What ``answer`` says: coefficients, Bayes factors, hypotheses, criteria, sentences and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm
from studies.partition_world import Plan, draw, slopes_of
from tests.unit.answers.simulated import released

import noisewise as nw
from noisewise.answers.asked import Asked, MeanNoise
from noisewise.answers.quantiles import _clipped, _log_density, _log_kept, coefficient_law
from noisewise.errors import ReleaseError
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile

OPEN, DECLARED = PosteriorQuantile("x1"), PosteriorQuantile("x1", (1.0, 3.0))


@pytest.mark.parametrize(("median", "spread"), [(0.2, 0.5), (1.4, 0.3), (-3.0, 1.0), (0.0, 5.0), (0.0, 1e-6)])
def test_the_mean_of_clipped_medians_against_random_splits(median: float, spread: float) -> None:
    random, parts = np.random.default_rng(1), 20
    errors = random.normal(size=(20_000, parts))
    errors -= errors.mean(axis=1, keepdims=True)
    errors /= math.sqrt(1.0 - 1.0 / parts)
    values = np.clip(median + spread * errors, -1.0, 1.0).mean(axis=1)
    mean, scatter = _clipped(np.array([[median]]), np.array([spread]), -1.0, 1.0, parts, -1.0 / (parts - 1))
    assert mean[0, 0] == pytest.approx(values.mean(), abs=4 * values.std() / math.sqrt(len(values)) + 1e-9)
    assert scatter[0, 0] == pytest.approx(values.std(), rel=0.05, abs=0.02 * spread / math.sqrt(parts))


@pytest.mark.parametrize("noise", [MeanNoise("k-norm", 1.0, 2), MeanNoise("k-norm", 0.3, 6), MeanNoise("gaussian", 1.0, 2)],
                         ids=str)
def test_the_noise_of_location_and_scale(noise: MeanNoise) -> None:
    at, blur = np.array([0.0, 0.7, 1.5, 3.0]), 0.5
    found = np.exp(_log_density((noise, noise), at[:, None] + np.zeros((4, 4)), at, np.full((4, 4), blur)))
    expected = noise.density(at, blur)[:, None] * noise.density(at)
    np.testing.assert_allclose(found / found[0, 0], expected / expected[0, 0], rtol=0.1)


@pytest.mark.parametrize(("mean", "sd", "rate"), [(0.0, 3.0, 0.2), (5.0, 3.0, 1.0), (-5.0, 2.0, 0.5), (30.0, 4.0, 0.3)])
def test_what_a_candidate_keeps_of_its_probability_while_counts_scatter(mean: float, sd: float, rate: float) -> None:
    counts = np.random.default_rng(1).normal(mean, sd, 1_000_000)
    expected = np.log(np.mean(np.exp(-rate * np.maximum(counts, 0.0))))
    assert _log_kept(np.array([mean]), np.array([sd**2]), rate)[0] == pytest.approx(expected, abs=0.01)


@pytest.mark.outer
@pytest.mark.parametrize(("question", "mechanism"), [
    pytest.param(OPEN, "gaussian", id="gaussian-found"), pytest.param(DECLARED, "k-norm", id="k-norm-declared"),
    pytest.param(OPEN, "k-norm", id="k-norm-found", marks=pytest.mark.slow),
    pytest.param(DECLARED, "gaussian", id="gaussian-declared", marks=pytest.mark.slow)])
def test_intervals_of_a_coefficient_cover_it(question: PosteriorQuantile, mechanism: str) -> None:
    random, covered, widths = np.random.default_rng(3), 0, []
    plan = Plan.of(2, 100, 100, (question,), 3.0, mechanism=mechanism)
    for _ in range(30):
        moments = draw(random, 100, 100, slopes_of(2))
        [one] = nw.answer(plan.release(moments, random))
        covered += one.lower <= 2.0 <= one.upper
        widths.append((one.upper - one.lower) / (2 * 1.96 * moments.whole()[1][1]))
    assert covered >= 24  # of 30 at 95 %: 23 or fewer once in ten thousand
    assert 1.0 < np.median(widths) < (2.5 if mechanism == "k-norm" else 5.0)  # the posterior without noise has 1


def test_medians_that_were_clipped_on_one_side_are_put_right() -> None:
    """Limits that leave out half of the parts' scatter on one side: the mean of what is left would be far off."""
    parts, truth, sd = 400, 0.95, 0.02
    spread = sd * math.sqrt(parts)  # 0.4
    values = np.clip(truth + spread * norm.ppf((np.arange(parts) + 0.5) / parts), 0.0, 1.0)
    [one] = nw.answer(released((PosteriorQuantile("x1", (0.0, 1.0)),), [float(values.mean()), sd], parts=parts, rows=1000,
                               epsilon=20.0))
    assert values.mean() < 0.82 and one.lower < truth < one.upper and one.point == pytest.approx(truth, abs=0.05)


def test_a_search_that_missed_says_so() -> None:
    """All medians at a limit: the coefficient may be anywhere beyond."""
    [lost] = nw.answer(released((OPEN,), [1.0, 0.1], parts=50, limits=(0.0, 1.0)))
    assert "have probably missed it" in lost.sentence and lost.upper > 10.0 and math.isfinite(lost.upper)
    [found] = nw.answer(released((OPEN,), [0.5, 0.01], parts=500, epsilon=3.0, limits=(0.0, 1.0)))
    assert "missed" not in found.sentence and 0.3 < found.lower < 0.5 < found.upper < 0.7


def test_a_centre_of_another_magnitude_leaves_room_for_all_others() -> None:
    """The search chose 3.5e11, which says little with fifty parts and a small epsilon: ordinary numbers must be on the grid."""
    release = released((OPEN,), [3.5e11 - 40.0, 0.5], parts=50, limits=(3.5e11 - 48.0, 3.5e11 + 48.0))
    [one] = nw.answer(release)
    law = coefficient_law(Asked.of_release(release), OPEN)
    assert one.lower < 2.0 < one.upper and "missed" in one.sentence
    assert law.weights[np.abs(law.medians) < 1e6].sum() > 0.1


@pytest.mark.outer
def test_few_parts_and_a_small_epsilon_leave_the_search_open() -> None:
    """Ten parts: whatever is found, the answer says that it knows next to nothing, and covers."""
    random = np.random.default_rng(4)
    plan = Plan.of(1, 10, 100, (OPEN,), 0.5)
    for _ in range(10):
        [one] = nw.answer(plan.release(draw(random, 10, 100, slopes_of(1)), random))
        assert "missed" in one.sentence and one.lower <= 2.0 <= one.upper


def test_declared_bounds_that_are_too_narrow_are_mentioned() -> None:
    [one] = nw.answer(released((DECLARED,), [3.02, 0.01], parts=500, epsilon=5.0))
    assert "beyond the declared bounds" in one.sentence and 1.0 <= one.lower


@pytest.mark.outer(but=["means0-found-k-norm", "means4-declared-gaussian"])
@pytest.mark.parametrize("mechanism", ["k-norm", "gaussian"])
@pytest.mark.parametrize("question", [OPEN, DECLARED], ids=["found", "declared"])
@pytest.mark.parametrize("means", [(0.0, 0.0), (1e5, 1e5), (-1e5, -1e5), (2.0, -3.0), (2.0, 1e4)])
def test_any_release_of_a_quantile_has_an_answer(question: PosteriorQuantile, means: tuple[float, float], mechanism: str) -> None:
    for parts, epsilon in ((2, 0.1), (10_000, 50.0)):
        limits = (1.0, 3.0) if question is OPEN else None
        release = released((question,), list(means), parts=parts, epsilon=epsilon, mechanism=mechanism, limits=limits)
        law = coefficient_law(Asked.of_release(release), question)
        assert law.weights.sum() == pytest.approx(1.0) and (law.weights >= 0.0).all()
        [one] = nw.answer(release)
        assert -math.inf < one.lower <= one.point <= one.upper < math.inf


def test_bayes_factors_hypotheses_and_criteria() -> None:
    release = released((BayesFactor(["x1", "x2"]), Criterion("bic", "x1")), [2.0, -3.0], parts=200, epsilon=5.0)
    answers = nw.answer(release, prior_probability=0.2)
    factor, hypothesis, criterion = answers
    assert [one.kind for one in answers] == ["log Bayes factor", "hypothesis probability", "bic"]
    assert factor.raw == pytest.approx(2.0) and factor.lower < factor.point < factor.upper
    assert hypothesis.point == pytest.approx(expit(factor.point + math.log(0.2 / 0.8)), abs=0.01)
    assert 0.0 <= hypothesis.lower < hypothesis.upper <= 1.0 and "are not all zero" in hypothesis.sentence
    assert criterion.point == pytest.approx(-3.0, abs=0.2)
    assert answers["BIC difference of x1"] is criterion and len(answers) == 3
    with pytest.raises(KeyError):
        answers["x3"]
    assert list(answers.summary().columns) == ["kind", "point", "lower", "upper"]
    assert str(answers).count("\n") >= 2


@pytest.mark.outer
def test_wider_probabilities_mean_wider_intervals_and_seeds_are_reproducible() -> None:
    release = released((PosteriorProbability("x1", 0.0), OPEN), [0.1, 0.5, 0.05], parts=100, limits=(0.0, 1.0))
    narrow, wide = nw.answer(release, probability=0.5), nw.answer(release, probability=0.99)
    for one, other in zip(narrow, wide, strict=True):
        assert other.lower < one.lower < one.upper < other.upper
    first, again, different = (nw.answer(release, seed=seed)["x1"] for seed in (1, 1, 2))
    assert np.array_equal(first.draws, again.draws) and not np.array_equal(first.draws, different.draws)


@pytest.mark.parametrize("wrong", [0.0, 1.0, -1.0, math.nan, "half", None])
def test_probabilities_that_are_none_are_refused(wrong: Any) -> None:
    release = released((BayesFactor("x1"),), [0.3])
    with pytest.raises(ReleaseError, match="prior_probability must lie strictly"):
        nw.answer(release, prior_probability=wrong)
    with pytest.raises(ReleaseError, match="probability must lie strictly"):
        nw.answer(release, probability=wrong)


def test_other_releases_are_refused() -> None:
    with pytest.raises(ReleaseError, match="kind partition"):
        nw.answer({"kind": "gram"})
