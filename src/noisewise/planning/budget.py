"""Planned releases: what they would cost together, and how large they may be. Uses public numbers alone.

A planned release is written ``[COUNT*]KIND:EPSILON[:DELTA][@NAME=VALUE,…]``. ``3*gaussian:0.5:1e-7`` is three releases with
Gaussian noise; ``laplace:0.2@year=2024`` is one about a stratum of the population. An epsilon of ``?`` is solved for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from noisewise.errors import PrivacyError
from noisewise.privacy.accounting import Charge, Composition, Rule, compose, fits, largest_epsilon, per_person
from noisewise.privacy.calibration import analytic_gaussian_sigma, check_delta, check_epsilon, laplace_scale
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms.adassp import third_of

KINDS: Final = ("gaussian", "adassp", "laplace", "pure", "wishart")
PURE: Final = ("laplace", "pure")
MOST: Final = 10_000
WRITTEN: Final = re.compile(
    r"(?:(?P<count>\d{1,9})\*)?(?P<kind>[a-z]+):(?P<epsilon>[^:@]+)(?::(?P<delta>[^:@]+))?(?:@(?P<stratum>.+))?"
)


@dataclass(frozen=True)
class Intended:
    """A number of equal releases of one kind; an epsilon of None is solved for."""

    kind: str
    epsilon: float | None
    delta: float | None = None
    count: int = 1
    stratum: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise PrivacyError("unknown kind of a planned release", argument="kind", found=repr(self.kind),
                               known=KINDS)
        if not 1 <= self.count <= MOST:
            raise PrivacyError(f"a plan may have 1 to {MOST} equal releases", found=str(self.count))
        if (self.delta is None) != (self.kind in PURE):
            raise PrivacyError(f"a {self.kind} release has {'no delta' if self.kind in PURE else 'a delta'}",
                               found=str(self.delta), remedy="write for example gaussian:0.5:1e-7 or laplace:0.5")
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
        if self.delta is not None:
            check_delta(self.delta)

    @classmethod
    def parse(cls, text: str) -> Intended:
        """Read the notation of the command line.

        >>> Intended.parse("3*gaussian:?:1e-7@year=2024")
        Intended(kind='gaussian', epsilon=None, delta=1e-07, count=3, stratum=(('year', '2024'),))
        """
        found = WRITTEN.fullmatch(text.replace(" ", ""))
        try:
            if found is None:
                raise ValueError
            named = [pair.split("=") for pair in found["stratum"].split(",")] if found["stratum"] else []
            stratum = tuple((name, value) for name, value in named)
            epsilon = None if found["epsilon"] == "?" else float(found["epsilon"])
            delta = None if found["delta"] is None else float(found["delta"])
            return cls(found["kind"], epsilon, delta, int(found["count"] or 1), stratum)
        except ValueError:
            raise PrivacyError("a planned release must be written [COUNT*]KIND:EPSILON[:DELTA][@NAME=VALUE]", found=repr(text),
                               remedy="for example 3*gaussian:0.5:1e-7 or laplace:?@year=2024") from None

    def charges(self) -> list[Charge]:
        """The charges that these releases would make."""
        assert self.epsilon is not None
        return [(dict(self.stratum), _cost(self.kind, self.epsilon, self.delta))] * self.count


def _cost(kind: str, epsilon: float, delta: float | None) -> Cost:
    """The cost of a release calibrated as tightly as the mechanisms do, except for the grid (C5, C6)."""
    if kind == "laplace":
        return Cost.laplace(laplace_scale(epsilon, 1.0), epsilon)
    if kind in ("pure", "wishart"):
        return Cost.approximate(epsilon, delta or 0.0)
    assert delta is not None
    if kind == "gaussian":
        return Cost.gaussian(analytic_gaussian_sigma(epsilon, delta, 1.0), epsilon, delta)
    third = third_of(epsilon), third_of(delta)
    pieces = [Cost.gaussian(analytic_gaussian_sigma(times * third[0], times * third[1], 1.0), epsilon, delta).pieces
              for times in (1, 2)]
    return Cost(epsilon, delta, pieces[0] + pieces[1])


def together(intended: Sequence[Intended], delta: float, rule: Rule, spent: Sequence[Charge] = ()) -> Composition:
    """The cost of all of them and of what was spent before, for the person whom they cost most."""
    found = (compose(costs, delta, rule) for costs in per_person([*spent, *_charges(intended)]))
    return max(found, key=lambda composition: composition.epsilon)


def solved(
    intended: Sequence[Intended], epsilon: float, delta: float, rule: Rule, spent: Sequence[Charge] = ()
) -> list[Intended]:
    """Fill in every open epsilon with the largest one that fits, the same for all."""
    if all(one.epsilon is not None for one in intended):
        return list(intended)

    def filled(size: float) -> list[Intended]:
        return [one if one.epsilon is not None else replace(one, epsilon=size) for one in intended]

    def affordable(size: float) -> bool:
        return all(fits(costs, epsilon, delta, rule) for costs in per_person([*spent, *_charges(filled(size))]))

    found = largest_epsilon(affordable, epsilon)
    if found == 0:
        raise PrivacyError("these releases do not fit into the budget, however small the open epsilons",
                           found=f"epsilon {epsilon}, delta {delta}, rule {rule}", remedy="plan fewer or smaller ones")
    return filled(found)


def _charges(intended: Sequence[Intended]) -> list[Charge]:
    return [charge for one in intended for charge in one.charges()]
