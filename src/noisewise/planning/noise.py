"""Draw a mechanism's noise from a seeded generator, for simulated tables. Real releases never use it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from noisewise.arrays import Array

if TYPE_CHECKING:
    from noisewise.releases.contents.gram import EntryNoise


def simulated_noise(random: np.random.Generator, noise: EntryNoise, size: int) -> Array:
    """A symmetric matrix of noise with the distribution that a release states."""
    if noise.distribution == "wishart":
        return _wishart(random, noise, size)
    standard = random.normal(size=(size, size)) if noise.distribution == "gaussian" else \
        random.laplace(scale=math.sqrt(0.5), size=(size, size))
    upper = np.triu(standard * np.sqrt(noise.variances(size)))
    return upper + np.triu(upper, 1).T


def _wishart(random: np.random.Generator, noise: EntryNoise, size: int) -> Array:
    """N − E N by Bartlett's decomposition; the corner is 0 where the number of rows is public."""
    assert noise.degrees is not None and noise.scale is not None
    lower = np.tril(random.normal(size=(size, size)), -1)
    np.fill_diagonal(lower, np.sqrt(random.chisquare(noise.degrees - np.arange(size))))
    matrix = noise.scale * (lower @ lower.T - noise.degrees * np.eye(size))
    if not noise.corner:
        matrix[0, 0] = 0.0
    return matrix
