"""What a plan assumes about a table: the shape of each column, from the schema and from what the planner declares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.checks import is_number, is_whole
from noisewise.errors import DeclarationError
from noisewise.schema import Categorical, Design, Numeric

Declared: TypeAlias = Mapping[str, Mapping[str, object]]

SHAPES: Final = ("normal", "uniform", "skewed")
SHARE_OF_RANGE: Final = 1 / 6
"""Default standard deviation of a column: each bound is then three of them from the middle."""
SHARE_OF_COUNT: Final = 1 / 4
"""Default mean of a count, as a share of its upper bound."""


def clipped_moments(mean: Array, sd: float, lower: float, upper: float) -> tuple[Array, Array]:
    """Mean and mean square of normal numbers clipped to bounds."""
    from scipy.special import ndtr

    a, b = (lower - mean) / sd, (upper - mean) / sd
    below, above, inside = ndtr(a), ndtr(-b), ndtr(b) - ndtr(a)
    at_a, at_b = (np.exp(-0.5 * end**2) / np.sqrt(2 * np.pi) for end in (a, b))
    first = lower * below + upper * above + mean * inside + sd * (at_a - at_b)
    second = (lower**2 * below + upper**2 * above + (mean**2 + sd**2) * inside + 2 * mean * sd * (at_a - at_b)
              + sd**2 * (a * at_a - b * at_b))
    return first, second


@dataclass(frozen=True)
class Shape:
    """The distribution of a numeric column; ``skewed`` is a gamma distribution that starts at the lower bound."""

    column: Numeric
    mean: float
    sd: float
    shape: str
    declared: bool

    def values(self, normal: Array) -> Array:
        """The column that follows from one standard normal number per row, clipped to its bounds."""
        from scipy import stats

        if self.shape == "normal":
            mean, sd = self._before_clipping()
            found = mean + sd * normal
        elif self.shape == "uniform":
            found = self.mean + self.sd * math.sqrt(3) * (2 * stats.norm.cdf(normal) - 1)
        else:
            above = self.mean - float(self.column.lower)
            scale = self.sd**2 / above
            found = float(self.column.lower) + stats.gamma.isf(stats.norm.sf(normal), above / scale, scale=scale)
        return np.clip(found, float(self.column.lower), float(self.column.upper))

    def _before_clipping(self) -> tuple[float, float]:
        """Mean and standard deviation of the normal column that has the declared ones after clipping."""
        from scipy.optimize import root

        lower, upper = float(self.column.lower), float(self.column.upper)
        start = np.array([self.mean, math.log(self.sd)])

        def excess(point: Array) -> Array:
            first, second = clipped_moments(point[:1], math.exp(point[1]), lower, upper)
            spread = math.sqrt(max(float(second[0] - first[0] ** 2), 1e-300))
            return np.array([(first[0] - self.mean) / self.sd, math.log(spread / self.sd)])

        solved = root(excess, start)
        mean, log_sd = solved.x if solved.success else start
        return float(mean), math.exp(float(log_sd))

    def __str__(self) -> str:
        return f"{self.column.name}: {self.shape}, mean {self.mean:.4g}, sd {self.sd:.4g}" + origin(self.declared)


@dataclass(frozen=True)
class Shares:
    """How often each level of a category occurs."""

    column: Categorical
    shares: tuple[float, ...]
    declared: bool

    def values(self, normal: Array) -> npt.NDArray[np.str_]:
        """The column that follows from one standard normal number per row: levels in order, by thresholds."""
        from scipy import stats

        limits = stats.norm.ppf(np.cumsum(self.shares)[:-1])
        return np.array([str(level) for level in self.column.levels])[np.searchsorted(limits, normal)]

    def __str__(self) -> str:
        words = ", ".join(f"{level} {share:.3g}" for level, share in zip(self.column.levels, self.shares, strict=True))
        return f"{self.column.name}: {words}" + origin(self.declared)


def origin(declared: bool) -> str:
    """The suffix of an assumption that nobody declared."""
    return "" if declared else " (assumed)"


def assumed(design: Design, declared: Declared, *, count: bool) -> list[Shape | Shares]:
    """The shapes of the columns a regression needs, the response last; ``count``: it is a Poisson regression."""
    names = (*design.columns_needed, design.response)
    for name, given in declared.items():
        if name not in names:
            raise DeclarationError("assumptions must be about columns of the formula", found=repr(name), known=names)
        if not isinstance(given, Mapping):
            raise DeclarationError(f"column '{name}': its assumptions must have names", found=repr(given),
                                   remedy='for example {"mean": 60, "sd": 12} or {"shares": [0.5, 0.3, 0.2]}')
    found: list[Shape | Shares] = []
    for place, name in enumerate(names):
        column, given = design.basis.schema.column(name), dict(declared.get(name, {}))
        if isinstance(column, Categorical):
            found.append(_shares(column, given))
        else:
            assert isinstance(column, Numeric)  # a gram release has no other kinds of column
            found.append(_shape(column, given, count and place == len(names) - 1))
    return found


def _shape(column: Numeric, given: Mapping[str, object], count: bool) -> Shape:
    where = f"column '{column.name}'"
    lower, upper = float(column.lower), float(column.upper)
    _check_keys(where, given, ("mean", "sd", "shape"))
    mean = _number(given.get("mean", upper * SHARE_OF_COUNT if count else column.centre), f"{where}: mean")
    sd = _number(given.get("sd", (upper - lower) * SHARE_OF_RANGE), f"{where}: sd")
    shape = given.get("shape", "normal")
    if not lower < mean < upper:
        raise DeclarationError(f"{where}: mean must lie between the bounds", found=f"{mean:g}, bounds {lower:g} and {upper:g}")
    if not 0 < sd <= column.half_width:
        raise DeclarationError(f"{where}: sd must be positive and at most half the range", found=f"{sd:g}")
    if not isinstance(shape, str) or shape not in SHAPES:
        raise DeclarationError(f"{where}: unknown shape", found=repr(shape), known=SHAPES)
    return Shape(column, mean, sd, shape, bool(given))


def _shares(column: Categorical, given: Mapping[str, object]) -> Shares:
    where = f"column '{column.name}'"
    names = [str(level) for level in column.levels]
    if not given:
        return Shares(column, (1 / len(names),) * len(names), declared=False)
    _check_keys(where, given, ("shares",))
    shares = given["shares"]
    if isinstance(shares, Mapping):
        known = {str(level): share for level, share in shares.items()}
        if set(known) != set(names):
            raise DeclarationError(f"{where}: give a share for each of its levels", found=", ".join(known) or "none",
                                   known=names)
        shares = [known[name] for name in names]
    if not isinstance(shares, Sequence) or len(shares) != len(names):
        raise DeclarationError(f"{where}: give one share for each of its {len(names)} levels", found=repr(shares))
    numbers = [_number(share, f"{where}: a share") for share in shares]
    if min(numbers) <= 0 or not math.isclose(sum(numbers), 1.0, abs_tol=1e-6):
        raise DeclarationError(f"{where}: shares must be positive and add up to 1", found=repr(numbers))
    return Shares(column, tuple(number / sum(numbers) for number in numbers), declared=True)


def correlation_root(names: Sequence[str], correlations: Mapping[tuple[str, str], float]) -> Array:
    """A square root of the correlation matrix of the columns' normal variables; pairs not named are uncorrelated."""
    matrix = np.eye(len(names))
    for pair, value in correlations.items():
        if not (isinstance(pair, tuple) and len(pair) == 2 and pair[0] != pair[1] and set(pair) <= set(names)):
            raise DeclarationError("a correlation must be between two predictors of the formula", found=repr(pair), known=names)
        number = _number(value, f"the correlation of {pair[0]} and {pair[1]}")
        if not -1 < number < 1:
            raise DeclarationError("a correlation must lie strictly between -1 and 1", found=f"{number:g}")
        first, second = names.index(pair[0]), names.index(pair[1])
        matrix[first, second] = matrix[second, first] = number
    try:
        return np.asarray(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError as error:
        raise DeclarationError("correlations must be possible together: their matrix must be positive definite",
                               found="one that is not", remedy="make some of them smaller") from error


def _check_keys(where: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    for key in given:
        if key not in known:
            raise DeclarationError(f"{where}: unknown property", found=repr(key), known=known)


def whole_number(name: str, value: object, least: int, most: int, remedy: str | None = None) -> int:
    """Check a count given by the planner."""
    if not (isinstance(value, np.integer) or is_whole(value, least)) or not least <= value <= most:
        raise DeclarationError(f"{name} must be a whole number from {least} to {most:,}", found=repr(value), remedy=remedy)
    return int(value)


def _number(value: object, what: str) -> float:
    if not is_number(value) or not math.isfinite(value):
        raise DeclarationError(f"{what} must be a finite number", found=repr(value))
    return float(value)
