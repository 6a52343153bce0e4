"""The noisy sum of a released column: its value, its noise and its number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.posterior.contributions import Contribution, row_count
from noisewise.releases.release import Release
from noisewise.schema import Numeric

LAPLACE: Final = "laplace"


@dataclass(frozen=True)
class Noise:
    """Normal or Laplace noise with this standard deviation."""

    distribution: str
    sd: float

    @property
    def scale(self) -> float:
        """The scale of Laplace noise, which is its mean absolute value."""
        return float(self.sd / np.sqrt(2.0))

    def times(self, factor: float) -> Noise:
        """The noise of a number multiplied by a positive factor."""
        return Noise(self.distribution, self.sd * factor)

    def log_density(self, x: Array) -> Array:
        """The normalised log density at x."""
        if self.distribution == LAPLACE:
            return np.asarray(-np.abs(x) / self.scale - np.log(2.0 * self.scale))
        return np.asarray(-0.5 * (x / self.sd) ** 2 - np.log(self.sd * np.sqrt(2.0 * np.pi)))


@dataclass(frozen=True)
class NoisySum:
    """One holder's noisy sum of a scaled column u; a value of the table is ``centre`` + ``half_width`` · u."""

    scaled: float
    noise: Noise
    rows: tuple[int, ...]
    """The possible numbers of rows; a single one if it is public."""
    weights: tuple[float, ...]
    centre: float
    half_width: float
    squares: tuple[float, Noise] | None = None
    """The noisy sum of u², if released, with the same kind of noise."""

    @property
    def exact_rows(self) -> bool:
        """True if the number of rows is public."""
        return len(self.rows) == 1

    def total(self, rows: float) -> float:
        """Return the noisy sum in the user's units, given the number of rows."""
        return float(self.centre * rows + self.half_width * self.scaled)

    @property
    def user_noise(self) -> Noise:
        """The noise of ``total``, in the user's units."""
        return self.noise.times(self.half_width)


class SummedColumn(NamedTuple):
    """The position and bounds of a released column. ``categorical``: it is a level, with values 0 and 1."""

    place: int
    bounds: tuple[float, float]
    categorical: bool
    centre: float
    half_width: float


def find_column(release: Release, name: str) -> SummedColumn:
    """Find a released column by its name, or by a level such as ``ward[B]``."""
    if release.kind.name not in ("gram", "moments"):
        raise FitError("only releases of kind gram and moments contain sums", found=f"kind {release.kind.name}",
                       remedy="ask the data holder for one of them")
    names = release.basis.names[1:]
    if name not in names:
        raise FitError("the sum of this column is not in the release", argument="column", found=repr(name), known=names)
    if release.clipped_norm is not None:
        raise FitError("rows were shortened to a norm bound, so the released sums are not the columns' own", found="a norm bound",
                       remedy="ask the data holder for a release without norm_bound")
    place = 1 + names.index(name)
    factors = release.basis.columns[place].factors
    if len(factors) != 1 or factors[0].degree != 1:
        raise FitError("the sum of a product or a power says nothing about one column", found=repr(name),
                       remedy="name a declared column")
    declared = release.schema.column(factors[0].column)
    if isinstance(declared, Numeric):
        return SummedColumn(place, (float(declared.lower), float(declared.upper)), False, declared.centre, declared.half_width)
    return SummedColumn(place, (0.0, 1.0), True, *((0.5, 0.5) if factors[0].level is None else (0.0, 1.0)))  # −1/+1, or 0/1


def noisy_sums(release: Release, name: str) -> list[NoisySum]:
    """Return the noisy sums of a column, one for each data holder."""
    column = find_column(release, name)
    return [_of_holder(one, column) for one in release.contributions]


def _of_holder(contribution: Contribution, column: SummedColumn) -> NoisySum:
    total, variance, total_squares, squares_variance = contribution.column_sums(column.place)
    if not np.isfinite(variance):
        raise FitError("the sum of this column was not released", remedy="use a release of kind gram, or one with that block")
    # A Wishart entry off the diagonal has excess kurtosis 6/k: nearly normal at the degrees of freedom that privacy requires.
    kind = LAPLACE if contribution.noise.distribution == LAPLACE else "gaussian"
    squares = None
    if np.isfinite(squares_variance):
        squares = total_squares, Noise(kind, float(np.sqrt(squares_variance)))
    rows, weights = _rows(contribution, Noise(kind, float(np.sqrt(contribution.variances[0, 0]))))
    return NoisySum(total, Noise(kind, float(np.sqrt(variance))), rows, weights, column.centre, column.half_width, squares)


ROW_CHOICES: Final = 41
"""Candidates for a private number of rows."""


def _rows(contribution: Contribution, noise: Noise) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the number of rows, or candidates that its noise leaves possible, evenly spaced, with weights under a flat prior."""
    if contribution.rows is not None:
        if contribution.rows < 1:
            raise FitError("a table without rows says nothing", found="0 rows")
        return (int(contribution.rows),), (1.0,)
    seen = row_count(contribution)
    reach = (10.0 if noise.distribution == LAPLACE else 5.0) * noise.sd
    rows = np.unique(np.round(np.linspace(max(seen - reach, 1.0), max(seen + reach, 2.0), ROW_CHOICES)))
    logs = noise.log_density(rows - seen)
    weights = np.exp(logs - logs.max())
    return tuple(rows.astype(int).tolist()), tuple((weights / weights.sum()).tolist())
