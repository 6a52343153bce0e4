"""Moments that a table could have had, given the release: draws of ``released_moments`` made positive definite.

Where the noise hides the predictors' moments S, a draw of all moments has negative eigenvalues. To raise them alone would make
predictors that explain the response completely. What is known of a draw is more: its coefficients β, σ, the residuals' sums of
products with the predictors r = W_av − S β, of which S^(−½) r / σ is standard normal, and the sum of squared residuals q. So S is
made positive definite, r is carried over to the new S, and the response's moments are put together again:

    W_av = S β + r,      W_vv = q + 2 βᵀr + βᵀS β.

Where S is positive definite, and the same as that of the residuals' covariance, this changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.selection.averaged import AveragedDraws
from noisewise.selection.evidence import Evidence
from noisewise.selection.released_moments import moment_draws

Array = npt.NDArray[np.float64]

LEAST: Final = 1e-6
"""The smallest eigenvalue, as a share of the largest."""
LEAST_REST: Final = 0.01
"""What the predictors leave unexplained is at least this share of n σ²."""


def possible_tables(evidence: Evidence, drawn: AveragedDraws, count: int, seed: int) -> Iterator[Array]:
    """Positive definite matrices in the formula's columns, the response last, for the first ``count`` draws."""
    rng = np.random.default_rng([seed, 1])
    values, vectors = np.linalg.eigh(evidence.spread)
    seen = values > LEAST * values[-1]
    whiten = vectors.T / np.sqrt(np.where(seen, values, 1.0))[:, None]
    for matrix, row in zip(moment_draws(evidence, drawn, count, seed), drawn.working, strict=False):
        beta, sigma = row[:-1], float(row[-1])
        features = evidence.moments.features
        residual = evidence.moments.target - features @ beta
        across = features.T @ matrix @ residual
        standard = np.where(seen, whiten @ across / sigma, rng.normal(size=len(across)))
        rest = float(residual @ matrix @ residual) - sigma**2 * float(standard[seen] @ standard[seen])
        rest = max(rest, LEAST_REST * evidence.moments.rows * sigma**2)
        yield _table(features.T @ matrix @ features, beta, sigma * vectors @ standard, rest)


def _table(gram: Array, beta: Array, standard: Array, rest: float) -> Array:
    """``standard``: S^(−½) r. Eigenvalues keep their size and lose their sign: a normal number about 0, made positive."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    values = np.maximum(np.abs(values), LEAST * np.abs(values).max())
    positive = (vectors * values) @ vectors.T
    across = (vectors * np.sqrt(values)) @ (vectors.T @ standard)
    cross = positive @ beta + across
    total = rest + float(standard @ standard) + float(beta @ (cross + across))
    return np.block([[positive, cross[:, None]], [cross[None], np.array([[total]])]])
