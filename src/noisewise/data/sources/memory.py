"""Tables whose columns are in memory: data frames of pandas and polars, dictionaries of arrays or lists, structured arrays.

No column goes through a type that cannot hold its values, so that identifiers stay distinct. Types come from declared types
alone, never from cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from noisewise.arrays import Values
from noisewise.data.sources.base import BATCH_ROWS, Role, Task, TypedSource, Wanted, slices, unique_types, unusable
from noisewise.data.sources.cells import from_numpy, numpy_type
from noisewise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


@dataclass(frozen=True)
class Column:
    """One column: its cells, its type, and a function that returns a range of cells as an Arrow array."""

    values: Sized
    kind: pa.DataType
    part: Callable[[int, int, Role], pa.Array | pa.ChunkedArray]
    untyped: bool = False


@dataclass(frozen=True)
class ColumnsSource(TypedSource):
    """Columns in memory, all of the same length."""

    columns: dict[str, Column]
    types: dict[str, pa.DataType]
    description: str
    untyped: frozenset[str] = frozenset()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())).values) if self.columns else 0

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        """Slices of the columns."""
        columns = [(column, self.columns[column.name]) for column in wanted]
        return [partial(_read, columns, start, stop) for start, stop in slices(self.rows)]


def _read(columns: list[tuple[Wanted, Column]], start: int, stop: int) -> Iterator[pa.RecordBatch]:
    for first, last in slices(stop - start, BATCH_ROWS):
        arrays = [column.part(start + first, start + last, wanted.role) for wanted, column in columns]
        yield from pa.Table.from_arrays(arrays, names=[wanted.name for wanted, _ in columns]).to_batches()


def _source(columns: Iterable[tuple[str, Column]], description: str) -> ColumnsSource:
    named = list(columns)
    types = unique_types(((name, column.kind) for name, column in named), description)
    return ColumnsSource(dict(named), types, description, frozenset(name for name, column in named if column.untyped))


def open_pandas(data: object) -> ColumnsSource:
    """Open a pandas data frame with NumPy, nullable, Arrow, categorical or object columns. Its index is ignored."""
    import pandas as pd

    if not isinstance(data, pd.DataFrame):
        raise DataError("pandas data must be a DataFrame", found=type(data).__name__,
                        remedy="pass a DataFrame, for example series.to_frame()")
    return _source(((str(name), _of_pandas(data.iloc[:, place])) for place, name in enumerate(data.columns)), "pandas data frame")


def open_polars(data: object) -> ColumnsSource:
    """Open a polars data frame. A lazy frame must be collected first."""
    import polars as pl

    if not isinstance(data, pl.DataFrame):
        raise DataError("polars data must be a DataFrame", found=type(data).__name__,
                        remedy="call .collect() or .to_frame() first")
    return _source(((name, _of_polars(data.get_column(name))) for name in data.columns), "polars data frame")


def open_arrays(data: object) -> ColumnsSource:
    """Open a mapping of names to columns (arrays, series or lists), or a structured array."""
    if isinstance(data, np.ndarray):
        if data.dtype.names is None or data.ndim != 1:
            raise DataError("an array needs named columns", found=f"an array of {data.dtype} with {data.ndim} dimensions",
                            remedy="pass a dictionary of columns, for example {'age': data[:, 0], 'stay': data[:, 1]}")
        return _source(((name, _of_any(name, data[name])) for name in data.dtype.names), "structured array")
    assert isinstance(data, Mapping)
    source = _source(((str(name), _of_any(str(name), values)) for name, values in data.items()), "dictionary of columns")
    lengths = {name: len(column.values) for name, column in source.columns.items()}
    if len(set(lengths.values())) > 1:
        shortest, longest = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        raise DataError("all columns must have the same length", found=f"'{shortest}' is shorter than '{longest}'",
                        remedy="pass one value per row in each column")
    return source


def _of_any(name: str, values: Any) -> Column:
    dimensions = getattr(values, "ndim", 1)
    if dimensions != 1:
        raise DataError(f"column '{name}' must have one dimension", found=f"{dimensions} dimensions",
                        remedy="pass one value per row")
    if isinstance(values, np.ndarray):
        return _of_numpy(values)
    library = type(values).__module__.partition(".")[0]
    if library == "pandas":
        import pandas as pd

        return _of_pandas(values if isinstance(values, pd.Series) else pd.Series(values))
    if library == "polars" and hasattr(values, "to_arrow"):
        return _of_polars(values)
    if library == "pyarrow" and isinstance(values, (pa.Array, pa.ChunkedArray)):
        return Column(values, values.type, lambda start, stop, role: values.slice(start, stop - start))
    if hasattr(values, "to_numpy"):
        return _of_numpy(np.asanyarray(values.to_numpy()))
    # A list becomes an array of objects, so that its type cannot depend on its values.
    return _of_numpy(_objects(name, values))


def _of_numpy(values: Values) -> Column:
    return Column(values, numpy_type(values.dtype), lambda start, stop, role: from_numpy(values[start:stop], role),
                  untyped=bool(values.dtype == np.dtype(object)))


def _objects(name: str, values: object) -> Values:
    if isinstance(values, (str, bytes, Mapping, AbstractSet)) or not isinstance(values, Iterable):
        raise DataError(f"column '{name}' must hold one value per row, in order",
                        found=f"an object of type {type(values).__name__}",
                        remedy=f"pass a list or an array, for example {{'{name}': [value, ...]}}")
    items = list(values)
    result = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):  # one by one, because NumPy would unpack items that are themselves lists
        result[index] = item
    return result


def _of_pandas(series: pd.Series[Any]) -> Column:
    """A pandas series. It is untyped if its cells are Python objects."""
    import pandas as pd

    dtype = series.dtype
    if (dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype) == np.dtype(object):
        return Column(series, pa.string(), untyped=True,
                      part=lambda start, stop, role: from_numpy(series.iloc[start:stop].to_numpy(dtype=object), role))
    if isinstance(dtype, np.dtype):
        return Column(series, numpy_type(dtype), lambda start, stop, role: from_numpy(series.iloc[start:stop].to_numpy(), role))
    try:
        kind = pa.array(series.iloc[:0], from_pandas=True).type
    except (pa.ArrowException, TypeError, ValueError):
        kind = unusable(str(dtype))
    return Column(series, kind, lambda start, stop, role: _extension_array(series.iloc[start:stop], role))


def _extension_array(part: pd.Series[Any], role: Role) -> pa.Array | pa.ChunkedArray:
    try:
        return pa.array(part, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError):  # for example, a string that is not valid Unicode
        return from_numpy(part.to_numpy(dtype=object), role)


def _of_polars(series: pl.Series) -> Column:
    import polars as pl

    try:
        kind = unusable("Object") if series.dtype == pl.Object else series.clear().to_arrow().type
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError):  # for example, Int128
        kind = unusable(str(series.dtype))
    return Column(series, kind, lambda start, stop, role: series.slice(start, stop - start).to_arrow())
