"""Amitai and Reiter (2018, paper 000): simulated tables in parts; their methods as printed, corrected, and as in noisewise.

NOT PRIVATE: the versions called "as printed" break the guarantee that they state (`true_epsilon`). They exist only here, to
show what the corrections change.

No rows are drawn. The rows of a part are normal, so its moments have known distributions: the mean of x, its sum of squares,
the errors' mean, the slope given both, the sum of squared residuals. A part of 100,000 rows costs as much as one of 100.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.answers.asked import Asked, MeanNoise
from noisewise.answers.hypothesis_test import NullRequest, null_draws
from noisewise.answers.probabilities import expected_mean, score_law
from noisewise.data.parts.answers import PartAnswers
from noisewise.kinds import Partition
from noisewise.releases.contents.partition import Number, PartitionContribution
from noisewise.releases.release import Release
from noisewise.schema import Schema
from noisewise.schema.partition import PartPrior, part_design, transformed
from noisewise.schema.questions import PosteriorProbability

Array = npt.NDArray[np.float64]

INTERCEPT, SLOPE = 1.0, 2.0
FORMULA: Final = "y ~ x"
SCHEMA: Final = Schema.from_dict({"adjacency": "replace-one", "columns": {
    "y": {"bounds": "unknown"}, "x": {"bounds": "unknown"}}})
DESIGN: Final = part_design(SCHEMA, FORMULA, ())
CLIPPED_AT: Final = 0.001
"""p* of the paper."""
OWN, WHOLE, FLAT = "g = rows of the part", "g = rows of the table", "flat"
"""Priors of the parts: the paper's, that of the whole table's analysis, and none."""
PRINTED, VALID = "printed", "valid"
"""Scales of the noise."""
NODES: Final = 41
"""Released means for which noisewise's answer is computed; between them it is interpolated."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The moments of the parts of many simulated tables, (tables, parts) each: those around the part's means, and the means."""

    rows: float
    mean_x: Array
    mean_y: Array
    xx: Array
    xy: Array
    yy: Array

    @classmethod
    def drawn(cls, rows: int, parts: int, tables: int, random: np.random.Generator) -> Tables:
        """x standard normal, y = 1 + 2x + standard normal errors; ``rows`` of the whole table, in equal parts."""
        own, size = rows // parts, (tables, parts)
        mean_x = random.normal(0.0, 1.0 / math.sqrt(own), size)
        mean_y = INTERCEPT + SLOPE * mean_x + random.normal(0.0, 1.0 / math.sqrt(own), size)
        xx = random.chisquare(own - 1, size)
        slope = SLOPE + random.standard_normal(size) / np.sqrt(xx)
        return cls(own, mean_x, mean_y, xx, slope * xx, slope**2 * xx + random.chisquare(own - 2, size))

    def together(self) -> Tables:
        """Whole tables: of one part each."""
        centre_x, centre_y = (mean.mean(axis=1, keepdims=True) for mean in (self.mean_x, self.mean_y))
        away_x, away_y = self.mean_x - centre_x, self.mean_y - centre_y
        xx, xy, yy = ((inside + self.rows * between).sum(axis=1, keepdims=True) for inside, between in (
            (self.xx, away_x**2), (self.xy, away_x * away_y), (self.yy, away_y**2)))
        return Tables(self.rows * self.xx.shape[1], centre_x, centre_y, xx, xy, yy)

    def probabilities(self, points: Array, prior: str, whole_rows: float) -> Array:
        """P(slope ≤ b) in each part, by the library's own fits: (points, tables, parts)."""
        products = np.zeros((self.xx.size, 3, 3))
        products[:, 0, 0] = self.rows
        products[:, 1, 1], products[:, 2, 2] = self.xx.ravel(), self.yy.ravel()
        products[:, 1, 2] = products[:, 2, 1] = self.xy.ravel()
        shift = np.column_stack([np.zeros(self.xx.size), self.mean_x.ravel(), self.mean_y.ravel()])
        answers = PartAnswers(np.full(self.xx.size, float(self.rows)), products, shift, DESIGN, self._prior(prior, whole_rows))
        question = PosteriorProbability((("x", 1.0),), tuple(points.tolist()))
        return answers.probabilities(question).reshape(len(points), *self.xx.shape)

    def _prior(self, prior: str, whole_rows: float) -> PartPrior:
        """Zellner's prior leaves the intercept alone. The paper's shrinks it too, which makes no difference to the slope."""
        if prior == FLAT:
            return PartPrior("flat")
        return PartPrior("zellner", g=self.rows if prior == OWN else whole_rows)


@dataclass(frozen=True)
class Version:
    """A way of combining parts: a prior, a scale of the noise, and a rule that turns the noisy mean into a probability."""

    combine: str
    name: str
    prior: str
    noise: str
    rule: str

    @property
    def question(self) -> PosteriorProbability:
        return question_of(self.combine)

    def noise_scale(self, parts: int, epsilon: float) -> float:
        """The scale of the Laplace noise on the mean over the parts.

        Printed: ε/M on the mean of probabilities (2.10), and −2 log(p*)/(Mε) on the sum of −2 log p (2.13).
        """
        lower, upper = self.question.limits
        if math.isinf(epsilon):
            return 0.0
        if self.noise == VALID:
            return (upper - lower) / (parts * epsilon)
        return epsilon / parts if self.combine == "rescaled-normal" else upper / (parts * epsilon) / parts

    def true_epsilon(self, parts: int, epsilon: float) -> float:
        """The ε that the noise guarantees: the largest change of the mean over the scale."""
        lower, upper = self.question.limits
        return (upper - lower) / parts / self.noise_scale(parts, epsilon)

    def estimate(self, mean: Array, rows: int, parts: int, epsilon: float, random: np.random.Generator) -> Array:
        """The report of this version, from the exact means over the parts: noise and rule."""
        from scipy.special import ndtr, ndtri

        scale = self.noise_scale(parts, epsilon)
        noisy = mean + MeanNoise("k-norm", scale, 1).draws(mean.size, random).reshape(mean.shape) if scale else mean
        if self.rule == "answer":
            return np.asarray(ndtr(np.interp(noisy, *answers_of(self.combine, rows, parts, epsilon))))
        if self.rule == "reference":
            reference = fisher_reference(parts, scale)
            return 1.0 - np.searchsorted(reference, noisy, side="right") / len(reference)
        factor = parts if self.rule == "root of M" else 2 * parts - 1
        return np.asarray(ndtr(math.sqrt(factor) * ndtri(np.clip(noisy, 0.0, 1.0))))


VERSIONS: Final = (
    Version("rescaled-normal", "as printed", OWN, PRINTED, "root of M"),
    Version("rescaled-normal", "valid noise", OWN, VALID, "root of M"),
    Version("rescaled-normal", "corrected", WHOLE, VALID, "root of 2M - 1"),
    Version("rescaled-normal", "noisewise", WHOLE, VALID, "answer"),
    Version("fisher", "as printed", OWN, PRINTED, "reference"),
    Version("fisher", "valid noise", OWN, VALID, "reference"),
    Version("fisher", "corrected", WHOLE, VALID, "reference"),
    Version("fisher", "noisewise", WHOLE, VALID, "answer"),
    Version("stouffer", "noisewise", WHOLE, VALID, "answer"),
)
"""``valid noise`` is the printed method with noise that gives the stated ε; ``corrected`` has the right factor and prior too."""


def question_of(combine: str) -> PosteriorProbability:
    return PosteriorProbability((("x", 1.0),), (0.0,), combine, CLIPPED_AT if combine == "fisher" else None)


def mean_over_parts(probabilities: Array, combine: str) -> Array:
    """What is averaged, clipped, and averaged over the last axis."""
    question = question_of(combine)
    return np.asarray(np.clip(transformed(probabilities, question), *question.limits).mean(axis=-1))


def fisher_reference(parts: int, scale: float) -> Array:
    """Draws of the mean of −2 log of uniform numbers, clipped, with noise: the library's null distribution. One logarithm."""
    noise = MeanNoise("k-norm", max(scale, 1e-12), 1)
    return null_draws(NullRequest(question_of("fisher"), parts, None, len(DESIGN.terms), noise, False))


def printed_reference(parts: int, draws: int, random: np.random.Generator) -> Array:
    """Steps 1 to 4 of the paper's reference distribution without noise, literally: the logarithm of the logarithm."""
    once = np.minimum(-2.0 * np.log(random.uniform(size=(draws, parts))), -2.0 * math.log(CLIPPED_AT))
    return np.asarray(-2.0 * np.log(once).sum(axis=1))


@cache
def answers_of(combine: str, rows: int, parts: int, epsilon: float) -> tuple[Array, Array]:
    """Released means in rising order, and the normal score of the probability that `noisewise.answer` makes of each.

    At what the parts would say on average for many scores; and beyond them, where little changes.
    """
    question = question_of(combine)
    lower, upper = question.limits
    _, expected, _ = expected_mean(question, parts)
    inner = np.sort(expected[:: len(expected) // NODES])
    outer = 0.2 * (upper - lower) * np.array([-1.0, -0.1])
    means = np.unique(np.concatenate([inner[0] + outer, inner, inner[-1] - outer[::-1]]))
    laws = [score_law(asked, question, asked.contents.numbers[0])
            for asked in (Asked.of_release(release_with(combine, rows, parts, epsilon, mean)) for mean in means)]
    return means, np.array([float(law.quantile(0.5)) for law in laws])


def release_with(combine: str, rows: int, parts: int, epsilon: float, mean: float) -> Release:
    """A release with this mean; without privacy, one with negligible noise."""
    question = question_of(combine)
    lower, upper = question.limits
    exact = math.isinf(epsilon)
    spent = 1.0 if exact else epsilon
    contribution = PartitionContribution(
        rows=rows, epsilon=spent, delta=0.5 if exact else 0.0, mechanism="gaussian" if exact else "k-norm", sensitivity=1.0,
        statement="simulated", created="2026-01-01", library="studies", balanced=False, noise=1e-6 if exact else 1.0 / epsilon,
        noise_epsilon=spent, numbers=(Number(question.numbers()[0][0], lower, upper, (mean - lower) / (upper - lower) * parts),))
    return Release(Partition(FORMULA, parts, question), SCHEMA, (contribution,))
