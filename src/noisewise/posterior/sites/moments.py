"""The sites' moments after removing recognisable noise: what the sites have in common helps each of them.

With the basis (Q, e) of ``coordinates`` a site's released matrix is W = true + noise, and the noise of its entries i ≤ j has a
known covariance C. The predictors' block S = QᵀWQ of a single noisy site is poorly known. A flat prior on every site's own S
would shrink the coefficients at every site towards zero, and no number of sites averages this out. So the sites' S_j / n_j are
modelled as normal around a common mean, with a variance for each entry. It is estimated from the sites and then raised by the
standard error of that estimate: too large a variance only wastes information, and an infinite one is the flat prior.

Given S_j the noise is again normal (Kalman's formula): its mean is subtracted from the matrix, and its covariance remains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noisewise.arrays import Array
from noisewise.posterior.contributions import Contribution, Contributions, residual_rows, row_count
from noisewise.posterior.linear.coordinates import Coordinates, noise_effects


@dataclass(frozen=True)
class SiteMoments:
    """Matrices in the basis (Q, e) (sites, p + 1, p + 1), rows, and a root of the remaining noise's covariance.

    The noise covers the entries i ≤ j, row by row, and finally the number of rows.
    """

    matrix: Array
    rows: Array
    noise_root: Array
    clarity: Array
    """Distance of each site's least moment S from zero, in standard deviations of the noise, if S_j / n_j is the common mean."""

    @classmethod
    def of(cls, contributions: Contributions, coordinates: Coordinates) -> SiteMoments:
        """Estimate the common moments of two or more sites, and take the known part of the noise out of each matrix."""
        basis = np.column_stack([coordinates.directions, coordinates.residual])
        matrices = np.stack([basis.T @ one.matrix @ basis for one in contributions])
        covariances = np.stack([_noise_covariance(one, basis) for one in contributions])
        rows = np.maximum([row_count(one) for one in contributions], 1.0)
        i, j = np.triu_indices(basis.shape[1])
        predictors = np.flatnonzero(j < basis.shape[1] - 1)
        observed = matrices[:, i, j][:, predictors] / rows[:, None]
        noise = covariances[:, predictors][:, :, predictors]
        mean, variance = _common(observed, np.diagonal(noise, axis1=1, axis2=2) / rows[:, None] ** 2)
        spread = noise + rows[:, None, None] ** 2 * np.diag(variance)
        gain = np.linalg.solve(spread, covariances[:, predictors])  # (n²T + C_SS)⁻¹ C_S·
        surprise = (observed - mean) * rows[:, None]
        known = np.einsum("jkl,jk->jl", gain, surprise)
        rest = covariances - np.transpose(covariances[:, predictors], (0, 2, 1)) @ gain
        values, vectors = np.linalg.eigh((rest + np.transpose(rest, (0, 2, 1))) / 2)
        upper = np.zeros_like(matrices)
        upper[:, i, j] = known[:, :-1]
        both = upper + np.transpose(np.triu(upper, 1), (0, 2, 1))
        residuals = np.array([residual_rows(one) for one in contributions]) - known[:, -1]
        return cls(matrices - both, np.maximum(residuals, 1.0), vectors * np.sqrt(np.maximum(values, 0.0))[:, None],
                   _clarity(mean, noise, rows))


def _noise_covariance(contribution: Contribution, basis: Array) -> Array:
    """Covariance of the noise in the entries i ≤ j of the matrix in this basis, and in the number of rows."""
    row, column = np.triu_indices(len(basis))
    effects = np.column_stack([noise_effects(basis), (row == 0) & (column == 0)])
    result: Array = (effects.T * contribution.noise.variances(len(basis))[row, column]) @ effects
    return result


def _common(observed: Array, noise: Array) -> tuple[Array, Array]:
    """Mean over sites of each entry, and its variance between sites beyond the noise, raised by its standard error."""
    sites = len(observed)
    floor = 1e-12 + 1e-6 * observed.var(axis=0)  # entries without noise (a public number of rows) need some weight too
    weight = 1.0 / (noise + floor)
    total = weight.sum(axis=0)
    mean = (weight * observed).sum(axis=0) / total
    typical = sites / total
    between = (weight * (observed - mean) ** 2).sum(axis=0) / total * sites / (sites - 1)
    error = between * math.sqrt(2.0 / (sites - 1))
    return mean, np.maximum(between - typical, 0.0) + error + typical / sites


def _clarity(mean: Array, noise: Array, rows: Array) -> Array:
    """Smallest eigenvalue of the common S, times the rows, over the noise's standard deviation in that direction."""
    size = math.isqrt(2 * len(mean))
    i, j = np.triu_indices(size)
    common = np.zeros((size, size))
    common[i, j] = common[j, i] = mean
    values, vectors = np.linalg.eigh(common)
    least = vectors[:, 0]
    weight = least[i] * least[j] * np.where(i == j, 1.0, 2.0)
    sd = np.sqrt(np.einsum("k,jkl,l->j", weight, noise, weight))
    result: Array = np.maximum(values[0], 0.0) * rows / np.maximum(sd, 1e-12)
    return result
