"""The released moments of a formula's columns, of all holders together, and how noisy they are.

Columns are in units of their declared ranges: predictors a = (1, x), response v. The release is Ŵ = W + E with independent
noise on and above the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.posterior.contributions import Contributions, holder_weights, residual_rows, row_count
from noisewise.selection.question import Units

FAR: Final = 8.0
"""A bound further away than this many standard deviations does not matter."""
SPREAD: Final = 1e3
"""With noise above this multiple of the bound, all values are equally likely."""


@dataclass(frozen=True)
class Moments:
    """The sum of the holders' matrices in released columns, and the formula's columns as combinations of these.

    ``spread`` is the sum with squared weights, which gives the residuals' covariance. Without weights it equals the matrix.
    """

    matrix: Array
    spread: Array
    variances: Array
    rows: float
    features: Array
    target: Array
    kept: int
    """The number of leading columns that are in every model: the constant, and the terms to keep."""
    averaged: float = 1.0
    """Table rows behind each of ``rows``: more than one if the release averaged rows in groups."""

    @classmethod
    def of(cls, contributions: Contributions, units: Units) -> Moments:
        """The holders' sum, weighted by ``pooling_weights``."""
        w, used = pooling_weights(contributions), used_columns(units)
        size, block = contributions[0].matrix.shape[0], np.ix_(used, used)
        residuals = float(w @ _residuals(contributions))
        return cls(
            matrix=np.einsum("j,jkl->kl", w, [one.matrix[block] for one in contributions]),
            spread=np.einsum("j,jkl->kl", w**2, [one.matrix[block] for one in contributions]),
            variances=np.einsum("j,jkl->kl", w**2, [one.noise.variances(size)[block] for one in contributions]),
            rows=max(residuals, units.features.shape[1] + 2.0),
            features=units.features[used], target=units.target[used], kept=units.kept,
            averaged=max(float(w @ [row_count(one) for one in contributions]) / residuals, 1.0),
        )

    @property
    def exact(self) -> bool:
        """True if there is no noise."""
        return not self.variances.any()

    def noise_covariance(self, c: Array) -> Array:
        """Cov(Fᵀ E c) for the residual's combination c = target − F β, where F are the features; leading axes are allowed."""
        covariance = self.variances * c[..., :, None] * c[..., None, :]
        diagonal = np.arange(len(self.target))
        covariance[..., diagonal, diagonal] = c**2 @ self.variances
        return np.asarray(self.features.T @ covariance @ self.features)

    def squared_noise(self, combination: Array) -> float:
        """The variance of cᵀEc."""
        squares = combination**2
        return max(float(2.0 * squares @ self.variances @ squares - np.diag(self.variances) @ squares**2), 0.0)

    def residual_variance(self, beta: Array) -> tuple[float, float]:
        """Mean and variance of the residual variance, given the noisy sum of squared residuals."""
        free = max(self.rows - len(beta), 1.0)
        combination = self.target - self.features @ beta
        seen = float(combination @ self.matrix @ combination) / free
        noise = np.sqrt(self.squared_noise(combination)) / free
        return positive(seen, float(np.hypot(noise, np.sqrt(2.0 / free) * seen)))

    def possible(self) -> Moments:
        """Replace the predictors' moments by ones that a table can have.

        Each eigenvalue is replaced by its expected value, given that it is positive and bounded. Released columns lie between −1
        and 1, so the squares of their combination d add up to at most n (Σ|d_i|)². (For k rows averaged in a group, the release
        has the square of their sum over k, which is at most k times that of one row.)
        """
        most = self.rows * self.averaged
        gram = self.features.T @ self.matrix @ self.features
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
        expected = [between(value, np.sqrt(self.squared_noise(one)), most * float(np.sum(np.abs(one))) ** 2)[0]
                    for value, one in zip(values, (self.features @ vectors).T, strict=True)]
        raised = np.maximum(expected, 1e-12 * max(float(values[-1]), 1e-300))
        back = np.linalg.pinv(self.features).T @ vectors
        return replace(self, matrix=self.matrix + (back * (raised - values)) @ back.T)


def pooling_weights(contributions: Contributions) -> Array:
    """Weights of holders whose noise differs, as for a regression with moderate coefficients.

    They are scaled so that Σ w n = Σ w² n. The weighted sum is then as informative as a table with this many rows.
    """
    weights = holder_weights(contributions, variance=0.1, norm2=1.5, spread=0.3)
    rows = _residuals(contributions)
    return np.ones(len(contributions)) if weights is None else np.asarray(weights * (weights @ rows) / (weights**2 @ rows))


def used_columns(units: Units) -> npt.NDArray[np.intp]:
    """The indices of the released columns that make up the formula's columns."""
    return np.flatnonzero(np.column_stack([units.features, units.target]).any(axis=1))


def _residuals(contributions: Contributions) -> Array:
    return np.maximum([residual_rows(one) for one in contributions], 1.0)


def between(seen: float, sd: float, upper: float) -> tuple[float, float]:
    """Mean and variance of a number between 0 and ``upper``, observed as ``seen`` with normal noise."""
    if (upper - seen) > FAR * sd:
        return positive(seen, sd)
    if seen > FAR * sd:
        mean, variance = positive(upper - seen, sd)
        return max(upper - mean, 0.0), variance
    if sd > SPREAD * upper:
        return upper / 2.0, upper**2 / 12.0
    from scipy.stats import truncnorm

    inside = truncnorm(-seen / sd, (upper - seen) / sd, loc=seen, scale=sd)
    return float(inside.mean()), float(inside.var())


def positive(seen: float, sd: float) -> tuple[float, float]:
    """Mean and variance of a positive number, observed as ``seen`` with normal noise."""
    from scipy.special import log_ndtr

    if sd <= 0.0:
        return max(float(seen), 0.0), 0.0
    z = float(seen) / sd
    ratio = float(np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_ndtr(z)))
    mean, share = sd * (z + ratio), 1.0 - ratio * (z + ratio)
    return max(mean, 1e-9 * sd), max(share, 1e-9) * sd**2


def without_leading(matrix: Array, count: int) -> Array:
    """The Schur complement of the first ``count`` rows and columns; for the constant, moments about the mean."""
    if not count:
        return matrix
    across = matrix[..., :count, count:]
    explained = np.swapaxes(across, -1, -2) @ np.linalg.solve(matrix[..., :count, :count], across)
    return np.asarray(matrix[..., count:, count:] - explained)


def exact_moments(moments: Moments, matrix: Array) -> Moments:
    """Treat ``matrix``, in the formula's columns with the response last, as the table's own moments."""
    columns = np.eye(len(matrix))
    return replace(moments, matrix=matrix, spread=matrix, variances=np.zeros_like(matrix),
                   features=columns[:, :-1], target=columns[:, -1])
