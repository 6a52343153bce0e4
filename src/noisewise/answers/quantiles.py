"""From the parts' averaged medians and scales to the coefficient itself.

Let m be the whole table's median and s its posterior scale. A part's median is m + τ e with τ² = s² (M/(1 − l) − 1), where l is
the parts' loss (`noisewise.answers.probabilities`). The e of two parts have correlation −(1 − l)/(M − 1 + l). Medians are clipped
to [L, U]. Their mean has an expectation in closed form, and the linear part of its scatter cancels. Scales are about s in all
parts, clipped to [0, S]. Both means have noise. The posterior of (m, s) is computed on a grid, and the coefficient is m + s times
a standard normal.

Declared bounds are trusted: m has a uniform prior between them. If limits were searched for, m may have any magnitude, like the
candidates for the centre. The probability, given the search's budget, that it chose this centre and this distance is then part
of the likelihood. So a search that probably missed leaves a wide interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from noisewise.answers.asked import SHARP, Asked, MeanNoise
from noisewise.answers.probabilities import information_loss
from noisewise.arrays import Array, Flags
from noisewise.schema.questions import PosteriorQuantile
from noisewise.schema.search_grid import centre_candidates, previous_candidates, sought, width_candidates

if TYPE_CHECKING:
    from noisewise.releases.contents.partition import Number

NEAR: Final = 12.0
"""Reach of the fine part of a grid, in standard deviations of the noise."""
FAR: Final = 1e13
"""The largest candidate for a centre."""
WIDEST, WIDEST_DECLARED = 1e6, 3.0
"""Multiples of the upper limit of the scale, since the search may have found too small a limit."""
FINE_MEDIANS, COARSE_MEDIANS, FINE_SCALES, COARSE_SCALES, SIZES, ROWS_OF_TOTALS, COLUMNS_OF_TOTALS = 141, 70, 35, 28, 28, 40, 12
NEGLIGIBLE: Final = 15.0
"""Ignore points whose log probability is below the best by more than this."""


@dataclass(frozen=True, eq=False)
class CoefficientLaw:
    """The posterior of (m, s) on a grid: ``weights`` (medians, scales)."""

    medians: Array
    scales: Array
    weights: Array

    def draws(self, size: int, random: np.random.Generator) -> tuple[Array, Array]:
        """Draws of the median and the scale, uniform within their cells."""
        chosen = random.choice(self.weights.size, size, p=self.weights.ravel())
        first, second = np.unravel_index(chosen, self.weights.shape)
        return _within(self.medians, first, random), np.abs(_within(self.scales, second, random))

    def outside(self, lower: float, upper: float) -> float:
        """The probability that the median is outside these limits."""
        return float(self.weights[(self.medians < lower) | (self.medians > upper)].sum())


def coefficient_law(asked: Asked, question: PosteriorQuantile) -> CoefficientLaw:
    """The posterior of (m, s) given the parts' mean median and mean scale; the question says if its limits were searched for."""
    location, scale = asked.of(question)
    loss = information_loss(asked.coefficients + 1, asked.part_rows)
    noises = MeanNoise.of(asked, location), MeanNoise.of(asked, scale)
    found = [_within_reach(number, noise, asked.parts) for number, noise in zip((location, scale), noises, strict=True)]
    declared = question.bounds is not None
    scales = _scale_points(found[1], noises[1].sd, scale.upper, WIDEST_DECLARED if declared else WIDEST)
    medians = _median_points(found[0], noises[0].sd + min(max(found[1], 0.0) + noises[1].sd, scale.upper), location, declared)
    cells = np.log(np.gradient(medians))[:, None] + np.log(np.gradient(scales))  # the length that each point represents
    log_weight = cells - 0.5 * np.log1p((scales / scale.upper) ** 2)
    spread = scales * np.sqrt(asked.parts / (1.0 - loss) - 1.0)
    if not declared:
        log_weight = log_weight - 0.5 * np.log(medians**2 + (location.width / 2.0) ** 2)[:, None]
        log_weight = log_weight + _search(asked, question, location, medians, spread)
    correlation = -(1.0 - loss) / (asked.parts - 1.0 + loss)
    mean, scatter = _clipped(medians[:, None], spread, location.lower, location.upper, asked.parts, correlation)
    log_weight = log_weight + _log_density(noises, found[0] - mean, found[1] - np.minimum(scales, scale.upper), scatter)
    weights = np.exp(log_weight - log_weight.max())
    return CoefficientLaw(medians, scales, weights / weights.sum())


def _within_reach(number: Number, noise: MeanNoise, parts: int) -> float:
    """The released mean, clipped to distances from its limits that doubles can resolve."""
    reach = NEAR / 2.0 * noise.sd
    return float(np.clip(number.mean(parts), number.lower - reach, number.upper + reach))


def _median_points(found: float, reach: float, number: Number, declared: bool) -> Array:
    near = np.linspace(found - NEAR * reach, found + NEAR * reach, FINE_MEDIANS)
    half, centre = number.width / 2.0, (number.lower + number.upper) / 2.0
    if declared:
        points = np.concatenate([near, np.linspace(number.lower, number.upper, COARSE_MEDIANS)])
        return np.unique(points[(points >= number.lower) & (points <= number.upper)])
    limit = np.arcsinh(max(FAR / half, 10.0))
    about_centre = centre + half * np.sinh(np.linspace(-limit, limit, COARSE_MEDIANS))
    about_zero = half * np.sinh(np.linspace(-limit, limit, COARSE_MEDIANS))  # a wrong centre may have another magnitude
    return np.unique(np.concatenate([near, about_centre, about_zero, np.linspace(number.lower, number.upper, COARSE_MEDIANS)]))


def _scale_points(found: float, reach: float, upper: float, widest: float) -> Array:
    near = np.linspace(found - NEAR * reach, found + NEAR * reach, FINE_SCALES)
    far = upper * np.sinh(np.linspace(0.0, np.arcsinh(widest), COARSE_SCALES))
    near = near[(near > 0.0) & (near < far[-1])]
    return np.unique(np.concatenate([near, far, np.linspace(0.0, upper, COARSE_SCALES)])) + 1e-9 * upper


def _within(points: Array, places: npt.NDArray[np.intp], random: np.random.Generator) -> Array:
    middles = (points[1:] + points[:-1]) / 2.0
    edges = np.concatenate([points[:1], middles, points[-1:]])
    return np.asarray(random.uniform(edges[places], edges[places + 1]))


def _clipped(median: Array, spread: Array, lower: float, upper: float, parts: int, correlation: float) -> tuple[Array, Array]:
    """Expectation of the mean of the parts' clipped medians, and its standard deviation over random splits."""
    from scipy.special import ndtr

    low, high = (lower - median) / spread, (upper - median) / spread
    below, above = ndtr(low), ndtr(-high)
    inside = np.maximum(1.0 - below - above, 0.0)
    height_low, height_high = (np.exp(-0.5 * end**2) / np.sqrt(2.0 * np.pi) for end in (low, high))
    reach_low, reach_high = np.maximum(low, -40.0), np.minimum(high, 40.0)  # infinity times 0 must be 0
    mean = reach_low * below + reach_high * above + height_low - height_high
    square = (reach_low**2 * below + reach_high**2 * above + inside + reach_low * height_low - reach_high * height_high)
    variance = np.maximum(square - mean**2, 0.0) + (parts - 1) * correlation * inside**2
    return np.clip(median + spread * mean, lower, upper), spread * np.sqrt(np.maximum(variance, 0.0) / parts)


def _search(asked: Asked, question: PosteriorQuantile, location: Number, median: Array, spread: Array) -> Array:
    """The log probability that the search chose this centre and this distance (P5 of partition.md).

    Scores are counts of parts, which scatter even given the whole table's median; of a count up to a point, only the nonlinear
    part does. The weight of a candidate is divided by the total of all: where many candidates crowd, each is less likely.
    """
    centre, distance = sought(location.lower, location.upper)
    before, nearer = previous_candidates(centre, distance)
    rates = question.centre_share * asked.contents.epsilon / 2.0, question.width_share * asked.contents.epsilon / 2.0

    def up_to(point: float) -> tuple[Array, Array]:
        return _up_to((point - median[:, None]) / spread)

    def about(reach: float) -> tuple[Array, Array]:
        share = up_to(centre + reach)[0] - up_to(centre - reach)[0]
        return share, share * (1.0 - share)

    one = (_chosen(up_to(centre), up_to(before), asked.parts, rates[0])
           + _chosen(about(distance), about(nearer), asked.parts, rates[1]))
    return one - _of_all(one, median, spread, centre, asked.parts, rates)


def _of_all(one: Array, median: Array, spread: Array, centre: float, parts: int, rates: tuple[float, float]) -> Array:
    """Log of the sum over all candidates, computed at some of the points where it matters and interpolated between them."""
    matters = one > one.max() - NEGLIGIBLE
    rows, columns = _spaced(matters.any(axis=1), ROWS_OF_TOTALS), _spaced(matters.any(axis=0), COLUMNS_OF_TOTALS)
    medians, spreads = (found.ravel() for found in np.meshgrid(median[rows], spread[columns], indexing="ij"))
    totals = (_all_centres(medians, spreads, parts, rates[0])
              + _all_widths(medians - centre, spreads, parts, rates[1])).reshape(len(rows), len(columns))
    across = np.array([np.interp(np.arange(one.shape[1]), columns, line) for line in totals])
    return np.array([np.interp(np.arange(one.shape[0]), rows, line) for line in across.T]).T


def _spaced(flags: Flags, count: int) -> npt.NDArray[np.intp]:
    places = np.flatnonzero(flags)
    return np.unique(np.rint(np.linspace(places[0], places[-1], count)).astype(np.intp))


def _all_centres(median: Array, spread: Array, parts: int, rate: float) -> Array:
    """Sum over centres, grouping candidates that are nearly zero and those far beyond all parts."""
    from scipy.special import logsumexp

    candidates = centre_candidates()
    small, large = 1e-3 * spread.min(), np.abs(median).max() + 12.0 * spread.max()
    inner, outer = np.abs(candidates) < small, np.abs(candidates) > large
    kept = np.concatenate([[-2.0 * large], candidates[~inner & ~outer], [2.0 * large]])
    kept = np.unique(np.concatenate([kept, [0.0]]))
    times = np.ones(len(kept))
    times[0] = times[-1] = np.count_nonzero(outer) / 2.0
    times[kept == 0.0] = 1.0 + np.count_nonzero(inner & (candidates != 0.0))
    with np.errstate(over="ignore", divide="ignore"):
        share, variance = _up_to((kept[:, None] - median) / spread)
        crowd = (kept == 0.0) | (np.arange(len(kept)) == len(kept) - 1)  # the predecessors in a group equal its members
        before = np.where(crowd, np.arange(len(kept)), np.arange(-1, len(kept) - 1))
        last = share[before], variance[before]
        last[0][0] = last[1][0] = 0.0
        return np.asarray(logsumexp(_chosen((share, variance), last, parts, rate), axis=0, b=times[:, None]))


def _all_widths(distance: Array, spread: Array, parts: int, rate: float) -> Array:
    from scipy.special import logsumexp, ndtr

    widths = width_candidates()[:, None]
    share = ndtr((widths - distance) / spread) - ndtr((-widths - distance) / spread)
    before = np.concatenate([np.zeros((1, len(distance))), share[:-1]])
    found = _log_kept(parts * (0.5 - share), parts * share * (1.0 - share), rate) + _log_kept(
        parts * (before - 0.5), parts * before * (1.0 - before), rate)
    return np.asarray(logsumexp(found, axis=0))


def _up_to(away: Array) -> tuple[Array, Array]:
    """The share of the parts up to a point ``away`` from their median, and its variance times their number."""
    from scipy.special import ndtr

    share = np.asarray(ndtr(away), dtype=np.float64)
    return share, share * (1.0 - share) - np.exp(-(away**2)) / (2.0 * np.pi)


def _chosen(now: tuple[Array, Array], last: tuple[Array, Array], parts: int, rate: float) -> Array:
    """The log weight of a candidate. Its loss is zero if half of the parts lie up to it but not up to the one before."""
    return (_log_kept(parts * (0.5 - now[0]), parts * now[1], rate)
            + _log_kept(parts * (last[0] - 0.5), parts * last[1], rate))


def _log_kept(mean: Array, variance: Array, rate: float) -> Array:
    """log E exp(−rate max(X, 0)) for a normal X."""
    from scipy.special import log_ndtr

    variance, rate = np.maximum(variance, 1e-6), min(rate, 1e6)  # a file may state any epsilon
    sd = np.sqrt(variance)
    return np.asarray(np.logaddexp(log_ndtr(-mean / sd),
                                   0.5 * rate**2 * variance - rate * mean + log_ndtr(mean / sd - rate * sd)))


def _log_density(noises: tuple[MeanNoise, MeanNoise], first: Array, second: Array, blur: Array) -> Array:
    """The log density of the noise of both numbers, the first with a normal error of standard deviation ``blur``.

    They are treated as independent. The second number's noise does reveal the size of the cube, but that would help only if the
    scale were known beforehand.
    """
    from scipy.special import gammaincc, gammainccinv, log_ndtr, ndtr

    one, two = noises
    if one.mechanism == "gaussian":
        wide = np.hypot(one.scale, blur)
        return np.asarray(-0.5 * (first / wide) ** 2 - np.log(wide) - 0.5 * (second / two.scale) ** 2)
    # a uniform point of an interval whose half length has a gamma distribution
    sizes = gammainccinv(one.numbers, (np.arange(SIZES) + 0.5) / SIZES) * one.scale
    away = np.abs(first)[..., None]
    wide = np.maximum(blur, SHARP * one.scale)[..., None]
    inside = np.mean(ndtr((sizes - away) / wide) - ndtr((-sizes - away) / wide), axis=-1)
    tail = log_ndtr((sizes[0] - away[..., 0]) / wide[..., 0])  # where doubles underflow: the tail of the largest cube
    location = np.where(inside > 1e-290, np.log(np.maximum(inside, 1e-300)), np.minimum(tail, -660.0))
    return np.asarray(location + np.log(np.maximum(gammaincc(two.numbers, np.abs(second) / two.scale), 1e-300)))
