"""The default likelihood of a linear regression given noisy Gram matrices: no distribution for the predictors.

Notation as in ``coordinates``: W is the true Gram matrix of the released columns, Ŵ = W + E what was released, c = e − Q g the
residual's combination and S = QᵀWQ. With a flat prior on S the pair

    h = ( QᵀŴc ,  cᵀŴc − nσ² )

is normal with mean 0; its covariance is that of the residuals, σ²S and 2nσ⁴, plus that of (QᵀEc, cᵀEc). S inside the covariance
is the released one, projected to the positive semidefinite cone. The documentation's method page (docs/methods.md) derives it
step by step, and says why the two parts of h are taken to be independent where there are many predictors (its step 6) and why σ
is sampled as a number of either sign.

Two forms of the same density. ``log_density_rotated`` is for symmetric Gaussian noise (variance s² on the diagonal, s²/2 off
it): S is diagonalised once and the covariance is diagonal plus rank two. It costs O(d) if the prior is as round as the default
one and holders weigh the same, else O(d²). ``log_density_dense`` takes any variances of the entries (the Laplace mechanism) and
costs O(d³). Both are written for any array module, so that SciPy's optimiser (through autograd) and JAX's sampler use the same
lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

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
from noisewise.posterior.kernels.mode import autograd_density, find_mode
from noisewise.posterior.linear.coordinates import Coordinates, LinearModel
from noisewise.posterior.prior import ResolvedPrior

FEW: Final = 13
"""Up to so many columns of predictors, the constant among them, the two parts of h are used jointly."""
ROUNDING: Final = 1e-11
"""What is so much smaller than the diagonal is no entry of a matrix but rounding."""


def log_density_rotated(x: Any, data: Mapping[str, Any], xp: Any = np) -> Any:
    """Log posterior density of (g, ±σ) up to a constant, for symmetric Gaussian noise."""
    g, variance = x[:-1], x[-1] ** 2
    s2, corner, w = data["noise"], data["corner"], data["constant"]
    norm2 = data["residual_norm2"] + g @ g
    c0 = data["residual_constant"] - w @ g
    h, h2 = _moments(g, variance, data)
    # Covariance of h: [[D + b bᵀ s²/2 − gap c0² w wᵀ, z], [zᵀ, k]] with z = zeta_b b + zeta_w w; gap = 0 if the corner is noisy,
    # and z = 0 with many predictors.
    b = -g
    gap = s2 - corner
    diagonal = variance * data["eigenvalues"] + 0.5 * s2 * norm2
    zeta_b = data["jointly"] * s2 * norm2
    zeta_w = -data["jointly"] * (gap * c0**3 + corner * variance * c0)
    k = (2.0 * data["rows2"] * variance**2 + s2 * norm2**2 - gap * c0**4 + corner * (variance**2 - 2.0 * variance * c0**2))
    # The last component is eliminated: D + P K Pᵀ with P = (b, w) remains, inverted by Woodbury's formula.
    k_bb = 0.5 * s2 - zeta_b**2 / k
    k_bw = -zeta_b * zeta_w / k
    k_ww = -gap * c0**2 - zeta_w**2 / k
    rest = h - (h2 / k) * (zeta_b * b + zeta_w * w)
    g_bb, g_bw, g_ww = xp.sum(b * b / diagonal), xp.sum(b * w / diagonal), xp.sum(w * w / diagonal)
    r_b, r_w = xp.sum(b * rest / diagonal), xp.sum(w * rest / diagonal)
    m_bb, m_bw = 1.0 + k_bb * g_bb + k_bw * g_bw, k_bb * g_bw + k_bw * g_ww
    m_wb, m_ww = k_bw * g_bb + k_ww * g_bw, 1.0 + k_bw * g_bw + k_ww * g_ww
    determinant = m_bb * m_ww - m_bw * m_wb
    t_b, t_w = k_bb * r_b + k_bw * r_w, k_bw * r_b + k_ww * r_w
    correction = (r_b * (m_ww * t_b - m_bw * t_w) + r_w * (m_bb * t_w - m_wb * t_b)) / determinant
    quadratic = xp.sum(rest**2 / diagonal) - correction + h2**2 / k
    log_determinant = xp.sum(xp.log(diagonal)) + xp.log(determinant) + xp.log(k)
    return -0.5 * (quadratic + log_determinant) + _log_prior(g, variance, data, xp)


def log_density_dense(x: Any, data: Mapping[str, Any], xp: Any = np) -> Any:
    """The same for independent noise of any variances on the entries of the upper triangle."""
    g, variance = x[:-1], x[-1] ** 2
    directions, noise = data["directions"], data["variances"]
    on_diagonal, corner = data["diagonal_variances"], data["corner"]
    c = data["residual"] - directions @ g
    c0 = c[0]
    h, h2 = _moments(g, variance, data)
    squares = noise @ c**2
    spread = directions.T * (squares - on_diagonal * c**2)
    covariance = (variance * data["eigenmatrix"] + spread @ directions
                  + (directions.T * c) @ noise @ (directions.T * c).T)
    border = directions.T @ (2.0 * c * squares - on_diagonal * c**3) - variance * corner * c0 * data["constant"]
    k = (2.0 * data["rows2"] * variance**2 + 2.0 * xp.sum(c**2 * squares) - xp.sum(on_diagonal * c**4)
         + corner * (variance**2 - 2.0 * variance * c0**2))
    border = data["jointly"] * border
    schur = covariance - xp.outer(border, border) / k
    rest = h - border * h2 / k
    quadratic = rest @ xp.linalg.solve(schur, rest) + h2**2 / k
    log_determinant = xp.linalg.slogdet(schur)[1] + xp.log(k)
    return -0.5 * (quadratic + log_determinant) + _log_prior(g, variance, data, xp)


def _moments(g: Any, variance: Any, data: Mapping[str, Any]) -> tuple[Any, Any]:
    """h = (QᵀŴc, cᵀŴc − nσ²) at c = e − Q g."""
    h = data["cross"] - _times(data["gram"], g)
    return h, data["total"] - data["cross"] @ g - g @ h - variance * data["rows"]


def _log_prior(g: Any, variance: Any, data: Mapping[str, Any], xp: Any) -> Any:
    standard = _times(data["prior_slope"], g) + data["prior_offset"]
    return -0.5 * xp.sum(standard**2) - 0.5 * variance / data["prior_sigma2"]


def _times(matrix: Any, vector: Any) -> Any:
    """The product with a matrix, of which a diagonal one is given as its diagonal."""
    return matrix * vector if matrix.ndim == 1 else matrix @ vector


def _short(matrix: Array) -> Array:
    """A diagonal matrix as its diagonal: a product with it takes d steps and not d²."""
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
    """A regression on one or several releases, which may have weights."""

    weights: Array | None = None

    @classmethod
    def of(cls, contributions: Contributions, coordinates: Coordinates, prior: ResolvedPrior,
           weights: Array | None = None) -> ConditionalModel:
        """Add up the holders' matrices (with weights where their noise differs) and express them in working units."""
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
    def log_density(self) -> Any:
        return log_density_rotated if self.rotated else log_density_dense

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
        variance = (self.data["total"] - 2 * cross @ g + g @ _times(self.data["gram"], g)) / max(float(self.data["rows"]), 1.0)
        variance = float(np.clip(variance, 1e-4, 1.0))
        rows = max(float(self.data["rows2"]), 1.0)
        precision = np.maximum(values[0], 0.0) / variance / (1 + noise**2 / (rows * variance))
        scale = 1.0 / np.sqrt(precision + np.sum(slope**2) / len(g))
        return np.append(g, np.sqrt(variance)), np.append(np.full(len(g), min(scale, 1.0)), 0.1 * np.sqrt(variance))


def weighted_model(contributions: Contributions, coordinates: Coordinates, prior: ResolvedPrior
                   ) -> ConditionalModel:
    """The model of all holders together, weighed by what a first fit says they are worth if they differ in noise per row."""
    weights = holder_weights(contributions, variance=0.1, norm2=1.5, spread=0.3)
    model = ConditionalModel.of(contributions, coordinates, prior, weights)
    if weights is None:
        return model
    point = find_mode(autograd_density(model.log_density, model.data), *model.start()).point
    g, variance = point[:-1], float(point[-1] ** 2)
    spread = float(np.mean(model.spectrum()[0]) / max(float(model.data["rows"]), 1.0))
    norm2 = float(model.coordinates.residual @ model.coordinates.residual + g @ g)
    weights = holder_weights(contributions, variance, norm2, float(np.clip(spread, 0.01, 1.0)))
    return ConditionalModel.of(contributions, coordinates, prior, weights)
