"""Priors for the coefficients of a generalised linear model, as docs/glm.md states them.

By default they are priors for effects of one standard deviation of a predictor. The standard deviations are unknowns of the
model, so the prior adapts to the scale without looking at rows, and loose bounds do not matter. A `Prior` in the user's units
replaces the default for the terms that it names. ``Prior(largest_norm=s)`` is that of Kulkarni et al. (2021): a uniform direction
and a χ² distributed squared length, cut off at s² (standard normal coefficients within a ball of radius s), for predictors in
units of their declared half widths.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from noisewise.arrays import Array, Flags, Namespace, Traced
from noisewise.errors import FitError
from noisewise.posterior.glm.families import Family
from noisewise.posterior.prior import Prior, given_prior
from noisewise.schema import Categorical, Design
from noisewise.words import leave_out, option

INTERCEPT: Final = "Intercept"
FULL_WIDTH: Final = 2.0
"""Up to 2² coefficients have the family's width each. With more, the whole linear predictor has twice that width."""

LEAST_OF_CATEGORIES: Final = 0.25
LEAST_OF_NUMBERS: Final = 0.005
"""A term counts as varying by at least this share of its range."""


def coefficients(x: Traced, moments: Traced, data: Mapping[str, Traced], xp: Namespace) -> tuple[Traced, Traced]:
    """Return β in the user's units from the sampled effects, and the log prior density of the effects."""
    features = data["features"]
    means = moments[0] @ features
    deviations = effect_scales(features, moments, data["least_scale"], xp)
    is_intercept, named = data["is_intercept"], data["named"]
    scale = xp.where(is_intercept > 0, 1.0, deviations)
    slopes = xp.where(is_intercept > 0, 0.0, x / scale)
    log_jacobian = 0.0
    if data["ball"].shape[0]:
        free = xp.where(is_intercept > 0, 0.0, x)
        root = xp.sqrt(1.0 + xp.sum(free**2))
        slopes = data["ball"][0] * free / root / data["half_widths"]
        log_jacobian = -(xp.sum(1.0 - is_intercept) + 2.0) * xp.log(root)
        log_jacobian = log_jacobian - 0.5 * xp.sum((slopes * data["half_widths"]) ** 2)
    beta = slopes + is_intercept * (x - slopes @ means)
    standard = xp.where(named > 0, (beta - data["prior_mean"]) / data["prior_sd"], x / data["prior_sd"])
    # β = x / scale: a density of β gets the factor 1/scale as a density of x
    weight = data["normal_prior"]
    log_prior = xp.sum(weight * (-0.5 * standard**2 - named * xp.log(scale)))
    return beta, log_prior + log_jacobian


def effect_scales(features: Traced, moments: Traced, least: Traced, xp: Namespace) -> Traced:
    """Return how much each term varies: the root of its variance plus the square of a least scale.

    The least scale matters for a level that hardly ever occurs: without it, the noise would leave its coefficient unbounded.
    """
    means = moments[0] @ features
    variances = xp.sum(features * (moments @ features), axis=0) - means**2
    result: Traced = xp.sqrt(xp.maximum(variances, 0.0) + least**2)
    return result


def prior_data(design: Design, family: Family, prior: Prior | None) -> dict[str, Array]:
    """Return the arrays that `coefficients` needs."""
    given = _checked(design, family, prior)
    is_intercept = np.array([float(name == INTERCEPT) for name in design.terms])
    named = np.array([float(name in given.sd or name in given.mean) for name in design.terms])
    slopes = max(float(np.sum(1.0 - is_intercept)), 1.0)
    default = np.where(is_intercept > 0, family.intercept_sd, family.slope_sd * min(1.0, FULL_WIDTH / np.sqrt(slopes)))
    half_widths = np.array([(high - low) / 2 or 1.0 for low, high in design.term_bounds])
    # A named mean without a named sd: the default's width, in units of half of the declared half width.
    wide = np.where((named > 0) & (is_intercept == 0), default / (0.5 * half_widths), default)
    ball = given.largest_norm is not None
    return {
        "is_intercept": is_intercept,
        "named": named,
        "prior_mean": np.array([float(given.mean.get(name, 0.0)) for name in design.terms]),
        "prior_sd": np.array([float(given.sd.get(name, width)) for name, width in zip(design.terms, wide, strict=True)]),
        "half_widths": half_widths,
        "least_scale": 2.0 * half_widths * np.where(_of_categories(design), LEAST_OF_CATEGORIES, LEAST_OF_NUMBERS),
        "normal_prior": is_intercept.copy() if ball else np.ones(len(design.terms)),
        "ball": np.array([given.largest_norm]) if ball else np.zeros(0),
        "lkj": np.array(1.0 if given.correlation is None else given.correlation),
    }


def _of_categories(design: Design) -> Flags:
    """Return which terms consist of categories only."""
    categories = {column.name for column in design.basis.schema.columns if isinstance(column, Categorical)}
    others = [any(factor.column not in categories for factor in column.factors) for column in design.basis.columns]
    uses_others: Flags = np.any(design.features[np.array(others)] != 0.0, axis=0)
    return ~uses_others


def _checked(design: Design, family: Family, prior: Prior | None) -> Prior:
    given = given_prior(design, prior)
    if given.sigma is not None:
        raise FitError(f"a {family.name} regression has no sigma", argument="sigma", found=option("sigma", given.sigma),
                       remedy=leave_out("sigma"))
    if given.largest_norm is not None and (set(given.mean) | set(given.sd)) - {INTERCEPT}:
        raise FitError("largest_norm is a prior for all coefficients together", found="means or standard deviations too",
                       remedy="give one or the other; the intercept may have its own")
    return given
