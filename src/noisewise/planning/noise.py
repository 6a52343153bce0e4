"""Draw a mechanism's noise from a seeded generator, for simulated tables. Real releases never use it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from noisewise.arrays import Array
from noisewise.scores.rounds import Round

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


def isotropic_noise(random: np.random.Generator, noise: float, size: int) -> Array:
    """A symmetric matrix of normal numbers: this standard deviation on the diagonal, √½ of it elsewhere."""
    upper = np.triu(random.normal(size=(size, size)) * noise * np.sqrt((1.0 + np.eye(size)) / 2.0))
    return np.asarray(upper + np.triu(upper, 1).T)


def noisy_round(random: np.random.Generator, exact: Round) -> Round:
    """A round of a model release, with the noise that it states."""
    size, noise = len(exact.score), exact.noise
    return replace(
        exact, score=exact.score + noise.score * random.normal(size=size),
        matrix=exact.matrix + isotropic_noise(random, noise.matrix, size),
        square=None if exact.square is None or noise.square is None else exact.square + noise.square * float(random.normal()),
        spread=None if exact.spread is None or noise.spread is None else
        exact.spread + isotropic_noise(random, noise.spread, size))
