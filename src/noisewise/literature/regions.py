"""Confidence regions for a table's moments G, given a release G + E, and for anything computed from them.

With probability 1 − α the noise lies in the set where its density is largest. For Gaussian noise that is a ball, in units of the
entries' standard deviations; for Laplace noise, a ball in the sum of absolute values; for Wishart noise, a level set of its
density. So G lies in the release minus that set and, being positive definite, in the positive definite part of it. The image of
this region under any function T is a confidence region for T(G) of the same level (Peña and Barrientos, section 4.1.2).

Draws come from the distribution of the noise given both conditions, which is the posterior of G under a flat prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, gamma

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.literature.cone_sampler import ConeSampler, loss
from noisewise.literature.noise_laws import GAUSSIAN, LAPLACE, PUBLIC_SEED, WISHART, NoiseLaw
from noisewise.posterior.request import whole
from noisewise.progress import Tick
from noisewise.releases.release import Release
from noisewise.run import nobody
from noisewise.schema import Design
from noisewise.selection.moments import Moments
from noisewise.selection.question import Units, gram_release


@dataclass(frozen=True)
class RegionOf:
    """The values of a function at draws from the region: (draws,) or (draws, …)."""

    values: Array

    @property
    def mean(self) -> Array:
        """Mean of the histogram: the paper's hLM and hWM."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def ends(self) -> tuple[Array, Array]:
        """Smallest and largest value found. The region is at least this wide and may have gaps."""
        return self.values.min(axis=0), self.values.max(axis=0)

    def histogram(self, bins: int = 20) -> tuple[Array, Array]:
        """Return the share of draws in each bin and the bin edges, for a function with one value."""
        if self.values.ndim != 1:
            raise FitError("histogram needs a function with one value", found=f"{self.values.shape[1:]} numbers",
                           remedy="choose one, as in region_of(lambda matrix: function(matrix)[0])")
        counts, edges = np.histogram(self.values, bins=bins)
        return counts / len(self.values), edges


@dataclass(frozen=True)
class RegionDraws:
    """Positive definite matrices in the formula's columns, the response last, from a confidence region."""

    matrices: Array
    effective: float
    """Effective number of independent draws, for the worst entry."""
    accepted: float
    """Share of proposals accepted; 1 where the sampler proposes nothing."""

    def region_of(self, function: Callable[[Array], npt.ArrayLike]) -> RegionOf:
        """Evaluate ``function(matrix)`` over the region."""
        return RegionOf(np.array([function(matrix) for matrix in self.matrices], dtype=np.float64))


@dataclass(frozen=True)
class Region:
    """A confidence region of level 1 − α for the moments behind a release."""

    moments: Moments
    noise: NoiseLaw
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise FitError("alpha must be > 0 and < 1", argument="alpha", found=repr(self.alpha),
                           remedy="0.05 gives a region of level 95 %")
        self.noise.check_variances(self.moments.variances)

    @property
    def bound(self) -> float:
        """Largest loss of noise in the region: minus its log density, up to a constant."""
        return loss_percentile(self.noise, 1.0 - self.alpha)

    def draws(self, count: int = 1000, seed: int = 0, tick: Tick = nobody) -> RegionDraws:
        """Draw ``count`` matrices from the region."""
        columns = np.column_stack([self.moments.features, self.moments.target])
        chains = min(CHAINS, count)
        each = -(-count // chains)
        sampler = ConeSampler(self.moments.matrix, columns, self.noise, self.bound, chains, seed)
        for _ in range(WARM_SWEEPS):
            sampler.sweep()
        found = []
        for number in range(each):
            for _ in range(SWEEPS):
                sampler.sweep()
            found.append(sampler.matrices())
            tick(number + 1, each)
        drawn = np.array(found)
        accepted = sampler.accepted / sampler.proposed if sampler.proposed else 1.0
        return RegionDraws(drawn.reshape(-1, *drawn.shape[2:])[:count], effective_draws(drawn), accepted)


CHAINS: Final = 100
WARM_SWEEPS: Final = 60
SWEEPS: Final = 10
"""Sweeps between two draws of a chain, enough to forget the last draw where noise is large (nine predictors at ε = 0.1)."""


def confidence_region(formula: str, release: Release | Sequence[Release], *, alpha: float = 0.05, draws: int = 1000,
                      seed: int = 0) -> RegionDraws:
    """Draw moments of a formula's columns from their confidence region, in the user's units, response last.

    ``confidence_region(…).region_of(function)`` is the region of ``function(matrix)``.
    """
    together = gram_release(release)
    draws, seed = whole("draws", draws, 2), whole("seed", seed, 0)
    design = Design.of(formula, together.basis, together.terms)
    units = Units.of(design, [])
    found = together.contributions
    drawn = Region(Moments.of(found, units), NoiseLaw.of(found, units), alpha).draws(draws, seed)
    back = np.diag(units.scales)
    back[0] += units.scales * units.constants
    places = np.argsort([*units.order, len(units.order)])
    return replace(drawn, matrices=(back.T @ drawn.matrices @ back)[:, places[:, None], places])


def effective_draws(drawn: Array) -> float:
    """Return how many independent draws would give means as precise as the chains', for the worst entry of (draws, chains, …)."""
    each, chains = drawn.shape[:2]
    flat = drawn.reshape(each, chains, -1)
    total = flat.reshape(each * chains, -1).var(axis=0)
    between = flat.mean(axis=0).var(axis=0, ddof=1)
    varies = total > 1e-20 * np.maximum(np.abs(flat).max(axis=(0, 1)) ** 2, 1e-300)
    return float(np.min(chains * total[varies] / between[varies], initial=each * chains))


LEVEL_DRAWS: Final = 50_000


@lru_cache(maxsize=32)
def loss_percentile(noise: NoiseLaw, level: float) -> float:
    """Return a percentile of the noise's loss: exact for Gaussian or Laplace noise, else simulated with the public seed."""
    kinds = {component.distribution for component in noise.components}
    free = sum(int(np.triu(component.variances > 0.0).sum()) for component in noise.components)
    if kinds == {GAUSSIAN}:
        return float(chi2.ppf(level, free) / 2.0)
    if kinds == {LAPLACE}:
        return float(gamma.ppf(level, free))
    rng = np.random.default_rng(PUBLIC_SEED)
    total = np.zeros(LEVEL_DRAWS)
    for component in noise.components:
        if component.distribution == WISHART:
            drawn = np.moveaxis(component.wishart_draw(LEVEL_DRAWS, rng), 0, -1)
            total += loss(component, drawn, drawn)
        else:
            total += loss(component, np.moveaxis(component.draw(LEVEL_DRAWS, rng), 0, -1))
    return float(np.quantile(total, level))
