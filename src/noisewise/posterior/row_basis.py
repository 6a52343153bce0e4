"""Rows as (1, x, v): an orthonormal basis of the columns that a formula uses.

x are the predictors' directions besides the constant, v is the response's own direction. In an orthonormal basis symmetric
Gaussian noise keeps its form, and the noise of Σ(1, x)(1, x)ᵀ, of Σ(1, x)v and of Σv² is independent between the three.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisewise.posterior.coordinates import Coordinates
from noisewise.posterior.parts import Part

Array = npt.NDArray[np.float64]


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
        constant = np.eye(len(coordinates.residual))[:, :1]
        others = np.column_stack([constant, _orthonormal(coordinates.directions - constant @ coordinates.directions[:1])])
        response = coordinates.residual - others @ (others.T @ coordinates.residual)
        basis = np.column_stack([others, response / np.linalg.norm(response)])
        # residual = c·a = e·a − gᵀQᵀa and e·a = ω v + (share of e in (1, x)), so v = (gᵀQᵀa − share + residual) / ω.
        omega = float(basis[:, -1] @ coordinates.residual)
        return cls(basis, others.T @ coordinates.directions / omega, -(others.T @ coordinates.residual) / omega, omega)

    @property
    def features(self) -> int:
        """The number of directions x, the constant and the response not counted."""
        return int(self.matrix.shape[1]) - 2

    def project(self, part: Part) -> Array:
        """The released matrix in this basis."""
        projected: Array = self.matrix.T @ part.matrix @ self.matrix
        return projected

    def noise_covariance(self, part: Part) -> Array:
        """Covariance of the noise in the entries i ≤ j of the projected matrix, for independent noise on the upper triangle."""
        return self.covariance_of(part.noise.variances(len(self.matrix)))

    def covariance_of(self, variances: Array) -> Array:
        """The same for the variances of the noise in the entries of the released matrix."""
        effects = noise_effects(self.matrix)
        result: Array = (effects.T * variances[np.triu_indices(len(variances))]) @ effects
        return result


def noise_effects(basis: Array) -> Array:
    """What noise in the entries k ≤ l of a matrix does to the entries i ≤ j of basisᵀ matrix basis, one row for each (k, l)."""
    row, column = np.triu_indices(len(basis))
    i, j = np.triu_indices(basis.shape[1])
    both: Array = basis[row][:, i] * basis[column][:, j] + basis[column][:, i] * basis[row][:, j]
    both[row == column] /= 2.0
    return both


def _orthonormal(columns: Array) -> Array:
    """An orthonormal basis of the columns' span, each vector made from a column and those before it (Gram and Schmidt).

    So a predictor that is a released column is a direction of its own, and priors for directions are priors for columns.
    """
    found = np.zeros((len(columns), 0))
    for column in columns.T:
        rest = column - found @ (found.T @ column)
        rest -= found @ (found.T @ rest)
        if np.linalg.norm(rest) > 1e-9:
            found = np.column_stack([found, rest / np.linalg.norm(rest)])
    return found
