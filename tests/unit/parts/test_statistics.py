"""What parts answer: probabilities, Bayes factors and criteria against direct computations."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from scipy.stats import t as student
from tests.unit.parts.part_tables import made, moments

from noisewise.parts.limits import centre_candidates, limits_about, previous_candidates, sought, width_candidates
from noisewise.parts.statistics import PartAnswers, hypothesis_statistic, log_bayes_factors, on_scale, transformed
from noisewise.schema import Schema
from noisewise.schema.partition import PartPrior, part_design
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile, Question

Array = npt.NDArray[np.float64]

SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {name: {"bounds": "unknown"} for name in "yxw"}})
DESIGN = part_design(SCHEMA, "y ~ x + w", ())
SINGULAR = (np.column_stack([np.ones(30), np.arange(30.0), 2.0 * np.arange(30.0)]), np.arange(30.0) % 7)


def answers(tables: list[tuple[Array, Array]], prior: PartPrior | None = None) -> PartAnswers:
    return PartAnswers(*moments(tables), DESIGN, prior or PartPrior())


def test_probabilities_are_those_of_a_t_distribution() -> None:
    tables = made()
    found = answers(tables).probabilities(PosteriorProbability("x - 2*w", (3.5, 4.5)))
    for part, (x, y) in enumerate(tables):
        estimate, (rest,), _, _ = np.linalg.lstsq(x, y, rcond=None)
        contrast = np.array([0.0, 1.0, -2.0])
        scale = math.sqrt(rest / (len(y) - 3) * contrast @ np.linalg.inv(x.T @ x) @ contrast)
        for place, point in enumerate((3.5, 4.5)):
            assert found[place, part] == pytest.approx(student.cdf(point, len(y) - 3, contrast @ estimate, scale), rel=1e-8)


def test_transforms() -> None:
    p = np.array([1e-320, 0.0, 1e-5, 0.3, 0.5, 1.0 - 1e-12, 1.0])
    plain, score, fisher = (transformed(p, PosteriorProbability("x", 0.0, how))
                            for how in ("rescaled-normal", "stouffer", "fisher"))
    np.testing.assert_array_equal(plain, p)
    np.testing.assert_allclose(score[2:-1], norm.ppf(p[2:-1]), atol=1e-12)
    np.testing.assert_allclose(fisher[2:], -2.0 * np.log(p[2:]), atol=1e-15)
    assert np.isfinite(score).all() and np.isfinite(fisher).all() and (np.diff(score) >= 0.0).all()


def density(prior: str, g: float, n: float) -> float:
    if prior == "zellner-siow":
        return math.sqrt(n / (2.0 * math.pi)) * g**-1.5 * math.exp(-n / (2.0 * g))
    return 0.5 * (1.0 + g) ** -1.5


def formula_one(r2: float, n: int, tested: int, kept: int, prior: str) -> float:
    """Paper 004: B = ∫ (1 + g)^((n − p0 − p)/2) (1 + g (1 − R²))^(−(n − p0)/2) pi(g) dg."""
    def log_given(g: float) -> float:
        return 0.5 * (n - kept - tested) * math.log1p(g) - 0.5 * (n - kept) * math.log1p(g * (1.0 - r2))

    if prior == "zellner":
        return log_given(n)
    top = max(log_given(math.exp(u)) for u in np.linspace(-5, 20, 200))
    value = quad(lambda u: math.exp(log_given(math.exp(u)) - top + u) * density(prior, math.exp(u), n), -15.0, 30.0, limit=400)
    return top + math.log(value[0])


@pytest.mark.parametrize("prior", ["zellner", "zellner-siow", "hyper-g"])
@pytest.mark.parametrize(("tested", "kept"), [(1, 1), (3, 2), (1, 0)])
def test_bayes_factors_by_numerical_integration(prior: str, tested: int, kept: int) -> None:
    r2 = np.array([0.0, 0.02, 0.3, 0.9])
    found = log_bayes_factors(1.0 - r2, np.array([25.0, 25.0, 60.0, 60.0]), tested, kept, prior)
    expected = [formula_one(one, n, tested, kept, prior) for one, n in zip(r2, (25, 25, 60, 60), strict=True)]
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize("of", ["x", ["x", "w"], "x - 2*w", ["x + w", "x - w"]])
def test_bayes_factors_of_contrasts_from_rows(of: object) -> None:
    """Against the marginal likelihoods of the full and the reparametrised model, with V orthogonal to what is kept."""
    tables = made()
    question = BayesFactor(of)  # type: ignore[arg-type]
    found = answers(tables).answers(question, {})[0]
    contrasts = np.array([[0.0, dict(one).get("x", 0.0), dict(one).get("w", 0.0)] for one in question.of])
    free = np.linalg.svd(contrasts)[2][len(contrasts):]
    for part, (x, y) in enumerate(tables):
        kept, tested, n = x @ free.T, x @ np.linalg.pinv(contrasts), len(y)
        projection = np.eye(n) - kept @ np.linalg.pinv(kept)
        v, r = projection @ tested, projection @ y  # flat priors of what is kept and of log sigma
        # y | sigma under H1, less what is kept: covariance sigma² (I + g V (V'V)⁻¹ V'), g = n
        hat = v @ np.linalg.pinv(v)
        degrees = n - kept.shape[1]
        quadratic = r @ r - n / (1.0 + n) * (r @ hat @ r)
        expected = -0.5 * len(contrasts) * math.log1p(n) - 0.5 * degrees * math.log(quadratic / (r @ r))
        assert found[part] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("name", ["likelihood-ratio", "bic", "aic"])
def test_criteria_against_normal_likelihoods(name: str) -> None:
    tables = made()
    found = answers(tables).answers(Criterion(name, ["x", "w"]), {})[0]
    for part, (x, y) in enumerate(tables):
        def maximal(design: Array, y: Array = y) -> float:
            residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
            return float(norm.logpdf(residual, scale=residual.std() if design.shape[1] else 1.0).sum())

        ratio = 2.0 * (maximal(x) - maximal(x[:, :1]))
        penalty = {"likelihood-ratio": 0.0, "bic": 2.0 * math.log(len(y)), "aic": 4.0}[name]
        assert found[part] == pytest.approx(ratio - penalty, rel=1e-8)


QUESTIONS: list[tuple[Question, list[float]]] = [
    (PosteriorProbability("x", (0.0, 1.0)), [0.0, 0.0]),
    (PosteriorProbability("x", 0.0, "rescaled-normal"), [0.5]),
    (PosteriorProbability("x", 0.0, "fisher"), [-2.0 * math.log(0.5)]),
    (PosteriorQuantile("x", (-1.0, 3.0)), [1.0, 0.25]),
    (BayesFactor("x"), [0.0]),
    (BayesFactor(["x", "w"], "hyper-g"), [0.0]),
    (Criterion("likelihood-ratio", "x"), [0.0]),
    (Criterion("bic", "x"), [0.0]),
]


@pytest.mark.parametrize(("question", "neutral"), QUESTIONS)
@pytest.mark.parametrize("bad", [SINGULAR, (SINGULAR[0][:2], SINGULAR[1][:2]), (SINGULAR[0] * 1e200, SINGULAR[1])])
def test_a_part_that_cannot_be_fitted_answers_what_says_nothing(question: Question, neutral: list[float],
                                                                bad: tuple[Array, Array]) -> None:
    limits = {name: limit or (0.0, 0.5) for name, limit in question.numbers()}
    with np.errstate(all="ignore"):
        found = answers([made()[0], bad]).answers(question, limits)
    np.testing.assert_allclose(found[:, 1], neutral, atol=1e-12)
    assert np.isfinite(found[:, 0]).all() and not np.allclose(found[:, 0], neutral)


def test_bayes_factors_of_very_many_parts_do_not_depend_on_each_other() -> None:
    rng = np.random.default_rng(1)
    unexplained, rows = rng.uniform(0.5, 1.0, 20_000), np.full(20_000, 30.0)
    once = log_bayes_factors(unexplained, rows, 1, 2, "hyper-g")
    unexplained[-1], rows[-1] = 1e-12, 31.0
    assert np.array_equal(log_bayes_factors(unexplained, rows, 1, 2, "hyper-g")[:-1], once[:-1])


def test_too_few_rows_and_unknown_shares_say_nothing() -> None:
    with np.errstate(invalid="ignore"):
        found = hypothesis_statistic(BayesFactor("x"), np.array([0.5, np.nan, 0.5]), np.array([3.0, 30.0, 30.0]), 3)[0]
    assert found[0] == found[1] == 0.0 and found[2] > 1.0


def test_values_are_clipped_to_whole_steps() -> None:
    values = np.array([-np.inf, -3.0, -1.0, 0.0, 0.26, 1.0, 9.0, np.inf, np.nan])
    assert on_scale(values, (-1.0, 1.0), 4).tolist() == [0, 0, 0, 2, 3, 4, 4, 4, 2]


def test_limits_and_their_search_agree_on_the_candidates() -> None:
    """The analyst knows, without the privacy code, which candidate comes before another."""
    centres = centre_candidates()
    for place in range(1, len(centres), 7):
        before, nearer = previous_candidates(float(centres[place]), float(width_candidates()[40]))
        assert before == pytest.approx(centres[place - 1], rel=1e-12)
        assert nearer == pytest.approx(width_candidates()[39])
        centre, distance = sought(*limits_about(float(centres[place]), 0.125 * abs(float(centres[place])) + 1e-9))
        assert centre == pytest.approx(centres[place], rel=1e-12)
        assert distance == pytest.approx(0.125 * abs(centre) + 1e-9, rel=1e-6)
    assert all(previous_candidates(float(centres[index]), 1.0)[0] == pytest.approx(centres[index - 1], rel=1e-12, abs=0.0)
               for index in (1, 90, 91, 1979, 1980, 1981, 1982, len(centres) - 1))
