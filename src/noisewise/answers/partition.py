"""The answers of a `Partition` release to its questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from noisewise.answers.asked import Asked
from noisewise.answers.law import GridLaw, mean_law
from noisewise.answers.probabilities import score_law
from noisewise.answers.quantiles import coefficient_law
from noisewise.errors import ReleaseError
from noisewise.releases.contents.partition import Number
from noisewise.releases.release import Release
from noisewise.results.answers import Answer, Answers
from noisewise.schema.columns import is_finite_number
from noisewise.schema.questions import BayesFactor, PosteriorProbability, PosteriorQuantile, written

DRAWS: Final = 20_000
MISSED: Final = {False: "may have missed it", True: "have probably missed it, so little is known about it"}


def answer(release: Release, *, prior_probability: float = 0.5, probability: float = 0.95, seed: int = 0) -> Answers:
    """See `noisewise.answer`."""
    asked = Asked.of_release(release)
    for name, value, example in (("prior_probability", prior_probability, 0.5), ("probability", probability, 0.95)):
        if not is_finite_number(value) or not 0.0 < value < 1.0:
            raise ReleaseError(f"{name} must lie strictly between 0 and 1", found=repr(value), remedy=f"for example {example}")
    return Answers(asked.kind.formula, asked.parts, float(probability), tuple(_all(asked, prior_probability, probability, seed)))


def _all(asked: Asked, prior: float, probability: float, seed: int) -> Iterator[Answer]:
    for question in asked.kind.ask:
        random = np.random.default_rng(seed)
        numbers = asked.of(question)
        if isinstance(question, PosteriorProbability):
            for point, number in zip(question.at, numbers, strict=True):
                yield _probability(question, point, number.name, score_law(asked, question, number), probability, random)
        elif isinstance(question, PosteriorQuantile):
            yield _quantile(asked, question, probability, random)
        elif isinstance(question, BayesFactor):
            law = mean_law(asked, numbers[0])
            yield _plain(asked, numbers[0], "log Bayes factor", law, probability, random)
            yield _hypothesis(question, law, prior, probability, random)
        else:
            yield _plain(asked, numbers[0], question.name, mean_law(asked, numbers[0]), probability, random)


def _probability(question: PosteriorProbability, point: float, name: str, law: GridLaw, probability: float,
                 random: np.random.Generator) -> Answer:
    from scipy.special import ndtr

    lower, middle, upper = ndtr(law.central(probability)).tolist()
    sentence = (f"The posterior probability that {written(question.of)} is at most {point:g} is about {middle:.3g}; the noise "
                f"leaves it between {lower:.3g} and {upper:.3g} ({100 * probability:.6g} %).")
    return Answer(name, "probability", middle, lower, upper, sentence, ndtr(law.draws(DRAWS, random)))


def _quantile(asked: Asked, question: PosteriorQuantile, probability: float, random: np.random.Generator) -> Answer:
    number, law = asked.of(question)[0], coefficient_law(asked, question)
    median, scale = law.draws(DRAWS, random)
    draws = median + scale * random.standard_normal(DRAWS)
    tail = (1.0 - probability) / 2.0
    lower, middle, upper = np.quantile(draws, [tail, 0.5, 1.0 - tail]).tolist()
    name = written(question.of)
    sentence = (f"{name} is about {middle:.4g}, between {lower:.4g} and {upper:.4g} ({100 * probability:.6g} %); the posterior "
                f"without noise would have a standard deviation of about {float(np.median(scale)):.3g}.")
    missed = law.outside(number.lower, number.upper)
    if question.bounds is None and missed > tail:
        sentence += (f" The limits that were found, {number.lower:.4g} and {number.upper:.4g}, {MISSED[missed > 0.5]}: more "
                     "parts, a larger epsilon or declared bounds would help.")
    elif question.bounds is not None and not number.lower < number.mean(asked.parts) < number.upper:
        sentence += f" It may lie beyond the declared bounds, {number.lower:.4g} and {number.upper:.4g}."
    return Answer(name, "coefficient", middle, lower, upper, sentence, draws)


def _plain(asked: Asked, number: Number, kind: str, law: GridLaw, probability: float, random: np.random.Generator) -> Answer:
    lower, middle, upper = law.central(probability).tolist()
    sentence = (f"The {number.name} is {middle:.3g} on average over {asked.parts} parts, between {lower:.3g} and {upper:.3g} "
                f"({100 * probability:.6g} %). That is the evidence of an average part, not of the whole table, which may even "
                "point the other way.")
    return Answer(number.name, kind, middle, lower, upper, sentence, law.draws(DRAWS, random),
                  raw=number.mean(asked.parts), limits=(number.lower, number.upper))


def _hypothesis(question: BayesFactor, law: GridLaw, prior: float, probability: float, random: np.random.Generator) -> Answer:
    from scipy.special import expit, logit

    of = ", ".join(map(written, question.of))
    lower, middle, upper = expit(law.central(probability) + logit(prior)).tolist()
    sentence = (f"The probability that {of} {'are not all' if len(question.of) > 1 else 'is not'} zero is about {middle:.3g}, "
                f"between {lower:.3g} and {upper:.3g} ({100 * probability:.6g} %), if it was {prior:g} before. That is the "
                "evidence of an average part, not of the whole table, which may even point the other way.")
    return Answer(f"P({of} not zero)", "hypothesis probability", middle, lower, upper, sentence,
                  expit(law.draws(DRAWS, random) + logit(prior)))
