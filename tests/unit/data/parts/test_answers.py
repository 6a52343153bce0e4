"""What parts answer: probabilities, Bayes factors and criteria against direct computations."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import norm
from scipy.stats import t as student
from tests.unit.data.parts.part_tables import made, moments

from noisewise.data.parts.answers import PartAnswers
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
