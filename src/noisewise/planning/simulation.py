"""Many simulated releases of one regression, and the intervals of fits to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.holder.gram import blank_gram, plan_gram
from noisewise.planning.intervals import Ends, FastFit
from noisewise.planning.noise import simulated_noise
from noisewise.planning.population import Population
from noisewise.posterior.prior import Prior
from noisewise.progress import Tick
from noisewise.release.model import Release
from noisewise.schema import Schema

Array: TypeAlias = npt.NDArray[np.float64]

Pair: TypeAlias = tuple[int, float]

METHODS: Final = ("auto", "fast", "conditional")
DRAWS: Final = 500
HIDDEN_SHARE: Final = 0.05
"""Of a cell's simulations: where the noise hides the predictors' moments more often, ``auto`` samples."""
HIDDEN_REPEATS: Final = 48
"""So many of them: a sampler takes its time."""


@dataclass(frozen=True)
class Simulation:
    """Everything that is fixed while rows and epsilon vary."""

    population: Population
    schema: Schema
    terms: str | None
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
        """The release as it would be, without numbers; refuses what `release` would refuse."""
        if epsilon not in self._blanks:
            basis = self.population.design.basis
            chosen = plan_gram(basis, epsilon, self.delta, self.mechanism)
            self._blanks[epsilon] = blank_gram(self.schema, self.terms, basis, chosen)
        return self._blanks[epsilon]

    def release(self, rows: int, epsilon: float, number: int) -> Release:
        """Simulation ``number`` of one cell. Cells share their random numbers, which makes curves smooth."""
        random = np.random.default_rng([self.seed, number])
        blank = self.blank(epsilon)
        part, size = blank.parts[0], blank.basis.size
        parts = []
        for _ in range(self.holders):
            matrix = self.population.gram(rows, random) + simulated_noise(random, part.noise, size)
            parts.append(replace(part, matrix=matrix, rows=rows if self.schema.rows_are_public else None))
        return blank.with_parts(tuple(parts))

    @cached_property
    def fast(self) -> FastFit:
        return FastFit(self.population.design, self.family, self.prior, self.interval)

    def fast_ends(self, rows: int, epsilon: float, tick: Tick, done: int = 0, total: int | None = None) -> tuple[Ends, float]:
        """Intervals of all simulations of a cell by the fast method, and in how many the noise hid the predictors' moments."""
        found, hidden = [], 0
        for number in range(self.repeats):
            ends, latent = self.fast(self.release(rows, epsilon, number), number)
            found.append(ends)
            hidden += latent
            tick(done + number + 1, total)
        return stacked(found), hidden / self.repeats

    def all_ends(self, pairs: Sequence[Pair], tick: Tick) -> list[tuple[Ends, float]]:
        """Of every cell (rows, epsilon), by the method that was asked for."""
        if self.method == "conditional":
            return [(ends, 0.0) for ends in self._sampled(pairs, self.repeats, tick)]
        total = len(pairs) * self.repeats
        found = [self.fast_ends(*pair, tick, place * self.repeats, total) for place, pair in enumerate(pairs)]
        hidden = [place for place, (_, share) in enumerate(found) if share > HIDDEN_SHARE]
        if self.method == "auto" and hidden:
            sampled = self._sampled([pairs[place] for place in hidden], min(self.repeats, HIDDEN_REPEATS), tick)
            for place, ends in zip(hidden, sampled, strict=True):
                found[place] = ends, found[place][1]
        return found

    def _sampled(self, pairs: Sequence[Pair], repeats: int, tick: Tick) -> list[Ends]:
        """By the default method, all cells side by side: what is compiled, is compiled once."""
        from noisewise.posterior.fit_many import fit_many

        releases = [self.release(*pair, number) for pair in pairs for number in range(repeats)]
        terms = len(self.population.effects)
        posteriors = fit_many(self.population.design.formula, releases, family=self.family, prior=self.prior, seed=self.seed,
                              progress=tick, draws=DRAWS)
        ends = [Ends.of(posterior.samples[..., :terms].reshape(-1, terms), self.interval) for posterior in posteriors]
        return [stacked(ends[first:first + repeats]) for first in range(0, len(ends), repeats)]

    def prior_widths(self) -> dict[str, float]:
        """The widths of the prior's intervals, by term; none where they depend on the release."""
        if self.family != "gaussian":
            return {}
        from scipy.stats import norm

        from noisewise.posterior.prior import ResolvedPrior

        _, sd = ResolvedPrior.of(self.population.design, self.prior).marginals()
        reach = 2 * float(norm.ppf((1 + self.interval) / 2))
        return {term: reach * float(value) for term, value in zip(self.population.effects, sd, strict=True)}


def stacked(found: Sequence[Ends]) -> Ends:
    return Ends(*(np.array([getattr(one, name) for one in found]) for name in Ends._fields))
