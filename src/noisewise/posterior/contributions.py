"""The holders' contributions as the likelihoods see them (matrix, number of rows, noise), and a weight for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from noisewise.arrays import Array

if TYPE_CHECKING:
    from noisewise.releases.contents.gram import EntryNoise, MatrixContribution

Contribution: TypeAlias = "MatrixContribution"
Contributions: TypeAlias = Sequence[Contribution]

MOST_BIAS: Final = 0.1
"""Largest bias of the weighted number of rows, in its standard deviations, from weights that depend on noisy numbers of rows."""


def rotation_invariant(noise: EntryNoise) -> bool:
    """True if the noise has variance s² on the diagonal and s²/2 off it, uncorrelated: the same in every orthonormal basis.

    That holds for symmetric Gaussian noise, and for Wishart noise with s² = 2kB⁴, which matches a Gaussian in its first two
    moments only.
    """
    return (
        noise.distribution in ("gaussian", "wishart")
        and math.isclose(noise.diagonal**2, 2 * noise.off_diagonal**2, rel_tol=1e-9)
        and (noise.corner == 0 or math.isclose(noise.corner, noise.diagonal, rel_tol=1e-9))
    )


def row_count(contribution: Contribution) -> float:
    """Return the number of rows: exact if public, otherwise the released noisy one."""
    return float(contribution.matrix[0, 0] if contribution.rows is None else contribution.rows)


def residual_rows(contribution: Contribution) -> float:
    """Return the number of independent residuals behind the matrix: rows, or the groups in which rows were averaged."""
    groups: int | None = getattr(contribution, "groups", None)
    return row_count(contribution) if groups is None else float(groups)


def holder_weights(contributions: Contributions, variance: float, norm2: float, spread: float) -> Array | None:
    """Return weights for adding up holders with different noise, or None if all weights are equal.

    Per predictor, a holder's h has signal n·v and variance σ²·n·v + s²‖c‖²/2 (v: the predictor's mean square). So the
    best linear combination weighs it by signal over variance: 1 / (σ² + s²‖c‖² / (2 n v)).
    """
    counts = [_counts(one) for one in contributions]
    rows = np.maximum(_steady_counts(contributions, counts), [len(each) for each in counts])
    noise = np.array([one.noise.off_diagonal**2 for one in contributions])
    ratio = noise / rows
    if np.ptp(ratio) <= 1e-9 * np.max(ratio):
        return None
    weights: Array = 1.0 / (variance + ratio * norm2 / spread)
    return weights / np.max(weights)


def _counts(contribution: Contribution) -> Array:
    """Return each holder's number of rows; a contribution may be the sum of several holders'."""
    counts: Array | None = getattr(contribution, "counts", None)
    return np.array([row_count(contribution)]) if counts is None else counts


def _steady_counts(contributions: Contributions, each: Sequence[Array]) -> Array:
    """Return numbers of rows, with noisy ones shrunk towards their mean: as James and Stein do, or further.

    A weight that depends on a noisy number favours positive noise. For J holders with n rows and noise s, the weighted sum of the
    numbers is too large by up to k·s·√J / n of its own standard deviations, where k is the share of the differences that is kept.
    That is negligible for a few large holders, but would be the largest error of all for thousands of small ones. So k is chosen
    to keep it at most ``MOST_BIAS``. ``each`` has the numbers to shrink: those of all holders, including holders whose
    contributions were added up.
    """
    sums, holders = np.array([row_count(one) for one in contributions]), np.array([len(own) for own in each], dtype=float)
    noise = np.sum([one.noise.corner**2 for one in contributions]) / holders.sum()
    if noise == 0 or holders.sum() < 2:
        return sums
    counts = np.concatenate(each)
    kept = max(0.0, 1.0 - noise / max(float(np.var(counts, ddof=1)), 1e-300))
    # Use the mean number: noise and a few large holders raise the mean square, but most numbers end close to the mean.
    kept = min(kept, MOST_BIAS * max(float(counts.mean()), 0.0) / math.sqrt(noise * len(counts)))
    steady: Array = counts.mean() * holders + kept * (sums - counts.mean() * holders)
    return steady


def weighted_sum(weights: Array, contributions: Contributions) -> Array:
    """Return Σ w·matrix, added one by one, so that thousands of matrices are not copied into one array."""
    total: Array = np.zeros_like(contributions[0].matrix)
    for weight, one in zip(weights, contributions, strict=True):
        total += weight * one.matrix
    return total


def weighted_variances(weights: Array, contributions: Contributions) -> Array:
    """The variance of the noise in each entry of ``weighted_sum``: three numbers are added up, not matrices."""
    squares = np.array([[one.noise.diagonal, one.noise.off_diagonal, one.noise.corner] for one in contributions]) ** 2
    diagonal, off_diagonal, corner = weights**2 @ squares
    size = len(contributions[0].matrix)
    variances = np.full((size, size), off_diagonal)
    np.fill_diagonal(variances, diagonal)
    variances[0, 0] = corner
    return variances
