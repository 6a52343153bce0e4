"""Linear regression: normal residuals; the scale is their standard deviation."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from noisewise.arrays import Array
from noisewise.scores.families.curves import Curves
from noisewise.scores.families.family import Curve, Family, Moments, Response

REACH = 2.3
"""Residuals are clipped at this many standard deviations."""
NODES = 2**16


class Gaussian(Family):
    """Y = η + a residual. Its slope is a share of rows, so other laws of symmetric residuals are fitted as well."""

    name: ClassVar[str] = "gaussian"
    response: ClassVar[Response] = "number"
    estimand: ClassVar[str] = "mean response"
    clipped: ClassVar[str] = f"; residuals count up to {REACH} standard deviations"
    even: ClassVar[bool] = True
    scaled: ClassVar[bool] = True
    intercept_sd: ClassVar[float] = 1.0
    slope_sd: ClassVar[float] = 1.0

    def grid(self, bounds: tuple[float, float], scale: float) -> tuple[float, float, int]:
        """Nodes from below to above the declared bounds."""
        reach = (bounds[1] - bounds[0]) / 2 + REACH * scale
        return (bounds[0] + bounds[1]) / 2 - reach, 2 * reach / (NODES - 1), NODES

    def limits(self, eta: Array, bounds: tuple[float, float], scale: float) -> tuple[Array, Array]:
        """`REACH` standard deviations from the mean."""
        return eta - REACH * scale, eta + REACH * scale

    def moments(self, eta: Array, low: Array, high: Array, scale: float) -> Moments:
        """Those of a clipped normal variable."""
        from scipy.special import ndtr

        a, b = (low - eta) / scale, (high - eta) / scale
        below, above = ndtr(a), ndtr(-b)
        inside = np.maximum(1.0 - below - above, 0.0)
        at_a, at_b = (np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) for x in (a, b))
        # Of (Y − η) / scale, clipped to [a, b].
        mean = at_a - at_b + a * below + b * above
        square = inside + a * at_a - b * at_b + a**2 * below + b**2 * above
        return Moments(eta + scale * mean, inside, eta**2 + 2 * eta * scale * mean + scale**2 * square)

    def curve(self, low: Array, high: Array, scale: float) -> Curve:
        """One curve for all rows: the mean depends on the distance from the middle of the limits alone."""
        centre, reach = (low + high) / 2, float(np.max(high - low)) / 2
        step = scale / 16.0
        count = 1 + math.ceil(2 * (reach + 8.0 * scale) / step)
        nodes: Array = step * (np.arange(count, dtype=float) - (count - 1) / 2)
        found = self.moments(nodes, np.full(count, -reach), np.full(count, reach), scale)
        curves = Curves(float(nodes[0]), step, found.mean[None], found.slope[None])
        which = np.zeros(len(low), dtype=np.intp)

        def shifted(eta: Array) -> tuple[Array, Array]:
            middle = centre if eta.ndim == 1 else centre[:, None]
            mean, slope = curves.at(which, eta - middle)
            return middle + mean, slope

        return shifted

    def first_eta(self, mean: float, variance: float) -> float:
        """The mean."""
        return mean

    def first_scale(self, bounds: tuple[float, float], mean: float, variance: float) -> float:
        """The standard deviation of the response."""
        return math.sqrt(variance)

    def unit(self, scale: float) -> float:
        """The standard deviation that residuals are clipped for: if they move by more, most are clipped."""
        return scale

    def clipping(self, scale: float, unsure: float) -> float:
        """That of residuals from a place that is not quite right."""
        return math.hypot(scale, unsure)

    def scale_prior(self, scales: Array, bounds: tuple[float, float]) -> Array:
        """Half-normal, with half of the response's half width, as for gram releases."""
        return np.log(scales) - 0.5 * (scales / (0.25 * (bounds[1] - bounds[0]))) ** 2

    def scales(self, bounds: tuple[float, float]) -> Array:
        """Shares of the declared range."""
        return np.geomspace(1e-4, 1.0, 185) * (bounds[1] - bounds[0])


FAMILY = Gaussian()
