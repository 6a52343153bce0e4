"""Bayes factors and criteria of models of an exact table: all that matters of a model is its R² and its number of columns."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.selection.coefficient_priors import LAPLACE, log_zellner_siow, mixture

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

GRID: Final = 800
"""Where there are many more models than this, Bayes factors are interpolated."""
NEWTON_STEPS: Final = 60


def exact_log_bayes_factors(unexplained: Array, columns: Counts, degrees: float, rows: float, prior: str) -> Array:
    """From 1 − R² of each model, its number of columns, n − 1 (n without an intercept) and n.

    For models of one size this is a smooth function of one number, log(1 + n (R² / (1 − R²))): a cubic spline through a grid of
    models gives it to nine digits.
    """
    bayes_factors = _laplace if prior == LAPLACE else _integrated
    if len(unexplained) <= 10 * GRID:
        return np.where(columns == 0, 0.0, bayes_factors(unexplained, columns, degrees, rows, prior))
    from scipy.interpolate import CubicSpline

    position = np.log1p(rows * (1.0 / unexplained - 1.0))
    grid = np.linspace(0.0, position.max() * (1.0 + 1e-9), GRID)
    at = 1.0 / (1.0 + np.expm1(grid) / rows)
    steep = 0.5 * degrees * np.log(unexplained)  # taken out, for it would be interpolated less well than the rest
    result = np.zeros(len(unexplained))
    for size in range(1, int(columns.max()) + 1):
        mine = columns == size
        exact = bayes_factors(at, np.full(GRID, size), degrees, rows, prior) + 0.5 * degrees * np.log(at)
        result[mine] = CubicSpline(grid, exact)(position[mine]) - steep[mine]
    return result


def _integrated(unexplained: Array, columns: Counts, degrees: float, rows: float, prior: str) -> Array:
    nodes = mixture(prior, rows, int(columns.max(initial=0)))
    exponents = -0.5 * degrees * np.log1p(np.multiply.outer(nodes.g, unexplained))
    exponents += np.multiply.outer(np.log1p(nodes.g), 0.5 * (degrees - columns)) + nodes.log_weight[:, None]
    return np.asarray(np.logaddexp.reduce(exponents, axis=0))


def information_criterion(name: str, unexplained: Array, columns: Counts, rows: float) -> Array:
    """Half of the gain in BIC or AIC over the model without optional predictors: it takes the place of a log Bayes factor."""
    penalty = columns * (np.log(rows) / 2.0 if name == "bic" else 1.0)
    return np.asarray(-0.5 * rows * np.log(unexplained) - penalty)


def _laplace(unexplained: Array, columns: Counts, degrees: float, rows: float, prior: str) -> Array:
    """Zellner–Siow with the integral over log g replaced by that of a normal curve at the integrand's mode."""
    from scipy.special import expit

    def slopes(at: Array) -> tuple[Array, Array]:
        share, shrunk = expit(at), expit(at + np.log(unexplained))
        first = 0.5 * (degrees - columns) * share - 0.5 * degrees * shrunk - 0.5 + 0.5 * rows * np.exp(-at)
        second = (0.5 * (degrees - columns) * share * (1.0 - share) - 0.5 * degrees * shrunk * (1.0 - shrunk)
                  - 0.5 * rows * np.exp(-at))
        return first, second

    log_g = np.full(len(unexplained), np.log(rows))
    for _ in range(NEWTON_STEPS):
        first, second = slopes(log_g)
        log_g = log_g + np.clip(first / np.maximum(np.abs(second), 1e-3), -1.0, 1.0)
    curvature = np.maximum(-slopes(log_g)[1], 1e-12)
    g = np.exp(log_g)
    height = 0.5 * (degrees - columns) * np.log1p(g) - 0.5 * degrees * np.log1p(g * unexplained) + log_zellner_siow(log_g, rows)
    return np.asarray(height + 0.5 * np.log(2.0 * np.pi / curvature))
