"""``adassp``: a ridge estimate from `adassp` releases (Wang 2018; Alparslan, Yıldırım and Birbil 2023, appendix C.2).

In the working units of `Coordinates`, with a noisy Gram matrix Ŝ_j and noisy sums ẑ_j of each holder,

    g = (Σ Ŝ_j + I Σ λ_j)⁻¹ Σ ẑ_j.

The ridge λ_j is what the noise of Ŝ_j may take away from its smallest eigenvalue, less a lower bound of that eigenvalue:

    λ_j = max(0, s √(d ln(2d²/ρ)) − λ̃_j),    λ̃_j = max(0, λ̂_j − √ln(6/δ) s_λ).

s and s_λ are the standard deviations of the noise on the diagonal of Ŝ_j and on its smallest eigenvalue λ̂_j. In the place of
both the paper has σ√ln(6/δ), σ = X²/(ε/3): the standard deviation of noise by an older and looser calibration. Ours are those
that the release states, so that the ridge fits the noise: it lowers the smallest eigenvalue by more than s √(d ln(2d²/ρ)) with
a probability below ρ.
"""

from __future__ import annotations

import math
import time
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError, FormulaError
from noisewise.posterior.coordinates import Coordinates
from noisewise.release.adassp import AdasspPart, same_regression
from noisewise.release.model import Release
from noisewise.release.source import source_of
from noisewise.results.point_estimate import PointEstimate
from noisewise.results.records import FitInfo
from noisewise.schema import Design

Array = npt.NDArray[np.float64]

RHO: Final = 0.05
METHOD: Final = "adassp"


def point_estimate(formula: str, release: Release, rho: float = RHO) -> PointEstimate:
    """The point estimate of the regression that an `adassp` release was made for.

    ``rho`` is the probability with which the noise may be larger than the ridge allows for.
    """
    if isinstance(rho, bool) or not isinstance(rho, (int, float, np.integer, np.floating)) or not 0 < rho < 1:
        raise FitError("rho is a probability between 0 and 1", found=repr(rho), remedy="for example 0.05")
    started = time.perf_counter()
    design = _design(formula, release)
    coordinates = Coordinates.of(design)
    parts = [part for part in release.parts if isinstance(part, AdasspPart)]
    ridges = [ridge(part, len(design.terms), float(rho)) for part in parts]
    matrix = sum((_with_response(part) for part in parts), np.zeros((release.basis.size, release.basis.size)))
    beta, doubts = _solve(matrix, coordinates, math.fsum(ridges))
    info = FitInfo(method=METHOD, family="gaussian", formula=formula, seed=None, chains=0, draws=0, holders=release.holders,
                   seconds=time.perf_counter() - started, doubts=doubts, source=source_of(release))
    return PointEstimate(beta, design, info, math.fsum(ridges))


def ridge(part: AdasspPart, predictors: int, rho: float) -> float:
    """λ_j, from public numbers only."""
    eigenvalue = part.smallest_eigenvalue
    lower = max(0.0, eigenvalue.value - math.sqrt(math.log(6 / part.delta)) * eigenvalue.noise)
    allowance = part.noise.diagonal * math.sqrt(predictors * math.log(2 * predictors**2 / rho))
    return max(0.0, allowance - lower)


def check_method(method: str, release: Release) -> None:
    """Refuse a method that the kind of release cannot serve."""
    if (method == METHOD) == (release.kind == METHOD):
        return
    if method == METHOD:
        raise FitError("the method adassp needs a release of kind adassp", found=f"a release of kind {release.kind}",
                       remedy="leave the method out: a posterior from this release usually is the better estimate, too")
    raise FitError("a release of kind adassp serves the method adassp only: it has no sum of squares of the response",
                   found=f"method {method!r}",
                   remedy='method="adassp" gives a point estimate; for a posterior the data holder makes a gram release')


def _design(formula: str, release: Release) -> Design:
    stated = release.formula
    assert stated is not None
    try:
        design = Design.of(formula, release.basis, release.terms)
    except FormulaError as error:
        raise FitError(_ONE, found=f"{formula!r}; it was made for {stated!r}", remedy=_remedy(stated)) from error
    if not same_regression(release.schema, release.terms, formula, stated):
        raise FitError(_ONE, found=f"{formula!r}; it was made for {stated!r}", remedy=_remedy(stated))
    return design


_ONE = "a release of kind adassp answers one regression: that of its formula"


def _remedy(stated: str) -> str:
    return f"fit {stated!r}; a release of kind gram serves every formula"


def _with_response(part: AdasspPart) -> Array:
    """[[Ŝ, ẑ], [ẑᵀ, 0]]: the unknown sum of squares of the response stands beside zeros only."""
    size = part.size
    matrix = np.zeros((size + 1, size + 1))
    matrix[:size, :size] = part.matrix
    matrix[:size, size] = matrix[size, :size] = part.moments
    return matrix


def _solve(matrix: Array, coordinates: Coordinates, ridge: float) -> tuple[Array, tuple[str, ...]]:
    directions = coordinates.directions
    gram = directions.T @ matrix @ directions + ridge * np.eye(directions.shape[1])
    sums = directions.T @ matrix @ coordinates.residual
    doubts: tuple[str, ...] = ()
    if np.linalg.eigvalsh(gram)[0] <= 0:
        doubts = ("the predictors' noisy matrix is not positive definite even with its ridge: the noise exceeds the data",)
    g = np.linalg.lstsq(gram, sums, rcond=None)[0]
    beta: Array = coordinates.slope @ g + coordinates.offset
    return beta, doubts
