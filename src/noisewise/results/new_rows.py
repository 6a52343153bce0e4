"""New rows from a user -> checked columns for a design.

These rows belong to the analyst and are not confidential, so an error may show the offending value. Nothing is filled in or
dropped: a prediction for an incomplete row would be a guess.
"""

from __future__ import annotations

import decimal
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.arrays import Array, Values
from noisewise.errors import ResultError

if TYPE_CHECKING:
    import pandas

    from noisewise.schema import Design
    from noisewise.schema.columns import Level

Columns = dict[str, Values]


def declared_levels(design: Design) -> dict[str, tuple[Level, ...]]:
    """The levels of the categorical columns that the design reads."""
    from noisewise.schema import Categorical

    declared = [design.basis.schema.column(name) for name in design.columns_needed]
    return {column.name: column.levels for column in declared if isinstance(column, Categorical)}


def more_probable_levels(design: Design, probability: Array) -> Values:
    """Return the likelier of the response's two levels in each row, given the probability of the second."""
    from noisewise.schema import Categorical

    column = design.basis.schema.column(design.response)
    assert isinstance(column, Categorical)
    levels = np.empty(2, dtype=object)
    levels[:] = column.levels
    return np.asarray(levels[(probability > 0.5).astype(int)])


def read_rows(new_rows: object, needed: Sequence[str], levels: Mapping[str, tuple[Level, ...]]
              ) -> tuple[Columns, pandas.Index[Any]]:
    """Return the needed columns (floats, or object arrays of declared levels) and the index of the result."""
    import pandas

    frame = _as_frame(new_rows, needed)
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise ResultError(f"new rows must have the columns {', '.join(needed)}", found=f"no column {', '.join(missing)}",
                          remedy="add what is missing")
    columns: Columns = {}
    for name in needed:
        column = frame[name]
        if not isinstance(column, pandas.Series):
            raise ResultError("column names must be unique", found=f"several columns named {name}")
        _refuse_missing(name, column)
        columns[name] = _as_levels(name, column, levels[name]) if name in levels else _as_numbers(name, column)
    return columns, frame.index


def _as_frame(new_rows: object, needed: Sequence[str]) -> pandas.DataFrame:
    """Convert any accepted table to a pandas frame that holds at least the needed columns that exist."""
    import pandas

    if isinstance(new_rows, pandas.DataFrame):
        return new_rows
    if isinstance(new_rows, Mapping):
        return _frame_of_mapping(new_rows, needed)
    library = type(new_rows).__module__.partition(".")[0]
    table: Any = new_rows
    if library == "polars" and type(new_rows).__name__ == "LazyFrame":
        table = table.collect()
    if library == "polars" and type(table).__name__ == "DataFrame":
        present = [name for name in needed if name in table.columns]
        index = pandas.RangeIndex(table.height)
        return pandas.DataFrame({name: _polars_values(table[name]) for name in present}, index=index)
    if library == "pyarrow" and hasattr(table, "column_names"):
        present = [name for name in needed if name in table.column_names]
        index = pandas.RangeIndex(table.num_rows)
        return pandas.DataFrame({name: table.column(name).to_pandas() for name in present}, index=index)
    raise ResultError("new_rows must be a pandas or polars DataFrame, an Arrow table or a dict of columns",
                      argument="new_rows", found=type(new_rows).__name__)


def _polars_values(column: Any) -> Any:
    return column.to_numpy() if column.dtype.is_numeric() else np.array(column.to_list(), dtype=object)


def _frame_of_mapping(new_rows: Mapping[str, object], needed: Sequence[str]) -> pandas.DataFrame:
    """Build a frame from columns of equal length; a single value is repeated for the whole column."""
    import pandas

    present = {name: new_rows[name] for name in needed if name in new_rows}
    lists = {name: _as_list(name, values) for name, values in present.items() if _is_column(values)}
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        raise ResultError("the columns of new rows must all have the same length",
                          found=", ".join(f"{name}: {length}" for name, length in lengths.items()))
    if not lists and not present:
        lengths = {str(name): len(_as_list(name, v)) for name, v in new_rows.items() if _is_column(v)}
    rows = next(iter(lengths.values()), 1)
    filled = {name: lists[name] if name in lists else [value] * rows for name, value in present.items()}
    series = {name: pandas.Series(values, dtype=None if len(values) else object) for name, values in filled.items()}
    return pandas.DataFrame(series, index=pandas.RangeIndex(rows))


def _is_column(values: object) -> bool:
    if isinstance(values, np.ndarray):
        return values.ndim > 0
    return isinstance(values, Iterable) and not isinstance(values, (str, bytes))


def _as_list(name: object, values: Any) -> Any:
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ResultError("columns must be one-dimensional", found=f"{name} with shape {values.shape}")
        return values
    return list(values)


def _refuse_missing(name: str, column: pandas.Series[Any]) -> None:
    absent = column.isna().to_numpy(dtype=bool)
    if absent.any():
        raise ResultError(f"column {name} must not have missing values",
                          found=f"{int(absent.sum())} missing, the first in row {int(absent.argmax())}",
                          remedy="fill them in or drop those rows")


def _as_numbers(name: str, column: pandas.Series[Any]) -> Array:
    import pandas

    if column.dtype == object:
        # Refuse text that looks like a number: whether it parses ("1.5" does, "1,5" does not) should not decide.
        accepted = all(isinstance(value, (numbers.Real, decimal.Decimal, np.bool_)) for value in column)
    else:
        accepted = pandas.api.types.is_numeric_dtype(column) and not pandas.api.types.is_complex_dtype(column)
    if not accepted:
        raise ResultError(f"column {name} must hold numbers", found=str(column.dtype))
    try:
        values = np.asarray(column.to_numpy(dtype=np.float64), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ResultError(f"column {name} must hold numbers", found=str(column.dtype)) from error
    infinite = ~np.isfinite(values)
    if infinite.any():
        raise ResultError(f"column {name} must hold finite numbers",
                          found=f"{values[infinite][0]} in row {int(infinite.argmax())}")
    return values


def _as_levels(name: str, column: pandas.Series[Any], levels: tuple[Level, ...]) -> Values:
    """Replace values by the declared levels, so that 1, 1.0, numpy.int64(1) and "1" from a CSV are the same level."""
    import pandas

    declared: dict[object, Level] = {str(level): level for level in levels} | {level: level for level in levels}
    try:
        codes, distinct = pandas.factorize(np.asarray(column.to_numpy(dtype=object), dtype=object))
    except TypeError as error:  # lists and the like
        raise ResultError(f"column {name} must hold levels", found=str(error)) from error
    known = np.empty(len(distinct), dtype=object)
    for place, value in enumerate(distinct):
        try:
            known[place] = declared[value]
        except KeyError as error:
            raise ResultError(f"column {name} must hold only its declared levels, {', '.join(map(repr, levels))}",
                              found=repr(value)) from error
    return known[codes] if len(codes) else np.empty(0, dtype=object)
