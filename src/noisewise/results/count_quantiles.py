"""Quantiles of a mixture of Poisson distributions: what a new count may be, given draws of its rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

COARSE_STRIDE = 16
LARGEST_STEP = 1e12
"""Relative to which neighbouring whole numbers are no longer told apart."""


def count_quantile(rates: Floats, probability: float) -> Floats:
    """For each row the smallest count k with P(count ≤ k) ≥ probability, in the equal mixture of Poisson(rates[row, s]).

    >>> count_quantile(np.full((1, 5), 3.0), 0.975).tolist()
    [7.0]
    """
    if rates.shape[1] >= 8 * COARSE_STRIDE:  # a few draws tell where to look
        start = count_quantile(rates[:, ::COARSE_STRIDE], probability)
    else:
        start = np.floor(rates.mean(axis=1))
    low, high = _bracket(rates, probability, start)
    active = np.flatnonzero(_apart(low, high))
    while len(active):
        middle = np.floor(0.5 * (low[active] + high[active]))
        enough = _below(rates[active], middle) >= probability
        high[active] = np.where(enough, middle, high[active])
        low[active] = np.where(enough, low[active], middle)
        active = active[_apart(low[active], high[active])]
    return high


def _apart(low: Floats, high: Floats) -> NDArray[np.bool_]:
    return np.asarray(high - low > np.maximum(1.0, high / LARGEST_STEP))


def _bracket(rates: Floats, probability: float, start: Floats) -> tuple[Floats, Floats]:
    """Counts with too little probability up to them (−1 if there are none), and counts with enough, from a first guess."""
    low, high = start - 1.0, start.copy()
    step = np.maximum(1.0, np.floor(0.01 * np.sqrt(start)))
    down = np.flatnonzero(low >= 0.0)
    while len(down):
        down = down[_below(rates[down], low[down]) >= probability]
        high[down] = low[down]
        low[down] = np.maximum(low[down] - step[down], -1.0)
        step[down] *= 2.0
        down = down[low[down] >= 0.0]
    step = np.maximum(1.0, np.floor(0.01 * np.sqrt(start)))
    up = np.flatnonzero(high == start)
    while len(up):
        up = up[_below(rates[up], high[up]) < probability]
        low[up] = high[up]
        high[up] += step[up]
        step[up] *= 2.0
    return low, high


def _below(rates: Floats, counts: Floats) -> Floats:
    """P(count ≤ counts[row])."""
    from scipy.special import pdtr

    return np.asarray(pdtr(counts[:, None], rates).mean(axis=1))
