"""What the analysis without privacy noise would have said: draws of the table's own moments given the release.

A draw of model, coefficients and σ says what h = Ŵ_av − Ŵ_aa β and the noisy sum of squared residuals consist of: residuals and
noise. The noise E of the release is drawn as it was made and then corrected so that both come out as they were seen; all being
normal, that gives exactly its distribution given the release. Ŵ − E is a draw of the table's moments, and its inclusion
probabilities are a draw of those of the analysis without privacy. Their mean is the inclusion probability given the release.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from noisewise.selection.averaged import AveragedDraws
from noisewise.selection.evidence import Evidence

Array = npt.NDArray[np.float64]


def moment_draws(evidence: Evidence, drawn: AveragedDraws, count: int, seed: int) -> Iterator[Array]:
    """Matrices of the released columns without noise, for the first ``count`` draws."""
    rng = np.random.default_rng(seed)
    moments = evidence.moments
    root = np.linalg.cholesky(evidence.spread + 1e-12 * np.trace(evidence.spread) * np.eye(len(evidence.spread)))
    sd = np.sqrt(moments.variances)
    for row in drawn.working[:count]:
        beta, variance = row[:-1], row[-1] ** 2
        c = moments.target - moments.features @ beta
        drawn_noise = np.triu(sd * rng.normal(size=sd.shape))
        noise = drawn_noise + np.triu(drawn_noise, 1).T
        residuals = np.sqrt(variance) * root @ rng.normal(size=len(root))
        free = max(moments.rows - len(beta), 1.0)
        squares = variance * rng.chisquare(free)
        seen = moments.matrix @ c
        gap = np.append(moments.features.T @ (seen - noise @ c) - residuals, c @ seen - c @ noise @ c - squares)
        yield moments.matrix - noise - _correction(evidence, c, variance, free, gap)


def _correction(evidence: Evidence, c: Array, variance: float, free: float, gap: Array) -> Array:
    """What is to be added to the noise so that it explains its share of ``gap``."""
    moments = evidence.moments
    sides = np.column_stack([moments.features, c])  # h and the sum of squares are sidesᵀ E c
    covariance = moments.variances * np.outer(c, c)
    np.fill_diagonal(covariance, moments.variances @ c**2)
    total = sides.T @ covariance @ sides
    total[:-1, :-1] += variance * evidence.spread
    total[-1, -1] += 2.0 * free * variance**2
    scale = np.sqrt(np.diagonal(total))  # the sum of squares may be larger by orders of magnitude, and nearly follow from h
    correlation = total / np.outer(scale, scale) + 1e-12 * np.eye(len(scale))
    direction = sides @ (np.linalg.solve(correlation, gap / scale) / scale)
    result = moments.variances * (np.outer(direction, c) + np.outer(c, direction))
    np.fill_diagonal(result, np.diag(moments.variances) * direction * c)
    return np.asarray(result)
