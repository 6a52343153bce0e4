"""Many simulated gram releases for one regression, and the intervals of fits to them. Those of model releases are in `model`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from noisewise.planning.intervals import Ends, FastFit
from noisewise.planning.noise import simulated_noise
from noisewise.planning.population import Population
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.progress import Tick
from noisewise.releases.release import Release
from noisewise.run import QUIET

Near: TypeAlias = Callable[[Ends], bool]

METHODS: Final = ("auto", "fast", "conditional")
DRAWS: Final = 500
HIDDEN_SHARE: Final = 0.05
"""``auto`` samples if the noise hides the predictors' moments in more than this share of a cell's simulations."""
HIDDEN_REPEATS: Final = 48
"""Sample at most this many of them, because sampling is slow."""
LOT: Final = 16
"""Always sample this many side by side. Another number would need a new compilation."""
STATEMENT: Final = "A simulation: no table was read, and the noise has a seed. It protects nobody."
LIBRARY: Final = "a plan, not a release"


@dataclass
class Fits:
    """Count of finished fits, and their total if known; it grows where the noise hides the moments."""

    tick: Tick
    expected: int | None = None
    done: int = 0

    def expect(self, more: int) -> None:
        """Raise the total, if there is one."""
        if self.expected is not None:
            self.expected += more

    def count(self, more: int) -> None:
        """Count finished fits and report progress."""
        self.done += more
        self.tick(self.done, self.expected)


class Found(NamedTuple):
    """Intervals of a cell's simulations; the share in which the noise hid the moments, and True if those were sampled."""

    ends: Ends
    hidden: float
    sampled: bool


class Promise(NamedTuple):
    """The mechanism and delta of a planned release."""

    mechanism: str
    delta: float


class Simulated(Protocol):
    """Simulated releases of one kind, for one regression."""

    @property
    def population(self) -> Population:
        """The hypothetical rows."""

    @property
    def family(self) -> str:
        """The family of the regression."""

    @property
    def holders(self) -> int:
        """How many holders have a table each."""

    @property
    def interval(self) -> float:
        """The probability of intervals."""

    @property
    def repeats(self) -> int:
        """How many releases of each cell are simulated."""

    @property
    def method(self) -> str:
        """How they are fitted."""

    @property
    def biased_by_clipping(self) -> bool:
        """Whether responses beyond their declared bounds bias the coefficients."""

    def promise(self, epsilon: float) -> Promise:
        """The mechanism and delta; refuses what `release` would refuse."""

    def found(self, rows: int, epsilon: float, fits: Fits, near: Near | None = None) -> Found:
        """Intervals of one cell. ``near`` returns True if intervals by a fast method are worth a slower one."""

    def prior_widths(self) -> dict[str, float]:
        """The widths of the prior's intervals by term; empty if they depend on the release."""


@dataclass(frozen=True)
class Simulation:
    """Everything that is fixed while rows and epsilon vary."""

    biased_by_clipping: ClassVar[bool] = True

    population: Population
    family: str
    delta: float | None
    mechanism: str | None
    holders: int
    prior: Prior | None
    interval: float
    repeats: int
    seed: int
    method: str
    _blanks: dict[float, Release] = field(default_factory=dict, repr=False)

    def blank(self, epsilon: float) -> Release:
        """The planned release without numbers; refuses what `release` would refuse."""
        from noisewise.holder.gram import blank_gram, plan_gram

        if epsilon not in self._blanks:
            design = self.population.design
            chosen = plan_gram(design.basis, epsilon, self.delta, self.mechanism)
            self._blanks[epsilon] = blank_gram(design.basis.schema, design.added_terms, design.basis, chosen)
        return self._blanks[epsilon]

    def promise(self, epsilon: float) -> Promise:
        """The mechanism and delta of the planned release."""
        part = self.blank(epsilon).contents
        return Promise(part.mechanism, part.delta)

    def release(self, rows: int, epsilon: float, number: int) -> Release:
        """Simulation ``number`` of one cell. Cells share random numbers, which makes curves smooth."""
        random = np.random.default_rng([self.seed, number])
        blank = self.blank(epsilon)
        part, size = blank.contributions[0], blank.basis.size
        parts = []
        for _ in range(self.holders):
            matrix = self.population.gram(rows, random) + simulated_noise(random, part.noise, size)
            parts.append(replace(part, matrix=matrix, rows=rows if blank.schema.rows_are_public else None,
                                 statement=STATEMENT, library=LIBRARY))
        return blank.with_contributions(tuple(parts))

    @cached_property
    def fast(self) -> FastFit:
        """The fast method for this regression, shared by all cells."""
        return FastFit(self.population.design, self.family, self.prior, self.interval)

    def found(self, rows: int, epsilon: float, fits: Fits, near: Near | None = None) -> Found:
        """Intervals of one cell by the chosen method.

        ``near`` returns True if the fast method's intervals are worth sampling.
        """
        releases = [self.release(rows, epsilon, number) for number in range(self.repeats)]
        if self.method == "conditional":
            hidden = [self.fast.hides(release) for release in releases]
            return Found(stacked(self._sampled_by_kind(releases, hidden, fits)), float(np.mean(hidden)), sampled=True)
        ends, hidden = [], []
        for number, release in enumerate(releases):
            one, hides = self.fast(release, number)
            ends.append(one)
            hidden.append(hides)
            fits.count(1)
        fast = Found(stacked(ends), float(np.mean(hidden)), sampled=False)
        if self.method == "fast" or fast.hidden <= HIDDEN_SHARE or not (near is None or near(fast.ends)):
            return fast
        places = [number for number, hides in enumerate(hidden) if hides]
        kept = places[HIDDEN_REPEATS] if len(places) > HIDDEN_REPEATS else self.repeats
        places = places[:HIDDEN_REPEATS]
        fits.expect(len(places))
        for number, one in zip(places, self._sampled([releases[number] for number in places], fits), strict=True):
            ends[number] = one
        return Found(stacked(ends[:kept]), fast.hidden, sampled=True)

    def _sampled_by_kind(self, releases: Sequence[Release], hidden: Sequence[bool], fits: Fits) -> list[Ends]:
        """Sample releases with hidden moments apart from the others: releases sampled side by side need the same model."""
        places = sorted(range(len(releases)), key=lambda number: hidden[number])
        clear = len(places) - sum(hidden)
        ends = [one for kind in (places[:clear], places[clear:]) for one in self._sampled([releases[at] for at in kind], fits)]
        return [one for _, one in sorted(zip(places, ends, strict=True), key=lambda pair: pair[0])]

    def _sampled(self, releases: Sequence[Release], fits: Fits) -> list[Ends]:
        """Sample by the default method; the last lot is padded by repeating one release."""
        from noisewise.posterior.fit_many import fit_many

        terms, ends = len(self.population.effects), []
        for first in range(0, len(releases), LOT):
            lot = list(releases[first:first + LOT])
            posteriors = fit_many(self.population.design.formula, lot + lot[-1:] * (LOT - len(lot)), family=self.family,
                                  prior=self.prior, seed=self.seed + first, run=QUIET, draws=DRAWS,
                                  near_normal=True)[:len(lot)]
            ends += [Ends.of(posterior.samples[..., :terms].reshape(-1, terms), self.interval) for posterior in posteriors]
            fits.count(len(lot))
        return ends

    def prior_widths(self) -> dict[str, float]:
        """The widths of the prior's intervals by term; empty if they depend on the release."""
        if self.family != "gaussian":
            return {}
        from scipy.stats import norm

        _, sd = ResolvedPrior.of(self.population.design, self.prior).marginals()
        reach = 2 * float(norm.ppf((1 + self.interval) / 2))
        return {term: reach * float(value) for term, value in zip(self.population.effects, sd, strict=True)}


def stacked(found: Sequence[Ends]) -> Ends:
    """The ends of several fits, one in each row."""
    return Ends(*map(np.array, zip(*found, strict=True)))
