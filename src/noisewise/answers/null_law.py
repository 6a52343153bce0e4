"""The distribution of a released mean if the null hypothesis is true: parts, clipping and noise included, by simulation.

Under the null hypothesis R² of a part of b rows is Beta(c/2, (b − k)/2) whatever the predictors (c combinations are tested, k
coefficients fitted), and a posterior probability at the true value is uniform. So the null law needs nothing but public numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.answers.noise import MeanNoise
from noisewise.errors import FitError
from noisewise.parts.statistics import hypothesis_statistic, transformed
from noisewise.release.partition import Number, PartitionRelease
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability

Array = npt.NDArray[np.float64]
Testable: TypeAlias = PosteriorProbability | BayesFactor | Criterion

MOST_VALUES: Final = 40_000_000
"""Values of parts that are simulated in all."""
AT_ONCE: Final = 2_000_000
MOST_REPEATS: Final = 200_000
FEWEST_REPEATS: Final = 20_000
TABLE: Final = 1 << 16


@dataclass(frozen=True)
class NullRequest:
    """All that a null law depends on."""

    question: Testable
    parts: int
    part_rows: float | None
    coefficients: int
    noise: MeanNoise
    censored: bool

    @classmethod
    def of(cls, release: PartitionRelease, question: Testable, number: Number, coefficients: int, *,
           part_rows: float | None, censored: bool) -> NullRequest:
        return cls(question, release.parts, part_rows, coefficients, MeanNoise.of(release, number), censored)


@lru_cache(maxsize=32)
def null_draws(request: NullRequest, seed: int = 0) -> Array:
    """Sorted draws of the released mean under the null hypothesis.

    Each part's value is drawn from a table of its quantiles; of very many parts, whose mean is normal to all intents, from that
    normal law.
    """
    random = np.random.default_rng(seed)
    table = _values(request)
    repeats = int(np.clip(MOST_VALUES // request.parts, FEWEST_REPEATS, MOST_REPEATS))
    if request.parts * repeats > MOST_VALUES:
        means = random.normal(table.mean(), table.std() / np.sqrt(request.parts), repeats)
    else:
        means = np.concatenate([
            table[random.integers(len(table), size=(count, request.parts))].mean(axis=1)
            for count in _portions(repeats, max(1, AT_ONCE // request.parts))
        ])
    released = means + request.noise.draws(repeats, random)
    if request.censored:
        released = np.clip(released, *_limits(request.question))
    return np.sort(released)


def _values(request: NullRequest) -> Array:
    """Equally likely clipped values of one part: quantiles at the middles of a fine grid of probabilities."""
    from scipy.stats import beta

    level = (np.arange(TABLE) + 0.5) / TABLE
    question = request.question
    if isinstance(question, PosteriorProbability):
        values = transformed(level, question)
    else:
        tested = len(question.of)
        rows = _part_rows(request, question)
        explained = beta.ppf(level, tested / 2.0, (rows - request.coefficients) / 2.0)
        values = hypothesis_statistic(question, np.clip(1.0 - explained, 1e-300, 1.0), np.full(TABLE, rows),
                                      request.coefficients)[0]
    return np.clip(values, *_limits(question))


def _part_rows(request: NullRequest, question: BayesFactor | Criterion) -> float:
    rows = request.part_rows
    if rows is None:
        if isinstance(question, Criterion) and question.name != "bic":
            return 1e9  # the limit of many rows, where the likelihood ratio is chi-squared
        raise FitError("the test needs to know about how many rows a part has, which this release does not tell",
                       found="a schema by which the number of rows is not public",
                       remedy="give rows (--rows), about how many there are")
    if rows <= request.coefficients + 1:
        raise FitError("the parts have too few rows for a test", found=f"{rows:g} rows, {request.coefficients} coefficients",
                       remedy="the data holder can release fewer parts")
    return float(np.rint(rows))


def _limits(question: Testable) -> tuple[float, float]:
    assert question.limits is not None
    return question.limits


def _portions(total: int, size: int) -> list[int]:
    return [min(size, total - start) for start in range(0, total, size)]
