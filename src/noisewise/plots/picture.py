"""The content of a plot before anything is drawn: numbers, ranges and labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import ResultError
from noisewise.results.fit_info import SCALES, PriorSummary

References = dict[str, dict[str, float]]

PROBABILITIES = (0.025, 0.25, 0.75, 0.975)
MOST_TERMS = 100
"""A plot of a thousand rows takes minutes to draw and cannot be read."""
ZERO_WITHIN = 2.0  # show zero if it is at most this many interval widths away


@dataclass(frozen=True)
class Picture:
    """Everything needed to draw; `draws` has one column for each of `terms`."""

    terms: tuple[str, ...]
    draws: Array
    prior: PriorSummary | None
    references: References
    title: str
    subtitle: str

    def __post_init__(self) -> None:
        if not self.terms:
            raise ResultError("a plot needs at least one term", remedy="leave terms out to plot all")
        if len(self.terms) > MOST_TERMS:
            raise ResultError(f"a plot can show at most {MOST_TERMS} terms", found=str(len(self.terms)),
                              remedy=f"choose some, such as terms={list(self.terms[:2])!r}; summary() has all")

    def estimate(self, position: int) -> Estimate:
        """The numbers of one row."""
        return Estimate.of(self.draws[:, position])


@dataclass(frozen=True)
class Estimate:
    """Mean, 95 % interval (lower, upper) and 50 % interval (inner_lower, inner_upper)."""

    mean: float
    lower: float
    inner_lower: float
    inner_upper: float
    upper: float

    @classmethod
    def of(cls, draws: Array) -> Estimate:
        """The mean and intervals of draws."""
        return cls(float(draws.mean()), *(float(end) for end in np.quantile(draws, PROBABILITIES)))

    def label(self) -> str:
        """The numbers as text, with the digits that the interval supports.

        >>> Estimate(2.0312, 1.8734, 1.9, 2.1, 2.1921).label()
        '2.031 [1.873, 2.192]'
        """
        values = (self.mean, self.lower, self.upper)
        width = self.upper - self.lower
        largest = max(abs(value) for value in values)
        # A 95 % interval is about four standard deviations wide: show two digits of one standard deviation.
        decimals = max(0, 1 - math.floor(math.log10(width / 4))) if width > 0 else 3
        if largest >= 1e6 or decimals > 5:
            mean, lower, upper = (_scientific(value, largest, width) for value in values)
        else:
            mean, lower, upper = (f"{value:,.{min(decimals, 5)}f}" for value in values)
        return f"{mean} [{lower}, {upper}]".replace("-", "\N{MINUS SIGN}")


def _scientific(value: float, largest: float, width: float) -> str:
    lost = math.log10(largest / width) if width > 0 and largest > 0 else 0.0
    return f"{value:.{3 + max(0, min(9, math.ceil(lost)))}g}"


def visible_range(term: str, picture: Picture, outer: tuple[float, float], margin: float) -> tuple[float, float]:
    """The range of an axis that contains the posterior, the references and, if it is near, zero."""
    low, high = outer
    width = high - low if high > low else abs(low) * 0.1 or 1.0
    values = [values[term] for values in picture.references.values() if term in values]
    near_zero = min(abs(low), abs(high)) <= ZERO_WITHIN * width
    ends = [low, high, *values, *([0.0] if near_zero and term not in SCALES else [])]
    low, high = min(ends), max(ends)
    pad = margin * max(high - low, width)
    low, high = low - pad, high + pad
    return (max(low, 0.0) if term in SCALES and not any(value < 0 for value in values) else low), high


def named_references(reference: object, terms: Sequence[str]) -> References:
    """Reference values by name. A plain mapping from terms to values gets the name "reference"."""
    if reference is None:
        return {}
    mapping = _as_mapping(reference)
    nested = [_is_mapping(value) for value in mapping.values()]
    if any(nested) and not all(nested):
        raise ResultError("references must map terms to values, or names to such mappings, but not both")
    named = {str(name): _as_mapping(values) for name, values in mapping.items()} if any(nested) else {"reference": mapping}
    return {name: _checked_values(name, values, terms) for name, values in named.items() if values}


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping) or (hasattr(value, "to_dict") and hasattr(value, "index"))


def _as_mapping(value: Any) -> dict[Any, Any]:
    """A dict, or a pandas Series such as another fit's summary()["mean"]."""
    if isinstance(value, Mapping):
        return dict(value)
    if _is_mapping(value):
        return dict(value.to_dict())
    raise ResultError("a reference must map terms to values", found=type(value).__name__, remedy='for example {"age": 0.3}')


def _checked_values(name: str, values: Mapping[Any, Any], terms: Sequence[str]) -> dict[str, float]:
    unknown = [str(term) for term in values if term not in terms]
    if unknown:
        raise ResultError(f"reference values must be for the terms {', '.join(terms)}", found=f"{', '.join(unknown)} in {name}")
    try:
        numbers = {str(term): float(value) for term, value in values.items()}
    except (TypeError, ValueError) as error:
        raise ResultError("reference values must be numbers", found=f"{error} in {name}") from error
    if not all(math.isfinite(number) for number in numbers.values()):
        raise ResultError("reference values must be finite", found=name)
    return numbers
