"""The released moments of a formula's columns, of all holders together, and how noisy they are.

Columns are in units of their declared ranges: predictors a = (1, x), response v. The release is Ŵ = W + E with independent
noise on and above the diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from noisewise.posterior.parts import Part, holder_weights, residual_rows
from noisewise.selection.units import Units

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """The sum of the holders' matrices in released columns, and the formula's columns as combinations of these.

    ``spread`` is the sum with squared weights, of which the residuals' covariance is made; without weights it is the matrix.
    """

    matrix: Array
    spread: Array
    variances: Array
    rows: float
    features: Array
    target: Array
    kept: int
    """So many columns come first and are in every model: the constant, and what the user wants to keep."""

    @classmethod
    def of(cls, parts: Sequence[Part], units: Units) -> Moments:
        """Holders whose noise differs are weighed as for a regression with middling coefficients."""
        weights = holder_weights(parts, variance=0.1, norm2=1.5, spread=0.3)
        w = np.ones(len(parts)) if weights is None else weights
        size = parts[0].matrix.shape[0]
        rows = np.array([residual_rows(part) for part in parts])
        used = np.flatnonzero(np.column_stack([units.features, units.target]).any(axis=1))
        block = np.ix_(used, used)
        return cls(
            matrix=np.einsum("j,jkl->kl", w, [part.matrix[block] for part in parts]),
            spread=np.einsum("j,jkl->kl", w**2, [part.matrix[block] for part in parts]),
            variances=np.einsum("j,jkl->kl", w**2, [part.noise.variances(size)[block] for part in parts]),
            rows=max(float((w @ rows) ** 2 / (w**2 @ rows)), units.features.shape[1] + 2.0),
            features=units.features[used], target=units.target[used], kept=units.kept,
        )

    @property
    def exact(self) -> bool:
        return not self.variances.any()

    def without_noise(self, matrix: Array) -> Moments:
        """As if ``matrix`` were the table's own."""
        return replace(self, matrix=matrix, spread=matrix, variances=np.zeros_like(self.variances))

    def noise_covariance(self, beta: Array) -> Array:
        """Cov(Fᵀ E c) for the residual's combination c = target − F β, F the features; ``beta`` may have leading axes."""
        c = self.target - beta @ self.features.T
        covariance = self.variances * c[..., :, None] * c[..., None, :]
        diagonal = np.arange(len(self.target))
        covariance[..., diagonal, diagonal] = c**2 @ self.variances
        return np.asarray(self.features.T @ covariance @ self.features)

    def squared_noise(self, combination: Array) -> float:
        """The variance of cᵀEc."""
        squares = combination**2
        return max(float(2.0 * squares @ self.variances @ squares - np.diag(self.variances) @ squares**2), 0.0)

    def residual_variance(self, beta: Array) -> tuple[float, float]:
        """Mean and variance of what the noisy sum of squared residuals says about it."""
        free = max(self.rows - len(beta), 1.0)
        combination = self.target - self.features @ beta
        seen = float(combination @ self.matrix @ combination) / free
        noise = np.sqrt(self.squared_noise(combination)) / free
        return positive(seen, float(np.hypot(noise, np.sqrt(2.0 / free) * seen)))

    def positive_gram(self) -> Array:
        """Moments of the predictors, each eigenvalue being what it may be expected to be, given that it is positive."""
        gram = self.features.T @ self.matrix @ self.features
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
        noise = [np.sqrt(self.squared_noise(direction)) for direction in (self.features @ vectors).T]
        least = 1e-12 * max(float(values[-1]), 1e-300)
        expected = [max(positive(value, sd)[0], least) for value, sd in zip(values, noise, strict=True)]
        return np.asarray((vectors * expected) @ vectors.T)


def positive(seen: float, sd: float) -> tuple[float, float]:
    """Mean and variance of a positive number that was seen as ``seen`` with normal noise."""
    from scipy.special import log_ndtr

    if sd <= 0.0:
        return max(float(seen), 0.0), 0.0
    z = float(seen) / sd
    ratio = float(np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_ndtr(z)))
    mean, share = sd * (z + ratio), 1.0 - ratio * (z + ratio)
    return max(mean, 1e-9 * sd), max(share, 1e-9) * sd**2


def without_leading(matrix: Array, count: int) -> Array:
    """The Schur complement of the first ``count`` rows and columns: moments about the mean if they are the constant's."""
    if not count:
        return matrix
    across = matrix[..., :count, count:]
    explained = np.swapaxes(across, -1, -2) @ np.linalg.solve(matrix[..., :count, :count], across)
    return np.asarray(matrix[..., count:, count:] - explained)
