"""The density of ``conditional`` in two forms, each with its gradient.

``log_density_rotated`` is for symmetric Gaussian noise (variance s² on the diagonal, s²/2 off it): S is diagonalised once, and
the covariance is diagonal plus rank two. It costs O(d) for a round prior such as the default one and holders of equal weight,
O(d²) otherwise. ``log_density_dense`` takes any variances of the entries (the Laplace mechanism) and costs O(d³). Both work
with NumPy and JAX.

The optimiser runs in NumPy, so the gradients are written out. With Σ the covariance of H = (h, h₂), α = Σ⁻¹H and
M = ααᵀ − Σ⁻¹,

    d log p = −αᵀ dH + ½ tr(M dΣ) + d log prior,

and Σ⁻¹ follows from the same elimination of the last component as the density.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from noisewise.arrays import Array, Namespace, Traced


class Rotated(NamedTuple):
    """The covariance of (h, h₂) for symmetric Gaussian noise.

    It is [[D + b bᵀ s²/2 − gap c0² w wᵀ, z], [zᵀ, k]] with b = −g and z = zeta_b b + zeta_w w. The gap is 0 if the corner is
    noisy, and z = 0 with many predictors. Eliminating the last component leaves D + P K Pᵀ with P = (b, w).
    """

    norm2: Traced
    c0: Traced
    gap: Traced
    diagonal: Traced
    zeta_b: Traced
    zeta_w: Traced
    k: Traced
    k_bb: Traced
    k_bw: Traced
    k_ww: Traced


def _rotated(g: Traced, variance: Traced, data: Mapping[str, Traced]) -> Rotated:
    s2, corner, w = data["noise"], data["corner"], data["constant"]
    norm2 = data["residual_norm2"] + g @ g
    c0 = data["residual_constant"] - w @ g
    gap = s2 - corner
    diagonal = variance * data["eigenvalues"] + 0.5 * s2 * norm2
    zeta_b = data["jointly"] * s2 * norm2
    zeta_w = -data["jointly"] * (gap * c0**3 + corner * variance * c0)
    k = (2.0 * data["rows2"] * variance**2 + s2 * norm2**2 - gap * c0**4 + corner * (variance**2 - 2.0 * variance * c0**2))
    k_bb = 0.5 * s2 - zeta_b**2 / k
    k_bw = -zeta_b * zeta_w / k
    k_ww = -gap * c0**2 - zeta_w**2 / k
    return Rotated(norm2, c0, gap, diagonal, zeta_b, zeta_w, k, k_bb, k_bw, k_ww)


def log_density_rotated(x: Traced, data: Mapping[str, Traced], xp: Namespace = np) -> Traced:
    """Log posterior density of (g, ±σ) up to a constant, for symmetric Gaussian noise."""
    g, variance = x[:-1], x[-1] ** 2
    b, w = -g, data["constant"]
    h, h2 = _moments(g, variance, data)
    _, _, _, diagonal, zeta_b, zeta_w, k, k_bb, k_bw, k_ww = _rotated(g, variance, data)
    # Woodbury's formula.
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
    density: Traced = -0.5 * (quadratic + log_determinant) + _log_prior(g, variance, data, xp)
    return density


def rotated_with_gradient(x: Array, data: Mapping[str, Array]) -> tuple[float, Array]:
    """`log_density_rotated` and its gradient."""
    with np.errstate(all="ignore"):  # a line search may try points where this overflows; the caller checks the value
        return _rotated_with_gradient(x, data)


def _rotated_with_gradient(x: Array, data: Mapping[str, Array]) -> tuple[float, Array]:
    g, variance = x[:-1], x[-1] ** 2
    s2, corner, w, jointly = data["noise"], data["corner"], data["constant"], data["jointly"]
    b = -g
    h, h2 = _moments(g, variance, data)
    norm2, c0, gap, diagonal, zeta_b, zeta_w, k, k_bb, k_bw, k_ww = _rotated(g, variance, data)
    # With m = I + K PᵀD⁻¹P the inverse of D + P K Pᵀ is D⁻¹ − D⁻¹P m⁻¹K PᵀD⁻¹, and its product with P is D⁻¹P m⁻¹.
    b_over, w_over = b / diagonal, w / diagonal
    g_bb, g_bw, g_ww = b @ b_over, b @ w_over, w @ w_over
    m_bb, m_bw = 1.0 + k_bb * g_bb + k_bw * g_bw, k_bb * g_bw + k_bw * g_ww
    m_wb, m_ww = k_bw * g_bb + k_ww * g_bw, 1.0 + k_bw * g_bw + k_ww * g_ww
    determinant = m_bb * m_ww - m_bw * m_wb
    n_bb = (m_ww * k_bb - m_bw * k_bw) / determinant
    n_bw = (m_ww * k_bw - m_bw * k_ww) / determinant
    n_ww = (m_bb * k_ww - m_wb * k_bw) / determinant
    inverse_diagonal = 1.0 / diagonal - (n_bb * b_over**2 + 2.0 * n_bw * b_over * w_over + n_ww * w_over**2)
    inverse_b = (m_ww * b_over - m_wb * w_over) / determinant
    inverse_w = (m_bb * w_over - m_bw * b_over) / determinant

    z = zeta_b * b + zeta_w * w
    rest = h - (h2 / k) * z
    r_b, r_w = b_over @ rest, w_over @ rest
    alpha = rest / diagonal - b_over * (n_bb * r_b + n_bw * r_w) - w_over * (n_bw * r_b + n_ww * r_w)
    alpha2 = (h2 - z @ alpha) / k
    log_determinant = np.sum(np.log(diagonal)) + np.log(determinant) + np.log(k)
    value = -0.5 * (rest @ alpha + h2**2 / k + log_determinant) + _log_prior(g, variance, data, np)

    inverse_z = zeta_b * inverse_b + zeta_w * inverse_w
    border = alpha * alpha2 + inverse_z / k  # M's last column
    by_k = 0.5 * (alpha2**2 - 1.0 / k - z @ inverse_z / k**2)
    by_diagonal = 0.5 * (alpha**2 - inverse_diagonal)
    by_b = 0.5 * s2 * (alpha * (alpha @ b) - inverse_b) + zeta_b * border
    by_zeta_b, by_zeta_w = border @ b, border @ w
    by_norm2 = 0.5 * s2 * np.sum(by_diagonal) + jointly * s2 * by_zeta_b + 2.0 * s2 * norm2 * by_k
    by_c0 = (-gap * c0 * ((alpha @ w) ** 2 - w @ inverse_w) - jointly * (3.0 * gap * c0**2 + corner * variance) * by_zeta_w
             - 4.0 * (gap * c0**3 + corner * variance * c0) * by_k)
    by_variance = (data["eigenvalues"] @ by_diagonal - jointly * corner * c0 * by_zeta_w
                   + (4.0 * data["rows2"] * variance + 2.0 * corner * (variance - c0**2)) * by_k)
    by_g = 2.0 * by_norm2 * g - by_c0 * w - by_b
    return float(value), _whole_gradient(x, h, alpha, alpha2, by_g, by_variance, data)


def log_density_dense(x: Traced, data: Mapping[str, Traced], xp: Namespace = np) -> Traced:
    """The same for independent noise of any variances on the entries of the upper triangle."""
    g, variance = x[:-1], x[-1] ** 2
    h, h2 = _moments(g, variance, data)
    _, _, covariance, border, k = _dense(g, variance, data, xp)
    schur = covariance - xp.outer(border, border) / k
    rest = h - border * h2 / k
    quadratic = rest @ xp.linalg.solve(schur, rest) + h2**2 / k
    log_determinant = xp.linalg.slogdet(schur)[1] + xp.log(k)
    density: Traced = -0.5 * (quadratic + log_determinant) + _log_prior(g, variance, data, xp)
    return density


class Dense(NamedTuple):
    """c, the variances of E c, and the covariance of (h, h₂): [[``covariance``, ``border``], [``border``ᵀ, k]]."""

    c: Traced
    squares: Traced
    covariance: Traced
    border: Traced
    k: Traced


def _dense(g: Traced, variance: Traced, data: Mapping[str, Traced], xp: Namespace) -> Dense:
    directions, noise = data["directions"], data["variances"]
    on_diagonal, corner = data["diagonal_variances"], data["corner"]
    c = data["residual"] - directions @ g
    c0 = c[0]
    squares = noise @ c**2
    spread = directions.T * (squares - on_diagonal * c**2)
    covariance = (variance * data["eigenmatrix"] + spread @ directions
                  + (directions.T * c) @ noise @ (directions.T * c).T)
    border = directions.T @ (2.0 * c * squares - on_diagonal * c**3) - variance * corner * c0 * data["constant"]
    k = (2.0 * data["rows2"] * variance**2 + 2.0 * xp.sum(c**2 * squares) - xp.sum(on_diagonal * c**4)
         + corner * (variance**2 - 2.0 * variance * c0**2))
    return Dense(c, squares, covariance, data["jointly"] * border, k)


def dense_with_gradient(x: Array, data: Mapping[str, Array]) -> tuple[float, Array]:
    """`log_density_dense` and its gradient."""
    with np.errstate(all="ignore"):
        return _dense_with_gradient(x, data)


def _dense_with_gradient(x: Array, data: Mapping[str, Array]) -> tuple[float, Array]:
    g, variance = x[:-1], x[-1] ** 2
    directions, noise = data["directions"], data["variances"]
    on_diagonal, corner, w, jointly = data["diagonal_variances"], data["corner"], data["constant"], data["jointly"]
    h, h2 = _moments(g, variance, data)
    c, squares, covariance, z, k = _dense(g, variance, data, np)
    schur = covariance - np.outer(z, z) / k
    inverse = np.linalg.inv(schur)
    rest = h - z * h2 / k
    alpha = inverse @ rest
    alpha2 = (h2 - z @ alpha) / k
    log_determinant = np.linalg.slogdet(schur)[1] + np.log(k)
    value = -0.5 * (rest @ alpha + h2**2 / k + log_determinant) + _log_prior(g, variance, data, np)

    inverse_z = inverse @ z
    border = alpha * alpha2 + inverse_z / k  # M's last column
    by_k = 0.5 * (alpha2**2 - 1.0 / k - z @ inverse_z / k**2)
    block = np.outer(alpha, alpha) - inverse
    released = directions @ block @ directions.T
    by_spread = 0.5 * np.diag(released)
    by_border, by_corner = jointly * (directions @ border), jointly * (w @ border) * corner
    by_squares = by_spread + 2.0 * c * by_border + 2.0 * c**2 * by_k
    by_c = ((released * noise) @ c - 2.0 * on_diagonal * c * by_spread + (2.0 * squares - 3.0 * on_diagonal * c**2) * by_border
            + 4.0 * (c * squares - on_diagonal * c**3) * by_k + 2.0 * c * (noise @ by_squares))
    by_c[0] -= variance * (by_corner + 4.0 * corner * c[0] * by_k)
    by_variance = (0.5 * np.sum(block * data["eigenmatrix"]) - c[0] * by_corner
                   + (4.0 * data["rows2"] * variance + 2.0 * corner * (variance - c[0] ** 2)) * by_k)
    return float(value), _whole_gradient(x, h, alpha, alpha2, -(directions.T @ by_c), by_variance, data)


def _whole_gradient(x: Array, h: Traced, alpha: Traced, alpha2: Traced, by_g: Traced, by_variance: Traced,
                    data: Mapping[str, Array]) -> Array:
    """The gradient in (g, ±σ): the covariance's, as given, plus those of H and the prior."""
    g = x[:-1]
    by_h = alpha2 * g - alpha
    standard = times(data["prior_slope"], g) + data["prior_offset"]
    slope = by_g - times(data["gram"].T, by_h) + alpha2 * (data["cross"] + h) - times(data["prior_slope"].T, standard)
    by_variance = by_variance + alpha2 * data["rows"] - 0.5 / data["prior_sigma2"]
    return np.append(np.asarray(slope), 2.0 * x[-1] * np.asarray(by_variance))


def _moments(g: Traced, variance: Traced, data: Mapping[str, Traced]) -> tuple[Traced, Traced]:
    """h = (QᵀŴc, cᵀŴc − nσ²) at c = e − Q g."""
    h = data["cross"] - times(data["gram"], g)
    return h, data["total"] - data["cross"] @ g - g @ h - variance * data["rows"]


def _log_prior(g: Traced, variance: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    standard = times(data["prior_slope"], g) + data["prior_offset"]
    density: Traced = -0.5 * xp.sum(standard**2) - 0.5 * variance / data["prior_sigma2"]
    return density


def times(matrix: Traced, vector: Traced) -> Traced:
    """The product with a matrix; a vector stands for the diagonal matrix with these entries."""
    return matrix * vector if matrix.ndim == 1 else matrix @ vector
