"""From counts to bounds that hold with a stated confidence. `level` is always the probability that a bound is wrong.

`epsilon_from_guesses` and `epsilon_of_one_run` assume nothing about the mechanism. `smallest_shift` refutes the promised
trade-off between false alarms and misses of noise with a known law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noisewise.audits.laws import Law

SPARED: float = 0.125
"""The share of the level spent on the events that delta allows."""


def rate_at_most(count: int, trials: int, level: float) -> float:
    """Clopper and Pearson's upper bound on a probability.

    >>> round(rate_at_most(0, 100, 0.01), 4)
    0.045
    """
    from scipy.special import betainccinv

    return 1.0 if count >= trials else float(betainccinv(count + 1, trials - count, level))


def rate_at_least(count: int, trials: int, level: float) -> float:
    """Clopper and Pearson's lower bound on a probability.

    >>> round(rate_at_least(100, 100, 0.01), 3)
    0.955
    """
    from scipy.special import betaincinv

    return 0.0 if count <= 0 else float(betaincinv(count, trials - count + 1, level))


def smallest_shift(law: Law, false_alarms: int, quiet: int, misses: int, shifted: int, level: float) -> float:
    """A lower bound on the distance between two tables, in units of the noise, from the errors of one fixed threshold.

    If noise with law F is shifted by d, a threshold with false alarm probability α misses with probability F(isf(α) − d). For
    log-concave noise no other rule does better. So two tables with fewer errors are further apart than d (for Gaussian noise:
    Dong, Roth and Su 2022, definition 2.6).
    """
    alarm = rate_at_most(false_alarms, quiet, level / 2)
    miss = rate_at_most(misses, shifted, level / 2)
    return max(0.0, law.isf(alarm) - law.ppf(miss)) if alarm < 1 and miss < 1 else 0.0


def epsilon_from_guesses(correct: int, wrong: int, draws: int, *, delta: float, level: float, group: int = 1) -> float:
    """A lower bound on epsilon at this delta, whatever the mechanism.

    Each draw is from one of two tables, chosen by a fair coin; the observer may guess which, or pass. Neighbours at (ε, δ) have
    P(correct) ≤ e^ε P(wrong) + δ. So, except for the few draws of total probability δ, a guess is correct with probability at
    most e^ε/(1 + e^ε) (Kairouz, Oh and Viswanath 2015; as guesses, Steinke, Nasr and Jagielski 2023). Tables that differ in a
    ``group`` of k units are at (kε, δ(e^kε − 1)/(e^ε − 1)).

    >>> round(epsilon_from_guesses(900, 100, 1000, delta=0.0, level=0.005), 2)
    1.92
    """
    guesses = correct + wrong

    def log_odds(epsilon: float) -> float:
        spared = _spared(draws, delta_of_group(epsilon, delta, group), level * SPARED)
        if spared >= correct:
            return 0.0
        share = rate_at_least(correct - spared, guesses - spared, level * (1 - SPARED))
        return math.log(share) - math.log1p(-share) if share > 0 else -math.inf

    return largest(lambda epsilon: log_odds(epsilon) > group * epsilon)


def delta_of_group(epsilon: float, delta: float, group: int) -> float:
    """The delta of tables that differ in ``group`` units (Dwork and Roth 2014, theorem 2.2; exact sum)."""
    if delta == 0 or group * epsilon > 700:
        return 0.0 if delta == 0 else 1.0
    return min(1.0, delta * (group if epsilon == 0 else math.expm1(group * epsilon) / math.expm1(epsilon)))


def epsilon_of_one_run(correct: int, guesses: int, canaries: int, *, delta: float, level: float, group: int = 1) -> float:
    """The bound for guesses about the canaries of a single release (Steinke, Nasr and Jagielski 2023, theorem 5.2).

    A coin decides for each canary, a ``group`` of units, whether it is in the table.

    >>> round(epsilon_of_one_run(100, 100, 100, delta=0.0, level=0.01), 2)
    3.05
    """
    def refuted(epsilon: float) -> bool:
        leak = delta_of_group(epsilon, delta, group)
        return one_run_probability(correct, guesses, canaries, group * epsilon, leak) < level

    return largest(refuted)


def one_run_probability(correct: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """The largest probability of this many correct guesses if each canary is (epsilon, delta) private."""
    import numpy as np
    from scipy.stats import binom

    share = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(correct - 1, guesses, share))
    below = binom.pmf(np.arange(correct - 1, -1, -1), guesses, share)  # at correct − 1, correct − 2, …
    worst = float(np.max(np.cumsum(below) / np.arange(1, correct + 1))) if correct else 0.0
    return min(1.0, tail + 2 * canaries * delta * worst)


def _spared(draws: int, probability: float, level: float) -> int:
    """A bound on the number of draws that show an event of this probability; exceeded with probability at most `level`."""
    from scipy.stats import binom

    if probability <= 0:
        return 0
    return draws if probability >= 1 else int(binom.isf(level, draws, probability))


def largest(refuted: Callable[[float], bool], precision: float = 1e-6) -> float:
    """The largest refuted epsilon, rounded down; 0 if there is none. If one is refuted, so are all smaller ones."""
    if not refuted(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while refuted(high) and high < 1e3:
        low, high = high, 2 * high
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
