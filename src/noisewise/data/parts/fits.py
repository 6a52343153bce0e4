"""Exact conjugate Bayesian regressions of many parts at once, from their moments.

With likelihood weight w (1, or the number of parts for the posterior quantiles of Li, Srivastava and Dunson), prior precision
Q/σ² and σ² inverse gamma(a, r), the coefficients of a part have a t distribution:

    P = w XᵀX + s Q,   location β = P⁻¹ w Xᵀy,   SSE = w yᵀy − βᵀPβ + 2 s r,   df = w n − p + s (k + 2a),
    scale² = SSE/df P⁻¹,

with p coefficients, k of them with a proper prior, and a share s of the prior (s = 1 is all of it). A share is the ratio of the
prior to the uninformative 1/σ², raised to the power s. So a vanishing share of a proper prior is a flat prior, with df = n − p.

Columns that are collinear within a part, such as a rare level that none of its rows has, do not affect the other coefficients:
the part answers what it can estimate. Anything else has no location (NaN). A part that cannot be fitted at all (too few rows,
numbers that overflow, a perfect fit) is marked as unusable. That is a public rule and not an error, which would reveal something
about the rows.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise.arrays import Array, Flags
from noisewise.schema.partition import INTERCEPT, PartPrior

SMALLEST_EIGENVALUE: Final = 1e-10
"""Of the predictors' moments with a unit diagonal. Below this, columns are collinear as far as doubles can tell."""
LARGEST_LOST: Final = 1e-6
"""The largest share of a combination of coefficients that a part may be unable to estimate and still answer: only rounding."""
SMALLEST_REST: Final = 1e-13
"""The smallest unexplained share of the response's sum of squares. Anything below is rounding."""


@dataclass(frozen=True, eq=False)
class PartFits:
    """The regressions of all parts, in the notation above."""

    location: Array
    """β, for columns relative to ``shift``; shape (parts, coefficients)."""
    spread: Array
    """P⁻¹; shape (parts, coefficients, coefficients)."""
    rest: Array
    """SSE."""
    degrees: Array
    rows: Array
    usable: Flags
    shift: Array
    intercept: bool
    lost: Array
    """The projection of scaled coefficients onto what a part cannot estimate; shape (parts, coefficients, coefficients)."""
    column_scale: Array

    def combination(self, weights: Array) -> tuple[Array, Array]:
        """Location (NaN where unknown) and scale of the t distribution of a combination of coefficients in the user's units."""
        turned = np.tile(weights, (len(self.rows), 1)).astype(np.float64)
        offset = np.zeros(len(self.rows))
        if self.intercept:  # with shifted columns, intercept = shifted intercept − shift·slopes + shift of the response
            turned = turned - weights[0] * self.shift[:, :-1]
            offset = weights[0] * self.shift[:, -1]
        location = np.sum(turned * self.location, axis=1) + offset
        variance = np.sum(turned * (self.spread @ turned[:, :, None])[:, :, 0], axis=1) * self.rest / self.degrees
        return np.where(self.estimable(turned), location, np.nan), np.sqrt(np.maximum(variance, 0.0))

    def estimable(self, combinations: Array) -> Flags:
        """Flags of the parts that can estimate their combination of (shifted) coefficients."""
        scaled = combinations / self.column_scale
        unknown = (self.lost @ scaled[:, :, None])[:, :, 0]
        return np.asarray(np.sum(unknown**2, axis=1) <= LARGEST_LOST**2 * np.sum(scaled**2, axis=1))


def fit_parts(counts: Array, products: Array, shift: Array, terms: tuple[str, ...], prior: PartPrior, *,
              weight: float = 1.0) -> PartFits:
    """Fit all parts. ``weight`` is 1 or the number of parts. The prior is that of the whole table.

    With weight 1 each part has an equal share of the prior, so that all parts together have it once.
    """
    parts, size = len(counts), len(terms)
    intercept = INTERCEPT in terms
    cross, moments = products[:, :size, size], products[:, :size, :size]
    share = weight / parts  # of the prior
    precision = weight * moments + _prior_precision(moments, prior, intercept, weight, share)
    inverse, finite, rank, lost, column_scale = _inverse(precision)
    location = (inverse @ (weight * cross)[:, :, None])[:, :, 0]
    explained = np.sum(location * (precision @ location[:, :, None])[:, :, 0], axis=1)
    total = weight * products[:, size, size]
    rest = total - explained
    proper = 0 if prior.name == "flat" else rank - int(intercept)
    degrees = weight * counts - rank + share * proper
    usable = finite & (counts > rank) & (rank > 0) & np.isfinite(location).all(axis=1) & np.isfinite(total)
    usable &= rest > SMALLEST_REST * total
    if prior.name == "normal-inverse-gamma":
        assert prior.shape is not None and prior.rate is not None
        degrees = degrees + 2.0 * prior.shape * share
        rest = rest + 2.0 * prior.rate * share
    blank = ~usable
    return PartFits(
        location=np.where(blank[:, None], 0.0, location), spread=np.where(blank[:, None, None], np.eye(size), inverse),
        rest=np.where(blank, 1.0, rest), degrees=np.where(blank, 1.0, degrees), rows=counts, usable=usable,
        shift=np.where(blank[:, None], 0.0, shift), intercept=intercept, lost=np.where(blank[:, None, None], 0.0, lost),
        column_scale=column_scale)


def unexplained_shares(fits: PartFits, hypothesis: Array) -> Array:
    """1 − R² of each part, where R² is the share that C β ≠ 0 explains of what the restricted model C β = 0 leaves unexplained.

    ``fits`` must have a flat prior. NaN for parts that cannot estimate all of C β.
    """
    rows = np.tile(hypothesis, (len(fits.rows), 1, 1))
    known = np.logical_and.reduce([fits.estimable(rows[:, place]) for place in range(len(hypothesis))])
    estimate = rows @ fits.location[:, :, None]
    covariance = rows @ fits.spread @ np.swapaxes(rows, 1, 2)
    inverse, finite, rank, _, _ = _inverse(covariance)
    gain = np.sum(estimate * (inverse @ estimate), axis=(1, 2))
    share = fits.rest / (fits.rest + np.maximum(gain, 0.0))
    known = known & fits.usable & finite & (rank == len(hypothesis)) & np.isfinite(share)
    return np.where(known, np.clip(share, 1e-300, 1.0), np.nan)


def _prior_precision(moments: Array, prior: PartPrior, intercept: bool, weight: float, share: float) -> Array:
    if prior.name == "zellner":
        assert prior.g is not None
        return weight / prior.g * _centred(moments, intercept)
    ridge = np.zeros_like(moments)
    if prior.name == "normal-inverse-gamma":
        assert prior.scale is not None
        slopes = np.arange(int(intercept), moments.shape[1])
        ridge[:, slopes, slopes] = share / prior.scale**2
    return ridge


def _centred(moments: Array, intercept: bool) -> Array:
    """The slopes' moments less what the intercept explains; zeros for the intercept."""
    if not intercept:
        return moments
    rows = np.where(moments[:, :1, :1] > 0.0, moments[:, :1, :1], 1.0)
    centred = moments - moments[:, :, :1] * moments[:, :1, :] / rows
    centred[:, 0, :] = centred[:, :, 0] = 0.0
    return centred


def _inverse(matrices: Array) -> tuple[Array, Flags, Array, Array, Array]:
    """Generalised inverses of symmetric matrices of any scale, each computed separately.

    Also returns flags of the finite matrices, their ranks, the projections onto their null spaces, and the scale of each column,
    which is the unit of that projection.
    """
    size = matrices.shape[1]
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    good: Flags = np.asarray(np.isfinite(matrices).all(axis=(1, 2)) & (diagonal >= 0.0).all(axis=1))
    scale = np.sqrt(np.where(good[:, None] & (diagonal > 0.0), diagonal, 1.0))
    scaled = np.where(good[:, None, None], matrices, np.eye(size)) / (scale[:, :, None] * scale[:, None, :])
    good &= np.isfinite(scaled).all(axis=(1, 2))
    values, vectors = _eigenvectors(np.where(good[:, None, None], scaled, np.eye(size)))
    good &= np.isfinite(values).all(axis=1)
    alive = values > SMALLEST_EIGENVALUE
    turned = np.swapaxes(vectors, 1, 2)
    inverse = (vectors * np.where(alive, 1.0 / np.where(alive, values, 1.0), 0.0)[:, None, :]) @ turned
    lost = (vectors * (~alive)[:, None, :]) @ turned
    return inverse / (scale[:, :, None] * scale[:, None, :]), good, alive.sum(axis=1).astype(np.float64), lost, scale


def _eigenvectors(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors, NaN where a matrix has none. NumPy would raise an error for all matrices."""
    values, vectors = np.full(matrices.shape[:2], np.nan), np.full(matrices.shape, np.nan)
    try:
        values[:], vectors[:] = np.linalg.eigh(matrices)  # in the same memory layout as below, for the same bits
    except np.linalg.LinAlgError:
        for place, matrix in enumerate(matrices):
            with contextlib.suppress(np.linalg.LinAlgError):
                values[place], vectors[place] = np.linalg.eigh(matrix)
    return values, vectors
