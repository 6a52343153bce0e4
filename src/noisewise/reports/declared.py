"""What was declared about the columns, and what the released sums say about them.

Means and shares here are the released, noisy sums divided by the number of rows. Anyone with the file can compute them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from noisewise.releases.release import Release
from noisewise.reports.numbers import Table, number, percent, rough
from noisewise.schema.columns import DROP, Categorical, Column, Numeric
from noisewise.schema.schema import Schema

NEAR, AT_BOTH, NARROW = 0.8, 0.9, 0.05
"""In half widths of the bounds. A mean further than ``NEAR`` from the middle is within a tenth of the range of one bound. A mean
square above ``AT_BOTH`` requires most values to be near a bound. A standard deviation below ``NARROW`` means loose bounds."""
CLEAR: Final = 3.0
"""Report only what exceeds this many standard deviations of the noise."""


class Moment(NamedTuple):
    """The mean and the mean square of a released column in scaled units, each with the standard deviation of its noise."""

    mean: float
    noise: float
    square: float | None = None
    square_noise: float = 0.0


Moments: TypeAlias = Mapping[tuple[str, str | None], Moment]
"""The moments of declared columns or their levels, by column and level."""


def declared_table(schema: Schema, moments: Moments) -> Table:
    """One line per column: what was declared, what happens to cells that do not fit, and what was released about it."""
    rows = [(column.name, *_declaration(column), *([_released(column, moments)] if moments else [])) for column in schema.columns]
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
    return "a number without known bounds", "stays unchanged", missing


def _value(value: object) -> str:
    return number(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _released(column: Column, moments: Moments) -> str:
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


def column_moments(release: Release) -> Moments:
    """The mean and mean square of each released column that is a declared column or one of its levels."""
    rows = sum(float(one.matrix[0, 0]) for one in release.contributions)
    if not rows >= 1:
        return {}
    found = {}
    alone = [(place, column.factors[0]) for place, column in enumerate(release.columns) if len(column.factors) == 1]
    for place, factor in ((place, factor) for place, factor in alone if factor.degree == 1):
        sums = zip(*(one.column_sums(place) for one in release.contributions), strict=True)
        total, variance, square, square_variance = map(sum, sums)
        if math.isfinite(variance):
            squares = (square / rows, math.sqrt(square_variance) / rows) if math.isfinite(square_variance) else ()
            found[factor.column, None if factor.level is None else str(factor.level)] = Moment(
                total / rows, math.sqrt(variance) / rows, *squares)
    return found


def bound_notes(schema: Schema, moments: Moments) -> list[str]:
    """Notes on bounds that the released sums show to be tight or loose."""
    found = (_about_bounds(column, moments[column.name, None]) for column in schema.columns
             if isinstance(column, Numeric) and (column.name, None) in moments)
    return [words for words in found if words]


def _about_bounds(column: Numeric, moment: Moment) -> str | None:
    if abs(moment.mean) - CLEAR * moment.noise > NEAR:
        side, bound = ("upper", column.upper) if moment.mean > 0 else ("lower", column.lower)
        gap = (1 - abs(moment.mean)) / 2
        between = f"only {percent(gap)} of the range is between them" if gap > 0 else "noise has even moved it beyond the bound"
        return (f"The released mean of “{column.name}” is near its {side} bound, {number(float(bound))}: {between}. "
                "Either the values really are there, or many were clipped. Coefficients describe the clipped values.")
    if moment.square is None:
        return None
    if moment.square - CLEAR * moment.square_noise > AT_BOTH:
        return (f"The released mean square of “{column.name}” is possible only if most values are near one of the two bounds. "
                "Many may have been clipped, and coefficients describe the clipped values.")
    variance = moment.square - moment.mean**2
    noise = moment.square_noise + 2 * abs(moment.mean) * moment.noise
    if max(variance, 0.0) + CLEAR * noise < NARROW**2:
        width = number(float(np.sqrt(max(variance, 0.0) + noise)) * column.half_width)
        return (f"The values of “{column.name}” vary little (standard deviation about {width} or less) compared with its "
                "bounds. Narrower bounds, from public knowledge, would make the next release more precise at the same ε.")
    return None
