"""Convergence diagnostics of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization,
folding, and localization: an improved R-hat", Bayesian Analysis 16(2), in NumPy and for all parameters at once.

Each function takes draws of shape (chains, draws, parameters) and returns one number per parameter. Where a
diagnostic is not defined (constant or non-finite draws, fewer than four draws) it is NaN; chains that are each
stuck at a different value have an infinite R-hat. A single chain is compared with itself: its first half
with its second.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise.errors import ResultError

Floats = NDArray[np.float64]
MINIMUM_DRAWS = 4
TAIL_PROBABILITIES = (0.05, 0.95)


def r_hat(samples: ArrayLike) -> Floats:
    """Rank-normalised split R-hat: the larger of the bulk one and the folded one (sections 3.1 and 3.2)."""
    draws = _checked(samples)
    if draws.shape[1] < MINIMUM_DRAWS:
        return np.full(draws.shape[2], np.nan)
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    bulk = _potential_scale_reduction(_normal_scores(halves))
    spread = _potential_scale_reduction(_normal_scores(folded))
    return np.where(_usable(draws), np.fmax(bulk, spread), np.nan)


def plain_r_hat(samples: ArrayLike) -> Floats:
    """R-hat of the split chains without ranks: misses heavy tails, and takes a fiftieth of the time where there are many fits."""
    draws = _checked(samples)
    if draws.shape[1] < MINIMUM_DRAWS:
        return np.full(draws.shape[2], np.nan)
    chains, length, terms = draws.shape[0], draws.shape[1] // 2, draws.shape[2]
    halves = (draws[:, :2 * length] - draws[0, 0]).reshape(2 * chains, length, terms)
    means = halves.mean(axis=1)
    within = (np.einsum("cdt,cdt->ct", halves, halves) - length * means**2).mean(axis=0) / (length - 1)
    between = means.var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(between / np.maximum(within, 0.0) + (length - 1) / length))


def ess_bulk(samples: ArrayLike) -> Floats:
    """Effective sample size for the centre of the distribution: of the rank-normalised split chains."""
    draws = _checked(samples)
    if draws.shape[1] < MINIMUM_DRAWS:
        return np.full(draws.shape[2], np.nan)
    size = _effective_size(_normal_scores(_split(draws)))
    return np.where(_usable(draws), size, np.nan)


def ess_tail(samples: ArrayLike) -> Floats:
    """Effective sample size for the 5 % and the 95 % quantile, whichever is smaller (section 4.3)."""
    draws = _checked(samples)
    if draws.shape[1] < MINIMUM_DRAWS:
        return np.full(draws.shape[2], np.nan)
    pooled = np.sort(draws.reshape(-1, draws.shape[2]), axis=0)
    sizes = []
    for probability in TAIL_PROBABILITIES:
        # The sample quantile (type 7) lies between two draws; the lower one marks the same draws.
        threshold = pooled[int((len(pooled) - 1) * probability + 1e-9)]
        below = (draws <= threshold).astype(np.float64)
        size = _effective_size(_split(below))
        sizes.append(np.where(_constant(below), np.nan, size))
    return np.where(_usable(draws), np.fmin(*sizes), np.nan)


def _checked(samples: ArrayLike) -> Floats:
    draws = np.asarray(samples, dtype=np.float64)
    if draws.ndim != 3 or draws.shape[0] == 0:
        raise ResultError("draws have the shape (chains, draws, parameters)", found=str(draws.shape))
    return draws


def _constant(draws: Floats) -> NDArray[np.bool_]:
    return np.asarray((draws == draws[:1, :1]).all(axis=(0, 1)))


def _usable(draws: Floats) -> NDArray[np.bool_]:
    return np.isfinite(draws).all(axis=(0, 1)) & ~_constant(draws)


def _split(draws: Floats) -> Floats:
    """First and second halves as chains of their own; an odd draw in the middle is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normal_scores(draws: Floats) -> Floats:
    """Normal scores of the pooled average ranks, with Blom's offsets (equation 14)."""
    from scipy.special import ndtri

    pooled = draws.reshape(-1, draws.shape[2])
    scores = ndtri((_average_ranks(pooled) - 0.375) / (len(pooled) + 0.25))
    return np.asarray(scores.reshape(draws.shape), dtype=np.float64)


def _average_ranks(values: Floats) -> Floats:
    """Ranks from 1 in each column; tied values share the average of their ranks."""
    count = len(values)
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    place = np.broadcast_to(np.arange(count)[:, None], values.shape)
    is_new = np.ones(values.shape, dtype=bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(is_new, place, 0), axis=0)
    is_last = np.ones(values.shape, dtype=bool)
    is_last[:-1] = is_new[1:]
    last = np.minimum.accumulate(np.where(is_last, place, count)[::-1], axis=0)[::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2.0 + 1.0, axis=0)
    return ranks


def _potential_scale_reduction(chains: Floats) -> Floats:
    """R-hat of Gelman and Rubin from between- and within-chain variances (equations 1 to 4)."""
    length = chains.shape[1]
    between = length * chains.mean(axis=1).var(axis=0, ddof=1)
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    stuck = (chains == chains[:, :1]).all(axis=(0, 1))
    within = np.where(stuck, 0.0, within)  # exactly, where rounding in the means would leave a trace
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((between / within + length - 1) / length))


def _autocovariance(chains: Floats) -> Floats:
    """Autocovariance at every lag, divided by the length, averaged over the chains: (lags, parameters)."""
    length = chains.shape[1]
    padded = 1 << (2 * length - 1).bit_length()
    spectrum = np.fft.rfft(chains - chains.mean(axis=1, keepdims=True), n=padded, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    return np.asarray(np.fft.irfft(power.mean(axis=0), n=padded, axis=0)[:length] / length)


def _effective_size(chains: Floats) -> Floats:
    """Draws divided by the autocorrelation time (equation 10), cut by Geyer's initial monotone sequence."""
    count, length, _ = chains.shape
    covariance = _autocovariance(chains)
    within = covariance[0] * length / (length - 1.0)
    total = covariance[0] + (chains.mean(axis=1).var(axis=0, ddof=1) if count > 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1.0 - (within - covariance) / total
        correlation[0] = 1.0
        time = _autocorrelation_time(correlation)
    # Antithetic chains can be worth more than independent draws, but the claim is bounded (section 3.2).
    floor = 1.0 / np.log10(count * length)
    return np.asarray(count * length / np.maximum(time, floor))


def _autocorrelation_time(correlation: Floats) -> Floats:
    """Geyer (1992): sums of neighbouring lags are positive and decrease; the first that is not ends the sum."""
    length = len(correlation)
    pairs = max(1, (length - 1) // 2)
    even = correlation[0 : 2 * pairs : 2]
    pair_sums = even + correlation[1 : 2 * pairs : 2]
    stopped = pair_sums <= 0
    last = np.where(stopped.any(axis=0), stopped.argmax(axis=0), pairs - 1)
    decreasing = np.minimum.accumulate(pair_sums, axis=0)
    counted = np.arange(pairs)[:, None] < last
    # The even lag of the last pair is kept when it helps: it lowers the variance for antithetic chains.
    columns = np.arange(correlation.shape[1])
    edge = even[last, columns]
    edge = np.where((edge > 0) | (pair_sums[last, columns] >= 0), edge, 0.0)
    return np.asarray(-1.0 + 2.0 * np.where(counted, decreasing, 0.0).sum(axis=0) + edge)
