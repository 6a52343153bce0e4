"""From averaged probabilities of parts to that of the whole table: the mean, the scatter, and the posterior of Z."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import norm
from studies.partition_world import Plan, design_of, draw, slopes_of
from tests.unit.answers.simulated import asked_of, released

import noisewise as nw
from noisewise.answers.probabilities import TAILS, expected_mean, information_loss, score_law
from noisewise.data.parts.answers import PartAnswers
from noisewise.schema.partition import PartPrior, transformed
from noisewise.schema.questions import PosteriorProbability

Array = npt.NDArray[np.float64]
COMBINE = ("stouffer", "rescaled-normal", "fisher")


def asked(combine: str, at: float | tuple[float, ...] = 0.0) -> PosteriorProbability:
    return PosteriorProbability("x1", at, combine)  # type: ignore[arg-type]


@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("parts", [2, 3, 10, 60])
@pytest.mark.parametrize("score", [-2.5, 0.0, 1.5])
def test_mean_and_scatter_against_random_splits(combine: str, parts: int, score: float) -> None:
    """Errors of variance 1 − 1/M that sum to zero, as those of parts of one table."""
    question = asked(combine)
    random = np.random.default_rng(parts)
    errors = random.normal(size=(200_000 // parts, parts))
    errors -= errors.mean(axis=1, keepdims=True)
    values = np.clip(transformed(norm.cdf(score / math.sqrt(parts) + errors), question), *question.limits).mean(axis=1)
    scores, mean, scatter = expected_mean(question, parts)
    place = np.argmin(np.abs(scores - score))
    error = values.std() / math.sqrt(len(values))
    assert mean[place] == pytest.approx(values.mean(), abs=4 * error + 1e-6)
    assert scatter[place] == pytest.approx(values.std(), rel=0.05, abs=0.01)  # two parts at 0 have no scatter at all


@pytest.mark.parametrize("parts", [2, 10, 100])
def test_averaged_probabilities_have_the_factor_of_two_m_less_one(parts: int) -> None:
    scores, mean, _ = expected_mean(asked("rescaled-normal"), parts)
    np.testing.assert_allclose(mean, norm.cdf(scores / math.sqrt(2 * parts - 1)), atol=1e-9)


def test_the_printed_root_of_m_recovers_too_little() -> None:
    """Real parts at b = beta + 1.5 sd: √(2M − 1) finds 1.5, the √M that was printed 1.07."""
    random, parts, rows = np.random.default_rng(1), 100, 1000
    found = []
    for _ in range(40):
        moments = draw(random, parts, rows, slopes_of(1))
        estimate, sd = moments.whole()
        question = asked("rescaled-normal", float(estimate[1] + 1.5 * sd[1]))
        answers = PartAnswers(moments.counts, moments.products, moments.shift, design_of(1), PartPrior())
        found.append(norm.ppf(answers.probabilities(question).mean()))
    assert math.sqrt(2 * parts - 1) * np.mean(found) == pytest.approx(1.5, abs=0.05)
    assert math.sqrt(parts) * np.mean(found) == pytest.approx(1.07, abs=0.04)


@pytest.mark.parametrize("combine", COMBINE)
def test_what_small_parts_lose(combine: str) -> None:
    """20 rows and 4 coefficients in each part: the mean given the whole table's Z, and how it scatters."""
    random, parts, rows, points = np.random.default_rng(2), 10, 20, (-1.5, 0.0, 1.5)
    gathered: dict[float, list[float]] = {point: [] for point in points}
    for _ in range(1500):
        moments = draw(random, parts, rows, slopes_of(3))
        estimate, sd = moments.whole()
        question = asked(combine, tuple(float(estimate[1] + point * sd[1]) for point in points))
        answers = PartAnswers(moments.counts, moments.products, moments.shift, design_of(3), PartPrior())
        values = np.clip(answers.answers(question, {}), *question.limits).mean(axis=1)
        for point, value in zip(points, values, strict=True):
            gathered[point].append(float(value))
    scores, mean, scatter = expected_mean(asked(combine), parts, information_loss(4, rows))
    too_small = expected_mean(asked(combine), parts)[2]
    for point, values in gathered.items():
        place, sd = np.argmin(np.abs(scores - point)), np.std(values)
        assert scatter[place] == pytest.approx(sd, rel=0.12)
        assert too_small[place] < 0.88 * sd  # as if the parts knew all
        assert mean[place] == pytest.approx(np.mean(values), abs=0.15 * sd)


@pytest.mark.outer(but=["gaussian-fisher"])
@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("mechanism", ["k-norm", "gaussian"])
def test_intervals_cover_the_whole_tables_probability(combine: str, mechanism: str) -> None:
    random, parts, rows = np.random.default_rng(3), 30, 60
    inside = points = 0
    for _ in range(60):
        moments = draw(random, parts, rows, slopes_of(2))
        estimate, sd = moments.whole()
        at = tuple(float(estimate[1] + point * sd[1]) for point in (-2.0, 0.5))
        plan = Plan.of(2, parts, rows, (asked(combine, at),), 4.0, mechanism=mechanism)
        for one, score in zip(nw.answer(plan.release(moments, random)), (-2.0, 0.5), strict=True):
            inside += one.lower <= norm.cdf(score) <= one.upper
            points += 1
    assert 104 <= inside <= points  # of 120 at 95 %: 114 on average, 104 or fewer once in ten thousand


@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("mechanism", ["k-norm", "gaussian"])
@pytest.mark.parametrize(("parts", "epsilon"), [(2, 0.05), (50, 1.0), (1000, 10.0), (50_000, 50.0)])
@pytest.mark.parametrize("at_end", [-1, 0, 1])
def test_every_release_has_an_answer_between_zero_and_one(combine: str, mechanism: str, parts: int, epsilon: float,
                                                          at_end: int) -> None:
    """All parts at a limit, and noise beyond: a clear answer, and never one that forgets what was released."""
    question = asked(combine)
    lower, upper = question.limits
    mean = (lower + upper) / 2 + at_end * (upper - lower)
    release = released((question,), [mean], parts=parts, epsilon=epsilon, mechanism=mechanism)
    [one] = nw.answer(release)
    assert 0.0 <= one.lower <= one.point <= one.upper <= 1.0 and ((one.draws >= 0.0) & (one.draws <= 1.0)).all()
    if at_end and parts * epsilon >= 50:
        towards = (at_end == 1) != (combine == "fisher")
        assert one.lower > 0.9 if towards else one.upper < 0.1


def test_little_noise_means_a_narrow_posterior_at_the_right_place() -> None:
    """As wide as the scatter of the parts: the delta method."""
    question, parts, rows = asked("stouffer"), 1000, 100
    scores, mean, scatter = expected_mean(question, parts, information_loss(3 + TAILS, rows))
    slope = np.gradient(mean, scores)
    for score in (-1.0, 0.0, 2.0):
        place = np.argmin(np.abs(scores - score))
        found = asked_of((question,), [float(mean[place])], parts=parts, rows=rows, epsilon=50.0)
        low, middle, high = score_law(found, question, found.contents.numbers[0]).central(0.95)
        assert middle == pytest.approx(score, abs=0.02)
        assert high - low == pytest.approx(2 * 1.96 * scatter[place] / slope[place], rel=0.03)


def test_rows_that_are_not_public_lose_nothing_that_is_known() -> None:
    assert information_loss(4, None) == 0.0 and information_loss(4, 20.0) == 0.2 and information_loss(40, 20.0) == 0.9
