"""``hypothesis_test``: p-values and critical values that account for parts, clipping and noise (paper 004, section 3.2).

The distribution of a released mean under the null hypothesis is simulated, including parts, clipping and noise. There the R² of a
part of b rows is Beta(c/2, (b − k)/2) whatever the predictors (c combinations are tested, k coefficients fitted), and a posterior
probability at the true value is uniform. So the null law needs only public numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from noisewise.answers.asked import Asked, MeanNoise
from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.results.answers import HypothesisTest, HypothesisTests
from noisewise.run import DEFAULT, Run
from noisewise.schema.columns import is_finite_number
from noisewise.schema.partition import hypothesis_statistic, transformed
from noisewise.schema.questions import NAMES_OF_CRITERIA, BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile, written
from noisewise.words import option

Testable: TypeAlias = PosteriorProbability | BayesFactor | Criterion

ALTERNATIVES: Final = ("two-sided", "less", "greater")
MEASURES: Final = {"stouffer": "mean normal score", "rescaled-normal": "mean probability", "fisher": "mean of -2 log p"}
MOST_VALUES, AT_ONCE = 40_000_000, 2_000_000
"""Values of parts simulated in total, and at a time."""
FEWEST_REPEATS, MOST_REPEATS = 20_000, 200_000
TABLE: Final = 1 << 16


def hypothesis_test(release: object, *, levels: Sequence[float] = (0.05, 0.01), alternative: str = "two-sided",
                    rows: float | None = None, censored: bool = False, seed: int = 0, run: Run = DEFAULT) -> HypothesisTests:
    """Test the hypotheses that a partition release asks about, with a p-value and critical values for each question.

    Bayes factors, likelihood ratios and criteria test that the coefficients are zero. Posterior probabilities at b test that the
    coefficient equals b, two-sided by default (``alternative``: ``"less"``, ``"greater"``). The null distribution is simulated
    with every step of the release. ``rows``: the approximate number of rows, if the release does not state it.
    ``censored=True`` first clips the released mean to its limits, as paper 004 does. Such a test has no power if more than the
    level is clipped to one value, so it is not the default. ``run``: see `Run`.
    """
    asked = Asked.of_release(release)
    if alternative not in ALTERNATIVES:
        raise FitError("unknown alternative", argument="alternative", found=repr(alternative), known=ALTERNATIVES)
    if not levels or not all(is_finite_number(level) and 0.0 < level < 0.5 for level in levels):
        raise FitError("levels of a test must lie strictly between 0 and 0.5", found=", ".join(map(repr, levels)) or "none",
                       remedy="for example 0.05, or several")
    if rows is not None and not (is_finite_number(rows) and rows > 0):
        raise FitError("rows, the approximate number of rows, must be positive", found=repr(rows), remedy="for example 10000")
    part_rows = asked.part_rows if rows is None else rows / asked.parts
    found: list[HypothesisTest] = []
    tests = [(question, number, hypothesis) for question in asked.kind.ask if not isinstance(question, PosteriorQuantile)
             for number, hypothesis in zip(asked.of(question), _hypotheses(question), strict=True)]
    with run.bar("Simulating null hypotheses", "tests") as tick:
        for question, number, hypothesis in tests:
            null = null_draws(NullRequest(question, asked.parts, part_rows, asked.coefficients, MeanNoise.of(asked, number),
                                          censored), seed)
            limits = (number.lower, number.upper) if censored else (-np.inf, np.inf)
            value, sides = float(np.clip(number.mean(asked.parts), *limits)), _sides(question, alternative)
            found.append(HypothesisTest(
                name=number.name, statistic=value, p_value=_p_value(null, value, sides), sides=sides,
                critical={level: _critical(null, level, sides, limits) for level in levels},
                uncalibrated=_uncalibrated(question, levels), hypothesis=hypothesis, measure=_measure(question)))
            tick(len(found), len(tests))
    if not found:
        raise FitError("this release has no question that can be tested", found="posterior quantiles only",
                       remedy="the data holder can ask for a Bayes factor or a likelihood ratio")
    return HypothesisTests(asked.kind.formula, asked.parts, tuple(found))


def _hypotheses(question: Testable) -> list[str]:
    """The hypothesis that each number of a question tests."""
    if isinstance(question, PosteriorProbability):
        return [f"{written(question.of)} = {point:g}" for point in question.at]
    return [" and ".join(f"{written(one)} = 0" for one in question.of)]


def _measure(question: Testable) -> str:
    if isinstance(question, PosteriorProbability):
        return MEASURES[question.combine]
    return f"mean {NAMES_OF_CRITERIA[question.name] if isinstance(question, Criterion) else 'log Bayes factor'}"


def _p_value(null: Array, value: float, sides: str) -> float:
    above = (1 + len(null) - np.searchsorted(null, value, "left")) / (len(null) + 1)
    below = (1 + np.searchsorted(null, value, "right")) / (len(null) + 1)
    return float({"greater": above, "less": below, "two-sided": min(1.0, 2.0 * min(above, below))}[sides])


def _sides(question: Testable, alternative: str) -> str:
    """Large values are evidence against the null for Bayes factors and criteria.

    A coefficient greater than b makes P(coefficient <= b) small, and -2 log of it large.
    """
    if not isinstance(question, PosteriorProbability):
        return "greater"
    if alternative == "two-sided" or question.combine == "fisher":
        return alternative
    return {"less": "greater", "greater": "less"}[alternative]


def _critical(null: Array, level: float, sides: str, limits: tuple[float, float]) -> tuple[float | None, float | None]:
    """Reject at or below the first, or at or above the second: exactly when the p-value is at most the level.

    A value is infinite if clipping puts more than the level on a limit. Then nothing can be rejected on that side.
    """
    count = len(null)
    tail = int(np.floor((level / 2.0 if sides == "two-sided" else level) * (count + 1) * (1.0 + 1e-12))) - 1
    if tail < 0:
        return (None if sides == "greater" else -np.inf), (None if sides == "less" else np.inf)
    inside_low, inside_high = float(null[tail]), float(null[count - 1 - tail])  # the outermost values that do not reject
    lower = -np.inf if inside_low == null[0] == limits[0] else float(np.nextafter(inside_low, -np.inf))
    upper = np.inf if inside_high == null[-1] == limits[1] else float(np.nextafter(inside_high, np.inf))
    return (None if sides == "greater" else lower), (None if sides == "less" else upper)


def _uncalibrated(question: Testable, levels: Sequence[float]) -> dict[float, float] | None:
    """Critical values of a likelihood ratio that ignore parts, clipping and noise: quantiles of chi-squared."""
    from scipy.stats import chi2

    if not isinstance(question, Criterion) or question.name != "likelihood-ratio":
        return None
    return {level: float(chi2.ppf(1.0 - level, len(question.of))) for level in levels}


@dataclass(frozen=True)
class NullRequest:
    """Everything that a null law depends on."""

    question: Testable
    parts: int
    part_rows: float | None
    coefficients: int
    noise: MeanNoise
    censored: bool


@lru_cache(maxsize=32)
def null_draws(request: NullRequest, seed: int = 0) -> Array:
    """Sorted draws of the released mean under the null hypothesis.

    Each part's value is drawn from a table of its quantiles. With very many parts the mean is practically normal, and is drawn as
    such.
    """
    random = np.random.default_rng(seed)
    table = _values(request)
    repeats = int(np.clip(MOST_VALUES // request.parts, FEWEST_REPEATS, MOST_REPEATS))
    if request.parts * repeats > MOST_VALUES:
        means = random.normal(table.mean(), table.std() / np.sqrt(request.parts), repeats)
    else:
        portion = max(1, AT_ONCE // request.parts)
        means = np.concatenate([
            table[random.integers(len(table), size=(min(portion, repeats - start), request.parts))].mean(axis=1)
            for start in range(0, repeats, portion)
        ])
    released = means + request.noise.draws(repeats, random)
    if request.censored:
        released = np.clip(released, *request.question.limits)
    return np.sort(released)


def _values(request: NullRequest) -> Array:
    """Equally likely clipped values of one part: quantiles at the middles of a fine grid of probabilities."""
    from scipy.stats import beta

    level = (np.arange(TABLE) + 0.5) / TABLE
    question = request.question
    if isinstance(question, PosteriorProbability):
        values = transformed(level, question)
    else:
        rows = _part_rows(request, question)
        explained = beta.ppf(level, len(question.of) / 2.0, (rows - request.coefficients) / 2.0)
        values = hypothesis_statistic(question, np.clip(1.0 - explained, 1e-300, 1.0), np.full(TABLE, rows),
                                      request.coefficients)[0]
    return np.clip(values, *question.limits)


def _part_rows(request: NullRequest, question: BayesFactor | Criterion) -> float:
    rows = request.part_rows
    if rows is None and isinstance(question, Criterion) and question.name != "bic":
        return 1e9  # the limit of many rows, where the likelihood ratio is chi-squared
    if rows is None:
        raise FitError("the test needs the approximate number of rows, which this release does not state", argument="rows",
                       found="a schema that keeps the number of rows private",
                       remedy="give " + option("rows") + ", an approximate number")
    if rows <= request.coefficients + 1:
        raise FitError("the parts have too few rows for a test", found=f"{rows:g} rows, {request.coefficients} coefficients",
                       remedy="the data holder can release fewer parts")
    return float(np.rint(rows))
