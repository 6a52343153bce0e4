"""Verdicts on what a paper prints: computed from Monte Carlo error, never set by hand.

A *figure* is **not reproduced** if it differs from ours by more than its rounding and ``LIMIT`` standard errors of the
difference (99 % limits, from a Student distribution where the error itself comes from few repeats). It is **reproduced** if it is
nearer, and chance leaves no room for a difference of more than half of the printed figure (``RELEVANT``) and its rounding.
Otherwise it is **undecided**.

A *sentence* is turned into conditions. Each is a number that must be positive, with its standard error. A condition holds if
the number is above 0 by more than ``LIMIT`` standard errors, fails if it is below 0 by as much, and is open otherwise or if it
was not run. If a sentence has several conditions, each needs stronger evidence to fail (Bonferroni's limits), so that chance
makes one of them fail no more often than a single condition. The sentence is **reproduced** if all hold, **not reproduced** if
some fail and none holds, **reproduced in part** if some hold and some fail, and **undecided** otherwise.

A target that holds only with an error the authors made (too little noise, or chains that have not moved from their start) is
**reproduced only with the authors' error**. Otherwise the verdict is that of the correct method, and the reason gives both.

Some sentences allow several readings, and the paper does not say which one it means. A sentence that holds in one reading and
is not shown in another is **reproduced in one reading only**. Two such sentences may need different readings.

A target that cannot be measured in a comparable way **cannot be compared**; the reason is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

LIMIT: Final = 2.576
"""Standard errors that chance alone exceeds once in a hundred times."""
_in_use: Final = ContextVar("limit", default=LIMIT)
RELEVANT: Final = 0.5
"""A figure is called reproduced only if ours provably differs by at most this share of it."""


class Verdict(StrEnum):
    REPRODUCED = "reproduced"
    ONLY_WITH_ERROR = "reproduced only with the authors' error"
    ONE_READING = "reproduced in one reading only"
    IN_PART = "reproduced in part"
    NOT = "not reproduced"
    UNDECIDED = "undecided"
    INCOMPARABLE = "cannot be compared"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Condition:
    """A number that a sentence says is positive; ``degrees`` of freedom of its standard error."""

    margin: float
    error: float = 0.0
    degrees: float = math.inf

    @property
    def scores(self) -> float:
        """The number in standard errors, on the scale of a normal distribution."""
        if self.error == 0:
            return math.copysign(math.inf, self.margin) if self.margin else 0.0
        return self.margin / self.error * limit() / limit(self.degrees)

    @property
    def missing(self) -> bool:
        return math.isinf(self.error)

    @property
    def holds(self) -> bool:
        return self.scores > limit()

    @property
    def fails(self) -> bool:
        return self.fails_among(1)

    def fails_among(self, count: int) -> bool:
        """Whether it fails as one of ``count`` conditions of a sentence."""
        if self.error == 0:
            return self.margin < 0
        return self.margin / self.error < -limit(self.degrees, count)


MISSING: Final = Condition(0.0, math.inf)
"""A condition that was not measured: it is open."""


@dataclass(frozen=True)
class Target:
    """A printed figure or sentence, what we measured, and the verdict."""

    where: str
    """The table, figure or section that prints it."""
    what: str
    printed: str
    measured: str
    verdict: Verdict
    why: str
    study: str
    """The study that measures it, a name in the registry."""
    numbers: tuple[float, float, float] | None = None
    """Printed, measured, and the standard error of the difference: for a picture."""


@contextmanager
def other_limit(value: float) -> Iterator[None]:
    """Use another limit, to see which verdicts depend on it."""
    token = _in_use.set(value)
    try:
        yield
    finally:
        _in_use.reset(token)


def limit(degrees: float = math.inf, count: int = 1) -> float:
    """Standard errors that chance exceeds as rarely as a normal variable exceeds the limit; for ``count``, jointly as rarely."""
    return _limit(degrees, count, _in_use.get())


@lru_cache(maxsize=1024)
def _limit(degrees: float, count: int, normal: float) -> float:
    from scipy.stats import norm, t

    beyond = norm.sf(normal) / count
    if math.isinf(degrees):
        return normal if count == 1 else float(norm.isf(beyond))
    return float(t.isf(beyond, max(degrees, 1.0)))


def judge_figure(printed: float, measured: float, error: float, rounding: float = 0.0, degrees: float = math.inf) -> Verdict:
    """``error``: of the difference, so that it counts the chance in the printed figure too."""
    chance = limit(degrees) * error
    if math.isnan(measured) or math.isnan(chance):
        return Verdict.NOT_RUN
    apart = abs(printed - measured)
    if apart > chance + rounding:
        return Verdict.NOT
    return Verdict.REPRODUCED if apart + chance <= RELEVANT * abs(printed) + rounding else Verdict.UNDECIDED


def judge_sentence(conditions: Sequence[Condition]) -> Verdict:
    if all(one.missing for one in conditions) or any(math.isnan(one.margin) for one in conditions):
        return Verdict.NOT_RUN
    if any(math.isnan(one.error) for one in conditions):  # a single repeat
        return Verdict.UNDECIDED
    hold, fail = _held_and_failed(conditions)
    if hold == len(conditions):
        return Verdict.REPRODUCED
    if fail:
        return Verdict.IN_PART if hold else Verdict.NOT
    return Verdict.UNDECIDED


def _held_and_failed(conditions: Sequence[Condition]) -> tuple[int, int]:
    measured = [one for one in conditions if not one.missing]
    return sum(one.holds for one in measured), sum(one.fails_among(len(measured)) for one in measured)


def with_the_error(right: Verdict, wrong: Verdict) -> Verdict:
    """Combine the verdict of the correct method with that of the authors' error, which can only explain a miss.

    Where the correct method is undecided, nothing shows that the error is needed.
    """
    missed = right in (Verdict.NOT, Verdict.IN_PART)
    return Verdict.ONLY_WITH_ERROR if missed and wrong == Verdict.REPRODUCED else right


def of_readings(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on several readings, where the paper does not say which one it means."""
    found = set(verdicts)
    if len(found) == 1:
        return found.pop()
    if Verdict.REPRODUCED in found:
        return Verdict.ONE_READING
    return next((one for one in (Verdict.UNDECIDED, Verdict.IN_PART, Verdict.NOT) if one in found), Verdict.NOT_RUN)


def in_words(conditions: Sequence[Condition]) -> str:
    """The reason for a sentence's verdict."""
    hold, fail = _held_and_failed(conditions)
    missing, count = sum(one.missing for one in conditions), len(conditions)
    closest = min((abs(one.scores) for one in conditions if not one.missing), default=math.nan)
    near = "" if math.isnan(closest) else "; no chance involved" if math.isinf(closest) else \
        f"; the closest is {closest:.1f} standard errors from 0"
    parts = [f"{number} {word}" for number, word in (
        (hold, "hold"), (fail, "fail"), (count - hold - fail - missing, "open"), (missing, "not run")) if number]
    return f"of {count} condition{'s' * (count > 1)} {', '.join(parts)}{near}"


def figure_in_words(printed: float, measured: float, error: float, rounding: float = 0.0, degrees: float = math.inf) -> str:
    """The reason for a figure's verdict: how far it is off beyond its rounding, and the limit if it rests on few repeats."""
    apart = printed - measured
    if error == 0:
        return "no chance involved" if apart else "equal"
    beyond = math.copysign(max(abs(apart) - rounding, 0.0), apart) / error
    words = f"{beyond:+.1f} standard errors" + " beyond rounding" * (rounding > 0)
    if not math.isinf(degrees):
        words += f" (limit {limit(degrees):.2f})"
    if judge_figure(printed, measured, error, rounding, degrees) == Verdict.UNDECIDED:
        words += f", each of {error / abs(printed):.0%} of the figure"
    return words


def share_beyond_chance(differences: Iterable[tuple[float, float]], at_least: float) -> Condition:
    """The condition that the difference (with its standard error) is positive in a share of cases; open cases may be either."""
    cases = [Condition(difference, error) for difference, error in differences]
    low, high = sum(one.holds for one in cases) / len(cases), 1 - sum(one.fails for one in cases) / len(cases)
    return Condition((low + high) / 2 - at_least, (high - low) / 2 / limit())


def mean_of(values: Sequence[float], cases: int = 0) -> tuple[float, float, float]:
    """Mean of independent values, its standard error and degrees of freedom.

    Values that are shares of ``cases`` in all may be equal by chance. Their error is at least that of ``cases`` independent
    cases, with one more of each kind counted.
    """
    count = len(values)
    mean = sum(values) / count if count else math.nan
    error, degrees = math.nan, 1.0
    if count > 1:
        error, degrees = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1) / count), count - 1.0
    if cases:
        shrunk = (mean * cases + 1) / (cases + 2)
        least = math.sqrt(shrunk * (1 - shrunk) / cases)
        if math.isnan(error) or limit(degrees) * error < limit() * least:
            error, degrees = least, math.inf
    return mean, error, degrees
