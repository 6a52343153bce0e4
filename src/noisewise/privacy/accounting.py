"""What several releases cost together: by privacy loss distributions, with simpler rules as checks.

Every rule here gives a valid bound, so that the smallest one holds: adding up epsilons and deltas (basic), the exact curve of
Gaussian noise where there is nothing else, and privacy loss distributions (dp-accounting), discretised so that they never promise
too much. Concentrated differential privacy is computed too, as a check.

Gaussian pieces are joined before anything is discretised: noise of relative standard deviations m₁, m₂, … composes exactly to one
of (Σ mᵢ⁻²)^(−1/2). Equal pieces of other kinds are composed with themselves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any, Final

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import log_delta_of_gaussian
from noisewise.privacy.cost import Cost, pieces_of

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

FINEST: Final = 1e-5
"""Of the grid on which losses are rounded up: each piece adds at most this to epsilon."""
COARSEST: Final = 1e-3
"""A coarse grid is asked first: it is fast, and its bound is as valid."""
LARGEST_LOSS: Final = 200.0


@dataclass(frozen=True)
class Composition:
    """The epsilon of several releases together, at one delta, by each rule; infinite where a rule does not apply."""

    delta: float
    basic: float
    gaussian: float
    distributions: float
    concentrated: float

    @property
    def epsilon(self) -> float:
        """The smallest of the valid bounds."""
        return min(self.basic, self.gaussian, self.distributions)


def compose(costs: Sequence[Cost], delta: float) -> Composition:
    """What the releases cost together at this delta.

    >>> compose([Cost.laplace(multiplier=1.0, epsilon=1.0)] * 2, delta=0.0).epsilon
    2.0
    """
    if not (0 <= delta < 1):
        raise PrivacyError("delta is at least 0 and below 1", found=repr(delta))
    basic = _basic(costs, delta)
    gaussian = _gaussian(costs, delta)
    needed = math.isinf(gaussian) and delta > 0
    return Composition(delta, basic, gaussian, _distributions(costs, delta) if needed else math.inf, _concentrated(costs, delta))


def fits(costs: Sequence[Cost], epsilon: float, delta: float, grids: Sequence[float] = (COARSEST, FINEST)) -> bool:
    """Whether all of these stay within (epsilon, delta); the cheap rules are asked first."""
    if _basic(costs, delta) <= epsilon or _gaussian(costs, delta) <= epsilon:
        return True
    return delta > 0 and any(_distributions(costs, delta, grid) <= epsilon for grid in grids)


def largest_epsilon(price: Callable[[float], Sequence[Cost]], spent: Sequence[Cost], epsilon: float, delta: float) -> float:
    """The largest e for which ``price(e)`` still fits beside what was spent, to a relative 1e-3, rounded down; 0 if none does."""
    def affordable(size: float) -> bool:
        return fits([*spent, *price(size)], epsilon, delta, grids=(COARSEST,))

    if affordable(epsilon):
        return epsilon
    low, high = epsilon * 1e-6, epsilon
    if not affordable(low):
        return 0.0
    while high - low > 1e-3 * high:
        middle = math.sqrt(low * high) if high > 2 * low else 0.5 * (low + high)
        low, high = (middle, high) if affordable(middle) else (low, middle)
    return low


def _basic(costs: Sequence[Cost], delta: float) -> float:
    """Sums of the numbers as they are written: three times 0.1 is 0.3, and not a double beyond it."""
    if _written_sum(cost.delta for cost in costs) > Decimal(repr(delta)):
        return math.inf
    total = _written_sum(cost.epsilon for cost in costs)
    rounded = float(total)
    return rounded if Decimal(repr(rounded)) >= total else math.nextafter(rounded, math.inf)


def _written_sum(numbers: Iterable[float]) -> Decimal:
    with localcontext() as context:
        context.prec, context.Emin = 2000, -999999  # every sum of doubles is exact
        return sum((Decimal(repr(number)) for number in numbers), Decimal(0))


def _gaussian(costs: Sequence[Cost], delta: float) -> float:
    """Where all noise is Gaussian: the exact curve of one Gaussian mechanism."""
    pieces = pieces_of(costs)
    if not pieces:
        return 0.0
    if delta == 0 or any(piece.kind != "gaussian" for piece in pieces):
        return math.inf
    return gaussian_epsilon(_joined(piece.numbers[0] for piece in pieces), delta)


def gaussian_epsilon(multiplier: float, delta: float) -> float:
    """The smallest epsilon of Gaussian noise of this relative standard deviation (Balle and Wang 2018), rounded up."""
    def exceeds(epsilon: float) -> bool:
        return log_delta_of_gaussian(epsilon, multiplier) > math.log(delta)

    if not exceeds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while exceeds(high):
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high * (1 + 1e-10)  # more than the error of the curve


def _joined(multipliers: Any) -> float:
    return 1.0 / math.sqrt(math.fsum(multiplier**-2 for multiplier in multipliers)) * (1 - 1e-12)


def _distributions(costs: Sequence[Cost], delta: float, grid: float = FINEST) -> float:
    found = _loss_distribution(costs, grid)
    return math.inf if found is None else float(found.get_epsilon_for_delta(delta))


def _loss_distribution(costs: Sequence[Cost], grid: float) -> PrivacyLossDistribution | None:
    """The distribution of the privacy loss, or None if it is too large to be written down."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    pieces = pieces_of(costs)
    if math.fsum(cost.epsilon for cost in costs) > LARGEST_LOSS:
        return None
    grid = max(grid, math.fsum(cost.epsilon for cost in costs) / 2e5)
    gaussians = [piece.numbers[0] for piece in pieces if piece.kind == "gaussian"]
    parts = [pld.from_gaussian_mechanism(_joined(gaussians), value_discretization_interval=grid)] if gaussians else []
    for piece, count in Counter(piece for piece in pieces if piece.kind != "gaussian").items():
        if piece.kind == "laplace":
            one = pld.from_laplace_mechanism(piece.numbers[0], value_discretization_interval=grid)
        else:
            known = common.DifferentialPrivacyParameters(*piece.numbers)
            one = pld.from_privacy_parameters(known, value_discretization_interval=grid)
        parts.append(one.self_compose(count) if count > 1 else one)
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part)
    return total


def _concentrated(costs: Sequence[Cost], delta: float) -> float:
    """By zero-concentrated differential privacy (Bun and Steinke 2016): a Gaussian piece has ρ = 1/(2m²), a pure one ε²/2."""
    if delta == 0:
        return math.inf
    rho = 0.0
    for piece in pieces_of(costs):
        if piece.kind == "approximate" and piece.numbers[1] > 0:
            return math.inf
        size = piece.numbers[0] if piece.kind == "approximate" else 1.0 / piece.numbers[0]
        rho += size**2 / 2
    return rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))
