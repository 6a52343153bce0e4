"""Predictions for new rows with credible ("mean") or predictive ("response") intervals.

For each draw, the mean of a new response is the inverse link of x·beta_s.

Given draws (beta_s, sigma_s), the predictive distribution of a new response is the mixture of the normal distributions
N(x·beta_s, sigma_s), or of the Poisson (or negative binomial) distributions with rates exp(x·beta_s). Its quantiles solve
F(y) = p for the mixture's distribution function F. No noise is drawn, so the answer needs no seed and does not depend on which
rows are predicted together. Memory is bounded by a block of rows times the number of draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array, Flags, Values
from noisewise.errors import NoisewiseError, ResultError
from noisewise.results.families import ResultFamily

if TYPE_CHECKING:
    from noisewise.schema import Design

BLOCK_ELEMENTS = 1 << 19  # rows times draws held at once; 4 MB per temporary array
DESIGN_ROWS = 1 << 15
COARSE_STRIDE = 16
MAXIMUM_STEPS = 200
PATIENCE = 6
LARGEST_STEP = 1e12
"""Counts are resolved to one part in this many."""

Ends = Callable[[Array], tuple[Array, Array, Array]]
"""Maps linear predictors (rows, draws) to the mean, lower and upper end of each row."""


def predict_rows(columns: Mapping[str, Values], rows: int, design: Design, coefficients: Array, ends: Ends
                 ) -> tuple[Array, Array, Array]:
    """Return mean, lower and upper end for each row."""
    mean, lower, upper = np.empty(rows), np.empty(rows), np.empty(rows)
    block = max(1, BLOCK_ELEMENTS // len(coefficients))
    for first in range(0, rows, DESIGN_ROWS):
        matrix = _design_rows(design, columns, first, min(rows, first + DESIGN_ROWS))
        for start in range(0, len(matrix), block):
            location = matrix[start : start + block] @ coefficients.T
            here = slice(first + start, first + start + len(location))
            mean[here], lower[here], upper[here] = ends(location)
    return mean, lower, upper


def credible_ends(family: ResultFamily, tails: tuple[float, float]) -> Ends:
    """Compute the mean response of such rows, and an interval for that mean."""

    def ends(location: Array) -> tuple[Array, Array, Array]:
        means = family.inverse_link(location)
        lower, upper = np.quantile(means, tails, axis=1)
        return means.mean(axis=1), lower, upper

    return ends


def predictive_ends(family: ResultFamily, scale: Array | None, tails: tuple[float, float]) -> Ends:
    """Compute the mean response, and an interval for one new response (for its probability if it has two levels)."""
    if family.response == "two levels":
        return credible_ends(family, tails)

    def ends(location: Array) -> tuple[Array, Array, Array]:
        means = family.inverse_link(location)
        if family.response == "count":
            lower, upper = (count_quantile(means, tail, scale) for tail in tails)
        else:
            assert scale is not None
            lower, upper = (mixture_quantile(location, scale, tail) for tail in tails)
        return means.mean(axis=1), lower, upper

    return ends


def _design_rows(design: Design, columns: Mapping[str, Values], first: int, stop: int) -> Array:
    if not design.columns_needed:  # only an intercept, so no column gives the number of rows
        return np.ones((stop - first, len(design.terms)))
    try:
        part = {name: values[first:stop] for name, values in columns.items()}
        matrix = np.asarray(design.matrix(part), dtype=np.float64)
    except ResultError:
        raise
    except NoisewiseError as error:
        raise error.into(ResultError) from error
    if matrix.shape != (stop - first, len(design.terms)) or not np.isfinite(matrix).all():
        raise ResultError("every new row must give one finite value for each term", found=f"a design of shape {matrix.shape}")
    return matrix


def mixture_quantile(location: Array, scale: Array, probability: float) -> Array:
    """Return the quantile of each row's equal mixture of N(location[row, s], scale[s]).

    >>> round(float(mixture_quantile(np.zeros((1, 5)), np.ones(5), 0.975)[0]), 4)
    1.96
    """
    from scipy.special import ndtri

    deviate = float(ndtri(probability))
    spread = np.sqrt(location.var(axis=1) + np.mean(scale**2))
    smallest = 1e-9 * float(spread.max()) or 1e-12 * float(np.abs(location).max()) or 1e-12
    scale = np.maximum(scale, smallest)  # a draw with sigma = 0 is a step; approximate it by a very steep slope
    start = location.mean(axis=1) + deviate * spread
    if location.shape[1] >= 8 * COARSE_STRIDE:  # from a start based on a few draws, one full step is enough
        part = slice(None, None, COARSE_STRIDE)
        start = _solve(location[:, part], scale[part], probability, deviate, start, spread)
    return _solve(location, scale, probability, deviate, start, spread)


def _solve(location: Array, scale: Array, probability: float, deviate: float, start: Array, spread: Array) -> Array:
    """Iterate Halley's method inside a bracket: the mixture's quantile lies between the components' smallest and largest."""
    ends = location + deviate * scale
    low, high = ends.min(axis=1), ends.max(axis=1)
    point = np.clip(start, low, high)
    # Convergence is cubic: after a last step of 0.05 component widths the rest is about 1e-4 of them. Between lumps far apart
    # Halley's steps are short as well, but Newton's, excess / density, is long: only where both are short is the quantile near.
    near = 0.05 * float(scale.min())
    active = np.arange(len(point))
    for count in range(MAXIMUM_STEPS):
        here = point[active]
        part = location if len(active) == len(location) else location[active]
        excess, density, slope = _distribution(here, part, scale, probability)
        low[active] = np.where(excess <= 0, here, low[active])
        high[active] = np.where(excess >= 0, here, high[active])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            proposal = here - 2 * excess * density / (2 * density**2 - excess * slope)
        inside = (proposal >= low[active]) & (proposal <= high[active])
        if count >= PATIENCE and count % 2:  # lumps far apart: halve the bracket every other time
            inside[:] = False
        point[active] = np.where(inside, proposal, 0.5 * (low[active] + high[active]))
        short = (np.abs(proposal - here) <= near) & (np.abs(excess) <= 2 * near * density)
        done = (inside & short) | (high[active] - low[active] <= 1e-9 * spread[active])
        active = active[~done]
        if not len(active):
            break
    return point


def _distribution(point: Array, location: Array, scale: Array, probability: float) -> tuple[Array, Array, Array]:
    """F(point) - probability, F'(point) and F''(point) of each row's mixture."""
    from scipy.special import ndtr

    inverse = 1.0 / scale
    weight = inverse / (len(scale) * np.sqrt(2 * np.pi))
    standard = (point[:, None] - location) * inverse
    excess = ndtr(standard).mean(axis=1) - probability
    height = np.exp(-0.5 * np.square(standard))
    density = height @ weight
    slope = -np.multiply(height, standard, out=height) @ (weight * inverse)
    return np.asarray(excess), np.asarray(density), np.asarray(slope)


def count_quantile(rates: Array, probability: float, dispersion: Array | None = None) -> Array:
    """Return for each row the smallest k with P(count ≤ k) ≥ probability, in the equal mixture of Poisson(rates[row, s]).

    With a dispersion for each draw, of negative binomial distributions instead.

    >>> count_quantile(np.full((1, 5), 3.0), 0.975).tolist()
    [7.0]
    """
    if rates.shape[1] >= 8 * COARSE_STRIDE:  # a few draws show where to start
        start = count_quantile(rates[:, ::COARSE_STRIDE], probability,
                               None if dispersion is None else dispersion[::COARSE_STRIDE])
    else:
        start = np.floor(rates.mean(axis=1))
    # Bracket the quantile: P(count ≤ low) < probability (low may be −1) and P(count ≤ high) ≥ probability. Then bisect.
    low, high, step = start - 1.0, start.copy(), np.maximum(1.0, np.floor(0.01 * np.sqrt(start)))

    def up_to(places: npt.NDArray[np.intp], counts: Array) -> Array:
        return _up_to(rates[places], counts, dispersion)

    active = np.arange(len(rates))
    while len(active):
        below, above = low[active], high[active]
        lower = (below >= 0.0) & (up_to(active, below) >= probability)
        higher = ~lower & (up_to(active, above) < probability)
        low[active] = np.where(lower, np.maximum(below - step[active], -1.0), np.where(higher, above, below))
        high[active] = np.where(lower, below, np.where(higher, above + step[active], above))
        active = active[lower | higher]
        step[active] *= 2.0
    active = np.flatnonzero(_apart(low, high))
    while len(active):
        middle = np.floor(0.5 * (low[active] + high[active]))
        enough = up_to(active, middle) >= probability
        high[active] = np.where(enough, middle, high[active])
        low[active] = np.where(enough, low[active], middle)
        active = active[_apart(low[active], high[active])]
    return high


def _apart(low: Array, high: Array) -> Flags:
    return np.asarray(high - low > np.maximum(1.0, high / LARGEST_STEP))


def _up_to(rates: Array, counts: Array, dispersion: Array | None) -> Array:
    """P(count ≤ counts[row])."""
    from scipy.special import betainc, pdtr

    if dispersion is not None:
        size = 1.0 / np.maximum(dispersion, 1e-9)
        found = np.where(counts[:, None] < 0, 0.0, betainc(size, np.maximum(counts[:, None], 0.0) + 1.0, size / (size + rates)))
        return np.asarray(found.mean(axis=1))
    return np.asarray(pdtr(counts[:, None], rates).mean(axis=1))
