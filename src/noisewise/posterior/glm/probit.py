"""Probit regression: P(second level) = Φ(η), the normal distribution function. For y = ±1 the mean is erf(η/√2)."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

from noisewise.posterior.glm.family import Family


def _moments(eta: Any, constants: Mapping[str, Any], xp: Any) -> tuple[Any, Any]:
    from jax.scipy.special import erf

    return erf(eta / sqrt(2.0)), xp.ones_like(eta)


PROBIT = Family("probit", "two levels", _moments, lambda largest: {}, intercept_sd=1.5, slope_sd=1.5)
