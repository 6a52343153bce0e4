"""How good the answers of a partition release would be: from the numbers of rows, coefficients and parts and the noise alone.

Nothing here sees data. Probabilities are measured by quadrature with the same laws that read a release; tests and quantiles by
simulation with a fixed seed. ``loss`` is what the best number of parts has least of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.answers.noise import MeanNoise
from noisewise.answers.probabilities import expected_mean, information_loss
from noisewise.parts.statistics import hypothesis_statistic
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability

Array = npt.NDArray[np.float64]

SCORES: Final = (-1.5, 0.0, 1.5)
"""Where a probability's error is measured: b is so many standard deviations from the estimate."""
EFFECTS: Final = (3.0, 5.0, 8.0)
"""Where a test's power is measured: the effect is so many standard errors of the whole table's estimate."""
LEVEL: Final = 0.05
CELLS: Final = 1024
POINTS: Final = 201
REACH: Final = 6.0
POOL: Final = 1 << 14
REPEATS: Final = 10_000
MOST_SUMMED: Final = 200


@dataclass(frozen=True)
class PlannedParts:
    """A table of so many rows in so many parts, and a regression with so many coefficients."""

    rows: float
    parts: int
    coefficients: int

    @property
    def part_rows(self) -> float:
        return self.rows / self.parts

    @property
    def loss(self) -> float:
        return information_loss(self.coefficients, self.part_rows)


def probability_errors(question: PosteriorProbability, plan: PlannedParts, noise: MeanNoise) -> dict[float, float]:
    """The expected absolute error of p(b), for each of `SCORES`.

    A released mean falls into cells; each cell has its answer, the median of the law of the score; each score its probabilities
    of the cells.
    """
    from scipy.special import ndtr

    finer, *laws = expected_mean(question, plan.parts, plan.loss)
    scores = np.linspace(finer[0], finer[-1], POINTS)  # a grid that has all of SCORES
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
    """Of the laws in the columns of ``chances``, between the points of the grid as well."""
    reached = np.cumsum(chances, axis=0)
    half = 0.5 * reached[-1]
    places = np.argmax(reached >= half, axis=0)
    here = np.maximum(np.take_along_axis(chances, places[None], axis=0)[0], 1e-300)
    excess = (np.take_along_axis(reached, places[None], axis=0)[0] - half) / here
    return np.asarray(scores[places] + (scores[1] - scores[0]) * (0.5 - np.clip(excess, 0.0, 1.0)))


def _blurred(cells: Array, noise: MeanNoise, width: float) -> Array:
    """Probabilities of cells after noise was added."""
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
    """Many parts, without an effect: the same for all effects, so that chance does not tell them apart."""

    question: BayesFactor | Criterion
    plan: PlannedParts
    along: Array
    across: Array
    rest: Array

    @classmethod
    def drawn(cls, question: BayesFactor | Criterion, plan: PlannedParts, random: np.random.Generator) -> _Pool:
        """The coefficient that has the effect, the others that are tested with it, and what is left unexplained."""
        from scipy.special import ndtri

        along = np.asarray(ndtri((np.arange(POOL) + 0.5) / POOL))
        others = len(question.of) - 1
        across = random.chisquare(others, POOL) if others else np.zeros(POOL)
        return cls(question, plan, along, across, random.chisquare(np.rint(plan.part_rows) - plan.coefficients, POOL))

    def released_means(self, effect: float, random: np.random.Generator) -> Array:
        """Draws of the mean over the parts, without noise, where the whole table's effect is so many standard errors."""
        question, parts, rows = self.question, self.plan.parts, float(np.rint(self.plan.part_rows))
        assert question.limits is not None
        gain = (self.along + effect * np.sqrt((1.0 - self.plan.loss) / parts)) ** 2 + self.across
        values = hypothesis_statistic(question, self.rest / (self.rest + gain), np.full(POOL, rows), self.plan.coefficients)[0]
        values = np.clip(values, *question.limits)
        if parts > MOST_SUMMED:  # their mean is normal to all intents
            return np.asarray(random.normal(values.mean(), values.std() / np.sqrt(parts), REPEATS))
        return np.asarray(values[random.integers(POOL, size=(REPEATS, parts))].mean(axis=1))
