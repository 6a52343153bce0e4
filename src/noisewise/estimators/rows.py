"""X, y and the units of a user as columns by name, without a look at any value.

The rows of ``fit`` are confidential: an error that depends on a value tells something about a row. So shapes, names and types are
checked here and nothing else (scikit-learn's ``check_array`` looks for NaN and converts cells). What a cell means that fits no
declaration is public rule, as in every release.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise.errors import DataError


class RowsError(DataError, ValueError):
    """Rows in a shape or type that an estimator cannot use; a ValueError, as users of scikit-learn expect."""


@dataclass(frozen=True, repr=False)  # no confidential cell is printed
class Features:
    """The columns of X by position, with the names that a data frame has (None for those of an array)."""

    columns: tuple[Any, ...]
    names: tuple[str, ...] | None

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names in the release: x0, x1, … where there are none."""
        return tuple(f"x{index}" for index in range(len(self.columns))) if self.names is None else self.names


@dataclass(frozen=True, repr=False)
class Table:
    """Confidential rows as columns by name, and what the names stand for."""

    columns: dict[str, Any]
    features: tuple[str, ...]
    response: str
    unit: str | None

    @property
    def rows(self) -> int:
        return len(self.columns[self.response])


def read_table(X: Any, y: Any, unit: Any) -> Table:
    """X, y and, where a person can have several rows, the units. A series gives the response its name."""
    features, target = read_features(X), read_column(y, "y")
    columns = dict(zip(features.all_names, features.columns, strict=True))
    name = getattr(target, "name", None)  # declared like the names of columns: no value
    response = _unused(name if isinstance(name, str) and name else "y", columns)
    columns[response] = target
    unit_name = None if unit is None else _unused("unit", columns)
    if unit_name is not None:
        columns[unit_name] = read_column(unit, "unit")
    if len({len(column) for column in columns.values()}) > 1:  # how many rows there are may be confidential
        raise RowsError("X and y, and the units if there are any, must have the same number of rows",
                        found="different numbers of rows")
    return Table(columns, features.all_names, response, unit_name)


def _unused(wanted: str, taken: Mapping[str, Any]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted


def as_new_rows(X: Any, features: Features, names: Sequence[str]) -> Any:
    """Rows to predict under the names that were fitted; a pandas frame keeps its index and its types."""
    if hasattr(X, "set_axis"):
        return X.set_axis(list(names), axis=1)
    return X if features.names is not None else dict(zip(names, features.columns, strict=True))


def read_features(X: Any) -> Features:
    """The columns of a data frame (pandas, polars, Arrow), of a two-dimensional array or of a list of rows."""
    from scipy.sparse import issparse

    if issparse(X):
        raise RowsError("Sparse data was passed for X, but dense data is required", found=type(X).__name__,
                        remedy="use X.toarray(): the noise fills every entry of the statistic anyway")
    frame = _frame_columns(X)
    if frame is not None:
        names, columns = frame
        texts = all(isinstance(name, str) for name in names)
        if texts and len(set(names)) < len(names):
            raise RowsError("every column of X has a name of its own", found="a repeated name", remedy="rename the columns")
        found = Features(columns, tuple(names) if texts and names else None)
    else:
        array = _array(X)
        if array.ndim != 2:
            raise RowsError("Expected 2D array for X: rows and features", found=f"{array.ndim}D",
                            remedy="Reshape your data: X.reshape(-1, 1) if it has a single feature, X.reshape(1, -1) if it is "
                            "a single row")
        found = Features(tuple(array[:, index] for index in range(array.shape[1])), None)
    if not found.columns:
        # scikit-learn's words, but for the number of rows, which may be confidential.
        raise RowsError("X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    for column in found.columns:
        _refuse_complex(column)
    return found


def read_column(values: Any, what: str) -> Any:
    """One value for each row: y, or the units; a column vector is taken as its column, with a warning."""
    if values is None:
        raise RowsError(f"this estimator requires {what} to be passed, but the target {what} is None")
    frame = _frame_columns(values)
    if frame is not None:
        if len(frame[1]) != 1:
            raise RowsError(f"{what} should be a 1d array", found=f"{len(frame[1])} columns", remedy="fit one target at a time")
        _warn_of_column_vector(what)
        return frame[1][0]
    library = type(values).__module__.partition(".")[0]
    if library in ("pandas", "polars", "pyarrow"):
        return values
    array = _array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_of_column_vector(what)
        array = array[:, 0]
    if array.ndim != 1:
        raise RowsError(f"{what} should be a 1d array", found=f"{array.ndim}D", remedy="fit one target at a time")
    _refuse_complex(array)
    return array


def _frame_columns(X: Any) -> tuple[list[Any], tuple[Any, ...]] | None:
    """Names and columns of a data frame; None of what is none."""
    library = type(X).__module__.partition(".")[0]
    if library == "pandas" and hasattr(X, "columns"):
        return list(X.columns), tuple(X.iloc[:, index] for index in range(X.shape[1]))
    if library == "polars" and hasattr(X, "columns"):
        return list(X.columns), tuple(X.get_columns())
    if library == "pyarrow" and hasattr(X, "column_names"):
        return list(X.column_names), tuple(X.columns)
    return None


def _array(values: Any) -> Any:
    """An array; of lists one of objects, so that its type does not depend on the values."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, (str, bytes, dict, set)) or not (hasattr(values, "__array__") or hasattr(values, "__iter__")):
        raise RowsError("rows are an array, a data frame or a list", found=type(values).__name__,
                        remedy="noisewise.release reads files, databases and dictionaries of columns")
    if hasattr(values, "__array__"):
        return np.asarray(values)
    try:
        return np.array(values, dtype=object)
    except ValueError:
        raise RowsError("the rows of a list must all have the same length", found="rows of different lengths") from None


def _refuse_complex(column: Any) -> None:
    if getattr(getattr(column, "dtype", None), "kind", "") == "c":
        raise RowsError("Complex data not supported", found=str(column.dtype),
                        remedy="give real and imaginary part as two columns")


def _warn_of_column_vector(what: str) -> None:
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(f"A column-vector {what} was passed when a 1d array was expected. Please change the shape of {what} to "
                  "(n_samples, ), for example using ravel().", DataConversionWarning, stacklevel=4)
