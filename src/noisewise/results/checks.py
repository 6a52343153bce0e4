"""The predictive check: do every holder's released statistics look the way the fit expects?

``Posterior.check(release)`` returns a `PredictiveCheck`. The mathematics is in ``check_moments``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise.arrays import Array
from noisewise.errors import ResultError
from noisewise.notebook import card, frame
from noisewise.releases.combine import combine
from noisewise.releases.release import Release
from noisewise.releases.source import source_of
from noisewise.results.check_findings import ALL, LEFT_OUT, MEAN, SQUARES, Lines
from noisewise.results.check_moments import Statistics, references, squared_lengths
from noisewise.results.check_tails import Tails, two_sided
from noisewise.results.fit_info import INTERCEPT, check_interval
from noisewise.words import option

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from noisewise.results.posterior import Posterior
    from noisewise.schema import Design


DRAWS = 64
"""Number of evenly spaced draws to average over; covariances differ little between draws."""
ROWS_OVER_NOISE = 5.0
"""A holder needs at least this many standard deviations of the noise in rows; otherwise the mean over all holders is used."""
FITTED = "give the files that were fitted, or fit these and check that fit"
LEVEL = 0.01
"""The probability that `problems` reports anything although the model holds for every holder."""


@dataclass(frozen=True, eq=False)
class PredictiveCheck:
    """Observed and expected statistics of every holder.

    ``table`` has one row for each holder and statistic, with the index (holder, statistic) and the columns ``observed``,
    ``expected``, ``lower`` and ``upper`` (which would contain a new release with probability ``interval``), and ``p`` (the
    probability of a value at least as far out). A holder's statistics are per row of its table and in the user's units: the mean
    residual, the mean product of the residual and each predictor (centred at its mean), the mean squared residual, and
    ``overall``, the distance of all of them together (a chi-square). The rows of holder ``all`` show whether the holders agree
    and, for each released column that the formula leaves out, whether the residuals depend on it.

    A logistic, probit or Poisson regression has the mean response instead of the mean residual (for two levels, the share of the
    second) and no squared residual. Counts whose squares were released have the ``dispersion``, their variance relative to a
    Poisson distribution's. The holder ``all`` then also has the mean response and the dispersion.

    A single holder's statistics determine the fit, so they always look fine, and there is no ``overall``. Only the columns that
    the formula leaves out, and the dispersion of counts, can then reveal a problem.
    """

    table: pandas.DataFrame
    formula: str
    interval: float
    single: bool
    """True if there is only one holder."""

    def problems(self, level: float = LEVEL) -> list[str]:
        """List what does not fit, in words. Empty if everything fits. ``level`` is shared among all statistics checked."""
        from noisewise.results import check_findings

        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
            raise ResultError("level must be between 0 and 1", argument="level", found=repr(level), remedy="for example 0.01")
        return check_findings.problems(self.table, level)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot expected (bar) and released (dot) values, with one panel for each statistic and one line for each holder."""
        from noisewise.plots.checks import draw_check

        return draw_check(self, path)

    def __repr__(self) -> str:
        holders = len(set(self.table.index.get_level_values("holder")) - {ALL})
        return f"<PredictiveCheck {self.formula!r}: {holders} holders, {len(self.problems())} problems>"

    def _repr_html_(self) -> str:
        return card(self.formula, frame(self.table), notes=self.problems())


def check_release(posterior: Posterior, release: Release | Sequence[Release], holders: Sequence[str] | None,
                  interval: float) -> PredictiveCheck:
    """Compare a posterior with the release it was fitted to."""
    check_interval(interval)
    together = combine(release)
    _refuse(posterior, together)
    names = _holder_names(holders, together.holders)
    if posterior.has_sigma:
        table = _linear_table(posterior, together, names, interval)
    else:
        from noisewise.posterior.glm.check import check_statistics  # it imports this package
        from noisewise.results.glm_checks import check_table

        draws = posterior.samples.reshape(-1, len(posterior.terms))
        found = check_statistics(together, posterior.design, posterior.info.family, draws)
        table = check_table(found, posterior.design.terms, names, interval)
    return PredictiveCheck(table, posterior.info.formula, interval, together.holders == 1)


def _refuse(posterior: Posterior, release: Release) -> None:
    kind = release.kind.name
    if kind != "gram" and (posterior.has_sigma or kind != "moments"):
        raise ResultError("predictive checks require releases of kind gram", found=f"a release of kind {kind}",
                          remedy="give the gram releases that were fitted; other kinds lack the statistics to check")
    if release.pooled:
        raise ResultError("a check needs each holder's statistics", found="holders pooled on loading",
                          remedy="load their files without " + option("pooled", True))
    if release.columns != posterior.design.basis.columns or release.schema != posterior.design.basis.schema:
        raise ResultError("the releases must have the schema and terms of the fit", found="another schema or other terms",
                          remedy="give the files that were fitted")
    if release.holders != posterior.info.holders:  # the check assumes that the fit used the statistics it is checked against
        raise ResultError("give exactly the releases that were fitted",
                          found=f"a fit of {posterior.info.holders} holders and the releases of {release.holders}",
                          remedy=FITTED)
    if posterior.info.source not in ("", source_of(release)):
        raise ResultError("give exactly the releases that were fitted", found="a fit of other releases with the same columns",
                          remedy=FITTED)


def _holder_names(given: Sequence[str] | None, count: int) -> list[str]:
    names = [str(number) for number in range(1, count + 1)] if given is None else [str(name) for name in given]
    if len(names) != count or len(set(names)) < count or ALL in names:
        raise ResultError(f"holders must have different names, none of them '{ALL}'", argument="holders",
                          found=f"{len(names)} names for {count} holders", remedy="give one name for each holder")
    return names


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


def _linear_table(posterior: Posterior, release: Release, names: Sequence[str], interval: float) -> pandas.DataFrame:
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
