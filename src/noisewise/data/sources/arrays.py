"""Columns one by one: a dictionary of one-dimensional arrays, series or lists, or a structured array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from noisewise.data.cells import from_numpy, numpy_type
from noisewise.data.series import pandas_array, pandas_is_object, pandas_type, polars_type
from noisewise.data.sources.base import BATCH_ROWS, Role, Task, Wanted, slices
from noisewise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class Column(Protocol):
    """One column in memory. None goes through a type that could not hold its values: identifiers must stay distinct."""

    def __len__(self) -> int: ...

    @property
    def untyped(self) -> bool: ...

    def kind(self) -> pa.DataType: ...

    def part(self, start: int, stop: int, role: Role) -> pa.Array | pa.ChunkedArray:
        """Some rows of it."""
        ...


@dataclass(frozen=True)
class NumpyColumn:
    """A one-dimensional array."""

    values: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def untyped(self) -> bool:
        return bool(self.values.dtype == np.dtype(object))

    def kind(self) -> pa.DataType:
        return numpy_type(self.values.dtype)

    def part(self, start: int, stop: int, role: Role) -> pa.Array:
        return from_numpy(self.values[start:stop], role)


@dataclass(frozen=True)
class PandasColumn:
    """A series; its index is not read."""

    values: pd.Series[Any]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def untyped(self) -> bool:
        return pandas_is_object(self.values)

    def kind(self) -> pa.DataType:
        return pandas_type(self.values.iloc[:0])

    def part(self, start: int, stop: int, role: Role) -> pa.Array:
        return pandas_array(self.values.iloc[start:stop], role)


@dataclass(frozen=True)
class PolarsColumn:
    """A series of polars."""

    values: pl.Series
    untyped: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def kind(self) -> pa.DataType:
        return polars_type(self.values.clear())

    def part(self, start: int, stop: int, role: Role) -> pa.Array:
        return self.values.slice(start, stop - start).to_arrow()


@dataclass(frozen=True)
class ArrowColumn:
    """An array of Arrow, in one piece or in several."""

    values: pa.Array | pa.ChunkedArray
    untyped: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def kind(self) -> pa.DataType:
        return self.values.type

    def part(self, start: int, stop: int, role: Role) -> pa.Array | pa.ChunkedArray:
        return self.values.slice(start, stop - start)


@dataclass(frozen=True)
class ArraysSource:
    """Columns in memory, all of one length."""

    columns: dict[str, Column]
    description: str = "dictionary of columns"
    header_is_text: bool = False

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    @property
    def untyped(self) -> frozenset[str]:
        return frozenset(name for name, column in self.columns.items() if column.untyped)

    def column_types(self) -> dict[str, pa.DataType]:
        return {name: column.kind() for name, column in self.columns.items()}

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        columns = [(column, self.columns[column.name]) for column in wanted]
        return [partial(_read, columns, start, stop) for start, stop in slices(self.rows)]


def open_arrays(data: Any) -> ArraysSource:
    """Open a mapping of names to columns (arrays, series or lists), or a structured array."""
    if isinstance(data, np.ndarray):
        if data.dtype.names is None or data.ndim != 1:
            raise DataError("an array needs named columns", found=f"an array of {data.dtype} with {data.ndim} dimensions",
                            remedy="pass a dictionary of columns, for example {'age': data[:, 0], 'stay': data[:, 1]}")
        return ArraysSource({name: _column(name, data[name]) for name in data.dtype.names}, "structured array")
    assert isinstance(data, Mapping)
    columns = {str(name): _column(str(name), values) for name, values in data.items()}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shortest, longest = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        raise DataError("all columns must have the same length", found=f"'{shortest}' is shorter than '{longest}'",
                        remedy="pass one value per row for each column")
    return ArraysSource(columns)


def _column(name: str, values: Any) -> Column:
    dimensions = getattr(values, "ndim", 1)
    if dimensions != 1:
        raise DataError(f"column '{name}' must have one dimension", found=f"{dimensions} dimensions",
                        remedy="pass one value per row")
    if isinstance(values, np.ndarray):
        return NumpyColumn(values)
    library = type(values).__module__.partition(".")[0]
    if library == "pandas":
        import pandas as pd

        return PandasColumn(values if isinstance(values, pd.Series) else pd.Series(values))
    if library == "polars" and hasattr(values, "to_arrow"):
        return PolarsColumn(values)
    if library == "pyarrow":
        import pyarrow as pa

        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            return ArrowColumn(values)
    if hasattr(values, "to_numpy"):
        return NumpyColumn(np.asanyarray(values.to_numpy()))
    # A list goes through objects, so that its type cannot depend on the values in it.
    return NumpyColumn(_objects(name, values))


def _objects(name: str, values: Any) -> npt.NDArray[Any]:
    if isinstance(values, (str, bytes, Mapping, AbstractSet)) or not hasattr(values, "__iter__"):
        raise DataError(f"column '{name}' must hold one value per row, in order",
                        found=f"an object of type {type(values).__name__}",
                        remedy=f"pass a list or an array, for example {{'{name}': [value, ...]}}")
    items = list(values)
    result = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        result[index] = item
    return result


def _read(columns: list[tuple[Wanted, Column]], start: int, stop: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for first, last in slices(stop - start, BATCH_ROWS):
        arrays = [column.part(start + first, start + last, wanted.role) for wanted, column in columns]
        yield from pa.Table.from_arrays(arrays, names=[wanted.name for wanted, _ in columns]).to_batches()
