"""Constructor arguments as a schema and a formula. They are public, mandatory, and never completed from the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from noisewise.errors import DeclarationError
from noisewise.schema import Schema

FROM_PUBLIC_KNOWLEDGE: Final = "from public knowledge (a questionnaire, an instrument's range), never from the data"
SHOWN: Final = 5


def declare(names: Sequence[str], response: str, target: Mapping[str, Any], *, bounds: Any, levels: Any, adjacency: Any,
            max_rows: Any, unit: str | None) -> tuple[Schema, str]:
    """The schema of one fit and its formula, from names and constructor arguments alone."""
    for name in (*names, response):
        if "`" in name:
            raise DeclarationError("the name of a column has no backtick: formulas quote names with it", found=repr(name),
                                   remedy="rename the column")
    categories = _levels_of(names, levels)
    numbers = [name for name in names if name not in categories]
    limits = _bounds_of(names, numbers, bounds)
    columns = {name: {"levels": categories[name]} if name in categories else {"bounds": limits[name]} for name in names}
    if adjacency is None:
        raise DeclarationError("adjacency is mandatory: it says what the guarantee hides", found="adjacency=None",
                               remedy='give adjacency="replace-one" if the number of rows is public, "add-remove" if it is not')
    schema = Schema.from_dict({"adjacency": adjacency, "unit": _unit_of(unit, max_rows),
                               "columns": {**columns, response: dict(target)}})
    return schema, f"`{response}` ~ " + " + ".join(f"`{name}`" for name in names)


def plain(value: Any) -> Any:
    """A number or text of Python's own, also where NumPy's was given."""
    return value.item() if isinstance(value, np.generic) else value


def pair(value: Any, argument: str) -> list[Any]:
    """Two bounds."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise DeclarationError(f"{argument} is a pair (low, high)", found=repr(value)[:80],
                               remedy=f"give {argument} {FROM_PUBLIC_KNOWLEDGE}")
    return [plain(bound) for bound in value]


def _levels_of(names: Sequence[str], levels: Any) -> dict[str, list[Any]]:
    if levels is None:
        return {}
    if not isinstance(levels, Mapping):
        raise DeclarationError("levels is a mapping from the names of columns to lists of levels", found=type(levels).__name__,
                               remedy='for example levels={"ward": ["A", "B", "C"]}, the reference level first')
    _refuse_unknown("levels", levels, names)
    return {name: [plain(level) for level in found] if isinstance(found, (list, tuple, np.ndarray)) else found
            for name, found in levels.items()}


def _bounds_of(names: Sequence[str], numbers: Sequence[str], bounds: Any) -> dict[str, list[Any]]:
    """Bounds of every column without levels."""
    if bounds is None:
        if not numbers:
            return {}
        raise DeclarationError(
            "bounds is mandatory: the noise is calibrated to it", found=f"bounds=None for {_some(numbers)}",
            remedy=f'give bounds={{"{numbers[0]}": (low, high), ...}} or bounds=(low, high) for all columns, '
            f"{FROM_PUBLIC_KNOWLEDGE}; columns with categories go into levels")
    if isinstance(bounds, Mapping):
        _refuse_unknown("bounds", bounds, names)
        both = [name for name in bounds if name not in numbers]
        if both:
            raise DeclarationError("a column has bounds or levels, not both", found=_some(both), remedy="leave one of them out")
        missing = [name for name in numbers if name not in bounds]
        if missing:
            raise DeclarationError("every column of X is named in bounds, or in levels", found=f"neither for {_some(missing)}",
                                   remedy=f"declare them {FROM_PUBLIC_KNOWLEDGE}, or leave these columns out of X")
        return {name: pair(bounds[name], f"bounds[{name!r}]") for name in numbers}
    if not isinstance(bounds, tuple) or len(bounds) != 2 or any(isinstance(side, tuple) for side in bounds):
        # A list of pairs, one for each feature, would be misread as (lows, highs) if there are two features.
        raise DeclarationError("bounds is a mapping {column: (low, high)}, or a tuple (low, high) of numbers or of lists with "
                               "one number for each feature", found=repr(bounds)[:80],
                               remedy="write bounds=([low, low, ...], [high, high, ...]), or name the columns")
    sides = [_one_each(side, names, numbers) for side in bounds]
    return {name: [side[name] for side in sides] for name in numbers}


def _one_each(side: Any, names: Sequence[str], numbers: Sequence[str]) -> dict[str, Any]:
    """One number for each feature, from one for all or from a list."""
    if np.ndim(side) == 0:
        return dict.fromkeys(numbers, plain(side))
    values = [plain(value) for value in side]
    if np.ndim(side) != 1 or len(values) != len(names) or len(numbers) < len(names):
        raise DeclarationError("lists of bounds have one number for each feature, and no feature has levels",
                               found=f"{len(values)} numbers for {len(names)} features",
                               remedy="name the columns: bounds={column: (low, high), ...}")
    return dict(zip(names, values, strict=True))


def _unit_of(unit: str | None, max_rows: Any) -> Any:
    if (unit is None) != (max_rows is None):
        raise DeclarationError("max_rows goes with fit(X, y, unit=...), which tells whose each row is",
                               found=f"max_rows={max_rows!r} {'without' if unit is None else 'with'} unit",
                               remedy="give both if a person can have several rows, neither if each row is a person")
    return "row" if unit is None else {"column": unit, "max_rows": plain(max_rows)}


def _refuse_unknown(argument: str, given: Mapping[Any, Any], names: Sequence[str]) -> None:
    unknown = [name for name in given if name not in names]
    if unknown:
        raise DeclarationError(f"{argument} names a column that X does not have", found=_some(unknown),
                               remedy=f"the columns are {_some(names)}")


def _some(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names[:SHOWN])) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
