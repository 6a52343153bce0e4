"""Working units for a regression on released columns.

Write the residual in the user's units as ``(target − features @ beta)·a`` for a row ``a`` of released columns. With the QR
decomposition ``features = Q R`` and the response's half width h it equals ``h·c·a`` with

    c = e − Q g,    g = (R beta − Qᵀ target) / h,    e = (target − Q Qᵀ target) / h,    Qᵀe = 0.

So ``g`` are coefficients for orthonormal predictors: well scaled whatever the user's units, and symmetric Gaussian noise on
the matrix stays symmetric Gaussian noise in these coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
        user: Array = in_user_units(working, self.arrays, np)
        return user

    @property
    def arrays(self) -> dict[str, Array]:
        """What `in_user_units` needs."""
        return {"slope": self.slope, "offset": self.offset, "half_width": np.array(self.half_width)}


def in_user_units(working: Any, coordinates: Mapping[str, Any], xp: Any) -> Any:
    """`Coordinates.to_user`, for NumPy and for JAX."""
    beta = working[..., :-1] @ coordinates["slope"].T + coordinates["offset"]
    return xp.concatenate([beta, coordinates["half_width"] * xp.abs(working[..., -1:])], axis=-1)
