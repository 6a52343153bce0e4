"""Are the answers of partition releases calibrated? Coverage, errors, and type I errors of the tests.

    python -m studies.partition_coverage [--only probabilities|quantiles|hypotheses|tests] [--replicates 1000]

Tables are made up. The moments of their parts are drawn as in ``studies.partition_world``, the noise by a seeded generator. The
library's own functions do the rest. ``studies.partition_report`` turns the files of results into a page.

Posterior probabilities are asked at b = beta + z sd, sd being the posterior's in the whole table on average: what must be covered
is that table's own p(b). An answer depends on the table through one released number only, so the ends of its interval are
computed at ``KNOTS`` values of it, and interpolated.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtr

import noisewise as nw
from noisewise.answers.asked import MeanNoise
from noisewise.answers.probabilities import score_law
from noisewise.data.parts.answers import PartAnswers
from noisewise.schema.partition import PartPrior
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile, Question
from studies.partition_world import CORRELATION, Moments, Plan, design_of, draw, slopes_of
from studies.workers import add_options, run_cells

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

RESULTS = Path(__file__).parent / "results" / "partition"
PREDICTORS = 3
SCORES = (-3.0, -1.5, 0.0, 1.5, 3.0)
COMBINE = ("stouffer", "rescaled-normal", "fisher")
EPSILONS = (0.1, 1.0, 10.0)
RELEASES = (("k-norm", 1), ("k-norm", 5), ("gaussian", 1))
"""The mechanism, and how many b are asked about together: one number gets Laplace noise."""
KNOTS = 81
LEVELS = (0.05, 0.01)
BOUNDS, TRUTHS = (1.0, 3.0), (1.3, 2.7)
"""The bounds declared for the first slope in the study of quantiles, and the range of its true value."""
ROUND = 2.0
"""A slope that is itself a candidate for the centre: the hardest case for the search, in question ``round``."""
SMALL = 6.0
"""The largest distance from zero in standard deviations, in question ``small``: candidates for a centre crowd there."""


@dataclass(frozen=True)
class Cell:
    """Tables of one kind, and the question about them."""

    study: str
    parts: int
    rows: int
    shape: str = "normal"
    epsilon: float = 0.0
    question: str = ""
    mechanism: str = "k-norm"

    def columns(self) -> dict[str, Any]:
        return asdict(self)


def probability_cells() -> list[Cell]:
    found = [Cell("probabilities", parts, rows) for parts in (10, 50, 100) for rows in (50, 100, 1000)]
    return found + [Cell("probabilities", 50, rows, shape) for shape in ("heavy", "skewed") for rows in (50, 100, 1000)]


def quantile_cells() -> list[Cell]:
    both = ("found", "declared")
    found = [Cell("quantiles", parts, 100, epsilon=epsilon, question=bounds)
             for parts in (10, 50, 100, 300) for epsilon in (0.5, 1.0, 3.0, 10.0) for bounds in both]
    found += [Cell("quantiles", 100, rows, epsilon=epsilon, question=bounds)
              for rows in (50, 1000) for epsilon in (1.0, 10.0) for bounds in both]
    found += [Cell("quantiles", 100, 100, epsilon=3.0, question=bounds, mechanism="gaussian") for bounds in both]
    found += [Cell("quantiles", 100, rows, epsilon=epsilon, question="round") for rows in (100, 1000) for epsilon in (1.0, 3.0)]
    found += [Cell("quantiles", parts, 100, epsilon=epsilon, question="small") for parts in (100, 200) for epsilon in (1.0, 3.0)]
    return found + [Cell("quantiles", 100, rows, shape, 3.0, "found") for shape in ("heavy", "skewed") for rows in (50, 1000)]


def hypothesis_cells() -> list[Cell]:
    return [Cell("hypotheses", parts, 100, epsilon=epsilon, question=name)
            for parts in (10, 50) for epsilon in EPSILONS for name in ("null", "effect")]


def rejection_cells() -> list[Cell]:
    found = [Cell("tests", parts, rows, epsilon=epsilon) for parts in (2, 5, 10) for epsilon in (0.5, 1.0, 5.0) for rows in (40,)]
    return found + [Cell("tests", 5, 40, shape, 5.0) for shape in ("heavy", "skewed")]


def typical_sd(rows: float) -> float:
    """The standard deviation of the first slope's posterior in a table of ``rows`` rows."""
    size = PREDICTORS
    others = 1.0 - (size - 1) * CORRELATION**2 / (1.0 + (size - 2) * CORRELATION)  # of its variance, given the others
    return 1.0 / math.sqrt(rows * others)


def tables(cell: Cell, replicates: int, rng: np.random.Generator, null: bool = False) -> Moments:
    """The parts of all tables in one row: those of the first table first."""
    return draw(rng, replicates * cell.parts, cell.rows, slopes_of(PREDICTORS, null), cell.shape)


def of_each(moments: Moments, parts: int) -> list[Moments]:
    counts, products = (np.split(values, len(moments.counts) // parts) for values in (moments.counts, moments.products))
    return [Moments(*pair) for pair in zip(counts, products, strict=True)]


def answers_of(moments: Moments) -> PartAnswers:
    """All parts at once; with a flat prior a part's answer does not depend on how many there are."""
    return PartAnswers(moments.counts, moments.products, moments.shift, design_of(PREDICTORS), PartPrior())


def noise_of(plan: Plan, number: int, size: int, rng: np.random.Generator) -> Array:
    return MeanNoise.of(plan.asked, plan.asked.contents.numbers[number]).draws(size, rng)


def probabilities(cell: Cell, replicates: int, seed: int) -> list[Line]:
    rng = np.random.default_rng(seed)
    moments = tables(cell, replicates, rng)
    slope = slopes_of(PREDICTORS)[0]
    at = tuple(float(slope + score * typical_sd(cell.parts * cell.rows)) for score in SCORES)
    whole = np.array([[values[1] for values in one.whole()] for one in of_each(moments, cell.parts)])
    truth = stdtr(cell.parts * cell.rows - PREDICTORS - 1, (np.array(at) - whole[:, :1]) / whole[:, 1:])
    own = answers_of(moments)
    lines = []
    for combine in COMBINE:
        question = PosteriorProbability("x1", at, combine)
        values = np.clip(own.answers(question, {}), *question.limits).reshape(len(at), replicates, cell.parts).mean(axis=2).T
        for epsilon in EPSILONS:
            for mechanism, together in RELEASES:
                asked = replace(question, at=at[:together])
                plan = Plan.of(PREDICTORS, cell.parts, cell.rows, (asked,), epsilon, mechanism=mechanism)
                noisy = values + noise_of(plan, 0, values.size, rng).reshape(values.shape)
                lower, middle, upper = intervals(plan, asked, noisy)
                for place, score in enumerate(SCORES):
                    ends = [ndtr(found[:, place]) for found in (lower, middle, upper)]
                    exact = truth[:, place]
                    inside = (lower[:, place] <= ndtri(exact)) & (ndtri(exact) <= upper[:, place])
                    lines.append({**cell.columns(), "epsilon": epsilon, "mechanism": mechanism, "question": combine,
                                  "together": together, "score": score, "coverage": inside.mean(),
                                  "error": np.abs(ends[1] - exact).mean(), "width": (ends[2] - ends[0]).mean(),
                                  "replicates": replicates, "seed": seed})
    # a cell of this study is a kind of table: these columns tell which have been done
    return [{**line, "epsilon_asked": line["epsilon"], "mechanism_asked": line["mechanism"], "question_asked": line["question"],
             **cell.columns()} for line in lines]


def intervals(plan: Plan, question: PosteriorProbability, means: Array) -> tuple[Array, Array, Array]:
    """Lower ends, medians and upper ends of Z for released means."""
    knots = np.linspace(means.min(), means.max(), KNOTS)
    asked = plan.asked
    number = asked.contents.numbers[0]
    scaled = [replace(number, sum=float((knot - number.lower) / number.width * asked.parts)) for knot in knots]
    ends = np.array([score_law(asked, question, one).central(0.95) for one in scaled])
    return tuple(np.interp(means, knots, ends[:, place]) for place in range(3))  # type: ignore[return-value]


def quantiles(cell: Cell, replicates: int, seed: int) -> list[Line]:
    rng = np.random.default_rng(seed)
    bounds = BOUNDS if cell.question == "declared" else None
    plan = Plan.of(PREDICTORS, cell.parts, cell.rows, (PosteriorQuantile("x1", bounds),), cell.epsilon, mechanism=cell.mechanism)
    found, slopes = [], slopes_of(PREDICTORS)
    for _ in range(replicates):
        slopes[0] = truth = {"round": ROUND, "small": rng.uniform(-SMALL, SMALL) * typical_sd(cell.parts * cell.rows)}.get(
            cell.question, rng.uniform(*TRUTHS))
        moments = draw(rng, cell.parts, cell.rows, slopes, cell.shape)
        release = plan.release(moments, rng)
        [one] = nw.answer(release)
        sd = moments.whole()[1][1]
        limits = release.contents.numbers[0]
        found.append((one.lower <= truth <= one.upper, abs(one.point - truth) / sd, (one.upper - one.lower) / (2 * 1.96 * sd),
                      limits.lower < truth < limits.upper, "missed" in one.sentence))
    covered, errors, widths, held, warned = np.array(found, dtype=float).T
    return [{**cell.columns(), "coverage": covered.mean(), "error": np.median(errors), "width": np.median(widths),
             "limits_hold": held.mean(), "says_missed": warned.mean(),
             "missed_in_silence": ((held == 0) & (warned == 0)).mean(), "replicates": replicates, "seed": seed}]


def hypotheses(cell: Cell, replicates: int, seed: int) -> list[Line]:
    """Check if the interval holds the mean of the parts' clipped log Bayes factors without noise."""
    rng = np.random.default_rng(seed)
    question = BayesFactor("x3")
    plan = Plan.of(PREDICTORS, cell.parts, cell.rows, (question,), cell.epsilon)
    covered, widths = [], []
    for _ in range(replicates):
        moments = draw(rng, cell.parts, cell.rows, slopes_of(PREDICTORS, null=cell.question == "null"))
        exact = np.clip(plan.answers(moments).answers(question, {}), *question.limits).mean()
        factor, chance = nw.answer(plan.release(moments, rng))
        covered.append(factor.lower <= exact <= factor.upper)
        widths.append(chance.upper - chance.lower)
    return [{**cell.columns(), "coverage": np.mean(covered), "width": np.mean(widths), "replicates": replicates, "seed": seed}]


TESTED: dict[str, Question] = {
    "likelihood-ratio": Criterion("likelihood-ratio", "x3"), "bayes-factor": BayesFactor("x3"),
    "zellner-siow": BayesFactor("x3", "zellner-siow"), "stouffer": PosteriorProbability("x3", 0.0),
}


def rejection_rates(cell: Cell, replicates: int, seed: int) -> list[Line]:
    """How often a true hypothesis is rejected: by the library's critical values, and by those that ignore parts and noise."""
    rng = np.random.default_rng(seed)
    own = answers_of(tables(cell, replicates, rng, null=True))
    lines = []
    for name, question in TESTED.items():
        plan = Plan.of(PREDICTORS, cell.parts, cell.rows, (question,), cell.epsilon)
        number = plan.asked.contents.numbers[0]
        values = np.clip(own.answers(question, {})[0], number.lower, number.upper).reshape(replicates, cell.parts).mean(axis=1)
        released = values + noise_of(plan, 0, replicates, rng)
        clipped = np.clip(released, number.lower, number.upper)
        [free], [censored] = (nw.hypothesis_test(plan.blank, levels=LEVELS, censored=kept) for kept in (False, True))
        for level in LEVELS:
            plain = "" if free.uncalibrated is None else (released >= free.uncalibrated[level]).mean()
            lines.append({**cell.columns(), "test": name, "level": level, "rejected": rejected(released, free.critical[level]),
                          "censored": rejected(clipped, censored.critical[level]), "uncalibrated": plain,
                          "replicates": replicates, "seed": seed})
    return lines


def rejected(values: Array, critical: tuple[float | None, float | None]) -> float:
    low, high = critical
    return float(np.mean((values <= (-np.inf if low is None else low)) | (values >= (np.inf if high is None else high))))


STUDIES: dict[str, tuple[Callable[[], list[Cell]], Callable[[Cell, int, int], list[Line]], float]] = {
    "probabilities": (probability_cells, probabilities, 1.0), "quantiles": (quantile_cells, quantiles, 0.3),
    "hypotheses": (hypothesis_cells, hypotheses, 1.0), "tests": (rejection_cells, rejection_rates, 20.0),
}
"""Cells, the function that runs one, and the replicates that each requested replicate takes."""


def run_cell(cell: Cell, replicates: int, seed: int) -> list[Line]:
    _, work, share = STUDIES[cell.study]
    return work(cell, max(1, round(share * replicates)), seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", choices=list(STUDIES))
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    add_options(parser)
    arguments = parser.parse_args()
    for name in [arguments.only] if arguments.only else STUDIES:
        work = partial(run_cell, replicates=arguments.replicates, seed=arguments.seed)
        run_cells(work, STUDIES[name][0](), arguments, arguments.results / f"{name}.csv")


if __name__ == "__main__":
    main()
