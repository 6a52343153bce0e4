"""The distribution of a release's noise, summed over holders, in the released columns that a formula uses.

The sum is kept as a list of independent components with known densities: one for all Gaussian noise, one for all Wishart noise
of the same scale, and one for each holder with Laplace noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.posterior.contributions import Contributions
from noisewise.selection.moments import pooling_weights, used_columns
from noisewise.selection.question import Units

GAUSSIAN: Final = "gaussian"
LAPLACE: Final = "laplace"
WISHART: Final = "wishart"
PUBLIC_SEED: Final = 20_240_229
"""Seed for simulated percentiles of the noise, so that everyone gets the same ones."""


@dataclass(frozen=True)
class Component:
    """Independent symmetric noise with these variances; ``wishart`` noise is N − E N, N ~ Wishart(``degrees``, ``scale`` · I).

    The variances are nested tuples, so that simulations for a component can be cached. A variance of 0 marks a public number.
    """

    distribution: str
    spread: tuple[tuple[float, ...], ...]
    degrees: int = 0
    scale: float = 0.0
    delta: float = 0.0

    @property
    def variances(self) -> Array:
        """Variance of each entry."""
        return np.array(self.spread)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Draw noise, (count, columns, columns)."""
        variances = self.variances
        size = len(variances)
        if self.distribution == WISHART:
            result = self.wishart_draw(count, rng) - self.degrees * self.scale * np.eye(size)
            return np.asarray(np.where(variances > 0.0, result, 0.0))
        shape = (count, size, size)
        standard = rng.normal(size=shape) if self.distribution == GAUSSIAN else rng.laplace(scale=math.sqrt(0.5), size=shape)
        upper = np.triu(standard * np.sqrt(variances))
        return np.asarray(upper + np.swapaxes(np.triu(upper, 1), 1, 2))

    def wishart_draw(self, count: int, rng: np.random.Generator) -> Array:
        """Draw N itself by Bartlett's decomposition."""
        size = len(self.spread)
        root = np.tril(rng.normal(size=(count, size, size)), -1)
        diagonal = np.arange(size)
        root[:, diagonal, diagonal] = np.sqrt(rng.chisquare(self.degrees - diagonal, size=(count, size)))
        return np.asarray(self.scale * root @ np.swapaxes(root, 1, 2))


@dataclass(frozen=True)
class NoiseLaw:
    """The noise on the released numbers: a sum of independent components."""

    components: tuple[Component, ...]

    @classmethod
    def of(cls, contributions: Contributions, units: Units) -> NoiseLaw:
        """Describe the noise of the holders' sum as formed by ``Moments.of``, with the same weights and columns."""
        size, used = contributions[0].matrix.shape[0], used_columns(units)
        return cls.pooled([
            Component(one.noise.distribution, nested(weight**2 * one.noise.variances(size)[np.ix_(used, used)]),
                      one.noise.degrees or 0, weight * (one.noise.scale or 0.0), getattr(one, "delta", 0.0))
            for one, weight in zip(contributions, pooling_weights(contributions).tolist(), strict=True)
        ])

    @classmethod
    def pooled(cls, components: Sequence[Component]) -> NoiseLaw:
        """Merge components: Gaussian noise adds up to Gaussian noise, Wishart noise of one scale to Wishart noise."""
        merged: dict[tuple[str, float], Component] = {}
        separate = []
        for component in components:
            if component.distribution not in (GAUSSIAN, LAPLACE, WISHART):
                raise FitError("unknown noise distribution", found=repr(component.distribution))
            if component.distribution == LAPLACE:
                separate.append(component)
                continue
            place = (component.distribution, float(f"{component.scale:.9g}"))
            before = merged.get(place)
            merged[place] = component if before is None else Component(
                component.distribution, nested(before.variances + component.variances), before.degrees + component.degrees,
                component.scale, min(before.delta, component.delta))
        return cls((*merged.values(), *separate))

    @property
    def variances(self) -> Array:
        """Variance of each entry."""
        return np.asarray(sum(component.variances for component in self.components))

    def check_variances(self, variances: Array) -> None:
        """Refuse moments that this noise was not added to."""
        mine = self.variances
        if mine.shape != variances.shape or not np.allclose(mine, variances, rtol=1e-6, atol=0.0):
            raise FitError("the noise and the moments must come from the same release and formula",
                           remedy="pass NoiseLaw.of the same contributions and units as Moments.of")

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Draw noise, (count, columns, columns)."""
        return np.asarray(sum(component.draw(count, rng) for component in self.components))


def independent(distribution: str, variances: Array) -> NoiseLaw:
    """Describe Gaussian or Laplace noise with these variances, independent in the upper triangle."""
    return NoiseLaw.pooled([Component(distribution, nested(variances))])


def wishart(degrees: int, scale: float, size: int, delta: float, public_corner: bool) -> NoiseLaw:
    """Describe the noise of the Wishart mechanism in ``size`` columns, the first of which is the constant."""
    variances = degrees * scale**2 * (np.ones((size, size)) + np.eye(size))
    if public_corner:
        variances[0, 0] = 0.0
    return NoiseLaw.pooled([Component(WISHART, nested(variances), degrees, scale, delta)])


def nested(matrix: Array) -> tuple[tuple[float, ...], ...]:
    """Turn a matrix into nested tuples."""
    return tuple(tuple(row) for row in matrix.tolist())
