"""A linear regression as in paper 002: S = Σ xxᵀ, z = Σ xy and t = Σ y² of each holder, each with independent normal noise.

Alparslan, Yıldırım and Birbil (2023) and Bernstein and Sheldon (2019) start from these. Statistics of a ``gram`` release are in
the basis of ``posterior.linear.coordinates``, where x = (1, x₁, …) and y is the response's own direction; a study can also build
them as the paper does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.posterior.contributions import rotation_invariant, row_count
from noisewise.posterior.linear.coordinates import RowBasis
from noisewise.posterior.request import Request
from noisewise.words import option


@dataclass(frozen=True)
class HolderStatistics:
    """The noisy statistics of J holders, and the variances of their noise."""

    gram: Array
    """Ŝ_j, (J, m, m)."""
    cross: Array
    """ẑ_j, (J, m)."""
    total: Array
    """t̂_j, (J)."""
    rows: Array
    """Numbers of rows: exact, or released with noise."""
    gram_variance: Array
    """(J, m, m): independent noise on the upper triangle; the corner is 0 where the number of rows is exact."""
    cross_variance: Array
    """(J): the same for every entry of ẑ_j."""
    total_variance: Array
    """(J); infinite where Σ y² was not released."""
    constant: bool
    """True if the first of the m predictors is the constant 1."""


class HalfNormal(NamedTuple):
    """A prior for σ, the residual's standard deviation: |N(0, scale²)|."""

    scale: float


class InverseGamma(NamedTuple):
    """The paper's prior for σ²."""

    shape: float
    rate: float


@dataclass(frozen=True)
class LinearProblem:
    """Statistics and the model y = θᵀx + N(0, σ²), with θ = effects @ g + offset and a normal prior for g."""

    statistics: HolderStatistics
    effects: Array
    """(m, p); the identity if the coefficients are θ themselves."""
    offset: Array
    prior_mean: Array
    prior_precision: Array
    sigma_prior: HalfNormal | InverseGamma
    sigma_scale: float = 1.0
    """The working σ of ``coordinates`` is this times the σ of this problem."""
    response_bound: float = 1.0
    """A public bound on |y| in these units (‖Y‖ in the paper)."""

    @classmethod
    def of(cls, request: Request) -> LinearProblem:
        """Build the problem for a request on a ``gram`` release; the paper's methods need Gaussian noise."""
        contributions = request.release.contributions
        if not all(rotation_invariant(one.noise) for one in contributions):
            raise FitError("this method needs Gaussian noise", argument="method",
                           found="another mechanism",
                           remedy="use " + option("method", "conditional") + ", or release with a delta")
        if any(getattr(one, "average", 1) > 1 for one in contributions):
            raise FitError("this method does not support averaged rows", argument="method",
                           found="an averaged release",
                           remedy="use " + option("method", "conditional") + " or " + option("method", "collapsed"))
        basis = RowBasis.of(request.coordinates)
        matrices = np.array([basis.project(one) for one in contributions])
        size = basis.features + 1
        noise = np.array([one.noise.diagonal**2 for one in contributions])
        variance = np.array([one.noise.variances(size) for one in contributions])
        statistics = HolderStatistics(
            gram=matrices[:, :size, :size], cross=matrices[:, :size, size], total=matrices[:, size, size],
            rows=np.array([row_count(one) for one in contributions]), gram_variance=variance, cross_variance=noise / 2,
            total_variance=noise, constant=True,
        )
        given = request.prior.in_coordinates(request.coordinates)
        slope, offset = given["prior_slope"], given["prior_offset"]
        scale = request.coordinates.half_width * basis.response_scale
        return cls(
            statistics, basis.effects, basis.effects_offset, -np.linalg.inv(slope) @ offset, slope.T @ slope,
            HalfNormal(request.prior.sigma / scale), basis.response_scale, 1.0 / basis.response_scale,
        )
