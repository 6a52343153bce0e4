"""The noisy sum of a released column: its value, its noise, and how many rows it is of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError
from noisewise.posterior.parts import row_count
from noisewise.release.model import Release
from noisewise.schema import Categorical, Numeric
from noisewise.schema.basis import BasisColumn

Array = npt.NDArray[np.float64]

LAPLACE: Final = "laplace"
ROW_CHOICES: Final = 41
"""So many numbers of rows are tried where it is private."""


@dataclass(frozen=True)
class Noise:
    """Normal or Laplace noise with this standard deviation."""

    distribution: str
    sd: float

    @property
    def scale(self) -> float:
        """Of Laplace noise: the mean of its size."""
        return float(self.sd / np.sqrt(2.0))

    def times(self, factor: float) -> Noise:
        return Noise(self.distribution, self.sd * factor)

    def log_density(self, x: Array) -> Array:
        if self.distribution == LAPLACE:
            return np.asarray(-np.abs(x) / self.scale - np.log(2.0 * self.scale))
        return np.asarray(-0.5 * (x / self.sd) ** 2 - np.log(self.sd * np.sqrt(2.0 * np.pi)))


@dataclass(frozen=True)
class NoisySum:
    """One holder's noisy sum of a scaled column u; a value of the table is ``centre`` + ``half_width`` · u.

    ``rows`` are the numbers of rows that are possible, with their ``weights``: one where it is public. ``squares`` is the noisy
    sum of u², where there is one, with the same kind of noise.
    """

    scaled: float
    noise: Noise
    rows: tuple[int, ...]
    weights: tuple[float, ...]
    centre: float
    half_width: float
    squares: tuple[float, Noise] | None = None

    @property
    def exact_rows(self) -> bool:
        return len(self.rows) == 1

    def total(self, rows: float) -> float:
        """The noisy sum in the user's units, if there are so many rows."""
        return float(self.centre * rows + self.half_width * self.scaled)

    @property
    def user_noise(self) -> Noise:
        return self.noise.times(self.half_width)


def find_column(release: Release, name: str) -> tuple[int, BasisColumn]:
    """The place of a released column: by the name of a column, or of a level, as ``ward[B]``."""
    if release.kind not in ("gram", "moments"):
        raise FitError("sums are in releases of kind gram and moments", found=f"kind {release.kind}",
                       remedy="ask the data holder for one of them")
    names = release.basis.names[1:]
    if name not in names:
        raise FitError("the sum of this column is not in the release", found=repr(name), remedy="there are " + ", ".join(names))
    if release.clipped_norm is not None:
        raise FitError("rows were shortened to a norm, so that the sums are not those of the columns", found="a norm bound",
                       remedy="ask the data holder for a release without norm_bound")
    place = 1 + names.index(name)
    column = release.basis.columns[place]
    if len(column.factors) != 1 or column.factors[0].degree != 1:
        raise FitError("the sum of a product or a power says nothing about one column", found=repr(name),
                       remedy="name a declared column")
    return place, column


def noisy_sums(release: Release, name: str) -> list[NoisySum]:
    """The noisy sums of a column, one for each data holder."""
    place, column = find_column(release, name)
    factor = column.factors[0]
    declared = release.schema.column(factor.column)
    if isinstance(declared, Numeric):
        centre, half_width = declared.centre, declared.half_width
    else:
        assert isinstance(declared, Categorical)
        centre, half_width = (0.5, 0.5) if factor.level is None else (0.0, 1.0)  # coded −1/+1, or 0/1
    return [_of_part(part, place, centre, half_width) for part in release.parts]


def _of_part(part: Any, place: int, centre: float, half_width: float) -> NoisySum:
    variances = getattr(part, "variances", None)
    if variances is None:
        variances = part.noise.variances(part.matrix.shape[0])
    distribution = part.noise.distribution
    if not np.isfinite(variances[0, place]):
        raise FitError("the sum of this column was not released", remedy="use a release of kind gram, or one with that block")
    # A Wishart entry off the diagonal has excess kurtosis 6/k: normal for the degrees of freedom that privacy asks for.
    kind = LAPLACE if distribution == LAPLACE else "gaussian"
    squares = None
    if np.isfinite(variances[place, place]) and getattr(part, "average", 1) == 1:
        squares = float(part.matrix[place, place]), Noise(kind, float(np.sqrt(variances[place, place])))
    rows, weights = _rows(part, Noise(kind, float(np.sqrt(variances[0, 0]))))
    return NoisySum(float(part.matrix[0, place]), Noise(kind, float(np.sqrt(variances[0, place]))), rows, weights, centre,
                    half_width, squares)


def _rows(part: Any, noise: Noise) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The number of rows, or the numbers that its noise leaves possible: evenly spaced, with a flat prior."""
    if part.rows is not None:
        if part.rows < 1:
            raise FitError("a table without rows says nothing", found="0 rows")
        return (int(part.rows),), (1.0,)
    seen = row_count(part)
    reach = (10.0 if noise.distribution == LAPLACE else 5.0) * noise.sd
    rows = np.unique(np.round(np.linspace(max(seen - reach, 1.0), max(seen + reach, 2.0), ROW_CHOICES)))
    logs = noise.log_density(rows - seen)
    weights = np.exp(logs - logs.max())
    return tuple(rows.astype(int).tolist()), tuple((weights / weights.sum()).tolist())
