"""``answer``: all that a partition release says about its questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.answers.hypotheses import mean_law
from noisewise.answers.law import GridLaw
from noisewise.answers.probabilities import score_law
from noisewise.answers.quantiles import coefficient_law
from noisewise.errors import ReleaseError
from noisewise.release.partition import Number, PartitionRelease
from noisewise.results.answers import Answer, Answers
from noisewise.schema.columns import is_finite_number
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile, written

Array = npt.NDArray[np.float64]

DRAWS: Final = 20_000
MISSED: Final = {False: "may have missed it", True: "have probably missed it, and little is known about it"}


def answer(release: object, *, prior_probability: float = 0.5, probability: float = 0.95, seed: int = 0) -> Answers:
    """Answer the questions of a partition release: a point, an interval that the noise implies, and a sentence for each.

    ``prior_probability`` is that of the hypothesis that coefficients are not zero, for Bayes factors. ``probability`` is that of
    the intervals.
    """
    if not isinstance(release, PartitionRelease):
        raise ReleaseError("questions are answered by releases of kind partition",
                           found=getattr(release, "kind", type(release).__name__),
                           remedy="fit a regression instead: noisewise.fit")
    for name, value, example in (("prior_probability", prior_probability, 0.5), ("probability", probability, 0.95)):
        if not is_finite_number(value) or not 0.0 < value < 1.0:
            raise ReleaseError(f"{name} lies strictly between 0 and 1", found=repr(value), remedy=f"for example {example}")
    return Answers(release.formula, release.parts, float(probability), tuple(_all(release, prior_probability, probability, seed)))


def percent(share: float) -> str:
    """As people write it.

    >>> percent(0.95), percent(0.995)
    ('95 %', '99.5 %')
    """
    return f"{100 * share:.6g} %"


def _all(release: PartitionRelease, prior: float, probability: float, seed: int) -> Iterator[Answer]:
    for question in release.questions:
        random = np.random.default_rng(seed)
        numbers = release.of(question)
        if isinstance(question, PosteriorProbability):
            for point, number in zip(question.at, numbers, strict=True):
                yield _probability(question, point, number.name, score_law(release, question, number), probability, random)
        elif isinstance(question, PosteriorQuantile):
            yield _quantile(release, question, numbers[0], probability, random)
        elif isinstance(question, BayesFactor):
            law = mean_law(release, numbers[0])
            yield _plain(release, numbers[0], "log Bayes factor", law, probability, random)
            yield _hypothesis(question, law, prior, probability, random)
        else:
            yield _criterion(question, release, probability, random)


def _probability(question: PosteriorProbability, point: float, name: str, law: GridLaw, probability: float,
                 random: np.random.Generator) -> Answer:
    from scipy.special import ndtr

    lower, middle, upper = ndtr(law.central(probability)).tolist()
    sentence = (f"The posterior probability that {written(question.of)} is at most {point:g} is about {middle:.3g}; the noise "
                f"leaves it between {lower:.3g} and {upper:.3g} ({percent(probability)}).")
    return Answer(name, "probability", middle, lower, upper, sentence, ndtr(law.draws(DRAWS, random)))


def _quantile(release: PartitionRelease, question: PosteriorQuantile, number: Number, probability: float,
              random: np.random.Generator) -> Answer:
    law = coefficient_law(release, question)
    median, scale = law.draws(DRAWS, random)
    draws = median + scale * random.standard_normal(DRAWS)
    tail = (1.0 - probability) / 2.0
    lower, middle, upper = np.quantile(draws, [tail, 0.5, 1.0 - tail]).tolist()
    name = written(question.of)
    sentence = (f"{name} is about {middle:.4g}, between {lower:.4g} and {upper:.4g} ({percent(probability)}); the posterior "
                f"without noise would have a standard deviation of about {float(np.median(scale)):.3g}.")
    missed = law.outside(number.lower, number.upper)
    if question.bounds is None and missed > tail:
        sentence += (f" The limits that were found, {number.lower:.4g} and {number.upper:.4g}, {MISSED[missed > 0.5]}: more "
                     "parts, a greater epsilon or declared bounds would help.")
    elif question.bounds is not None and not number.lower < number.mean(release.parts) < number.upper:
        sentence += f" It may lie beyond the declared bounds, {number.lower:.4g} and {number.upper:.4g}."
    return Answer(name, "coefficient", middle, lower, upper, sentence, draws)


def _plain(release: PartitionRelease, number: Number, kind: str, law: GridLaw, probability: float,
           random: np.random.Generator) -> Answer:
    lower, middle, upper = law.central(probability).tolist()
    sentence = (f"The {number.name} is {middle:.3g} on average over {release.parts} parts, between {lower:.3g} and {upper:.3g} "
                f"({percent(probability)}); that is the evidence of an average part, not of the whole table, which may even "
                "point the other way.")
    return Answer(number.name, kind, middle, lower, upper, sentence, law.draws(DRAWS, random),
                  raw=number.mean(release.parts), limits=(number.lower, number.upper))


def _hypothesis(question: BayesFactor, law: GridLaw, prior: float, probability: float, random: np.random.Generator) -> Answer:
    from scipy.special import expit, logit

    def posterior(log_factor: Array) -> Array:
        return np.asarray(expit(log_factor + logit(prior)))

    of = ", ".join(map(written, question.of))
    lower, middle, upper = posterior(law.central(probability)).tolist()
    sentence = (f"The probability that {of} {'are not all' if len(question.of) > 1 else 'is not'} zero is about {middle:.3g}, "
                f"between {lower:.3g} and {upper:.3g} ({percent(probability)}), if it was {prior:g} before: by the evidence of "
                "an average part, not of the whole table, which may even point the other way.")
    return Answer(f"P({of} not zero)", "hypothesis probability", middle, lower, upper, sentence,
                  posterior(law.draws(DRAWS, random)))


def _criterion(question: Criterion, release: PartitionRelease, probability: float, random: np.random.Generator) -> Answer:
    number = release.of(question)[0]
    return _plain(release, number, question.name, mean_law(release, number), probability, random)
