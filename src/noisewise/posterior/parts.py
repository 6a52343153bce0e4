"""The parts of a release as the likelihoods see them: matrix, number of rows, noise; and how much weight each deserves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

MOST_BIAS: Final = 0.1
"""Of the weighted number of rows, in its standard deviations, because weights depend on noisy numbers of rows."""


class Noise(Protocol):
    @property
    def distribution(self) -> str: ...
    @property
    def diagonal(self) -> float: ...
    @property
    def off_diagonal(self) -> float: ...
    @property
    def corner(self) -> float: ...
    def variances(self, size: int) -> Array: ...


class Part(Protocol):
    """What a likelihood needs of one holder's release."""

    @property
    def matrix(self) -> Array: ...
    @property
    def rows(self) -> int | None: ...
    @property
    def noise(self) -> Noise: ...


def rotation_invariant(noise: Noise) -> bool:
    """Whether the noise has variance s² on the diagonal and s²/2 off it, uncorrelated: the same in every orthonormal basis.

    Symmetric Gaussian noise, and Wishart noise, with s² = 2kB⁴: of it only mean and second moments are those of a Gaussian.
    """
    return (
        noise.distribution in ("gaussian", "wishart")
        and math.isclose(noise.diagonal**2, 2 * noise.off_diagonal**2, rel_tol=1e-9)
        and (noise.corner == 0 or math.isclose(noise.corner, noise.diagonal, rel_tol=1e-9))
    )


def row_count(part: Part) -> float:
    """The number of rows: exact where it is public, else the released noisy one."""
    return float(part.matrix[0, 0] if part.rows is None else part.rows)


def residual_rows(part: Part) -> float:
    """How many independent residuals the matrix is made of: the rows, or the groups into which they were averaged."""
    groups: int | None = getattr(part, "groups", None)
    return row_count(part) if groups is None else float(groups)


def holder_weights(parts: Sequence[Part], variance: float, norm2: float, spread: float) -> Array | None:
    """Weights for adding up holders whose noise differs, None if they deserve the same.

    Per predictor, a holder's h has signal n·v and variance σ²·n·v + s²‖c‖²/2 (v: the predictor's mean square), so that the
    best linear combination weighs it by signal over variance: 1 / (σ² + s²‖c‖² / (2 n v)).
    """
    rows = np.maximum(_steady_counts(parts), _holders(parts))
    noise = np.array([part.noise.off_diagonal**2 for part in parts])
    ratio = noise / rows
    if np.ptp(ratio) <= 1e-9 * np.max(ratio):
        return None
    weights: Array = 1.0 / (variance + ratio * norm2 / spread)
    return weights / np.max(weights)


def _steady_counts(parts: Sequence[Part]) -> Array:
    """Numbers of rows; noisy ones are drawn together as far as their differences may be noise (James and Stein), or further.

    A weight that follows a noisy number counts that number's noise where it is positive: of J holders with n rows and noise s the
    weighted sum of the numbers is too large by up to k·s·√J / n of its own standard deviations, k being the share of the
    differences that is kept. That is nothing for a few large holders, and would be the largest error of all for thousands of
    small ones. So k is such that it is at most ``MOST_BIAS``. A part may be the sum of several holders': it is these that are
    drawn together.
    """
    sums, holders = np.array([row_count(part) for part in parts]), _holders(parts)
    noise = np.sum([part.noise.corner**2 for part in parts]) / holders.sum()
    if noise == 0 or holders.sum() < 2:
        return sums
    counts = np.concatenate([_counts(part) for part in parts])
    kept = max(0.0, 1.0 - noise / max(float(np.var(counts, ddof=1)), 1e-300))
    # By the mean number: noise and a few large holders make the mean square larger, but most numbers end close to the mean.
    kept = min(kept, MOST_BIAS * max(float(counts.mean()), 0.0) / math.sqrt(noise * len(counts)))
    steady: Array = counts.mean() * holders + kept * (sums - counts.mean() * holders)
    return steady


def _counts(part: Part) -> Array:
    """The number of rows of each holder of a part."""
    counts: Array | None = getattr(part, "counts", None)
    return np.array([row_count(part)]) if counts is None else counts


def _holders(parts: Sequence[Part]) -> Array:
    """How many holders there are in each part."""
    return np.array([len(_counts(part)) for part in parts], dtype=float)


def weighted_sum(weights: Array, parts: Sequence[Part]) -> Array:
    """Σ w·matrix, one part after the other: thousands of matrices are not copied into one array before they are added."""
    total: Array = np.zeros_like(parts[0].matrix)
    for weight, part in zip(weights, parts, strict=True):
        total += weight * part.matrix
    return total


def weighted_variances(weights: Array, parts: Sequence[Part]) -> Array:
    """The variance of the noise in each entry of ``weighted_sum``: three numbers are added up, not matrices."""
    squares = np.array([[part.noise.diagonal, part.noise.off_diagonal, part.noise.corner] for part in parts]) ** 2
    diagonal, off_diagonal, corner = weights**2 @ squares
    size = len(parts[0].matrix)
    variances = np.full((size, size), off_diagonal)
    np.fill_diagonal(variances, diagonal)
    variances[0, 0] = corner
    return variances
