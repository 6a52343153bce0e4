"""``test``: p-values and critical values that are right with parts, clipping and noise (paper 004, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.answers.null_law import NullRequest, Testable, null_draws
from noisewise.errors import FitError, ReleaseError
from noisewise.progress import Tick, progress_bar
from noisewise.release.partition import Number, PartitionRelease
from noisewise.results.tests import TestResult, TestResults
from noisewise.schema.columns import is_finite_number
from noisewise.schema.partition import part_design
from noisewise.schema.questions import NAMES_OF_CRITERIA, Criterion, PosteriorProbability, PosteriorQuantile, written

ALTERNATIVES: Final = ("two-sided", "less", "greater")
MEASURES: Final = {"stouffer": "mean normal score", "rescaled-normal": "mean probability", "fisher": "mean of -2 log p"}


def test(release: object, *, levels: Sequence[float] = (0.05, 0.01), alternative: str = "two-sided", rows: float | None = None,
         censored: bool = False, seed: int = 0, progress: Tick | bool | None = None) -> TestResults:
    """Test the hypotheses that a partition release asks about: for each question a p-value and critical values.

    Bayes factors, likelihood ratios and criteria test that the coefficients are zero; posterior probabilities at b test that the
    coefficient equals b, by default against both sides (``alternative``: ``"less"``, ``"greater"``). The null distribution is
    simulated with all that the release did. ``rows``: about how many the table has, if the release does not tell.
    ``censored=True`` clips the released mean to its limits first, as paper 004 does: such a test has no power at all where more
    than the level is clipped to one value, so it is not the default. ``progress``: True or False, or None for a bar on a
    terminal.
    """
    if not isinstance(release, PartitionRelease):
        raise ReleaseError("tests are made from releases of kind partition",
                           found=getattr(release, "kind", type(release).__name__),
                           remedy="compare models instead: noisewise.compare")
    if alternative not in ALTERNATIVES:
        raise FitError("the alternative is not known", found=repr(alternative), remedy="known are " + ", ".join(ALTERNATIVES))
    if not levels or not all(is_finite_number(level) and 0.0 < level < 0.5 for level in levels):
        raise FitError("levels of a test lie between 0 and 0.5", found=", ".join(map(repr, levels)) or "none",
                       remedy="for example 0.05, or several")
    if rows is not None and not (is_finite_number(rows) and rows > 0):
        raise FitError("rows is about how many the table has: a positive number", found=repr(rows), remedy="for example 10000")
    coefficients = len(part_design(release.schema, release.formula, release.questions).terms)
    part_rows = release.part_rows if rows is None else rows / release.parts
    found: list[TestResult] = []
    asked = [(question, number, hypothesis) for question in release.questions if not isinstance(question, PosteriorQuantile)
             for number, hypothesis in zip(release.of(question), _hypotheses(question), strict=True)]
    with progress_bar(progress, "Simulating null hypotheses", "tests") as tick:
        for question, number, hypothesis in asked:
            request = NullRequest.of(release, question, number, coefficients, part_rows=part_rows, censored=censored)
            tested = _tested(request, question, number, release.parts, tuple(levels), alternative, seed)
            found.append(replace(tested, hypothesis=hypothesis, measure=_measure(question)))
            tick(len(found), len(asked))
    if not found:
        raise FitError("this release asks nothing that can be tested", found="posterior quantiles only",
                       remedy="the data holder can ask for a Bayes factor or a likelihood ratio")
    return TestResults(release.formula, release.parts, tuple(found))


def _hypotheses(question: Testable) -> list[str]:
    """What is tested by each number of a question."""
    if isinstance(question, PosteriorProbability):
        return [f"{written(question.of)} = {point:g}" for point in question.at]
    return [" and ".join(f"{written(one)} = 0" for one in question.of)]


def _measure(question: Testable) -> str:
    if isinstance(question, PosteriorProbability):
        return MEASURES[question.combine]
    return f"mean {NAMES_OF_CRITERIA[question.name] if isinstance(question, Criterion) else 'log Bayes factor'}"


def _tested(request: NullRequest, question: Testable, number: Number, parts: int, levels: tuple[float, ...], alternative: str,
            seed: int) -> TestResult:
    null = null_draws(request, seed)
    value = number.mean(parts)
    if request.censored:
        value = float(np.clip(value, number.lower, number.upper))
    above = (1 + len(null) - np.searchsorted(null, value, "left")) / (len(null) + 1)
    below = (1 + np.searchsorted(null, value, "right")) / (len(null) + 1)
    sides = _sides(question, alternative)
    p_value = {"greater": above, "less": below, "two-sided": min(1.0, 2.0 * min(above, below))}[sides]
    limits = (number.lower, number.upper) if request.censored else (-np.inf, np.inf)
    critical = {level: _critical(null, level, sides, limits) for level in levels}
    return TestResult(name=number.name, statistic=value, p_value=float(p_value), critical=critical, sides=sides,
                      uncalibrated=_uncalibrated(question, levels))


def _sides(question: Testable, alternative: str) -> str:
    """Evidence against the null is large for Bayes factors and criteria.

    A coefficient that is greater than b makes P(coefficient <= b) small, and -2 log of it large.
    """
    if not isinstance(question, PosteriorProbability):
        return "greater"
    if alternative == "two-sided" or question.combine == "fisher":
        return alternative
    return {"less": "greater", "greater": "less"}[alternative]


def _critical(null: npt.NDArray[np.float64], level: float, sides: str,
              limits: tuple[float, float]) -> tuple[float | None, float | None]:
    """Reject at or below the first, or at or above the second: exactly where the p-value is at most the level.

    Infinite where clipping puts more than the level on a limit: then nothing can be rejected on that side.
    """
    count = len(null)
    tail = int(np.floor((level / 2.0 if sides == "two-sided" else level) * (count + 1) * (1.0 + 1e-12))) - 1
    if tail < 0:
        return (None if sides == "greater" else -np.inf), (None if sides == "less" else np.inf)
    inside_low, inside_high = float(null[tail]), float(null[count - 1 - tail])  # the outermost that do not reject
    lower = -np.inf if inside_low == null[0] == limits[0] else float(np.nextafter(inside_low, -np.inf))
    upper = np.inf if inside_high == null[-1] == limits[1] else float(np.nextafter(inside_high, np.inf))
    return (None if sides == "greater" else lower), (None if sides == "less" else upper)


def _uncalibrated(question: Testable, levels: tuple[float, ...]) -> dict[float, float] | None:
    """What an analyst would use who ignores parts, clipping and noise: quantiles of chi-squared, for a likelihood ratio."""
    from scipy.stats import chi2

    if not isinstance(question, Criterion) or question.name != "likelihood-ratio":
        return None
    return {level: float(chi2.ppf(1.0 - level, len(question.of))) for level in levels}
