"""Working units for a regression on released columns, and rows as (1, x, v): bases of the columns that a formula uses.

Write the residual in the user's units as ``(target − features @ beta)·a`` for a row ``a`` of released columns. With the QR
decomposition ``features = Q R`` and the response's half width h it equals ``h·c·a`` with

    c = e − Q g,    g = (R beta − Qᵀ target) / h,    e = (target − Q Qᵀ target) / h,    Qᵀe = 0.

So ``g`` are coefficients for orthonormal predictors: well scaled whatever the user's units, and symmetric Gaussian noise on
the matrix stays symmetric Gaussian noise in these coordinates.

In rows (1, x, v), x has the predictors' directions other than the constant, and v is the response's own direction. In an
orthonormal basis the noise of Σ(1, x)(1, x)ᵀ, of Σ(1, x)v and of Σv² is independent between the three.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from noisewise.arrays import Array, Namespace, Traced
from noisewise.posterior.contributions import Contribution
from noisewise.schema import Design


@dataclass(frozen=True)
class Coordinates:
    """The map between coefficients in the user's units and working units: ``beta = slope @ g + offset``."""

    directions: Array
    """Q: orthonormal columns that span the predictors, in released columns."""
    residual: Array
    """e: the part of the response that is orthogonal to the predictors, in units of its half width."""
    slope: Array
    offset: Array
    half_width: float

    @classmethod
    def of(cls, design: Design) -> Coordinates:
        """The working units of a design."""
        lower, upper = design.response_bounds
        return cls.from_arrays(design.features, design.target, (upper - lower) / 2)

    @classmethod
    def from_arrays(cls, features: Array, target: Array, half_width: float) -> Coordinates:
        """The same from predictors and response as combinations of released columns; predictors must be independent."""
        lengths = np.linalg.norm(features, axis=0)
        directions, triangle = np.linalg.qr(features / lengths)
        along = directions.T @ target
        inverse = np.linalg.solve(triangle, np.eye(len(lengths))) / lengths[:, None]
        return cls(
            directions=directions,
            residual=(target - directions @ along) / half_width,
            slope=half_width * inverse,
            offset=inverse @ along,
            half_width=half_width,
        )

    def rotated(self, rotation: Array) -> Coordinates:
        """The same coordinates with the predictors' directions turned by an orthogonal matrix."""
        return Coordinates(self.directions @ rotation, self.residual, self.slope @ rotation, self.offset, self.half_width)

    def to_user(self, working: Array) -> Array:
        """Convert draws of (g, ±sigma), with any leading axes, to coefficients and sigma in the user's units."""
        return np.asarray(in_user_units(working, self.arrays, np))

    @property
    def arrays(self) -> dict[str, Array]:
        """The arrays that `in_user_units` takes."""
        return {"slope": self.slope, "offset": self.offset, "half_width": np.array(self.half_width)}


@dataclass(frozen=True)
class LinearModel:
    """A density of a linear regression with its arrays, ready to be sampled, and the way back to the user's units."""

    data: Mapping[str, Array]
    coordinates: Coordinates
    rotated: bool
    """True if the noise is symmetric Gaussian noise, which has the same form in every orthonormal basis."""


def in_user_units(working: Traced, coordinates: Mapping[str, Traced], xp: Namespace) -> Traced:
    """`Coordinates.to_user`, for NumPy and for JAX."""
    beta = working[..., :-1] @ coordinates["slope"].T + coordinates["offset"]
    result: Traced = xp.concatenate([beta, coordinates["half_width"] * xp.abs(working[..., -1:])], axis=-1)
    return result


@dataclass(frozen=True)
class RowBasis:
    """The basis, and how the working coefficients g act in it.

    v = θᵀ(1, x) + (residual / ``response_scale``) with θ = ``effects`` @ g + ``effects_offset``; the residual has the
    working σ as its standard deviation.
    """

    matrix: Array
    effects: Array
    effects_offset: Array
    response_scale: float

    @classmethod
    def of(cls, coordinates: Coordinates) -> RowBasis:
        """Build the orthonormal basis: the constant, the directions x, and last v."""
        constant = np.eye(len(coordinates.residual))[:, :1]
        others = np.column_stack([constant, _orthonormal(coordinates.directions - constant @ coordinates.directions[:1])])
        response = coordinates.residual - others @ (others.T @ coordinates.residual)
        basis = np.column_stack([others, response / np.linalg.norm(response)])
        # residual = c·a = e·a − gᵀQᵀa and e·a = ω v + (share of e in (1, x)), so v = (gᵀQᵀa − share + residual) / ω.
        omega = float(basis[:, -1] @ coordinates.residual)
        return cls(basis, others.T @ coordinates.directions / omega, -(others.T @ coordinates.residual) / omega, omega)

    @property
    def features(self) -> int:
        """The number of directions x, without the constant and the response."""
        return int(self.matrix.shape[1]) - 2

    def project(self, contribution: Contribution) -> Array:
        """The released matrix in this basis."""
        projected: Array = self.matrix.T @ contribution.matrix @ self.matrix
        return projected

    def covariance_of(self, variances: Array) -> Array:
        """Covariance of the noise in the entries i ≤ j of the projected matrix, for independent noise on the upper triangle of
        the released one, of these variances."""
        effects = noise_effects(self.matrix)
        result: Array = (effects.T * variances[np.triu_indices(len(variances))]) @ effects
        return result


def noise_effects(basis: Array) -> Array:
    """Effect of noise in the entries k ≤ l of a matrix on the entries i ≤ j of basisᵀ matrix basis, one row for each (k, l)."""
    row, column = np.triu_indices(len(basis))
    i, j = np.triu_indices(basis.shape[1])
    both: Array = basis[row][:, i] * basis[column][:, j] + basis[column][:, i] * basis[row][:, j]
    both[row == column] /= 2.0
    return both


def _orthonormal(columns: Array) -> Array:
    """An orthonormal basis of the columns' span, each vector made from a column and those before it (Gram and Schmidt).

    So a predictor that is a released column has its own direction, and priors for directions are priors for columns.
    """
    found = np.zeros((len(columns), 0))
    for column in columns.T:
        rest = column - found @ (found.T @ column)
        rest -= found @ (found.T @ rest)
        if np.linalg.norm(rest) > 1e-9:
            found = np.column_stack([found, rest / np.linalg.norm(rest)])
    return found
