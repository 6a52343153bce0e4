"""The same regression on a release of the other kind: whether its intervals would be wider or narrower, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise.errors import NoisewiseError
from noisewise.planning.assumptions import Shape
from noisewise.planning.population import Population
from noisewise.planning.question import SERVED, Given, Question
from noisewise.planning.simulation import Fits, Simulated

REPEATS: Final = 12
"""Simulated releases of the other kind. The median of so many widths is good enough to choose by."""
SAME: Final = 1.05
"""Widths that differ by less are called the same."""


@dataclass(frozen=True)
class Other:
    """The other kind and its simulated releases, or why there are none."""

    kind: str
    simulation: Simulated | None
    reason: str = ""

    @classmethod
    def of(cls, question: Question, population: Population, given: Given, budgets: Sequence[float]) -> Other:
        """The other kind, if it can have this regression with these budgets."""
        [name] = (kind.name for kind in SERVED if kind is not type(question.kind))
        try:
            simulation = question.other().simulation(population, given)
            for epsilon in budgets:
                simulation.promise(epsilon)
        except NoisewiseError as refusal:
            return cls(name, None, refusal.rule)
        return cls(name, simulation)

    def widths(self, rows: int, epsilon: float, fits: Fits) -> list[float] | None:
        """The median width of each term's interval, or None if there are no releases."""
        if self.simulation is None:
            return None
        ends = self.simulation.found(rows, epsilon, fits).ends
        return [float(width) for width in np.median(ends.upper - ends.lower, axis=0)]


def in_words(gram_over_model: Sequence[float], population: Population, family: str) -> str:
    """Which kind is better for this question, from the ratio of the two widths for each cell."""
    low, high = min(gram_over_model), max(gram_over_model)
    serves = "a gram release serves any other regression too."
    if low > 1 / SAME and high < SAME:
        words = f"A model release and a gram release have intervals of about the same width for this question; {serves}"
    elif low > 1 / SAME:
        words = (f"A model release has intervals {_range(low, high)} times narrower than a gram release for this question; "
                 + serves)
    elif high < SAME:
        words = (f"A gram release has intervals {_range(1 / high, 1 / low)} times narrower than a model release for this "
                 "question, and serves any other regression too.")
    else:
        words = (f"A gram release has intervals {low:.2g} to {high:.2g} times as wide as a model release for this question; "
                 + serves)
    if family == "gaussian" or not any(isinstance(column, Shape) for column in population.columns):
        return words
    return (f"{words} A {family} fit to a gram release takes numbers among the predictors for normal: where they are not, its "
            "intervals can be wrong, however narrow they are.")


def _range(low: float, high: float) -> str:
    """One number, or two if they differ in two digits."""
    first, second = f"{low:.2g}", f"{high:.2g}"
    return first if first == second else f"up to {second}" if low < SAME else f"{first} to {second}"
