"""The least epsilon, or the fewest rows, with which an effect is found with the wanted power.

Power grows with both. Bisection on a logarithmic scale brackets the answer. It reuses the same simulated tables and noise, so
power changes smoothly. Then a probit curve is fitted to the powers near the answer and solved. The simulation's error follows
from that of a share (√(p(1 − p)/repeats)) and the curve's slope.

Where the noise hides the predictors' moments and the answer may be near, the method ``auto`` samples during the search too. By
the fast method alone the answer could be too small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from noisewise.errors import PrivacyError
from noisewise.planning.intervals import Ends
from noisewise.planning.simulation import Fits, Simulated
from noisewise.progress import Tick

EPSILONS: Final = (0.001, 100.0)
ROWS: Final = (50, 10**9)
FACTOR: Final = 4.0
HALVINGS: Final = 4
NEAR: Final = (0.25, 0.99)
"""The curve is fitted to shares in this range; others say little about where the answer is."""
LEAST_SLOPE: Final = 0.2
FAR: Final = 0.5
"""A hidden cell with less than this share of the wanted power by the fast method is too far from the answer to sample."""


@dataclass(frozen=True)
class Needed:
    """The least ``quantity`` (epsilon or rows) with which an effect is found with the wanted power; None if there is none.

    ``lower`` and ``upper`` are the ends of a 95 % interval of the simulation's own error. ``given`` is the other quantity.
    """

    term: str
    effect: float
    quantity: str
    given: float
    value: float | None
    lower: float | None
    upper: float | None
    reason: str = ""

    def words(self, power: float) -> str:
        """One sentence."""
        other = f"{self.given:,.0f} rows" if self.quantity == "epsilon" else f"epsilon {self.given:g}"
        about = f"{self.term} = {self.effect:g} with {other}"
        if self.value is None:
            return f"{about}: {self.reason}"
        form = "{:.3g}" if self.quantity == "epsilon" else "{:,.0f}"
        value, lower, upper = (form.format(number) for number in (self.value, self.lower, self.upper))
        least = f"epsilon {value}" if self.quantity == "epsilon" else f"{value} rows"
        if self.reason:
            return f"{about}: {self.reason} ({least})"
        return f"{about}: {least} for power {power:g} (simulation error: {lower} to {upper})"


class Seen(NamedTuple):
    """Powers at one value, by term, and the number of simulations behind them."""

    powers: Mapping[str, float]
    simulations: int


@dataclass
class _Search:
    """Powers of all effects at the values tried so far, with the other quantity fixed."""

    simulation: Simulated
    effects: Mapping[str, float]
    power: float
    """How often each effect should be found."""
    quantity: str
    given: float
    fits: Fits
    seen: dict[float, Seen] = field(default_factory=dict)

    def powers(self, value: float) -> Mapping[str, float]:
        if value not in self.seen:
            rows, epsilon = (round(self.given), value) if self.quantity == "epsilon" else (round(value), self.given)
            ends = self.simulation.found(rows, epsilon, self.fits, self._near).ends
            self.seen[value] = Seen(self._shares(ends), len(ends.mean))
        return self.seen[value].powers

    def _shares(self, ends: Ends) -> dict[str, float]:
        terms = list(self.simulation.population.effects)
        return {term: float(np.mean(ends.lower[:, terms.index(term)] > 0 if effect > 0 else ends.upper[:, terms.index(term)] < 0))
                for term, effect in self.effects.items()}

    def _near(self, ends: Ends) -> bool:
        return max(self._shares(ends).values()) >= FAR * self.power

    def needed(self, term: str) -> Needed:
        low, high = EPSILONS if self.quantity == "epsilon" else ROWS
        if self.quantity == "epsilon" and (without := self._without_privacy(term)) < self.power:
            return self._answer(term, None, None, high,
                                f"impossible at any epsilon: without privacy the power is {without:.2f}")
        below, above = self._bracket(term, float(low), float(high))
        if below is None:
            return self._answer(term, above, above, above, "the least value tried is enough")
        if above is None:
            return self._answer(term, None, None, below, f"not found up to {self.quantity} {below:,.6g}")
        for _ in range(HALVINGS):
            middle = self._tidy(math.sqrt(below * above))
            if self._enough(middle, term):
                above = middle
            else:
                below = middle
        return self._solved(term, below, above)

    def _bracket(self, term: str, low: float, high: float) -> tuple[float | None, float | None]:
        """A value with too little power and one with enough, a step apart; None if the range ends first."""
        value = 1.0 if self.quantity == "epsilon" else 10_000.0
        enough = self._enough(value, term)
        while True:
            following = min(max(value / FACTOR if enough else value * FACTOR, low), high)
            if following == value:
                return (None, value) if enough else (value, None)
            found = self._enough(following, term)
            if found != enough:
                return (following, value) if enough else (value, following)
            value = following

    def _enough(self, value: float, term: str) -> bool:
        """True if the power is enough. An epsilon too small for any mechanism is not."""
        try:
            return self.powers(value)[term] >= self.power
        except PrivacyError:
            if value >= 1.0:
                raise
            return False

    def _solved(self, term: str, below: float, above: float) -> Needed:
        """Where the probit curve through the shares near the answer reaches the wanted power."""
        from scipy.optimize import minimize
        from scipy.stats import norm

        near = [value for value, seen in self.seen.items() if NEAR[0] <= seen.powers[term] <= NEAR[1] or value in (below, above)]
        count = np.array([self.seen[value].simulations for value in near])
        x, share = np.log(near), np.clip([self.seen[value].powers[term] for value in near], 0.5 / count, 1 - 0.5 / count)
        centre, target = 0.5 * math.log(below * above), float(norm.ppf(self.power))

        def deviance(point: npt.NDArray[np.float64]) -> float:
            eta = point[0] + math.exp(point[1]) * (x - centre)
            return float(-np.sum(count / count.max() * (share * norm.logcdf(eta) + (1 - share) * norm.logsf(eta))))

        level, log_slope = minimize(deviance, np.array([target, 0.0]), method="Nelder-Mead").x
        slope = max(math.exp(float(log_slope)), LEAST_SLOPE)
        found = centre + (target - float(level)) / slope
        found = min(max(found, math.log(below)), math.log(above))
        p = self.power
        error = 1.96 * math.sqrt(p * (1 - p) / self.seen[above].simulations) / (slope * float(norm.pdf(target)))
        value, lower, upper = (self._tidy(math.exp(found + step)) for step in (0.0, -error, error))
        return self._answer(term, value, lower, upper)

    def _without_privacy(self, term: str) -> float:
        from scipy.stats import norm

        simulation = self.simulation
        place = list(simulation.population.effects).index(term)
        error = simulation.population.standard_errors(round(self.given) * simulation.holders)[place]
        return float(norm.cdf(abs(self.effects[term]) / error - norm.ppf((1 + simulation.interval) / 2)))

    def _tidy(self, value: float) -> float:
        """Round to three digits: the simulation is no more precise."""
        rounded = float(f"{value:.3g}")
        return rounded if self.quantity == "epsilon" else float(math.ceil(rounded))

    def _answer(self, term: str, value: float | None, lower: float | None, upper: float | None, reason: str = "") -> Needed:
        return Needed(term, self.effects[term], self.quantity, self.given, value, lower, upper, reason)


def needed_for(simulation: Simulated, effects: Mapping[str, float], power: float, sizes: Sequence[int], budgets: Sequence[float],
               tick: Tick) -> tuple[Needed, ...]:
    """The least epsilon for each number of rows, or the fewest rows for each epsilon; one answer per effect."""
    quantity, given = ("epsilon", sizes) if sizes else ("rows", budgets)
    fits = Fits(tick)
    searches = [_Search(simulation, effects, power, quantity, float(value), fits) for value in given]
    return tuple(search.needed(term) for search in searches for term in effects)
