"""Made-up tables and releases for the tests of model averaging."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tests.unit.posterior.noisy_matrices import gaussian, laplace, noise_draws

from noisewise.selection.evidence import Evidence
from noisewise.selection.moments import Moments

Array = NDArray[np.float64]
DISTRIBUTIONS = {"gaussian": gaussian, "laplace": laplace}


def made_table(seed: int, rows: int, slopes: Array, noise: float = 0.3, intercept: bool = True) -> Array:
    """Rows (1, x, y) with correlated predictors in [−1, 1]."""
    rng = np.random.default_rng(seed)
    common = rng.uniform(-0.4, 0.4, size=(rows, 1))
    x = common + rng.uniform(-0.6, 0.6, size=(rows, len(slopes)))
    y = x @ slopes + noise * rng.normal(size=rows)
    return np.column_stack([np.ones(rows), x, y]) if intercept else np.column_stack([x, y])


def made_moments(table: Array, sd: float = 0.0, kept: int = 1, distribution: str = "gaussian", corner: bool = False,
                 seed: int = 0) -> Moments:
    """The table's moments, and noise with this standard deviation on the diagonal; the last column is the response."""
    size = table.shape[1]
    if sd == 0.0:
        return from_matrix(table.T @ table, np.zeros((size, size)), len(table), kept)
    noise = DISTRIBUTIONS[distribution](sd, corner)
    matrix = table.T @ table + noise_draws(np.random.default_rng(seed), noise, size, 1)[0]
    return from_matrix(matrix, noise.variances(size), len(table), kept)


def from_matrix(matrix: Array, variances: Array, rows: float, kept: int = 1) -> Moments:
    size = len(matrix)
    return Moments(matrix, matrix, variances, float(rows), np.eye(size)[:, :-1], np.eye(size)[-1], kept)


def single_columns(moments: Moments, prior: str) -> Evidence:
    """Each column that is not kept is a group of its own."""
    count = moments.features.shape[1] - moments.kept
    return Evidence(moments, [[column] for column in range(count)], prior)
