"""Confidence regions for a table's moments G, given a release G + E, and for whatever is computed from them.

The noise lies in a set of probability 1 − α: where its density is largest. For Gaussian noise that is a ball, in units of the
entries' standard deviations; for Laplace noise the same in the sum of absolute values; for Wishart noise a level set of its
density. So G lies in the release minus that set, and since it is positive definite, in the part of it that is. The image of
this region under any function T is a confidence region for T(G), of the same level (Peña and Barrientos, section 4.1.2).

Draws are from the distribution of the noise given both conditions: what a flat prior for G makes of the release.
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
    """The values of a function for draws from the region: (draws,) or (draws, …)."""

    values: Array

    @property
    def mean(self) -> Array:
        """The histogram's mean: the paper's hLM and hWM."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def ends(self) -> tuple[Array, Array]:
        """The smallest and the largest value found. The region is at least so wide, and may have gaps."""
        return self.values.min(axis=0), self.values.max(axis=0)

    def histogram(self, bins: int = 20) -> tuple[Array, Array]:
        """Shares of the draws, and the ends of the bins, of a function with one value."""
        if self.values.ndim != 1:
            raise FitError("a histogram is drawn of one number", found=f"{self.values.shape[1:]} numbers",
                           remedy="choose one: region_of(lambda matrix: function(matrix)[0])")
        counts, edges = np.histogram(self.values, bins=bins)
        return counts / len(self.values), edges


@dataclass(frozen=True)
class RegionDraws:
    """Positive definite matrices in the formula's columns, the response last, from a confidence region."""

    matrices: Array
    effective: float
    """To so many independent draws they come, for the entry of which they say least."""
    accepted: float
    """Share of the proposals that were accepted; 1 where nothing needs to be proposed."""

    def region_of(self, function: Callable[[Array], npt.ArrayLike]) -> RegionOf:
        """The region of ``function(matrix)``."""
        return RegionOf(np.array([function(matrix) for matrix in self.matrices], dtype=np.float64))


@dataclass(frozen=True)
class Region:
    """A confidence region of level 1 − α for the moments behind a release."""

    moments: Moments
    noise: NoiseLaw
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise FitError("alpha lies between 0 and 1", found=repr(self.alpha), remedy="0.05 for a region of level 95 %")
        self.noise.check_variances(self.moments.variances)

    @property
    def bound(self) -> float:
        """Noise in the region has at most this loss: minus its log density, up to a constant."""
        return loss_percentile(self.noise, 1.0 - self.alpha)

    def draws(self, count: int = 1000, seed: int = 0, tick: Tick = nobody) -> RegionDraws:
        """``count`` matrices from the region."""
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
"""Between two draws of a chain. Where noise is large, as for nine predictors at ε = 0.1, draws are forgotten after so many."""


def confidence_region(formula: str, release: Release | Sequence[Release], *, alpha: float = 0.05, draws: int = 1000,
                      seed: int = 0) -> RegionDraws:
    """Draws from the confidence region of the moments of a formula's columns, in the user's units, the response last.

    ``confidence_region(…).region_of(function)`` is the region of what ``function(matrix)`` computes from them.
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
    """Of (draws, chains, …): how many independent draws would have means as steady as those of the chains, at worst."""
    each, chains = drawn.shape[:2]
    flat = drawn.reshape(each, chains, -1)
    total = flat.reshape(each * chains, -1).var(axis=0)
    between = flat.mean(axis=0).var(axis=0, ddof=1)
    varies = total > 1e-20 * np.maximum(np.abs(flat).max(axis=(0, 1)) ** 2, 1e-300)
    return float(np.min(chains * total[varies] / between[varies], initial=each * chains))


LEVEL_DRAWS: Final = 50_000


@lru_cache(maxsize=32)
def loss_percentile(noise: NoiseLaw, level: float) -> float:
    """The percentile of the noise's loss: known for Gaussian or Laplace noise, else simulated with the public seed."""
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
