"""How good the answers of a partition release would be, from the numbers of rows, coefficients and parts and the noise alone.

Nothing here sees data. The errors of probabilities are found by quadrature, with the laws that also interpret a release; the
power of tests and the widths of quantiles by simulation, with a fixed seed. The best number of parts is the one with the least
``loss``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from noisewise.answers.asked import MeanNoise
from noisewise.answers.probabilities import expected_mean, information_loss
from noisewise.arrays import Array
from noisewise.privacy.mechanisms.partition import PartitionMechanism
from noisewise.privacy.sensitivity.bounds import rank_scores
from noisewise.schema.partition import hypothesis_statistic
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile, Question, written
from noisewise.schema.search_grid import centre_candidates, limits_about, width_candidates

MEASURES: Final[Mapping[str, str]] = {
    "error": "expected absolute error of the posterior probability, with b at this many standard deviations from the estimate",
    "power": "power of the calibrated test at level 0.05, for an effect of this many standard errors of the whole table",
    "width": "how far noise and clipping may move an answer, as a multiple of the posterior's width without privacy",
    "noise": "standard deviation of the noise on the coefficient, as a share of the distance between its declared bounds",
}
SCORE_LIMITS: Final = (0.75, 1.0, 1.5, 2.0, 3.0)
PROBABILITY_LIMITS: Final = (0.2, 0.1, 0.05, 0.01, 0.001)
BAYES_LIMITS: Final = tuple(round(math.log(odds), 2) for odds in (3.0, 9.0, 19.0, 99.0, 999.0))
TAILS: Final = (0.2, 0.05, 0.01, 0.001, 0.0001)
"""Probability of a likelihood ratio beyond its upper limit, under the null hypothesis."""
LOCATION: Final = 10.0
"""The coefficient planned for, in standard deviations of its posterior."""
SEARCHES, RARELY = 200, 0.95
SCORES: Final = (-1.5, 0.0, 1.5)
"""Where a probability's error is measured: b in standard deviations from the estimate."""
EFFECTS: Final = (3.0, 5.0, 8.0)
"""Where a test's power is measured: the effect in standard errors of the whole table's estimate."""
LEVEL: Final = 0.05
CELLS, POINTS, REACH = 1024, 201, 6.0
POOL, REPEATS, MOST_SUMMED = 1 << 14, 10_000, 200


@dataclass(frozen=True)
class Expected:
    """How good the answer to one question would be.

    ``measure`` is one of ``MEASURES``, ``values`` are its values, and ``question`` has the best limits.
    """

    name: str
    measure: str
    question: Question
    values: Mapping[str, float]
    loss: float

    def limits(self) -> str:
        """The clipping limits as text; empty if there are none to choose."""
        declared = self.question.to_dict()
        if "limit" in declared:
            return f"{declared['limit']:g}"
        return " to ".join(f"{end:g}" for end in declared.get("limits", ()))


class PlanLine(NamedTuple):
    """One number of parts. ``loss`` is the mean over the questions of the loss relative to the least: 1 is best for all."""

    parts: int
    part_rows: float
    expected: tuple[Expected, ...]
    loss: float = 0.0


class PlannedParts(NamedTuple):
    """The size of a table, its number of parts, and the number of coefficients of a regression."""

    rows: float
    parts: int
    coefficients: int

    @property
    def part_rows(self) -> float:
        """The average number of rows in a part."""
        return self.rows / self.parts

    @property
    def loss(self) -> float:
        """The share of the whole table's information that its parts together lose."""
        return information_loss(self.coefficients, self.part_rows)


def best_answer(question: Question, plan: PlannedParts, mechanism: PartitionMechanism) -> Expected:
    """The expected answer to a question, with the limits that give the least loss."""
    return min((_expected(one, plan, mechanism) for one in _candidates(question, plan)), key=lambda one: one.loss)


def _candidates(question: Question, plan: PlannedParts) -> Iterator[Question]:
    """The question with each limit worth trying; only its own if one was given."""
    from scipy.stats import chi2

    if isinstance(question, PosteriorProbability) and question == replace(question, limit=None) and question.limit is not None:
        limits = SCORE_LIMITS if question.combine == "stouffer" else PROBABILITY_LIMITS
        yield from (replace(question, limit=limit) for limit in limits)
    elif isinstance(question, BayesFactor) and question == BayesFactor(question.of, question.prior):
        yield from (replace(question, limits=(-limit, limit)) for limit in BAYES_LIMITS)
    elif isinstance(question, Criterion) and question == Criterion(question.name, question.of):
        tested = len(question.of)
        lowest = {"likelihood-ratio": 0.0, "aic": -2.0 * tested, "bic": -tested * math.log(plan.part_rows)}[question.name]
        yield from (replace(question, limits=(float(f"{lowest:.2g}"), float(f"{chi2.isf(tail, tested):.2g}"))) for tail in TAILS)
    else:
        yield question


def _expected(question: Question, plan: PlannedParts, mechanism: PartitionMechanism) -> Expected:
    if isinstance(question, PosteriorQuantile):
        return _width(question, plan, mechanism)
    noise = _noise(mechanism, plan.parts, question.limits[1] - question.limits[0])
    if isinstance(question, PosteriorProbability):
        errors = probability_errors(question, plan, noise)
        name = f"P({written(question.of)} <= b), {question.combine}"
        return Expected(name, "error", question, {f"{score:+g} sd" if score else "0": error for score, error in errors.items()},
                        float(np.mean(list(errors.values()))))
    found = powers(question, plan, noise)
    return Expected(question.numbers()[0][0], "power", question, {f"{effect:g} se": power for effect, power in found.items()},
                    1.0 - float(np.mean(list(found.values()))))


def _noise(mechanism: PartitionMechanism, parts: int, width: float = 1.0) -> MeanNoise:
    return MeanNoise(mechanism.name, width * mechanism.scale / parts, mechanism.sensitivity.numbers)


def _width(question: PosteriorQuantile, plan: PlannedParts, mechanism: PartitionMechanism) -> Expected:
    """The width of a coefficient's interval, by simulation; with declared bounds, the noise as a share of their distance."""
    noise, name = _noise(mechanism, plan.parts).sd, written(question.of)
    if question.bounds is not None:
        return Expected(name, "noise", question, {"share": noise}, noise)
    random = np.random.default_rng(0)
    variances, misses = [], []
    for _ in range(SEARCHES):
        spread = math.sqrt(plan.parts / (1.0 - plan.loss))
        medians = spread * random.standard_normal(plan.parts)
        medians += LOCATION - medians.mean()
        centre = _selected(medians, centre_candidates(), mechanism.epsilon * question.centre_share, random)
        distance = _selected(np.abs(medians - centre), width_candidates(), mechanism.epsilon * question.width_share, random)
        lower, upper = limits_about(centre, distance)
        clipped = np.clip(medians, lower, upper)
        variances.append(1.0 / (1.0 - plan.loss) + ((upper - lower) * noise) ** 2)
        misses.append(clipped.mean() - LOCATION)
    # An interval must allow for a search that misses, unless misses are rare.
    width = math.sqrt(np.median(variances) + np.quantile(np.abs(misses), RARELY) ** 2)
    return Expected(name, "width", question, {"width": width}, width)


def _selected(values: Array, grid: Array, epsilon: float, random: np.random.Generator) -> float:
    """Permute-and-flip in distribution: the largest score with exponential noise."""
    beyond = len(values) - np.searchsorted(np.sort(values), grid, side="right")
    scores = rank_scores(beyond.astype(np.int64), len(values), len(values) // 2)
    return float(grid[np.argmax(scores + random.exponential(2.0 / epsilon, len(grid)))])


def probability_errors(question: PosteriorProbability, plan: PlannedParts, noise: MeanNoise) -> dict[float, float]:
    """The expected absolute error of p(b), for each of `SCORES`.

    Released means are divided into cells. Each cell has an answer, the median of the law of the score, and each score has
    probabilities of the cells.
    """
    from scipy.special import ndtr

    finer, *laws = expected_mean(question, plan.parts, plan.loss)
    scores = np.linspace(finer[0], finer[-1], POINTS)  # a grid that includes all of SCORES
    mean, scatter = (np.interp(scores, finer, law) for law in laws)
    start, end = mean.min() - REACH * noise.sd, mean.max() + REACH * noise.sd
    edges = np.linspace(start, end, CELLS + 1)
    cells = np.diff(ndtr((edges - mean[:, None]) / np.maximum(scatter, 1e-9 * (end - start))[:, None]), axis=1)
    chances = np.maximum(_blurred(cells, noise, edges[1] - edges[0]), 0.0)
    answers = ndtr(_medians(scores, chances))
    return {score: _mean_of(np.abs(answers - ndtr(score)), chances[int(np.argmin(np.abs(scores - score)))]) for score in SCORES}


def powers(question: BayesFactor | Criterion, plan: PlannedParts, noise: MeanNoise) -> dict[float, float]:
    """The probability of rejecting at the calibrated level `LEVEL`, for each of `EFFECTS`."""
    random = np.random.default_rng(0)
    pool = _Pool.drawn(question, plan, random)
    none = pool.released_means(0.0, random) + noise.draws(REPEATS, random)
    critical = float(np.quantile(none, 1.0 - LEVEL))
    return {effect: float(np.mean(pool.released_means(effect, random) + noise.draws(REPEATS, random) > critical))
            for effect in EFFECTS}


def _medians(scores: Array, chances: Array) -> Array:
    """The medians of the laws in the columns of ``chances``, interpolated between grid points."""
    reached = np.cumsum(chances, axis=0)
    half = 0.5 * reached[-1]
    places = np.argmax(reached >= half, axis=0)
    here = np.maximum(np.take_along_axis(chances, places[None], axis=0)[0], 1e-300)
    excess = (np.take_along_axis(reached, places[None], axis=0)[0] - half) / here
    return np.asarray(scores[places] + (scores[1] - scores[0]) * (0.5 - np.clip(excess, 0.0, 1.0)))


def _blurred(cells: Array, noise: MeanNoise, width: float) -> Array:
    """Probabilities of the cells after noise is added."""
    from scipy.fft import irfft, rfft

    size = 2 * cells.shape[1]
    offsets = np.arange(size)
    kernel = noise.density(np.minimum(offsets, size - offsets) * width)
    kernel /= kernel.sum()
    return np.asarray(irfft(rfft(cells, size, axis=1) * rfft(kernel), size, axis=1)[:, :cells.shape[1]])


def _mean_of(values: Array, weights: Array) -> float:
    return float(values @ weights / max(float(weights.sum()), 1e-300))


@dataclass(frozen=True, eq=False)
class _Pool:
    """Many parts without an effect, shared by all effects so that they do not differ by chance."""

    question: BayesFactor | Criterion
    plan: PlannedParts
    along: Array
    across: Array
    rest: Array

    @classmethod
    def drawn(cls, question: BayesFactor | Criterion, plan: PlannedParts, random: np.random.Generator) -> _Pool:
        """Draw the coefficient with the effect, the others tested with it, and the residuals."""
        from scipy.special import ndtri

        along = np.asarray(ndtri((np.arange(POOL) + 0.5) / POOL))
        others = len(question.of) - 1
        across = random.chisquare(others, POOL) if others else np.zeros(POOL)
        return cls(question, plan, along, across, random.chisquare(np.rint(plan.part_rows) - plan.coefficients, POOL))

    def released_means(self, effect: float, random: np.random.Generator) -> Array:
        """Draws of the mean over the parts, without noise, for an effect in standard errors of the whole table."""
        question, parts, rows = self.question, self.plan.parts, float(np.rint(self.plan.part_rows))
        gain = (self.along + effect * np.sqrt((1.0 - self.plan.loss) / parts)) ** 2 + self.across
        values = hypothesis_statistic(question, self.rest / (self.rest + gain), np.full(POOL, rows), self.plan.coefficients)[0]
        values = np.clip(values, *question.limits)
        if parts > MOST_SUMMED:  # their mean is as good as normal
            return np.asarray(random.normal(values.mean(), values.std() / np.sqrt(parts), REPEATS))
        return np.asarray(values[random.integers(POOL, size=(REPEATS, parts))].mean(axis=1))
