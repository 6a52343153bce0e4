"""``adassp``: a ridge estimate from `adassp` releases (Wang 2018; Alparslan, Yıldırım and Birbil 2023, appendix C.2).

In the working units of `Coordinates`, with a noisy Gram matrix Ŝ_j and noisy sums ẑ_j of each holder,

    g = (Σ Ŝ_j + I Σ λ_j)⁻¹ Σ ẑ_j.

The ridge λ_j is the most by which the noise of Ŝ_j is likely to lower its smallest eigenvalue, less a lower bound on that
eigenvalue:

    λ_j = max(0, s √(d ln(2d²/ρ)) − λ̃_j),    λ̃_j = max(0, λ̂_j − √ln(6/δ) s_λ).

s and s_λ are the standard deviations of the noise on the diagonal of Ŝ_j and on its smallest eigenvalue λ̂_j. For both, the
paper uses σ√ln(6/δ), σ = X²/(ε/3), the noise's standard deviation under an older and looser calibration. We use those stated
in the release, so that the ridge fits the noise: the noise lowers the smallest eigenvalue by more than s √(d ln(2d²/ρ)) with
probability below ρ.
"""

from __future__ import annotations

import math
import time
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError, FormulaError
from noisewise.kinds import AdaSSP
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.releases.contents.adassp import AdasspContribution
from noisewise.releases.release import Release
from noisewise.releases.source import source_of
from noisewise.results.fit_info import FitInfo
from noisewise.results.point_estimate import PointEstimate
from noisewise.schema import Design

RHO: Final = 0.05
METHOD: Final = "adassp"


def point_estimate(formula: str, release: Release, rho: float = RHO) -> PointEstimate:
    """Estimate the regression that an `adassp` release was made for.

    ``rho`` is the probability that the noise exceeds what the ridge allows for.
    """
    if isinstance(rho, bool) or not isinstance(rho, (int, float, np.integer, np.floating)) or not 0 < rho < 1:
        raise FitError("rho must be > 0 and < 1", argument="rho", found=repr(rho), remedy="for example 0.05")
    started = time.perf_counter()
    design = _design(formula, release)
    coordinates = Coordinates.of(design)
    ridges = [ridge(one, len(design.terms), float(rho)) for one in release.contributions]
    matrix = sum((_with_response(one) for one in release.contributions), np.zeros((release.basis.size, release.basis.size)))
    beta, doubts = _solve(matrix, coordinates, math.fsum(ridges))
    info = FitInfo(method=METHOD, family="gaussian", formula=formula, seed=None, chains=0, draws=0, holders=release.holders,
                   seconds=time.perf_counter() - started, doubts=doubts, source=source_of(release))
    return PointEstimate(beta, design, info, math.fsum(ridges))


def ridge(contribution: AdasspContribution, predictors: int, rho: float) -> float:
    """Compute λ_j from public numbers only."""
    eigenvalue = contribution.smallest_eigenvalue
    lower = max(0.0, eigenvalue.value - math.sqrt(math.log(6 / contribution.delta)) * eigenvalue.noise)
    allowance = contribution.noise.diagonal * math.sqrt(predictors * math.log(2 * predictors**2 / rho))
    return max(0.0, allowance - lower)


def _design(formula: str, release: Release) -> Design:
    assert isinstance(release.kind, AdaSSP)
    stated = release.kind.formula
    try:
        design = Design.of(formula, release.basis, release.terms)
    except FormulaError as error:
        raise FitError(_ONE, found=f"{formula!r:.300}; made for {stated!r:.300}", remedy=_remedy(stated)) from error
    if not release.kind.same_regression(formula, release.schema):
        raise FitError(_ONE, found=f"{formula!r:.300}; made for {stated!r:.300}", remedy=_remedy(stated))
    return design


_ONE = "a release of kind adassp supports only the regression of its own formula"


def _remedy(stated: str) -> str:
    return f"fit {stated!r:.300}; a release of kind gram supports any formula"


def _with_response(contribution: AdasspContribution) -> Array:
    """Return [[Ŝ, ẑ], [ẑᵀ, 0]]; the unknown sum of squares of the response is only ever multiplied by zeros."""
    size = contribution.size
    matrix = np.zeros((size + 1, size + 1))
    matrix[:size, :size] = contribution.matrix
    matrix[:size, size] = matrix[size, :size] = contribution.moments
    return matrix


def _solve(matrix: Array, coordinates: Coordinates, ridge: float) -> tuple[Array, tuple[str, ...]]:
    directions = coordinates.directions
    gram = directions.T @ matrix @ directions + ridge * np.eye(directions.shape[1])
    sums = directions.T @ matrix @ coordinates.residual
    doubts: tuple[str, ...] = ()
    if np.linalg.eigvalsh(gram)[0] <= 0:
        doubts = ("the noisy matrix of the predictors is not positive definite even with the ridge: the noise exceeds the data",)
    g = np.linalg.lstsq(gram, sums, rcond=None)[0]
    beta: Array = coordinates.slope @ g + coordinates.offset
    return beta, doubts
