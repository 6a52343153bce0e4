"""What was declared about the columns, and what the released sums themselves say about them.

Means and shares here are the released, noisy sums divided by the number of rows: whoever has the file can compute them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise.release.adassp import AdasspPart
from noisewise.release.model import Release
from noisewise.release.moments import MomentsPart
from noisewise.release.single import SingleRelease
from noisewise.report.numbers import number, percent, rough
from noisewise.report.tables import Table
from noisewise.schema.columns import DROP, Categorical, Column, Numeric
from noisewise.schema.schema import Schema

NEAR: Final = 0.8
"""A mean so far from the middle of the bounds, in half widths, lies within a tenth of their distance from one of them."""
AT_BOTH: Final = 0.9
"""So large a mean square, in squared half widths, is possible only if most values lie near one bound or the other."""
NARROW: Final = 0.05
"""A standard deviation of less than so many half widths: the bounds are loose."""
CLEAR: Final = 3.0
"""Standard deviations of the noise: less is not taken for a fact."""
UNKNOWN_TO_ALL: Final = (
    "Whether any value was changed by these rules, and how often, is known to the data holder alone: such counts are "
    "confidential, and a release does not hold them.")


@dataclass(frozen=True)
class Moment:
    """The mean and the mean square of a released column in scaled units, each with the standard deviation of its noise."""

    mean: float
    noise: float
    square: float | None = None
    square_noise: float = 0.0


def declared_table(schema: Schema, release: Release | SingleRelease) -> Table:
    """One line for each column: what was declared, what became of cells that do not fit, and what is released about it."""
    moments = column_moments(release) if isinstance(release, Release) else {}
    rows = []
    for column in schema.columns:
        rows.append((column.name, *_declaration(column), *([_released(column, moments)] if moments else [])))
    headings = ["Column", "Declared", "A value that does not fit", "A missing value"]
    headings += ["Mean or shares, as released"] if moments else []
    return Table.of("Columns as they were declared", headings, rows, words=range(5), rest="the release file has them all")


def _declaration(column: Column) -> tuple[str, str, str]:
    missing = "its row is left out" if column.fill == DROP else f"becomes {_value(column.fill)}"
    if isinstance(column, Categorical):
        unseen = "its row is left out" if column.unseen == DROP else f"becomes {column.unseen}"
        return f"one of {', '.join(map(str, column.levels))}", unseen, missing
    if isinstance(column, Numeric):
        return f"a number from {_value(column.lower)} to {_value(column.upper)}", "becomes the nearer bound", missing
    return "a number; nobody knows bounds", "stays as it is", missing


def _value(value: object) -> str:
    return number(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _released(column: Column, moments: dict[tuple[str, str | None], Moment]) -> str:
    if isinstance(column, Numeric):
        found = moments.get((column.name, None))
        if found is None:
            return "not released"
        noise = found.noise * column.half_width
        return f"{number(column.centre + found.mean * column.half_width, noise)} ± {rough(noise)}"
    assert isinstance(column, Categorical)
    if column.two_level:
        found = moments.get((column.name, None))
        shares = [] if found is None else [(column.levels[1], (1 + found.mean) / 2, found.noise / 2)]
    else:
        levels = [(level, moments.get((column.name, str(level)))) for level in column.levels[1:]]
        shares = [(level, found.mean, found.noise) for level, found in levels if found is not None]
    return ", ".join(f"{level}: {number(100 * share, 100 * noise)} % ± {rough(100 * noise)}" for level, share, noise in shares) \
        or "not released"


def column_moments(release: Release) -> dict[tuple[str, str | None], Moment]:
    """Mean and mean square of the released columns that are a declared column or one of its levels."""
    rows = sum(float(part.matrix[0, 0]) for part in release.parts)
    if not rows >= 1:
        return {}
    found = {}
    for place, column in enumerate(release.columns):
        if len(column.factors) == 1 and column.factors[0].degree == 1:
            factor = column.factors[0]
            moment = _moment(release, place, rows)
            if moment is not None:
                found[factor.column, None if factor.level is None else str(factor.level)] = moment
    return found


def _moment(release: Release, place: int, rows: float) -> Moment | None:
    total, square = 0.0, 0.0
    variance, square_variance = 0.0, 0.0
    for part in release.parts:
        if isinstance(part, AdasspPart) and place == part.size:  # the response: its sums with the predictors, no square
            total, variance, square_variance = total + float(part.moments[0]), variance + part.noise.off_diagonal**2, math.inf
            continue
        variances = part.variances if isinstance(part, MomentsPart) else part.noise.variances(part.size)
        total, variance = total + float(part.matrix[0, place]), variance + float(variances[0, place])
        averaged = math.inf if part.average > 1 else 0.0  # the square of an average is not the average of squares
        square, square_variance = square + float(part.matrix[place, place]), square_variance + variances[place, place] + averaged
    if not math.isfinite(variance):
        return None
    if not math.isfinite(square_variance):
        return Moment(total / rows, math.sqrt(variance) / rows)
    return Moment(total / rows, math.sqrt(variance) / rows, square / rows, math.sqrt(square_variance) / rows)


def bound_notes(release: Release) -> list[str]:
    """Where the released sums themselves show that bounds are tight or loose."""
    moments = column_moments(release)
    found = []
    for column in release.schema.columns:
        moment = moments.get((column.name, None))
        if isinstance(column, Numeric) and moment is not None:
            words = _about_bounds(column, moment)
            if words:
                found.append(words)
    return found


def _about_bounds(column: Numeric, moment: Moment) -> str | None:
    if abs(moment.mean) - CLEAR * moment.noise > NEAR:
        side, bound = ("upper", column.upper) if moment.mean > 0 else ("lower", column.lower)
        gap = (1 - abs(moment.mean)) / 2
        between = f"only {percent(gap)} of the range is between them" if gap > 0 else "noise has even put it beyond"
        return (f"The released mean of “{column.name}” lies near its {side} bound, {number(float(bound))}: {between}. "
                "Either the values really are there, or many were clipped; coefficients describe the clipped values.")
    if moment.square is None:
        return None
    if moment.square - CLEAR * moment.square_noise > AT_BOTH:
        return (f"The released mean square of “{column.name}” is possible only if most values lie near one of the two bounds: "
                "many may have been clipped, and coefficients describe the clipped values.")
    variance = moment.square - moment.mean**2
    noise = moment.square_noise + 2 * abs(moment.mean) * moment.noise
    if max(variance, 0.0) + CLEAR * noise < NARROW**2:
        width = number(float(np.sqrt(max(variance, 0.0) + noise)) * column.half_width)
        return (f"The values of “{column.name}” spread little (standard deviation about {width} or less) compared with its "
                "bounds. Narrower bounds from public knowledge would make a next release more precise at the same ε.")
    return None
