"""LᵀΩ⁻¹L and log|Ω| for many models at once, where L are columns of (Ŵ_aa, Ŵ_av) and Ω = σ² S + Cov(E c) as in ``evidence``.

Noise has one variance v off the diagonal and another on it. With features F and the diagonal's excess x over 2v,

    Cov(Fᵀ E c) = v ‖c‖² FᵀF + v (Fᵀc)(Fᵀc)ᵀ + Σ x_i c_i² (Fᵀe_i)(Fᵀe_i)ᵀ.

In the basis in which S and FᵀF are both diagonal, Ω is diagonal plus a matrix of low rank. The rank is two for symmetric Gaussian
noise, where x is 0 except for a public number of rows. Otherwise it is the model's number of columns, because c is 0 elsewhere.
A model of k columns then costs about k² d operations instead of d³. If columns of the formula are combinations of released ones,
Ω is inverted directly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.selection.moments import Moments

Places = npt.NDArray[np.int64]
Weighing = Callable[[Array, Places], tuple[Array, Array]]
"""From combinations c (models, released) and columns L (models, columns) to (models, columns, columns) and (models,)."""


def weighing(moments: Moments, both: Array, spread: Array, variance: float) -> Weighing:
    """Choose the algebra; ``both``: (Ŵ_aa, Ŵ_av) in the formula's columns. Ω is in units of σ² = ``variance``."""
    size = len(moments.variances)
    off = float(moments.variances[0, -1])
    excess = np.diagonal(moments.variances) - 2.0 * off
    alike = np.allclose(moments.variances, off * (1.0 + np.eye(size)) + np.diag(excess), rtol=1e-9, atol=0.0)
    single = np.all(np.count_nonzero(moments.features, axis=0) == 1)
    only_first = np.all(np.abs(excess[1:]) <= 1e-9 * off)
    if alike and (single or only_first):
        return _LowRank(moments, both, spread, variance, None if only_first else np.argmax(moments.features != 0.0, axis=0))
    return _Dense(moments, both, spread, variance)


class _Dense:
    def __init__(self, moments: Moments, both: Array, spread: Array, variance: float) -> None:
        self.moments, self.both, self.spread, self.variance = moments, both, spread, variance

    def __call__(self, residual: Array, places: Places) -> tuple[Array, Array]:
        omega = self.spread + self.moments.noise_covariance(residual) / self.variance
        left = np.moveaxis(self.both[:, places], 0, 1)
        return np.swapaxes(left, 1, 2) @ np.linalg.solve(omega, left), np.linalg.slogdet(omega)[1]


class _LowRank:
    """``sources``: the released column that each of the formula's columns is, if the noise of all of them has an excess x."""

    def __init__(self, moments: Moments, both: Array, spread: Array, variance: float, sources: Places | None) -> None:
        lower = np.linalg.cholesky(moments.features.T @ moments.features)
        inverse = np.linalg.inv(lower)
        self.values, vectors = np.linalg.eigh(inverse @ spread @ inverse.T)
        turn = vectors.T @ inverse
        self.seen = np.ascontiguousarray((turn @ both).T)
        self.carried = np.ascontiguousarray((turn @ moments.features.T).T)
        self.log_scale = 2.0 * float(np.sum(np.log(np.diagonal(lower))))
        self.noise = float(moments.variances[0, -1]) / variance
        self.excess = np.diagonal(moments.variances) / variance - 2.0 * self.noise
        self.sources = sources

    def __call__(self, residual: Array, places: Places) -> tuple[Array, Array]:
        if self.sources is None:
            uneven: Places = np.zeros((len(residual), 1), dtype=np.int64)
        else:
            uneven = self.sources[places[:, :-1]]
        weight = 1.0 / (self.values + self.noise * np.sum(residual**2, axis=1)[:, None])
        left = self.seen[places]
        scaled = left * weight[:, None, :]
        ranks = np.concatenate([(residual @ self.carried)[:, None], self.carried[uneven]], axis=1)
        strength = np.column_stack([np.full(len(residual), self.noise),
                                    self.excess[uneven] * np.take_along_axis(residual, uneven, axis=1) ** 2])[:, :, None]
        across = scaled @ np.swapaxes(ranks, 1, 2)
        inner = np.eye(ranks.shape[1]) + strength * ((ranks * weight[:, None, :]) @ np.swapaxes(ranks, 1, 2))
        taken = across @ np.linalg.solve(inner, strength * np.swapaxes(across, 1, 2))
        log_determinant = self.log_scale - np.sum(np.log(weight), axis=1) + np.linalg.slogdet(inner)[1]
        return scaled @ np.swapaxes(left, 1, 2) - taken, log_determinant
