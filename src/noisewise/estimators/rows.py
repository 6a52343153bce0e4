"""Read X, y and the units into named columns without looking at any value.

The rows passed to ``fit`` are confidential, and an error that depends on a value reveals something about a row. So this module
checks only shapes, names and types (scikit-learn's ``check_array`` looks for NaN and converts cells). A public rule handles
values that do not match their declaration, as in every release.
"""

from __future__ import annotations

import warnings
from collections.abc import Container, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.errors import DataError


class RowsError(DataError, ValueError):
    """Rows whose shape or type an estimator cannot use; a ValueError, as scikit-learn users expect."""


@dataclass(frozen=True, repr=False)  # never print a confidential cell
class Features:
    """The columns of X by position, and their names if X is a data frame.

    Attributes:
        columns: The columns in order.
        names: Their names; None if X has none.
    """

    columns: tuple[Sized, ...]
    names: tuple[str, ...] | None

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names used in the release; x0, x1, … if X has none."""
        return tuple(f"x{index}" for index in range(len(self.columns))) if self.names is None else self.names


@dataclass(frozen=True, repr=False)
class Table:
    """Confidential rows as named columns.

    Attributes:
        columns: All columns by name.
        features: The names of the columns of X.
        response: The name of y.
        unit: The name of the column of units; None if each row is a person.
    """

    columns: dict[str, Sized]
    features: tuple[str, ...]
    response: str
    unit: str | None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.columns[self.response])


def read_table(X: object, y: object, unit: object) -> Table:
    """Read X, y and, if a person can have several rows, the units. If y is a named series, the response takes its name."""
    features, target = read_features(X), read_column(y, "y")
    columns = dict(zip(features.all_names, features.columns, strict=True))
    name = getattr(target, "name", None)  # a declaration, like column names: not a value
    response = _unused(name if isinstance(name, str) and name else "y", columns)
    columns[response] = target
    unit_name = None if unit is None else _unused("unit", columns)
    if unit_name is not None:
        columns[unit_name] = read_column(unit, "unit")
    if len({len(column) for column in columns.values()}) > 1:  # the number of rows may be confidential
        raise RowsError("X, y and unit must have the same number of rows", found="different numbers of rows")
    return Table(columns, features.all_names, response, unit_name)


def _unused(wanted: str, taken: Container[str]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted


def as_new_rows(X: object, features: Features, names: Sequence[str]) -> object:
    """Return the rows to predict under the fitted names; a pandas data frame keeps its index and types."""
    if hasattr(X, "set_axis"):
        return X.set_axis(list(names), axis=1)
    return X if features.names is not None else dict(zip(names, features.columns, strict=True))


def read_features(X: object) -> Features:
    """Read the columns of a data frame (pandas, polars, Arrow), a two-dimensional array or a list of rows."""
    from scipy.sparse import issparse

    if issparse(X):
        raise RowsError("Sparse data was passed for X, but dense data is required", found=type(X).__name__,
                        remedy="use X.toarray(); the noise fills every entry of the statistic anyway")
    frame = _frame_columns(X)
    if frame is not None:
        names, columns = frame
        texts = [name for name in names if isinstance(name, str)]
        named = len(texts) == len(names) > 0
        if named and len(set(texts)) < len(texts):
            raise RowsError("column names of X must be unique", found="a repeated name", remedy="rename the columns")
        found = Features(columns, tuple(texts) if named else None)
    else:
        array = _array(X)
        if array.ndim != 2:
            raise RowsError("Expected 2D array for X: rows and features", found=f"{array.ndim}D",
                            remedy="Reshape your data: X.reshape(-1, 1) if it has a single feature, X.reshape(1, -1) if it is "
                            "a single row")
        found = Features(tuple(array[:, index] for index in range(array.shape[1])), None)
    if not found.columns:
        # scikit-learn's wording without the number of rows, which may be confidential.
        raise RowsError("X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    for column in found.columns:
        _refuse_complex(column)
    return found


def read_column(values: object, what: str) -> Sized:
    """Read one value per row, for y or the units. Accept a column vector with a warning."""
    if values is None:
        raise RowsError(f"this estimator requires {what} to be passed, but the target {what} is None")
    frame = _frame_columns(values)
    if frame is not None:
        if len(frame[1]) != 1:
            raise RowsError(f"{what} should be a 1d array", found=f"{len(frame[1])} columns", remedy="fit one target at a time")
        _warn_of_column_vector(what)
        return frame[1][0]
    library = type(values).__module__.partition(".")[0]
    if library in ("pandas", "polars", "pyarrow") and isinstance(values, Sized):
        return values
    array = _array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_of_column_vector(what)
        array = array[:, 0]
    if array.ndim != 1:
        raise RowsError(f"{what} should be a 1d array", found=f"{array.ndim}D", remedy="fit one target at a time")
    _refuse_complex(array)
    return array


def _frame_columns(X: object) -> tuple[list[object], tuple[Sized, ...]] | None:
    """Return the names and columns of a data frame, or None if X is not one."""
    library = type(X).__module__.partition(".")[0]
    if library == "pandas" and hasattr(X, "columns"):
        return list(X.columns), tuple(X.iloc[:, index] for index in range(X.shape[1]))  # type: ignore[attr-defined]  # hasattr shows one only
    if library == "polars" and hasattr(X, "columns"):
        return list(X.columns), tuple(X.get_columns())  # type: ignore[attr-defined]  # hasattr shows one only
    if library == "pyarrow" and hasattr(X, "column_names"):
        return list(X.column_names), tuple(X.columns)  # type: ignore[attr-defined]  # hasattr shows one only
    return None


def _array(values: object) -> npt.NDArray[Any]:
    """Return an array. Lists become arrays of objects, so that the type does not depend on the values."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, (str, bytes, dict, set)) or not (hasattr(values, "__array__") or hasattr(values, "__iter__")):
        raise RowsError("rows must be an array, a data frame or a list", found=type(values).__name__,
                        remedy="noisewise.release reads files, databases and dictionaries of columns")
    if hasattr(values, "__array__"):
        return np.asarray(values)
    try:
        return np.array(values, dtype=object)
    except ValueError:
        raise RowsError("all rows of a list must have the same length", found="rows of different lengths") from None


def _refuse_complex(column: object) -> None:
    dtype = getattr(column, "dtype", None)
    if getattr(dtype, "kind", "") == "c":
        raise RowsError("Complex data not supported", found=str(dtype),
                        remedy="pass the real and imaginary parts as two columns")


def _warn_of_column_vector(what: str) -> None:
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(f"A column-vector {what} was passed when a 1d array was expected. Please change the shape of {what} to "
                  "(n_samples, ), for example using ravel().", DataConversionWarning, stacklevel=4)
