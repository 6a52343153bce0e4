"""The estimators LM, LMT, WM and WMT of Peña and Barrientos: make a noisy matrix positive definite and treat it as exact.

Terms kept in every model are partialled out of the noisy matrix by a Schur complement, which leaves G* = G + E in the other
predictors and the response. (The paper centres the rows at their own means before adding noise, as if that were free; its
sensitivity ignores that the means change with every row.) Then

    LM, WM     G* + r I
    LMT, WMT   the same with entries off the diagonal set to 0 where they are smaller than the 99th percentile of |E_ij|

with r the 99th percentile of |λ_min(E)|; the paper takes that of λ_min(E), which is negative. For Wishart noise it refers to
Remark 2 of Sheffet (2019), which we take to be the bound of Davidson and Szarek. With q columns

    λ_min(N) ≥ B² (√k − √q − √(2 log(4/δ)))²   except with probability δ/4,   hence   r = B² (k − (√k − √q − √(2 log(4/δ)))²).

If a matrix is still not positive definite, r is 3 |λ_min| instead. The analysis that follows ignores the noise; see ``evidence``
for one that accounts for it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.literature.noise_laws import PUBLIC_SEED, WISHART, NoiseLaw, nested
from noisewise.selection.averaged import averaged_draws
from noisewise.selection.evidence import Evidence
from noisewise.selection.methods import Asked, Found, percent
from noisewise.selection.moments import Moments, exact_moments
from noisewise.selection.probabilities import weigh

Nested = tuple[tuple[float, ...], ...]

LEVEL: Final = 0.99
FALLBACK: Final = 3.0


def ridge(asked: Asked) -> Found:
    """LM and WM: treat the noisy moments with a ridge as the table's own."""
    return _taken_for_exact(asked, ridge_moments(asked))


def thresholded(asked: Asked) -> Found:
    """LMT and WMT: like `ridge`, with small entries set to 0."""
    return _taken_for_exact(asked, thresholded_moments(asked))


def ridge_moments(asked: Asked) -> Moments:
    """Return the moments that `ridge` treats as exact."""
    return regularised(asked.moments, NoiseLaw.of(asked.contributions, asked.units), threshold=False)


def thresholded_moments(asked: Asked) -> Moments:
    """Return the moments that `thresholded` treats as exact."""
    return regularised(asked.moments, NoiseLaw.of(asked.contributions, asked.units), threshold=True)


def _taken_for_exact(asked: Asked, moments: Moments) -> Found:
    evidence = Evidence(moments, asked.groups, asked.prior)
    weighed = weigh(evidence, asked.log_prior, asked.seeds[0], percent(asked.tick, 0, 100))
    return Found(weighed, averaged_draws(evidence, weighed.members, weighed.probabilities, asked.draws, asked.seeds[1]))


def regularised(moments: Moments, noise: NoiseLaw, *, threshold: bool, level: float = LEVEL) -> Moments:
    """Repair the noisy moments as the paper does; the result is in the formula's columns and counts as free of noise."""
    if not 0.0 < level < 1.0:
        raise FitError("level must be > 0 and < 1", argument="level", found=repr(level))
    noise.check_variances(moments.variances)
    both = np.column_stack([moments.features, moments.target])
    seen, kept = both.T @ moments.matrix @ both, moments.kept
    first = _above_zero(seen[:kept, :kept], 0.0)
    slopes: Array = np.asarray(np.linalg.solve(first, seen[:kept, kept:]), dtype=np.float64)
    explained = seen[:kept, kept:].T @ slopes
    ridge, limits = noise_percentiles(noise, both, kept, slopes, level)
    rest = repaired(seen[kept:, kept:] - explained, ridge, limits if threshold else None)
    return exact_moments(moments, np.block([[first, seen[:kept, kept:]], [seen[:kept, kept:].T, rest + explained]]))


def repaired(matrix: Array, ridge: float, limits: Array | None) -> Array:
    """Set off-diagonal entries below ``limits``, if any, to 0, and add a ridge to the diagonal."""
    if limits is not None:
        off_diagonal = ~np.eye(len(matrix), dtype=bool)
        matrix = np.where(off_diagonal & (np.abs(matrix) < limits), 0.0, matrix)
    return _above_zero((matrix + matrix.T) / 2, ridge)


def _above_zero(matrix: Array, ridge: float) -> Array:
    if not len(matrix):
        return matrix
    values = np.linalg.eigvalsh(matrix)
    least, tiny = float(values[0]), 1e-12 * max(float(np.abs(values).max()), 1e-300)
    if least + ridge <= tiny:
        ridge = max(FALLBACK * abs(least), 2.0 * tiny)
    return np.asarray(matrix + ridge * np.eye(len(matrix)))


MEANS_GRID: Final = 0.1
"""Round means to this share of half a range before simulating percentiles, so that most releases share cached simulations."""


def noise_percentiles(noise: NoiseLaw, both: Array, kept: int, slopes: Array, level: float) -> tuple[float, Array]:
    """Return r, and the percentile of |E_ij| for each entry, after partialling out the kept columns with these slopes.

    To first order the noise of the Schur complement is RᵀER, where R holds the columns less their regression on the kept ones.
    """
    about = MEANS_GRID * np.round(slopes / MEANS_GRID)
    combinations = both[:, kept:] - both[:, :kept] @ about
    least, limits = _simulated(noise, nested(combinations), level)
    analytic = _wishart_ridge(noise, combinations)
    return (least if analytic is None else analytic), np.array(limits)


DRAWS: Final = 20_000
LOT: Final = 500
MOST_NUMBERS: Final = 3e7
"""Limit on simulated numbers (240 MB). From 40 columns on this reduces the number of draws, to 3000 for 100 columns."""


@lru_cache(maxsize=64)
def _simulated(noise: NoiseLaw, combinations: Nested, level: float) -> tuple[float, Nested]:
    columns = np.array(combinations)
    rng = np.random.default_rng(PUBLIC_SEED)
    draws = int(min(DRAWS, MOST_NUMBERS / columns.shape[1] ** 2))
    entries = np.concatenate([columns.T @ noise.draw(LOT, rng) @ columns for _ in range(-(-draws // LOT))])
    least = np.abs(np.linalg.eigvalsh(entries)[:, 0])
    return float(np.quantile(least, level)), nested(np.quantile(np.abs(entries), level, axis=0))


def _wishart_ridge(noise: NoiseLaw, combinations: Array) -> float | None:
    """Return the analytic r if all noise is Wishart noise of one scale."""
    if len(noise.components) != 1 or noise.components[0].distribution != WISHART or not noise.components[0].delta:
        return None
    component = noise.components[0]
    below = wishart_ridge(component.degrees, component.scale, combinations.shape[1], component.delta)
    return below * float(np.linalg.eigvalsh(combinations.T @ combinations)[-1])


def wishart_ridge(degrees: int, scale: float, columns: int, delta: float) -> float:
    """Bound how far the smallest eigenvalue of N − E N lies below 0, except with probability δ/4."""
    root = math.sqrt(degrees) - math.sqrt(columns) - math.sqrt(2.0 * math.log(4.0 / delta))
    return scale * (degrees - max(root, 0.0) ** 2)
