"""The mathematics of the predictive check: how far a holder's released statistics may stray from what a fit expects.

In units of half the response's range, c expresses the residual as a combination of the released columns, Ŵ_j is a holder's
released matrix with n_j rows, and D holds the directions to check (the predictors, and columns that the formula leaves out). T_j
averages over the posterior's draws

    h_j(θ) = ( DᵀŴ_j c ,  cᵀŴ_j c − n_j σ² ),      Cov(T_j) = C_j + A_j V A_jᵀ − w_j (A_j V AᵀC⁻¹ C_j + its transpose),

where C_j is the covariance of h_j at the true θ = (β, σ²), V the posterior's covariance, A_j = ∂h_j/∂θ, w the holders' weights in
the fit, A = Σ w_k A_k and C = Σ w_k² C_k. docs/methods.md ("The predictive check") derives this. The covariance at one draw gives
the probability of a value at least as far out as the observed one; a predictive p-value averages that over draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisewise.arrays import Array

LEAST_SHARE = 0.25
"""Smallest share of C_j that Cov(T_j) may shrink to. A holder that determines most of the fit would leave less; the floor makes
the check report fewer problems there."""


@dataclass(frozen=True)
class Statistics:
    """The released statistics of J holders, and the draws (coefficients, variance) that should explain them."""

    matrices: Array
    """Ŵ_j: (J, size, size)."""
    counts: Array
    """n_j as released, noisy unless it is public; the number of groups if rows were averaged."""
    noise: Array
    """Noise variances of the entries off the diagonal, on it, and in the corner: (J, 3)."""
    features: Array
    """The predictors as combinations of released columns."""
    directions: Array
    """D: first columns that span the predictors' space, one per predictor; then the columns left out of the formula."""
    own: Array
    """The combinations of h that are shown for each holder: (J, directions + 1, directions + 1)."""
    residuals: Array
    """c for each draw: (draws, size)."""
    coefficients: Array
    """β for each draw, in the residual's units: c = target − features @ β."""
    variances: Array
    """σ² for each draw."""

    @property
    def rows(self) -> Array:
        """n_j, at least 1."""
        return np.maximum(self.counts, 1.0)

    def averages(self) -> Array:
        """T, the average of h over the draws: (J, directions + 1)."""
        mean = self.residuals.mean(axis=0)
        products = self.residuals.T @ self.residuals / len(self.residuals)
        along = np.einsum("ak,jab,b->jk", self.directions, self.matrices, mean, optimize=True)
        squares = np.einsum("jab,ab->j", self.matrices, products) - self.counts * self.variances.mean()
        return np.column_stack([along, squares])

    def slopes(self) -> Array:
        """A, the derivatives of h with respect to (β, σ²): (J, directions + 1, predictors + 1)."""
        mean = self.residuals.mean(axis=0)
        products = np.einsum("jab,bp->jap", self.matrices, self.features)
        along = -np.einsum("ak,jap->jkp", self.directions, products)
        last = -2.0 * np.einsum("a,jap->jp", mean, products)
        slopes = np.zeros((len(self.rows), along.shape[1] + 1, along.shape[2] + 1))
        slopes[:, :-1, :-1], slopes[:, -1, :-1], slopes[:, -1, -1] = along, last, -self.counts
        return slopes

    def spread(self) -> Array:
        """DᵀS̃_jD: the released matrix, projected onto the positive semidefinite cone."""
        grams = np.einsum("ak,jab,bl->jkl", self.directions, self.matrices, self.directions, optimize=True)
        # Only a scale for each direction. Noise may have made a sum of squares negative, so use the sizes of all entries.
        lengths = np.sqrt(np.maximum(np.abs(grams).mean(axis=(0, 2)), np.finfo(float).tiny ** 0.25))
        values, vectors = np.linalg.eigh(grams / np.outer(lengths, lengths))
        positive = np.einsum("jka,ja,jla->jkl", vectors, np.maximum(values, 0.0), vectors)
        return np.asarray(positive * np.outer(lengths, lengths))

    def weights(self) -> Array:
        """The holders' weights in the fit: more noise per row means less weight."""
        orthonormal = np.linalg.qr(self.features / np.linalg.norm(self.features, axis=0))[0]
        mean = self.residuals.mean(axis=0)
        gram = np.einsum("ap,jab,bp->", orthonormal, self.matrices, orthonormal)
        spread = float(np.clip(gram / orthonormal.shape[1] / self.rows.sum(), 0.01, 1.0))
        weights = 1.0 / (self.variances.mean() + self.noise[:, 0] * (mean @ mean) / (self.rows * spread))
        return np.asarray(weights / weights.max())

    def covariances(self, draw: int, spread: Array) -> Array:
        """C for every holder at one draw: (J, directions + 1, directions + 1)."""
        c, variance = self.residuals[draw], self.variances[draw]
        kinds = np.stack(noise_covariances(c, variance, self.directions))
        result = np.einsum("ji,ikl->jkl", self.noise, kinds)
        result[:, :-1, :-1] += variance * spread
        result[:, -1, -1] += 2.0 * self.rows * variance**2
        return np.asarray(result)


def covariance_root(theta: Array) -> Array:
    """Return F such that F Fᵀ is the covariance of the draws (draws, parameters)."""
    away = theta - theta.mean(axis=0)
    sd = away.std(axis=0)
    # A parameter that never moves (one draw, or a method that fixes sigma) varies by rounding at most; treat it as constant.
    standard = np.where(sd > 1e-12 * np.abs(theta).max(axis=0), away / np.maximum(sd, np.finfo(float).tiny), 0.0)
    values, vectors = np.linalg.eigh(standard.T @ standard / len(theta))
    return np.asarray(sd[:, None] * vectors * np.sqrt(np.maximum(values, 1e-12)))


def noise_covariances(c: Array, variance: float, directions: Array) -> tuple[Array, Array, Array]:
    """Covariance of (Dᵀ E c, cᵀ E c − σ² E₀₀) for noise E of variance 1 off the diagonal only, on it only, in the corner only."""
    squares, norm2 = c**2, float(c @ c)
    on = squares.copy()
    on[0] = 0.0
    first = np.zeros_like(c)
    first[0] = 1.0
    off = _bordered(directions, np.diag(norm2 - 2.0 * squares) + np.outer(c, c), 2.0 * c * (norm2 - squares),
                    2.0 * (norm2**2 - float(squares @ squares)))
    diagonal = _bordered(directions, np.diag(on), on * c, float(on @ on))
    gap = squares[0] - variance
    corner = _bordered(directions, squares[0] * np.outer(first, first), c[0] * gap * first, gap**2)
    return off, diagonal, corner


def _bordered(directions: Array, block: Array, border: Array, last: float) -> Array:
    size = directions.shape[1] + 1
    result = np.empty((size, size))
    result[:-1, :-1] = directions.T @ block @ directions
    result[:-1, -1] = result[-1, :-1] = directions.T @ border
    result[-1, -1] = last
    return result


@dataclass(frozen=True)
class Reference:
    """Covariances of T at one draw, for each holder (in its own combinations) and for all together."""

    holders: Array
    """Cov(T_j): (J, directions + 1, directions + 1)."""
    together: Array
    """Cov(Σ T_j)."""
    agreement: tuple[float, float]
    """The squared length of all fitted T_j, and its degrees of freedom."""


def references(statistics: Statistics, draws: Sequence[int]) -> Iterator[Reference]:
    """Yield the covariances at each of the given draws."""
    predictors = statistics.features.shape[1]
    fitted = np.append(np.arange(predictors), statistics.directions.shape[1])  # the statistics that the fit used
    slopes, spread, weights = statistics.slopes(), statistics.spread(), statistics.weights()
    root = covariance_root(np.column_stack([statistics.coefficients, statistics.variances]))
    observed = statistics.averages()[:, fitted]
    for draw in draws:
        yield reference(statistics.covariances(draw, spread), slopes, weights, root, observed, fitted, statistics.own)


def reference(c: Array, slopes: Array, weights: Array, root: Array, observed: Array, fitted: NDArray[np.intp], own: Array
              ) -> Reference:
    """Compute the covariances of T from C_j, A_j, w_j, a root of the posterior's covariance, and the ``fitted`` T_j."""
    least = LEAST_SHARE if len(weights) > 1 else 1.0
    total = np.einsum("j,jkl->kl", weights**2, c[:, fitted][:, :, fitted])
    gain = _gain(np.einsum("j,jkp->kp", weights, slopes[:, fitted]), total, root)
    # Count at most the likelihood's own covariance: wider draws (from an inefficient method) explain no more than that.
    fit = np.einsum("jkp,pq,jlq->jkl", slopes, gain.posterior, slopes, optimize=True)
    cross = np.einsum("j,jkp,pf,jfl->jkl", weights, slopes, gain.matrix, c[:, fitted], optimize=True)
    all_slopes = slopes.sum(axis=0)
    all_cross = all_slopes @ gain.matrix @ np.einsum("j,jfl->fl", weights, c[:, fitted])
    return Reference(
        holders=own @ at_least(c + fit - cross - cross.transpose(0, 2, 1), c, least) @ own.transpose(0, 2, 1),
        together=at_least((c.sum(axis=0) + all_slopes @ gain.posterior @ all_slopes.T - all_cross - all_cross.T)[None],
                           c.sum(axis=0)[None], least)[0],
        agreement=_agreement(observed, c[:, fitted][:, :, fitted], slopes[:, fitted], weights, gain),
    )


def _agreement(observed: Array, covariances: Array, slopes: Array, weights: Array, gain: _Gain) -> tuple[float, float]:
    """Return the squared length of all T_j together, in units of their joint covariance, and its degrees of freedom.

    Let R_j be a root of C_j. In units where every C_j is the identity, the covariance is M = I + B V Bᵀ − B Dᵀ − D Bᵀ with
    B_j = R_j⁻¹A_j and D_j = w_j R_jᵀ(V AᵀC⁻¹)ᵀ, which differs from the identity only on the span of B and D. Directions that the
    fit has used up (variance below ``LEAST_SHARE``) are left out. Where the holders' predictors differ, other directions have a
    variance far above 1.
    """
    root = whitening_root(covariances)
    values = np.linalg.solve(root, observed[:, :, None]).ravel()
    followed = weights[:, None, None] * (root.transpose(0, 2, 1) @ gain.matrix.T)
    sides = np.concatenate([np.linalg.solve(root, slopes), followed], axis=2).reshape(len(values), -1)
    one = np.eye(len(gain.posterior))
    lengths = np.maximum(np.linalg.norm(sides, axis=0), np.finfo(float).tiny)
    span, triangle = np.linalg.qr(sides / lengths)
    scaled = triangle * lengths
    inner = scaled @ np.block([[gain.posterior, -one], [-one, np.zeros_like(one)]]) @ scaled.T
    variances, vectors = np.linalg.eigh(np.eye(len(inner)) + (inner + inner.T) / 2)
    along = vectors.T @ (span.T @ values)
    kept = variances > LEAST_SHARE
    outside = float(values @ values - along @ along) if len(values) > len(along) else 0.0
    return outside + float(np.sum(along[kept] ** 2 / variances[kept])), float(len(values) - len(along) + kept.sum())


@dataclass(frozen=True)
class _Gain:
    posterior: Array
    """V."""
    matrix: Array
    """V AᵀC⁻¹."""


def _gain(slope: Array, covariance: Array, root: Array) -> _Gain:
    sd = np.sqrt(np.diag(covariance))
    whitened = (slope / sd[:, None]) @ root
    correlation = covariance / np.outer(sd, sd) + 1e-10 * np.eye(len(sd))
    values, vectors = np.linalg.eigh(whitened.T @ np.linalg.solve(correlation, whitened))
    turned = root @ vectors
    posterior = (turned * np.minimum(1.0, 1.0 / np.maximum(values, 1e-300))) @ turned.T
    return _Gain(posterior, posterior @ np.linalg.solve(correlation, slope / sd[:, None]).T / sd)


def at_least(covariances: Array, bounds: Array, share: float) -> Array:
    """Raise the covariances to a share of the bounds in every direction where they fall below it."""
    root = whitening_root(bounds)
    inside = np.linalg.solve(root, np.linalg.solve(root, covariances).transpose(0, 2, 1))
    values, vectors = np.linalg.eigh((inside + inside.transpose(0, 2, 1)) / 2)
    turned = root @ vectors
    return np.asarray(np.einsum("jka,ja,jla->jkl", turned, np.maximum(values, share), turned))


def squared_lengths(covariances: Array, values: Array) -> Array:
    """Squared length of each holder's values, in units of their covariance."""
    whitened = np.linalg.solve(whitening_root(covariances), values[:, :, None])[:, :, 0]
    return np.asarray(np.sum(whitened**2, axis=1))


def whitening_root(covariances: Array) -> Array:
    """Cholesky factors of matrices whose entries may differ by orders of magnitude."""
    sd = np.sqrt(np.einsum("jkk->jk", covariances))
    correlation = covariances / (sd[:, :, None] * sd[:, None, :]) + 1e-9 * np.eye(covariances.shape[1])
    return np.asarray(sd[:, :, None] * np.linalg.cholesky(correlation))
