"""One audit: draw a release many times from two tables, and turn the draws into bounds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.audits.laws import Law
from noisewise.audits.lower_bounds import epsilon_from_guesses, smallest_shift
from noisewise.audits.report import Finding, Released

Tables: TypeAlias = npt.NDArray[np.int64]
"""Which of the two tables (0 or 1) each draw is from."""

LESS_NOISE: Final = 0.7
"""Every audit also tests, with the same draws, whether it would notice if the noise were only this share."""
PILOT: Final = 0.2
"""The share of draws used to choose when to guess; the bound for any mechanism comes from the rest."""
BOUNDS: Final = 2
"""Bounds per release: one for any mechanism and one for its law. They share the level."""


@dataclass(frozen=True)
class Subject:
    """A release to be audited, and two tables for it.

    Attributes:
        released: its claim.
        exact: the numbers of the release without noise, for both tables.
        draw: draw a new release of the first (0) or second (1) table.
        noiseless: True for each number that has no noise.
        weights: weights of the numbers in the score; if the promise is true, the noise of the score has the law.
        law: the law of the noise in the score, or None if it is unknown.
        group: the number of units in which the tables differ.
        distance: the distance of the worst neighbours found, in units of the promised noise.
        promised: the largest distance of neighbours that the promise allows.
        evidence: the evidence for the second table in each of several releases, if there is better evidence than the score.
        draw_less: draw a release with less noise, if scaling the noise of its numbers does not do that.
    """

    released: Released
    exact: tuple[Array, Array]
    draw: Callable[[int], Array]
    noiseless: npt.NDArray[np.bool_]
    weights: Array
    law: Law | None
    group: int
    distance: float
    promised: float
    evidence: Callable[[Array], Array] | None = None
    draw_less: Callable[[int], Array] | None = None


@dataclass(frozen=True)
class Drawn:
    """The draws: the table each came from, its numbers, and the numbers with less noise."""

    table: Tables
    numbers: Array
    less: Array


def draw_many(subject: Subject, draws: int, coins: np.random.Generator | None = None) -> Drawn:
    """Draw releases, each from a table chosen by a coin; the coins are not noise."""
    table = (coins or np.random.default_rng()).integers(0, 2, draws)
    numbers = np.stack([subject.draw(int(which)) for which in table])
    if subject.draw_less is not None:
        return Drawn(table, numbers, np.stack([subject.draw_less(int(which)) for which in table]))
    exact = np.stack(subject.exact)[table]
    return Drawn(table, numbers, exact + LESS_NOISE * (numbers - exact))


def seconds_of_a_draw(subject: Subject, draws: int = 3) -> float:
    """The approximate time of a draw. The first draw is not timed, as it may load a library; all are discarded."""
    subject.draw(0)
    started = time.perf_counter()
    for which in range(draws):
        subject.draw(which % 2)
    return (time.perf_counter() - started) / draws


def judge(subject: Subject, drawn: Drawn, level: float) -> Finding:
    """Judge the draws, and test whether less noise would have been noticed."""
    epsilon, distance = _bounds(subject, drawn.table, drawn.numbers, level)
    if np.any(subject.exact[1][subject.noiseless] != subject.exact[0][subject.noiseless]):
        epsilon = distance = math.inf  # a number without noise tells the tables apart
    return Finding(released=subject.released, draws=len(drawn.table), group=subject.group, epsilon_any=epsilon,
                   epsilon_law=_epsilon(subject, distance),
                   noise_at_most=subject.distance / distance if distance > 0 else math.inf,
                   flagged=_broken(subject, epsilon, distance),
                   notices_less=_broken(subject, *_bounds(subject, drawn.table, drawn.less, level)))


def _epsilon(subject: Subject, distance: float) -> float:
    if subject.law is None or math.isinf(distance):
        return math.inf if math.isinf(distance) else math.nan
    return subject.law.epsilon(distance, subject.released.delta)


def _broken(subject: Subject, epsilon: float, distance: float) -> bool:
    claimed = subject.released.epsilon
    return epsilon > claimed or distance > subject.promised or _epsilon(subject, distance) > claimed * (1 + 1e-9)


def _bounds(subject: Subject, table: Tables, numbers: Array, level: float) -> tuple[float, float]:
    """Lower bounds on epsilon for any mechanism, and on the distance of the worst neighbours in units of the noise."""
    scores = numbers @ subject.weights
    evidence = scores if subject.evidence is None else subject.evidence(numbers)
    epsilon = guessed(table, evidence, delta=subject.released.delta, level=level / BOUNDS, group=subject.group)
    if subject.law is None:
        return epsilon, 0.0
    first, second = (float(subject.weights @ exact) for exact in subject.exact)
    measured = shift_between(table, scores, (first + second) / 2, subject.law, level / BOUNDS)
    return epsilon, subject.distance * measured / (second - first)


def shift_between(table: Tables, scores: Array, threshold: float, law: Law, level: float) -> float:
    """A lower bound on the distance of the tables in units of the noise, by a threshold fixed beforehand."""
    one = table == 1
    alarms, misses = int(np.sum(scores[~one] > threshold)), int(np.sum(scores[one] <= threshold))
    return smallest_shift(law, alarms, int(np.sum(~one)), misses, int(np.sum(one)), level)


def guessed(table: Tables, evidence: Array, *, delta: float, level: float, group: int = 1) -> float:
    """The bound for any mechanism: the first share of draws chooses when to guess, the rest count."""
    first = int(PILOT * len(table))
    low, high = _when_to_guess(table[:first], evidence[:first], delta, level, group)
    correct, wrong = _counts(table[first:], evidence[first:], low, high)
    return epsilon_from_guesses(correct, wrong, len(table) - first, delta=delta, level=level, group=group)


def _when_to_guess(table: Tables, evidence: Array, delta: float, level: float, group: int) -> tuple[float, float]:
    """Thresholds up to which to guess the first table, and from which the second, that would give the largest bound."""
    quantiles = np.quantile(evidence, np.linspace(0.02, 0.98, 25), method="nearest")
    times = round((1 - PILOT) / PILOT)
    best, chosen = -1.0, (float(quantiles[0]), float(quantiles[-1]))
    for cut in range(0, 12, 2):
        below, above = float(quantiles[cut]), float(quantiles[-1 - cut])
        for low, high in ((below, above), (-math.inf, above), (below, math.inf)):
            correct, wrong = (times * count for count in _counts(table, evidence, low, high))
            found = epsilon_from_guesses(correct, wrong + times, times * len(table), delta=delta, level=level, group=group)
            if found > best:
                best, chosen = found, (low, high)
    return chosen


def _counts(table: Tables, evidence: Array, low: float, high: float) -> tuple[int, int]:
    """Correct and wrong guesses."""
    second = evidence >= high
    first = (evidence <= low) & ~second
    correct = int(np.sum(second & (table == 1)) + np.sum(first & (table == 0)))
    return correct, int(np.sum(second | first)) - correct
