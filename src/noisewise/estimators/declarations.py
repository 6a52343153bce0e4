"""Turn constructor arguments into a schema and a formula. The arguments are public, required, never filled in from the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.errors import DeclarationError
from noisewise.schema import Schema

FROM_PUBLIC_KNOWLEDGE: Final = "from public knowledge (a questionnaire, an instrument's range), never from the data"
SHOWN: Final = 5

Level: TypeAlias = str | float | bool
Side: TypeAlias = float | Sequence[float] | npt.NDArray[Any]
"""One end of the bounds: a number for all features, or one number per feature."""
Bounds: TypeAlias = Mapping[str, Sequence[float]] | tuple[Side, Side]
Levels: TypeAlias = Mapping[str, Sequence[Level]]


def declare(names: Sequence[str], response: str, target: Mapping[str, object], *, bounds: object, levels: object,
            adjacency: object, max_rows: object, unit: str | None) -> tuple[Schema, str]:
    """Build the schema and the formula of one fit from column names and constructor arguments alone."""
    for name in (*names, response):
        if "`" in name:
            raise DeclarationError("a column name must not contain a backtick, which quotes names in formulas", found=repr(name),
                                   remedy="rename the column")
    categories = _levels_of(names, levels)
    numbers = [name for name in names if name not in categories]
    limits = _bounds_of(names, numbers, bounds)
    columns = {name: {"levels": categories[name]} if name in categories else {"bounds": limits[name]} for name in names}
    if adjacency is None:
        raise DeclarationError("adjacency is required: it defines what the guarantee hides", argument="adjacency",
                               found="adjacency=None",
                               remedy='give adjacency="replace-one" if the number of rows is public, "add-remove" if it is not')
    schema = Schema.from_dict({"adjacency": adjacency, "unit": _unit_of(unit, max_rows),
                               "columns": {**columns, response: dict(target)}})
    return schema, f"`{response}` ~ " + " + ".join(f"`{name}`" for name in names)


def plain(value: object) -> object:
    """Convert a NumPy scalar to a Python number or string; return anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def pair(value: object, argument: str) -> list[object]:
    """Return ``value`` as [low, high], or raise an error naming ``argument``."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise DeclarationError(f"{argument} must be a pair (low, high)", found=repr(value)[:80],
                               remedy=f"give {argument} {FROM_PUBLIC_KNOWLEDGE}")
    return [plain(bound) for bound in value]


def _levels_of(names: Sequence[str], levels: object) -> dict[str, object]:
    if levels is None:
        return {}
    if not isinstance(levels, Mapping):
        raise DeclarationError("levels must map column names to lists of levels", argument="levels", found=type(levels).__name__,
                               remedy='for example levels={"ward": ["A", "B", "C"]}, reference level first')
    _refuse_unknown("levels", levels, names)
    return {name: [plain(level) for level in found] if isinstance(found, (list, tuple, np.ndarray)) else found
            for name, found in levels.items()}


def _bounds_of(names: Sequence[str], numbers: Sequence[str], bounds: object) -> dict[str, list[object]]:
    """Return the bounds of every column that has no levels."""
    if bounds is None:
        if not numbers:
            return {}
        raise DeclarationError(
            "bounds is required: it determines the noise", argument="bounds", found=f"bounds=None for {_some(numbers)}",
            remedy=f'give bounds={{"{numbers[0]}": (low, high), ...}}, or bounds=(low, high) for all columns, '
            f"{FROM_PUBLIC_KNOWLEDGE}; declare categorical columns in levels")
    if isinstance(bounds, Mapping):
        _refuse_unknown("bounds", bounds, names)
        both = [name for name in bounds if name not in numbers]
        if both:
            raise DeclarationError("a column must not have both bounds and levels", argument="bounds", found=_some(both),
                                   remedy="remove one of them")
        missing = [name for name in numbers if name not in bounds]
        if missing:
            raise DeclarationError("every column of X must be in bounds or in levels", argument="bounds",
                                   found=f"neither for {_some(missing)}",
                                   remedy=f"declare them {FROM_PUBLIC_KNOWLEDGE}, or drop these columns from X")
        return {name: pair(bounds[name], f"bounds[{name!r}]") for name in numbers}
    if not isinstance(bounds, tuple) or len(bounds) != 2 or any(isinstance(side, tuple) for side in bounds):
        # With two features, a list of pairs (one per feature) would be misread as (lows, highs).
        raise DeclarationError("bounds must be a mapping {column: (low, high)}, or a tuple (low, high) of numbers or of lists "
                               "with one number per feature", argument="bounds", found=repr(bounds)[:80],
                               remedy="write bounds=([low, low, ...], [high, high, ...]), or name the columns")
    sides = [_one_each(side, names, numbers) for side in bounds]
    return {name: [side[name] for side in sides] for name in numbers}


def _one_each(side: npt.ArrayLike, names: Sequence[str], numbers: Sequence[str]) -> dict[str, object]:
    """Return one number per feature, given one number for all or a list."""
    if np.ndim(side) == 0:
        return dict.fromkeys(numbers, plain(side))
    values = [plain(value) for value in side] if isinstance(side, Iterable) else []
    if np.ndim(side) != 1 or len(values) != len(names) or len(numbers) < len(names):
        raise DeclarationError("lists of bounds need one number per feature, and no feature may have levels", argument="bounds",
                               found=f"{len(values)} numbers for {len(names)} features",
                               remedy="name the columns: bounds={column: (low, high), ...}")
    return dict(zip(names, values, strict=True))


def _unit_of(unit: str | None, max_rows: object) -> str | dict[str, object]:
    if (unit is None) != (max_rows is None):
        raise DeclarationError("max_rows requires fit(X, y, unit=...), which says which person each row belongs to",
                               argument="max_rows", found=f"max_rows={max_rows!r} {'without' if unit is None else 'with'} unit",
                               remedy="give both if a person can have several rows, neither if each row is one person")
    return "row" if unit is None else {"column": unit, "max_rows": plain(max_rows)}


def _refuse_unknown(argument: str, given: Mapping[object, object], names: Sequence[str]) -> None:
    unknown = [name for name in given if name not in names]
    if unknown:
        raise DeclarationError(f"{argument} names a column that X does not have", argument=argument, found=_some(unknown),
                               remedy=f"the columns are {_some(names)}")


def _some(names: Sequence[object]) -> str:
    return ", ".join(map(str, names[:SHOWN])) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
