"""Series of pandas and polars as Arrow arrays: alone, or as the columns of a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.data.cells import from_numpy, numpy_type
from noisewise.data.sources.base import Role, unusable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def pandas_is_object(column: pd.Series[Any]) -> bool:
    """Whether the cells are Python objects, whose types are known only by looking at them."""
    import pandas as pd

    dtype = column.dtype
    return (dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype) == np.dtype(object)


def pandas_type(column: pd.Series[Any]) -> pa.DataType:
    """The Arrow type of a series without rows."""
    import pyarrow as pa

    if pandas_is_object(column):
        return pa.string()
    if isinstance(column.dtype, np.dtype):
        return numpy_type(column.dtype)
    try:
        return pa.array(column, from_pandas=True).type
    except (pa.ArrowException, TypeError, ValueError):
        return unusable(str(column.dtype))


def pandas_array(part: pd.Series[Any], role: Role) -> pa.Array:
    """The cells of a series as an Arrow array, in a type that depends on the type of the series only."""
    import pyarrow as pa

    if pandas_is_object(part):
        return from_numpy(part.to_numpy(dtype=object), role)
    if isinstance(part.dtype, np.dtype):
        return from_numpy(part.to_numpy(), role)
    try:
        array = pa.array(part, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError):  # a text that is not Unicode, for example
        return from_numpy(part.to_numpy(dtype=object), role)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def polars_type(column: pl.Series) -> pa.DataType:
    """The Arrow type of a series without rows."""
    import polars as pl
    import pyarrow as pa

    if column.dtype == pl.Object:
        return unusable("Object")
    try:
        return column.to_arrow().type
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError):  # Int128, for example
        return unusable(str(column.dtype))
