"""Bayes factors and criteria of models of an exact table: all that matters of a model is its R² and its number of columns."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.selection.coefficient_priors import LAPLACE, log_zellner_siow, mixture

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

CHUNK: Final = 2**15
"""Models whose integrals over g are done together: their arrays stay in the processor's cache."""
NEWTON_STEPS: Final = 60


def exact_log_bayes_factors(unexplained: Array, columns: Counts, degrees: float, rows: float, prior: str) -> Array:
    """From 1 − R² of each model, its number of columns, n − 1 (n without an intercept) and n."""
    if prior == LAPLACE:
        return _laplace(unexplained, columns, degrees, rows)
    nodes = mixture(prior, rows)
    result = np.empty(len(unexplained))
    for start in range(0, len(result), CHUNK):
        part = slice(start, start + CHUNK)
        exponents = np.multiply.outer(nodes.g, unexplained[part])
        np.log1p(exponents, out=exponents)
        exponents *= -0.5 * degrees
        exponents += np.multiply.outer(np.log1p(nodes.g), 0.5 * (degrees - columns[part])) + nodes.log_weight[:, None]
        largest = exponents.max(axis=0)
        exponents -= largest
        np.exp(exponents, out=exponents)
        result[part] = largest + np.log(exponents.sum(axis=0))
    return np.where(columns == 0, 0.0, result)


def information_criterion(name: str, unexplained: Array, columns: Counts, degrees: float, rows: float) -> Array:
    """Half of the gain in BIC or AIC over the model without optional predictors: it takes the place of a log Bayes factor."""
    penalty = columns * (np.log(rows) / 2.0 if name == "bic" else 1.0)
    return np.asarray(-0.5 * degrees * np.log(unexplained) - penalty)


def _laplace(unexplained: Array, columns: Counts, degrees: float, rows: float) -> Array:
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
    return np.where(columns == 0, 0.0, height + 0.5 * np.log(2.0 * np.pi / curvature))
