"""The parts of a release as the likelihoods see them: matrix, number of rows, noise; and how much weight each deserves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


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
    rows = np.maximum(_steady_counts(parts), 1.0)
    noise = np.array([part.noise.off_diagonal**2 for part in parts])
    ratio = noise / rows
    if np.ptp(ratio) <= 1e-9 * np.max(ratio):
        return None
    weights: Array = 1.0 / (variance + ratio * norm2 / spread)
    return weights / np.max(weights)


def _steady_counts(parts: Sequence[Part]) -> Array:
    """Numbers of rows; noisy ones are drawn together as far as their differences may be noise (James and Stein)."""
    counts = np.array([row_count(part) for part in parts])
    noise = np.mean([part.noise.corner**2 for part in parts])
    if noise == 0 or len(parts) < 2:
        return counts
    kept = max(0.0, 1.0 - noise / max(float(np.var(counts, ddof=1)), 1e-300))
    steady: Array = counts.mean() + kept * (counts - counts.mean())
    return steady
