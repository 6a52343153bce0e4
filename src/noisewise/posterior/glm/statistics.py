"""The data of a generalised linear model in a release: Σ aaᵀ of the columns that a formula uses and Σ y a, with their noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.posterior.contributions import Contribution, Contributions, holder_weights, row_count
from noisewise.posterior.glm.families import Family
from noisewise.releases.release import Release
from noisewise.schema import Categorical, Design, Numeric

KINDS = ("gram", "moments")


@dataclass(frozen=True)
class Response:
    """The response's released column: its position, and y as a function of the scaled value, ``centre + half · value``."""

    position: int
    centre: float
    half: float
    largest: float


@dataclass(frozen=True)
class Statistics:
    """The holders' noisy sums, added up (with weights if their noise differs). The variance is infinite if none was released."""

    gram: Array
    gram_variance: Array
    cross: Array
    cross_variance: Array
    rows: float
    rows_ratio: float
    """Σ w² n / Σ w n: 1 unless the holders have weights."""
    count_variance: float
    """The noise of the number of rows: 0 if it is exact."""

    @classmethod
    def of(cls, contributions: Contributions, order: Sequence[int], response: Response, family: Family
           ) -> Statistics:
        """Add up the holders' sums for the columns in ``order``. For two levels, Σ y² refines a noisy number of rows."""
        w, used = pooling_weights(contributions), np.array(order)
        matrix = sum(weight * one.matrix for weight, one in zip(w, contributions, strict=True))
        variances = sum(weight**2 * entry_variances(one) for weight, one in zip(w, contributions, strict=True))
        counts = np.array([row_count(one) for one in contributions])
        exact = contributions[0].rows is not None
        rows, spread = float(w @ counts), 0.0 if exact else float(variances[0, 0])
        square = float(variances[response.position, response.position])
        if not exact and family.response == "two levels" and np.isfinite(square):  # y² = 1, so Σ y² counts the rows once more
            other = float(matrix[response.position, response.position])
            rows, spread = (rows * square + other * spread) / (square + spread), square * spread / (square + spread)
        variances[0, 0] = spread
        return cls(
            gram=matrix[np.ix_(used, used)],
            gram_variance=variances[np.ix_(used, used)],
            cross=matrix[response.position, used],
            cross_variance=variances[response.position, used],
            rows=max(rows, 1.0),
            rows_ratio=float(w**2 @ np.maximum(counts, 1.0) / (w @ np.maximum(counts, 1.0))),
            count_variance=spread,
        )

    @property
    def exact_rows(self) -> bool:
        """True if the number of rows has no noise."""
        return self.count_variance == 0

    def check_released(self) -> None:
        """Refuse a formula if some of its sums are missing: a moments release may have other blocks, and lacks Σ y²."""
        if not (np.isfinite(self.gram_variance).all() and np.isfinite(self.cross_variance).all()):
            raise FitError("the release does not contain all sums of products that this formula needs",
                           found="a moments release without them", remedy="a release needs the blocks x, xx, y "
                           "and yx, and the response that it was made for cannot be a predictor; noisewise show lists the blocks")

    def hidden(self) -> bool:
        """True if the noise is of the order of the columns' smallest variance."""
        moments = self.gram / self.rows
        covariance = moments[1:, 1:] - np.outer(moments[0, 1:], moments[0, 1:])
        if not len(covariance):
            return False
        noise = np.sqrt(np.max(self.gram_variance[1:, 1:]) * len(covariance)) / self.rows
        return bool(not np.isfinite(noise) or np.linalg.eigvalsh(covariance)[0] < 3.0 * noise)


def pooling_weights(contributions: Contributions) -> Array:
    """Return the weights with which a fit adds up the holders."""
    weights = holder_weights(contributions, variance=1.0, norm2=2.0, spread=0.1)
    return np.ones(len(contributions)) if weights is None else weights


def entry_variances(contribution: Contribution) -> Array:
    """Return the noise variance of every entry of a holder's matrix; infinite if it was not released."""
    released: Array | None = getattr(contribution, "variances", None)
    return contribution.noise.variances(len(contribution.matrix)) if released is None else released


def read_response(release: Release, design: Design, family: Family) -> Response:
    """Return the response of a formula, if the family allows it."""
    if release.kind.name not in KINDS:
        raise FitError("generalised linear models require a release of kind " + " or ".join(KINDS), found=release.kind.name)
    if any(getattr(one, "average", 1) > 1 for one in release.contributions):
        raise FitError("generalised linear models require rows that were not averaged", found="rows that were averaged in groups",
                       remedy="the data holder makes a release without average")
    column = release.schema.column(design.response) if design.response in release.schema.names else None
    (position, *others) = [int(index) for index in np.flatnonzero(design.target) if index != 0]
    if family.response == "two levels":
        if not (isinstance(column, Categorical) and column.two_level and not others):
            raise FitError(f"the response of a {family.name} regression must be a column with two levels",
                           found=f"'{design.response}'",
                           remedy="the data holder declares it with levels = [no, yes]; the model gives the "
                                  "probability of the second")
        return Response(position, 0.0, 1.0, 1.0)
    if not (isinstance(column, Numeric) and column.lower == 0 and float(column.upper).is_integer()):
        raise FitError(f"the response of a {family.name} regression must be a count: a column with bounds from 0 to a whole "
                       "number",
                       found=f"'{design.response}'", remedy="the data holder declares it with bounds = [0, largest count]")
    return Response(position, column.centre, column.half_width, float(column.upper))
