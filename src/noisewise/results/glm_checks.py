"""The predictive check of a logistic, probit or Poisson regression, from the statistics that ``posterior.glm.check`` finds.

For each holder it checks the mean response (calibration in the large) and the products of the residual and each predictor. For
counts whose squares were released it also checks the dispersion, the variance of the counts relative to a Poisson distribution's.
The fit has used everything but the dispersion. With a single holder, only the dispersion and the columns that the formula leaves
out can be checked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noisewise.arrays import Array
from noisewise.results.check_findings import ALL, DISPERSION, LEFT_OUT, MEAN_RESPONSE, Lines
from noisewise.results.check_moments import covariance_root, reference, squared_lengths, whitening_root
from noisewise.results.check_tails import LAPLACE_EXCESS, Tails, two_sided
from noisewise.results.fit_info import INTERCEPT

if TYPE_CHECKING:
    import pandas


ROWS_OVER_NOISE = 5.0
"""A holder needs more rows than this many standard deviations of the noise; otherwise the means over all holders are used."""


@dataclass(frozen=True)
class HolderStatistics:
    """One holder's statistics: the sums Σ y a of the released columns and, last, Σ r² if there is one."""

    rows: float
    gaps: Array
    """Released minus implied, averaged over draws."""
    covariance: Array
    """C, the covariance of the gaps at the true coefficients."""
    slopes: Array
    """Derivatives of the gaps with respect to the coefficients."""
    noise: Array
    """Effect on the gaps of one standard deviation of the noise in each sum."""
    implied_mean: float
    """Mean response that the fit implies, in the units of the release."""
    explained: float
    """Variance of counts around their means under the model, per row."""
    means: Array
    """Means of the released columns."""
    means_noise: float
    """Standard deviation of the noise in a column's sum."""


@dataclass(frozen=True)
class GlmStatistics:
    """All holders' statistics, and what is needed to show them."""

    holders: tuple[HolderStatistics, ...]
    weights: Array
    """The holders' weights in the fit."""
    coefficients: Array
    """Draws (draws, terms)."""
    used: NDArray[np.intp]
    """Positions of the statistics that the fit used."""
    left_out: dict[str, int]
    """Columns that the formula leaves out, and the positions of their statistics."""
    features: Array
    """The terms as combinations of the columns."""
    laplace: NDArray[np.bool_]
    """Which holders' noise is Laplace."""
    response_centre: float
    response_half: float
    squares: bool
    """True if the last statistic is Σ r²."""

    @cached_property
    def gaps(self) -> Array:
        """Gaps of all holders: (holders, statistics)."""
        return np.array([holder.gaps for holder in self.holders])

    @cached_property
    def sizes(self) -> Array:
        """Numbers of rows of all holders."""
        return np.array([holder.rows for holder in self.holders])

    @cached_property
    def covariances(self) -> Array:
        """C of all holders."""
        return np.array([holder.covariance for holder in self.holders])

    def means(self) -> Array:
        """Means of the columns over all holders."""
        return np.asarray(self.sizes @ np.array([holder.means for holder in self.holders]) / self.sizes.sum())

    def combinations(self, terms: Sequence[str], means: Array) -> Array:
        """Combine the statistics into those shown: the mean; the terms and left-out columns, centred; the squares."""
        named = [self.features[:, place] for place, term in enumerate(terms) if term != INTERCEPT]
        columns = [*named, *(np.eye(len(means))[place] for place in self.left_out.values())]
        shown = np.zeros((1 + len(columns) + self.squares, self.gaps.shape[1]))
        shown[0, 0] = 1.0
        for place, column in enumerate(columns, start=1):
            shown[place, : len(means)] = column
            shown[place, 0] -= column @ means
        if self.squares:
            shown[-1, -1] = 1.0
        return shown

    def labels(self, terms: Sequence[str]) -> list[str]:
        """Labels of the combinations."""
        named = [f"residual × {term}" for term in terms if term != INTERCEPT]
        left_out = [f"residual × {name}{LEFT_OUT}" for name in self.left_out]
        return [MEAN_RESPONSE, *named, *left_out, *([DISPERSION] if self.squares else [])]

    def scales(self, holders: Sequence[HolderStatistics]) -> tuple[dict[str, float], dict[str, float]]:
        """Return the expected values that are not 0, and the unit of each statistic, for some holders together."""
        rows = sum(holder.rows for holder in holders)
        mean = sum(holder.rows * holder.implied_mean for holder in holders) / rows
        units: dict[str, float] = defaultdict(lambda: self.response_half / rows)
        if self.squares:
            units[DISPERSION] = 1.0 / sum(holder.rows * holder.explained for holder in holders)
        return {MEAN_RESPONSE: self.response_centre + self.response_half * mean, DISPERSION: 1.0}, units

    def tails(self, covariances: Array, shown: Array) -> Tails:
        """Excess fourth moments from Laplace noise in the sums. Noise in the columns' moments adds up to nearly normal noise."""
        single, together = np.zeros(shown.shape[:2]), np.zeros(len(self.holders))
        for j in np.flatnonzero(self.laplace):
            noise, variances = self.holders[j].noise, np.einsum("ka,ab,kb->k", shown[j], covariances[j], shown[j])
            single[j] = LAPLACE_EXCESS * np.sum((shown[j] @ noise) ** 4, axis=1) / variances**2
            root = whitening_root(covariances[j][np.ix_(self.used, self.used)][None])[0]
            lengths = np.sum(np.linalg.solve(root, noise[self.used]) ** 2, axis=0)
            together[j] = LAPLACE_EXCESS * float(np.sum(lengths**2))
        return Tails(single, together)


def check_table(found: GlmStatistics, terms: Sequence[str], names: Sequence[str], interval: float) -> pandas.DataFrame:
    """Build the table: one line per holder and statistic, per row of the holder's table and in the user's units."""
    used, several = found.used, len(names) > 1
    each = np.tile(np.eye(found.gaps.shape[1]), (len(names), 1, 1))
    slopes = np.array([holder.slopes for holder in found.holders])
    at = reference(found.covariances, slopes, found.weights, covariance_root(found.coefficients), found.gaps[:, used], used, each)
    shown = np.array([found.combinations(terms, _means(holder, found.means())) for holder in found.holders])
    tails = found.tails(at.holders, shown)
    gaps, sds = np.einsum("jka,ja->jk", shown, found.gaps), np.sqrt(np.einsum("jka,jab,jkb->jk", shown, at.holders, shown))
    p = tails.two_sided(gaps / sds)
    distances = squared_lengths(at.holders[:, used][:, :, used], found.gaps[:, used])
    distance_p = tails.beyond(distances, len(used))
    lines, labels = Lines(interval), found.labels(terms)
    z = lines.deviations
    for j, name in enumerate(names):
        expected, units = found.scales(found.holders[j : j + 1])
        for k, label in enumerate(labels):
            if not label.endswith(LEFT_OUT):
                lines.add(name, label, expected.get(label, 0.0), units[label] * gaps[j, k], z * (units[label] * sds[j, k]),
                          p[j, k])
        if several:
            lines.add_distance(name, float(distances[j]), float(len(used)), float(distance_p[j]))
    if several:
        agreement, freedom = at.agreement
        lines.add_distance(ALL, agreement, freedom, tails.sum_beyond(agreement, freedom))
    together = found.combinations(terms, found.means())
    sums, sum_sds = together @ found.gaps.sum(axis=0), np.sqrt(np.einsum("ka,ab,kb->k", together, at.together, together))
    expected, units = found.scales(found.holders)
    for k, label in enumerate(labels):
        if label.endswith(LEFT_OUT) or (several and label in (MEAN_RESPONSE, DISPERSION)):
            lines.add(ALL, label, expected.get(label, 0.0), units[label] * sums[k], z * (units[label] * sum_sds[k]),
                      float(two_sided(sums[k] / sum_sds[k])))
    return lines.table()


def _means(holder: HolderStatistics, common: Array) -> Array:
    return holder.means if holder.rows > ROWS_OVER_NOISE * holder.means_noise else common
