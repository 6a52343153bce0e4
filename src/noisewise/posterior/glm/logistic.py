"""Logistic regression: P(second level) = 1 / (1 + exp(−η)). For y = ±1 the mean is tanh(η/2), and the square is 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noisewise.posterior.glm.family import Family


def _moments(eta: Any, constants: Mapping[str, Any], xp: Any) -> tuple[Any, Any]:
    return xp.tanh(0.5 * eta), xp.ones_like(eta)


LOGISTIC = Family("logistic", "two levels", _moments, lambda largest: {}, intercept_sd=2.5, slope_sd=2.5)
