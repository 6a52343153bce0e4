"""Working units for a regression on released columns.

Write the residual in the user's units as ``(target − features @ beta)·a`` for a row ``a`` of released columns. With the QR
decomposition ``features = Q R`` and the response's half width h it equals ``h·c·a`` with

    c = e − Q g,    g = (R beta − Qᵀ target) / h,    e = (target − Q Qᵀ target) / h,    Qᵀe = 0.

So ``g`` are coefficients for orthonormal predictors: well scaled whatever the user's units, and symmetric Gaussian noise on
the matrix stays symmetric Gaussian noise in these coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisewise.schema import Design

Array = npt.NDArray[np.float64]


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
        lower, upper = design.response_bounds
        return cls.from_arrays(design.features, design.target, (upper - lower) / 2)

    @classmethod
    def from_arrays(cls, features: Array, target: Array, half_width: float) -> Coordinates:
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
        """Coefficients and sigma in the user's units from draws of (g, ±sigma), whatever the leading axes."""
        beta = working[..., :-1] @ self.slope.T + self.offset
        return np.concatenate([beta, self.half_width * np.abs(working[..., -1:])], axis=-1)
