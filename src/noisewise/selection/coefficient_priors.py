"""Priors of the coefficients within a model: mixtures of g-priors, and the information criteria that stand in for a prior.

Given g, the coefficients of a model are N(0, g σ² S⁻¹), S being their centred moments. A prior of g is a set of nodes with
log weights: the trapezoid rule in log g, which converges fast because the integrand is smooth there and falls off at both ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError

Array = npt.NDArray[np.float64]

ZELLNER_SIOW: Final = "zellner-siow"
LAPLACE: Final = "zellner-siow-laplace"
MIXTURES: Final = ("zellner-siow", "zellner", "hyper-g")
CRITERIA: Final = ("bic", "aic")
NAMES: Final = (*MIXTURES, LAPLACE, *CRITERIA)

HYPER_G: Final = 3.0
"""Liang et al. (2008) recommend a = 3, or 4."""
LOWEST, ABOVE_ROWS = -20.0, 25.0
"""log g from −20 to log n + 25: models that explain all but 1e-9 of the response's variance are still integrated."""


@dataclass(frozen=True)
class Mixture:
    """A prior of g as nodes and the logarithms of their weights."""

    g: Array
    log_weight: Array


def check_prior(name: str) -> None:
    if name not in NAMES:
        raise FitError("the prior of the coefficients is not known", found=repr(name), remedy="known are " + ", ".join(NAMES))


def mixture(name: str, rows: float, columns: int) -> Mixture:
    """``zellner``: g = n. ``zellner-siow``: g ~ inverse gamma(½, n/2). ``hyper-g``: density of g ∝ (1 + g)^(−a/2), a = 3.

    For models of at most so many ``columns``: the integrand of k columns is a hill in log g of width √(2/k), which the step
    resolves to 1e-6. Far below n the Zellner–Siow density falls like exp(−n/2g), which k columns outweigh by g^(−k/2) at most.
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
    weight[-1] += 1.0 - weight.sum()  # what lies beyond matters to the model without predictors only
    return Mixture(np.exp(log_g), np.log(weight))


def log_zellner_siow(log_g: Array, rows: float) -> Array:
    """Log density of log g for g ~ inverse gamma(½, n/2)."""
    density: Array = 0.5 * math.log(rows / (2.0 * math.pi)) - 0.5 * log_g - 0.5 * rows * np.exp(-log_g)
    return density
