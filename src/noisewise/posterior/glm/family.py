"""What a family of generalised linear models is: how the response depends on the linear predictor, and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Moments = Callable[[Any, Mapping[str, Any], Any], tuple[Any, Any]]
"""``(eta, constants, xp)``: mean and mean square of the response given the linear predictor, elementwise."""


@dataclass(frozen=True, eq=False)
class Family:
    """One family. A further one is a file like ``logistic.py`` and an entry in ``families.py``.

    ``moments`` are those of the response as it is recorded: −1 and +1 for two levels; a count cut off at the declared maximum.
    They fix everything else: which moments of the table the model implies, and how they scatter.
    """

    name: str
    response: Literal["two levels", "count"]
    moments: Moments
    constants: Callable[[float], dict[str, Any]]
    """Arrays that the moments need, from the largest declared response."""
    intercept_sd: float
    """Prior standard deviation of the linear predictor in the middle of the predictors."""
    slope_sd: float
    """Prior standard deviation of a coefficient times its predictor's standard deviation."""
