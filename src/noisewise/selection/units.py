"""Working units: columns in units of half their declared range, the kept ones first, and the way back to the user's units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisewise.schema import Design

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """A formula's columns as combinations of released ones; ``order`` are their places in the formula."""

    features: Array
    target: Array
    kept: int
    order: npt.NDArray[np.int64]
    scales: Array
    constants: Array
    """Share of the constant in each predictor and last in the response, taken out where there is an intercept."""

    @classmethod
    def of(cls, design: Design, kept: Sequence[int]) -> Units:
        """``kept``: the places of the columns that are in every model, besides the intercept."""
        intercept = design.terms[:1] == ("Intercept",)
        first = [*([0] if intercept else []), *(place for place in kept if not (intercept and place == 0))]
        order = np.array([*first, *(place for place in range(len(design.terms)) if place not in first)])
        bounds = [*(design.term_bounds[place] for place in order), design.response_bounds]
        scales = np.array([(upper - lower) / 2 or 1.0 for lower, upper in bounds])
        features, target = design.features[:, order] / scales[:-1], design.target / scales[-1]
        constants = np.zeros(len(scales))
        if intercept:  # beside it the middles of the ranges do not matter; without them the columns are less alike
            constants[1:] = np.append(features[0, 1:], target[0])
            features[0, 1:], target[0] = 0.0, 0.0
        return cls(features, target, len(first), order, scales, constants)

    def to_user(self, working: Array) -> Array:
        """(coefficients in the formula's order, σ) from draws of them in working units."""
        shifted = working.copy()
        if self.constants.any():  # they belong to the intercept, which comes first
            shifted[:, 0] += self.constants[-1] - working[:, 1:-1] @ self.constants[1:-1]
        result = shifted * self.scales[-1] / np.append(self.scales[:-1], 1.0)
        result[:, self.order] = result[:, :-1].copy()
        return np.asarray(result)
