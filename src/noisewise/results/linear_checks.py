"""The predictive check of a linear regression, from the sums of a gram release. The mathematics is in ``check_moments``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise.arrays import Array
from noisewise.releases.release import Release
from noisewise.results.check_findings import ALL, LEFT_OUT, MEAN, SQUARES, Lines
from noisewise.results.check_moments import Statistics, references, squared_lengths
from noisewise.results.check_tails import Tails, two_sided
from noisewise.results.fit_info import INTERCEPT

if TYPE_CHECKING:
    import pandas

    from noisewise.results.posterior import Posterior
    from noisewise.schema import Design


DRAWS = 64
"""Number of evenly spaced draws to average over; covariances differ little between draws."""
ROWS_OVER_NOISE = 5.0
"""A holder needs at least this many standard deviations of the noise in rows; otherwise the mean over all holders is used."""


def _left_out(design: Design) -> NDArray[np.intp]:
    """Positions of the released columns that neither side of the formula uses."""
    unused = ~(np.any(design.features != 0.0, axis=1) | (design.target != 0.0))
    unused[0] = False
    return np.flatnonzero(unused)


def _sizes(release: Release) -> Array:
    """Numbers of rows, noisy unless they are public."""
    return np.array([one.matrix[0, 0] if one.rows is None else one.rows for one in release.contributions], dtype=float)


def _statistics(posterior: Posterior, release: Release, half_width: float) -> Statistics:
    design, holders = posterior.design, release.contributions
    draws = posterior.samples.reshape(-1, len(posterior.terms))
    coefficients = draws[:, : len(design.terms)] / half_width
    matrices, sizes = np.array([one.matrix for one in holders]), _sizes(release)
    directions = np.column_stack([design.features, np.eye(design.basis.size)[:, _left_out(design)]])
    own = np.tile(np.eye(directions.shape[1] + 1), (release.holders, 1, 1))
    if INTERCEPT in design.terms:  # centre the predictors, so that a shift is not mistaken for a slope
        constant = design.terms.index(INTERCEPT)
        mean = matrices.sum(axis=0)[0] @ directions / max(float(sizes.sum()), 1.0)
        mean[constant] = 0.0
        directions[0] -= mean
        # The holders' own means, as differences from the common mean, unless noise swamps them.
        means = matrices[:, 0] @ directions / np.maximum(sizes, 1.0)[:, None]
        means[sizes < ROWS_OVER_NOISE * np.array([one.noise.diagonal for one in holders])] = 0.0
        means[:, constant] = 0.0
        own[:, :-1, constant] -= means
    return Statistics(
        matrices=matrices,
        counts=sizes / [one.average for one in holders],
        noise=np.array([[one.noise.off_diagonal, one.noise.diagonal, one.noise.corner] for one in holders]) ** 2,
        features=design.features,
        directions=directions,
        own=own,
        residuals=design.target / half_width - coefficients @ design.features.T,
        coefficients=coefficients,
        variances=(draws[:, -1] / half_width) ** 2,
    )


@dataclass(frozen=True)
class _Found:
    """Averages over the draws, in working units. Arrays have one row per holder unless stated otherwise."""

    observed: Array
    variances: Array
    p: Array
    distance: Array
    distance_p: Array
    left_out: Array
    """For all holders together."""
    left_out_variances: Array
    left_out_p: Array
    agreement: float
    agreement_p: float
    freedom: float
    """The expected value of the agreement."""


def _compare(statistics: Statistics, laplace: NDArray[np.bool_]) -> _Found:
    predictors, width = statistics.features.shape[1], statistics.directions.shape[1]
    fitted, left_out = np.append(np.arange(predictors), width), np.arange(predictors, width)
    raw_observed = statistics.averages()
    outside = raw_observed.sum(axis=0)[left_out]
    observed = np.einsum("jkl,jl->jk", statistics.own, raw_observed)
    chosen = np.unique(np.linspace(0, len(statistics.variances) - 1, DRAWS).astype(int))
    sums: dict[str, Any] = {}
    tails: Tails | None = None
    for at in references(statistics, chosen.tolist()):
        used = at.holders[:, fitted][:, :, fitted]
        tails = tails or Tails.of(statistics, laplace, at.holders, fitted)  # hardly differs between draws
        variances, left_out_variances = np.einsum("jkk->jk", at.holders), np.diag(at.together)[left_out]
        distance, (agreement, freedom) = squared_lengths(used, observed[:, fitted]), at.agreement
        found = {
            "variances": variances, "p": tails.two_sided(observed / np.sqrt(variances)),
            "distance": distance, "distance_p": tails.beyond(distance, predictors + 1),
            "left_out_variances": left_out_variances, "left_out_p": two_sided(outside / np.sqrt(left_out_variances)),
            "agreement": agreement, "agreement_p": tails.sum_beyond(agreement, freedom), "freedom": freedom,
        }
        sums = {name: sums.get(name, 0.0) + value / len(chosen) for name, value in found.items()}
    return _Found(observed=observed, left_out=outside, **sums)


def linear_table(posterior: Posterior, release: Release, names: Sequence[str], interval: float) -> pandas.DataFrame:
    """Build the table, per row of each holder's table and in the user's units."""
    design = posterior.design
    half_width = (design.response_bounds[1] - design.response_bounds[0]) / 2
    statistics, sizes = _statistics(posterior, release, half_width), np.maximum(_sizes(release), 1.0)
    found = _compare(statistics, np.array([one.noise.distribution == "laplace" for one in release.contributions]))
    labels = [MEAN if term == INTERCEPT else f"residual × {term}" for term in design.terms]
    labels += [f"residual × {design.basis.names[place]}{LEFT_OUT}" for place in _left_out(design)]
    predictors, width = statistics.features.shape[1], statistics.directions.shape[1]
    sigma2 = float(statistics.variances.mean()) * half_width**2
    lines = Lines(interval)
    z = lines.deviations
    sds, left_out_sds = np.sqrt(found.variances), np.sqrt(found.left_out_variances)
    for j, name in enumerate(names):
        unit = half_width / float(sizes[j])
        for k in range(predictors):
            lines.add(name, labels[k], 0.0, unit * found.observed[j, k], z * unit * sds[j, k], found.p[j, k])
        unit = half_width**2 / float(statistics.rows[j])
        lines.add(name, SQUARES, sigma2, unit * found.observed[j, -1], z * unit * sds[j, -1], found.p[j, -1])
        if len(names) > 1:
            lines.add_distance(name, found.distance[j], predictors + 1, found.distance_p[j])
    if len(names) > 1:
        lines.add_distance(ALL, found.agreement, found.freedom, found.agreement_p)
    unit = half_width / float(sizes.sum())
    for place, label in enumerate(labels[predictors:width]):
        lines.add(ALL, label, 0.0, unit * found.left_out[place], z * unit * left_out_sds[place], found.left_out_p[place])
    return lines.table()
