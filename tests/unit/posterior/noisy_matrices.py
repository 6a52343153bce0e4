"""Made-up releases for the tests of the likelihoods, and a released matrix's noise as a matrix of random entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.prior import ResolvedPrior
from noisewise.releases.contents.gram import EntryNoise

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MadePart:
    """One holder's release as the likelihoods see it."""

    matrix: Array
    rows: int | None
    noise: EntryNoise


@dataclass(frozen=True)
class Regression:
    """Predictors and response as combinations of released columns, with a prior; all in the user's units."""

    features: Array
    target: Array
    half_width: float
    prior: ResolvedPrior

    @property
    def coordinates(self) -> Coordinates:
        return Coordinates.from_arrays(self.features, self.target, self.half_width)


def made_regression(generator: np.random.Generator, size: int, predictors: int, intercept: bool = True) -> Regression:
    """General combinations of the columns, in units that differ by orders of magnitude."""
    units = 10.0 ** generator.uniform(-3, 3, size=predictors)
    features = generator.normal(size=(size, predictors)) * units
    if intercept:
        features[:, 0] = np.eye(size)[0]
    half_width = 37.0
    target = half_width * generator.normal(size=size)
    coordinates = Coordinates.from_arrays(features, target, half_width)
    functionals = np.eye(predictors)
    functionals[0, 1:] = 0.3 * np.linalg.norm(features[:, 0]) / np.linalg.norm(features[:, 1:], axis=0)
    # As wide as the working units are, so that the prior's share of a log density is of order 1 and hides nothing.
    sd = np.linalg.norm(functionals @ coordinates.slope, axis=1) * generator.uniform(1.0, 3.0, size=predictors)
    prior = ResolvedPrior(functionals, functionals @ coordinates.offset + 0.1 * sd, sd, 0.4 * half_width)
    return Regression(features, target, half_width, prior)


def gaussian(sd: float, corner: bool) -> EntryNoise:
    return EntryNoise("gaussian", sd, sd / np.sqrt(2.0), sd if corner else 0.0)


def laplace(sd: float, corner: bool) -> EntryNoise:
    return EntryNoise("laplace", sd, sd, sd if corner else 0.0)


def made_part(generator: np.random.Generator, size: int, rows: int, noise: EntryNoise) -> MadePart:
    """The Gram matrix of skewed rows (1, u), and noise."""
    u = np.clip(generator.gamma(2.0, 0.3, size=(rows, size - 1)) - 0.5, -1.0, 1.0)
    u = u @ np.linalg.cholesky(0.7 * np.eye(size - 1) + 0.3)
    a = np.column_stack([np.ones(rows), u])
    matrix = a.T @ a + noise_draws(generator, noise, size, 1)[0]
    return MadePart(matrix, None if noise.corner else rows, noise)


def noise_draws(generator: np.random.Generator, noise: EntryNoise, size: int, count: int) -> Array:
    """Symmetric matrices of independent noise on the upper triangle."""
    sd = np.sqrt(noise.variances(size))
    draw = generator.normal if noise.distribution == "gaussian" else generator.laplace
    standard = draw(size=(count, size, size)) / (1.0 if noise.distribution == "gaussian" else np.sqrt(2.0))
    upper = np.triu(standard * sd)
    return np.asarray(upper + np.triu(upper, 1).transpose(0, 2, 1))


def numeric_gradient(function: object, point: Array, steps: Array) -> Array:
    """Central differences with one step of Richardson's extrapolation: errors of order step⁴."""
    assert callable(function)
    result = np.empty(len(point))
    for index, step in enumerate(np.diag(steps)):
        coarse = (function(point + 2 * step) - function(point - 2 * step)) / (4 * steps[index])
        fine = (function(point + step) - function(point - step)) / (2 * steps[index])
        result[index] = (4 * fine - coarse) / 3
    return result
