"""The default likelihood of a linear regression given noisy Gram matrices: no distribution for the predictors.

Notation as in ``coordinates``: W is the true Gram matrix of the released columns, Ŵ = W + E the released one, c = e − Q g the
residual's combination and S = QᵀWQ. With a flat prior on S the pair

    h = ( QᵀŴc ,  cᵀŴc − nσ² )

is normal with mean 0; its covariance is that of the residuals, σ²S and 2nσ⁴, plus that of (QᵀEc, cᵀEc) and, if n is private, of
its noise. S inside the covariance is the released one, projected to the positive semidefinite cone. The documentation's method
page (docs/methods.md) derives it step by step, and explains why the two parts of h are treated as independent with many
predictors (its step 6), and why σ is sampled with either sign.

The density itself is in ``densities``, in two forms; this module prepares their arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.posterior.contributions import (
    Contributions,
    holder_weights,
    residual_rows,
    rotation_invariant,
    weighted_sum,
    weighted_variances,
)
from noisewise.posterior.kernels.mode import LogDensity, ValueAndGradient, find_mode
from noisewise.posterior.linear.coordinates import Coordinates, LinearModel
from noisewise.posterior.linear.densities import (
    dense_with_gradient,
    log_density_dense,
    log_density_rotated,
    rotated_with_gradient,
    times,
)
from noisewise.posterior.prior import ResolvedPrior

FEW: Final = 13
"""Use both parts of h jointly up to this many predictor columns, including the constant."""
ROUNDING: Final = 1e-11
"""Entries below this fraction of the diagonal are rounding errors."""


def _short(matrix: Array) -> Array:
    """Replace a diagonal matrix by its diagonal, so that a product takes d steps instead of d²."""
    diagonal = np.diag(matrix)
    rest = np.max(np.abs(matrix - np.diag(diagonal)), initial=0.0)
    return diagonal.copy() if rest <= ROUNDING * np.max(np.abs(diagonal), initial=0.0) else matrix


def _turned_prior(slope: Array, offset: Array) -> tuple[Array, Array]:
    """The standard normal vector slope @ g + offset, turned so that its slope is diagonal, if a rotation can do that."""
    lengths2 = _short(slope.T @ slope)
    if lengths2.ndim == 2:
        return slope, offset
    lengths = np.sqrt(lengths2)
    return lengths, (slope / lengths).T @ offset


@dataclass(frozen=True)
class ConditionalModel(LinearModel):
    """A regression on one or several releases, optionally weighted."""

    weights: Array | None = None

    @classmethod
    def of(cls, contributions: Contributions, coordinates: Coordinates, prior: ResolvedPrior,
           weights: Array | None = None) -> ConditionalModel:
        """Add up the holders' matrices (with weights if their noise differs) and express them in working units."""
        w = np.ones(len(contributions)) if weights is None else weights
        matrix = weighted_sum(w, contributions)
        spread = matrix if weights is None else weighted_sum(w**2, contributions)
        variances = weighted_variances(w, contributions)
        rows = np.array([residual_rows(one) for one in contributions])
        rotated = all(rotation_invariant(one.noise) for one in contributions)

        values, vectors = np.linalg.eigh(coordinates.directions.T @ spread @ coordinates.directions)
        values = np.maximum(values, 0.0)
        turned = coordinates.rotated(vectors) if rotated else coordinates
        q, e = turned.directions, turned.residual
        given = prior.in_coordinates(turned)
        slope, offset = _turned_prior(given["prior_slope"], given["prior_offset"])
        data = {
            "gram": _short(q.T @ matrix @ q),
            "cross": q.T @ matrix @ e,
            "total": e @ matrix @ e,
            "rows": w @ rows,
            "rows2": max(float(w**2 @ rows), 1.0),
            "corner": variances[0, 0],
            "constant": q[0],
            "jointly": float(len(q.T) <= FEW),
            "prior_slope": slope,
            "prior_offset": offset,
            "prior_sigma2": given["prior_sigma2"],
        }
        if rotated:
            data |= {"eigenvalues": values, "noise": sum(w**2 * [one.noise.diagonal**2 for one in contributions]),
                     "residual_norm2": e @ e, "residual_constant": e[0]}
        else:
            data |= {"eigenmatrix": (vectors * values) @ vectors.T, "variances": variances,
                     "diagonal_variances": np.diag(variances), "directions": q, "residual": e}
        return cls({key: np.asarray(value, dtype=float) for key, value in data.items()}, turned, rotated, weights)

    @property
    def log_density(self) -> LogDensity:
        """The function ``(x, data, xp)`` to sample from."""
        return log_density_rotated if self.rotated else log_density_dense

    @property
    def density_with_gradient(self) -> ValueAndGradient:
        """The log density and its gradient at a point, in NumPy."""
        return partial(rotated_with_gradient if self.rotated else dense_with_gradient, data=self.data)

    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues, in ascending order, and eigenvectors of the predictors' released moments."""
        gram = self.data["gram"]
        if gram.ndim == 2:
            return np.linalg.eigh((gram + gram.T) / 2)
        order = np.argsort(gram)
        return gram[order], np.eye(len(gram))[:, order]

    def start(self) -> tuple[Array, Array]:
        """A rough estimate to start the optimiser from, and a rough scale for each parameter."""
        cross, slope = self.data["cross"], self.data["prior_slope"]
        noise = float(np.sqrt(self.data["noise"] if self.rotated else np.mean(self.data["variances"])))
        values, vectors = self.spectrum()
        ridge = noise * np.sqrt(len(values)) + 1e-6 * max(values[-1], 1.0)
        g = vectors @ ((vectors.T @ cross) / (np.maximum(values, 0.0) + ridge))
        variance = (self.data["total"] - 2 * cross @ g + g @ times(self.data["gram"], g)) / max(float(self.data["rows"]), 1.0)
        variance = float(np.clip(variance, 1e-4, 1.0))
        rows = max(float(self.data["rows2"]), 1.0)
        precision = np.maximum(values[0], 0.0) / variance / (1 + noise**2 / (rows * variance))
        scale = 1.0 / np.sqrt(precision + np.sum(slope**2) / len(g))
        return np.append(g, np.sqrt(variance)), np.append(np.full(len(g), min(scale, 1.0)), 0.1 * np.sqrt(variance))


def weighted_model(contributions: Contributions, coordinates: Coordinates, prior: ResolvedPrior
                   ) -> ConditionalModel:
    """Model all holders together; if their noise per row differs, take their weights from a first fit."""
    weights = holder_weights(contributions, variance=0.1, norm2=1.5, spread=0.3)
    model = ConditionalModel.of(contributions, coordinates, prior, weights)
    if weights is None:
        return model
    point = find_mode(model.density_with_gradient, *model.start()).point
    g, variance = point[:-1], float(point[-1] ** 2)
    spread = float(np.mean(model.spectrum()[0]) / max(float(model.data["rows"]), 1.0))
    norm2 = float(model.coordinates.residual @ model.coordinates.residual + g @ g)
    weights = holder_weights(contributions, variance, norm2, float(np.clip(spread, 0.01, 1.0)))
    return ConditionalModel.of(contributions, coordinates, prior, weights)
