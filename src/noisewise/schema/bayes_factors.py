"""Bayes factors and information criteria of models of an exact table. They depend only on a model's R² and number of columns.

Given g, the coefficients of a model are N(0, g σ² S⁻¹), where S is their matrix of centred moments. A prior of g is a set of
nodes with log weights: the trapezoid rule in log g, which converges fast because the integrand is smooth and falls off at both
ends.

These are pure formulas for both sides of the wall. The data holder applies them to the exact R² of the parts of a confidential
table, the analyst to that of matrices drawn given a release.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.errors import FitError

Counts = npt.NDArray[np.int64]

ZELLNER_SIOW, LAPLACE = "zellner-siow", "zellner-siow-laplace"
MIXTURES: Final = ("zellner-siow", "zellner", "hyper-g")
CRITERIA: Final = ("bic", "aic")
NAMES: Final = (*MIXTURES, LAPLACE, *CRITERIA)

HYPER_G: Final = 3.0
"""Liang et al. (2008) recommend a = 3, or 4."""
LOWEST, ABOVE_ROWS = -20.0, 25.0
"""log g from −20 to log n + 25: models that explain all but 1e-9 of the response's variance are still integrated."""
GRID: Final = 800
"""With many more models than this, Bayes factors are interpolated."""
NEWTON_STEPS: Final = 60


class Mixture(NamedTuple):
    """A prior of g as nodes and the logarithms of their weights."""

    g: Array
    log_weight: Array


def check_prior(name: str) -> None:
    """Refuse an unknown prior."""
    if name not in NAMES:
        raise FitError("unknown prior of the coefficients", argument="prior", found=repr(name), known=NAMES)


def mixture(name: str, rows: float, columns: int) -> Mixture:
    """``zellner``: g = n. ``zellner-siow``: g ~ inverse gamma(½, n/2). ``hyper-g``: density of g ∝ (1 + g)^(−a/2), a = 3.

    For models of at most ``columns`` columns. The integrand of k columns is a hill in log g of width √(2/k), which the step
    resolves to 1e-6. Far below n the Zellner–Siow density falls like exp(−n/2g), and k columns outweigh it by g^(−k/2) at most.
    """
    if name == "zellner":
        return Mixture(np.array([rows]), np.zeros(1))
    step = min(0.4, 1.6 / math.sqrt(columns + 10.0))
    lowest = math.log(rows / 2.0) - math.log(0.5 * columns + 10.0 * math.sqrt(0.5 * columns) + 40.0)
    log_g = np.arange(LOWEST if name == "hyper-g" else lowest, math.log(rows) + ABOVE_ROWS, step)
    if name == "hyper-g":
        density = math.log((HYPER_G - 2.0) / 2.0) - HYPER_G / 2.0 * np.log1p(np.exp(log_g)) + log_g
    else:
        density = log_zellner_siow(log_g, rows)
    weight = np.exp(density) * step
    weight[-1] += 1.0 - weight.sum()  # the rest matters only to the model without predictors
    return Mixture(np.exp(log_g), np.log(weight))


def log_zellner_siow(log_g: Array, rows: float) -> Array:
    """Log density of log g for g ~ inverse gamma(½, n/2)."""
    density: Array = 0.5 * math.log(rows / (2.0 * math.pi)) - 0.5 * log_g - 0.5 * rows * np.exp(-log_g)
    return density


def exact_log_bayes_factors(unexplained: Array, columns: Counts, degrees: float, rows: float, prior: str) -> Array:
    """Log Bayes factors from 1 − R² of each model, its number of columns, n − 1 (n without an intercept) and n.

    For models of one size this is a smooth function of log(1 + n (R² / (1 − R²))). A cubic spline through a grid of models gives
    it to nine digits.
    """
    bayes_factors = _laplace if prior == LAPLACE else _integrated
    if len(unexplained) <= 10 * GRID:
        return np.where(columns == 0, 0.0, bayes_factors(unexplained, columns, degrees, rows, prior))
    from scipy.interpolate import CubicSpline

    position = np.log1p(rows * (1.0 / unexplained - 1.0))
    grid = np.linspace(0.0, position.max() * (1.0 + 1e-9), GRID)
    at = 1.0 / (1.0 + np.expm1(grid) / rows)
    steep = 0.5 * degrees * np.log(unexplained)  # computed separately, because a spline fits it less well than the rest
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
    """Half the gain in BIC or AIC over the model without optional predictors, used like a log Bayes factor."""
    penalty = columns * (np.log(rows) / 2.0 if name == "bic" else 1.0)
    return np.asarray(-0.5 * rows * np.log(unexplained) - penalty)


def _laplace(unexplained: Array, columns: Counts, degrees: float, rows: float, prior: str) -> Array:
    """Zellner–Siow, with Laplace's approximation of the integral over log g: a normal curve at the integrand's mode."""
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
