"""What several releases cost together: computed by privacy loss distributions, with simpler rules as checks.

Every method here gives a valid bound for a list of releases fixed in advance, so the smallest bound holds (the rule ``planned``):
adding up epsilons and deltas (basic), the exact curve of Gaussian noise where all noise is Gaussian, concentrated differential
privacy, and privacy loss distributions (dp-accounting), discretised so that they never promise too much.

This fails where the size of a release may depend on the *results* of earlier ones: stopping when the composed distribution
reaches the budget can promise too much (C7 of calibration.md). There, two rules hold: ``basic``, and ``gaussian``, which counts
everything as Gaussian noise and is exact where the noise is Gaussian.

Gaussian pieces are joined before anything is discretised: noise of relative standard deviations m₁, m₂, … composes exactly to one
of (Σ mᵢ⁻²)^(−1/2). Equal pieces of other kinds are composed with themselves.

Releases about disjoint strata of the population do not add up. A schema may declare which stratum its table is
(``stratum = {year = "2024"}``). Nobody is in two strata of one name, so a person's budget is spent by charges about everyone and
by charges about that person's strata. Strata of different names (a year and a site) may overlap: a person has one of each.
Who is in which stratum must be public; then a change to one person's data changes the table of no other stratum.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import reduce
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import log_delta_of_gaussian
from noisewise.privacy.cost import Cost, Piece, pieces_of

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

Rule: TypeAlias = Literal["gaussian", "basic", "planned"]
RULES: Final[tuple[str, ...]] = get_args(Rule)
Charge: TypeAlias = tuple[Mapping[str, str], Cost]
"""The stratum of the population that a release is about (empty for everyone), and its cost."""

FINEST: Final = 1e-4
"""Finest step of the grid on which losses are rounded up."""
COARSEST: Final = 1e-3
"""Coarsest step. The coarse grid is tried first: it is fast, and its bound is just as valid."""
MOST_POINTS: Final = 2e5
LARGEST_LOSS: Final = 500.0
"""Larger losses are not computed: their numbers would overflow floats."""
MOST_PEOPLE: Final = 2048
"""Distinguish at most this many kinds of people. With more, all charges add up, which never counts too little."""
SMALLEST_SIZE: Final = 1e-100  # anything smaller counts as this, in units of μ: its inverse must be a float


@dataclass(frozen=True)
class Composition:
    """The epsilon of several releases together at one delta, by each method; infinite for methods not used."""

    delta: float
    rule: Rule
    basic: float
    gaussian: float
    distributions: float
    concentrated: float

    @property
    def epsilon(self) -> float:
        """The epsilon by the chosen rule."""
        if self.rule == "basic":
            return self.basic
        return self.gaussian if self.rule == "gaussian" else min(
            self.basic, self.gaussian, self.distributions, self.concentrated)


def compose(costs: Sequence[Cost], delta: float, rule: Rule = "planned", grid: float = FINEST) -> Composition:
    """What the releases cost together at this delta.

    >>> compose([Cost.laplace(multiplier=1.0, epsilon=1.0)] * 2, delta=0.0).epsilon
    2.0
    """
    if not (0 <= delta < 1):
        raise PrivacyError("delta must be at least 0 and below 1", found=repr(delta))
    exact = not costs or all(piece.kind == "gaussian" for piece in pieces_of(costs))
    wanted = rule == "planned" and delta > 0 and not exact
    return Composition(delta, rule, _basic(costs, delta), _gaussian(costs, delta),
                       _distributions(costs, delta, grid) if wanted else math.inf, _concentrated(costs, delta))


def fits(costs: Sequence[Cost], epsilon: float, delta: float, rule: Rule = "planned",
         grids: Sequence[float] = (COARSEST, FINEST)) -> bool:
    """True if all costs together stay within (epsilon, delta) by the rule. Cheap methods are tried first."""
    ways: dict[Rule, Sequence[Callable[[Sequence[Cost], float], float]]] = {
        "basic": (_basic,), "gaussian": (_gaussian,), "planned": (_basic, _gaussian, _concentrated)}
    if any(way(costs, delta) <= epsilon for way in ways[rule]):
        return True
    if rule != "planned" or delta == 0 or all(piece.kind == "gaussian" for piece in pieces_of(costs)):
        return False
    return any(_distributions(costs, delta, grid) <= epsilon for grid in grids)


def largest_epsilon(affordable: Callable[[float], bool], most: float) -> float:
    """The largest affordable epsilon up to ``most``, to a relative 1e-3, rounded down; 0 if a millionth of it is too much."""
    if affordable(most):
        return most
    low, high = most * 1e-6, most
    if not affordable(low):
        return 0.0
    while high - low > 1e-3 * high:
        middle = math.sqrt(low * high) if high > 2 * low else 0.5 * (low + high)
        low, high = (middle, high) if affordable(middle) else (low, middle)
    return low


def _basic(costs: Sequence[Cost], delta: float) -> float:
    """Sum the numbers as written: three times 0.1 is 0.3, not the double just above it."""
    if written_sum(cost.delta for cost in costs) > Decimal(repr(float(delta))):
        return math.inf
    return _not_below(written_sum(cost.epsilon for cost in costs))


def written_sum(numbers: Iterable[float]) -> Decimal:
    """The exact sum of the numbers as written in decimal."""
    with localcontext() as context:
        context.prec, context.Emin = 2000, -999999  # every sum of doubles is exact
        return sum((Decimal(repr(float(number))) for number in numbers), Decimal(0))


def _not_below(total: Decimal) -> float:
    rounded = float(total)
    return rounded if Decimal(repr(rounded)) >= total else math.nextafter(rounded, math.inf)


def _gaussian(costs: Sequence[Cost], delta: float) -> float:
    """Count everything as Gaussian noise (C7); at delta 0, add up pure epsilons."""
    if not costs:
        return 0.0
    pure = _basic(costs, 0.0)
    total = math.hypot(*(_gaussian_size(piece) for piece in pieces_of(costs))) * (1 + 1e-12)
    if delta == 0 or math.isinf(total):
        return pure
    return min(pure, gaussian_epsilon(1 / max(total, SMALLEST_SIZE), delta))


def _gaussian_size(piece: Piece) -> float:
    """μ such that the piece is μ-GDP (C7): exact for Gaussian noise; infinite where a delta remains."""
    from scipy.special import erfinv, log_expit, ndtri_exp

    if piece.kind == "gaussian":
        return 1 / piece.numbers[0]
    if piece.kind == "approximate" and piece.numbers[1] > 0:
        return math.inf
    epsilon = piece.numbers[0] if piece.kind == "approximate" else 1 / piece.numbers[0]
    if epsilon < 1:  # Φ(μ/2) − ½ = ½ tanh(ε/2); near ½, Φ itself lacks the digits to resolve a small μ
        size = 2 * math.sqrt(2) * float(erfinv(math.tanh(epsilon / 2)))
    else:
        size = -2 * float(ndtri_exp(log_expit(-epsilon)))
    return size * (1 + 1e-12)


def gaussian_epsilon(multiplier: float, delta: float) -> float:
    """The smallest epsilon of Gaussian noise of this relative standard deviation (Balle and Wang 2018), rounded up."""
    target = math.log(delta) - 1e-10  # more than the error of the curve

    def exceeds(epsilon: float) -> bool:
        return log_delta_of_gaussian(epsilon, multiplier) > target

    if not exceeds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while exceeds(high):
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high * (1 + 1e-10)


def _joined(multipliers: Iterable[float]) -> float:
    return 1.0 / math.sqrt(math.fsum(multiplier**-2 for multiplier in multipliers)) * (1 - 1e-12)


def _distributions(costs: Sequence[Cost], delta: float, grid: float = FINEST) -> float:
    """Use the composed distribution of the privacy loss; infinite if it is too large to compute."""
    if not costs:
        return 0.0
    reach = _concentrated(costs, 1e-22, leftover=False)
    if reach > LARGEST_LOSS:
        return math.inf
    grid = max(grid, 2 * reach / MOST_POINTS)
    total, steps = _loss_distribution(costs, grid)
    points = 2 * reach / grid + 2
    # The most that Fourier transforms lose to rounding: the distributions have norm at most 1.
    lost = steps * points * 3 * math.log2(points) * 2.0**-53
    return float(total.get_epsilon_for_delta(delta - lost)) if delta > lost else math.inf


def _loss_distribution(costs: Sequence[Cost], grid: float) -> tuple[PrivacyLossDistribution, int]:
    """The distribution of the privacy loss, and how many distributions were convolved."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    pieces = pieces_of(costs)
    gaussians = [piece.numbers[0] for piece in pieces if piece.kind == "gaussian"]
    parts = [pld.from_gaussian_mechanism(_joined(gaussians), value_discretization_interval=grid)] if gaussians else []
    steps = len(parts)
    for piece, count in Counter(piece for piece in pieces if piece.kind != "gaussian").items():
        if piece.kind == "laplace":
            one = pld.from_laplace_mechanism(piece.numbers[0], value_discretization_interval=grid)
        else:
            known = common.DifferentialPrivacyParameters(*piece.numbers)
            one = pld.from_privacy_parameters(known, value_discretization_interval=grid)
        parts.append(one.self_compose(count) if count > 1 else one)
        steps += count
    return reduce(lambda total, part: total.compose(part), parts), steps


def _concentrated(costs: Sequence[Cost], delta: float, leftover: bool = True) -> float:
    """Use concentrated differential privacy (Bun and Steinke 2016): a Gaussian piece has ρ = 1/(2m²), a pure one ε²/2.

    The delta of an approximate piece is set aside first; the rest is pure.
    """
    pieces = pieces_of(costs)
    aside = written_sum(piece.numbers[1] for piece in pieces if piece.kind == "approximate") if leftover else Decimal(0)
    left = float(Decimal(repr(float(delta))) - aside) * (1 - 1e-12)
    if left <= 0:
        return math.inf
    sizes = [piece.numbers[0] if piece.kind == "approximate" else 1.0 / piece.numbers[0] for piece in pieces]
    rho = math.fsum(size**2 for size in sizes) / 2
    return (rho + 2.0 * math.sqrt(rho * math.log(1.0 / left))) * (1 + 1e-12)


def per_person(charges: Sequence[Charge]) -> list[list[Cost]]:
    """The costs of each kind of person, where people differ in what is charged to them."""
    strata = [{name: _plain(value) for name, value in stratum.items()} for stratum, _ in charges]
    values: dict[str, set[str]] = {}
    for stratum in strata:
        for name, value in stratum.items():
            values.setdefault(name, set()).add(value)
    if math.prod(len(found) for found in values.values()) > MOST_PEOPLE:
        return [[cost for _, cost in charges]]
    choices = itertools.product(*(sorted(found) for found in values.values()))
    people = (dict(zip(values, chosen, strict=True)) for chosen in choices)
    different = {tuple(number for number, stratum in enumerate(strata) if stratum.items() <= person.items()) for person in people}
    return [[charges[number][1] for number in numbers] for numbers in sorted(different)]


def _plain(value: str) -> str:
    """Unify spellings. Two spellings of a stratum (case, spaces, Unicode) would pass for disjoint strata and be spent twice."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", str(value)).casefold()).strip()
