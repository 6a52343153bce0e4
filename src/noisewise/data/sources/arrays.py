"""NumPy: a dictionary of one-dimensional arrays, or a structured array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from noisewise.data.cells import from_numpy, numpy_type
from noisewise.data.sources.base import BATCH_ROWS, Task, Wanted, slices
from noisewise.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class ArraysSource:
    """Columns in memory, all of one length."""

    columns: Columns
    description: str = "NumPy arrays"

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    @property
    def untyped(self) -> frozenset[str]:
        return frozenset(name for name, values in self.columns.items() if values.dtype == np.dtype(object))

    def column_types(self) -> dict[str, pa.DataType]:
        return {name: numpy_type(values.dtype) for name, values in self.columns.items()}

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        columns = [(column, self.columns[column.name]) for column in wanted]
        return [partial(_read, columns, start, stop) for start, stop in slices(self.rows)]


def open_arrays(data: Any) -> ArraysSource:
    """Open a mapping of names to arrays (or lists), or a structured array."""
    if isinstance(data, np.ndarray):
        if data.dtype.names is None or data.ndim != 1:
            raise DataError("an array needs named columns", found=f"an array of {data.dtype} with {data.ndim} dimensions",
                            remedy="pass a dictionary of columns, for example {'age': data[:, 0], 'stay': data[:, 1]}")
        return ArraysSource({name: data[name] for name in data.dtype.names})
    assert isinstance(data, Mapping)
    columns = {str(name): _column(str(name), values) for name, values in data.items()}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shortest, longest = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        raise DataError("all columns must have the same length", found=f"'{shortest}' is shorter than '{longest}'",
                        remedy="pass one value per row for each column")
    return ArraysSource(columns)


def _column(name: str, values: Any) -> npt.NDArray[Any]:
    if not isinstance(values, np.ndarray):
        # A list goes through objects, so that its type cannot depend on the values in it.
        values = values.to_numpy() if hasattr(values, "to_numpy") else _objects(values)
    if values.ndim != 1:
        raise DataError(f"column '{name}' must have one dimension", found=f"{values.ndim} dimensions",
                        remedy="pass one value per row")
    return np.asanyarray(values)


def _objects(values: Any) -> npt.NDArray[Any]:
    items = list(values)
    result = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        result[index] = item
    return result


def _read(columns: list[tuple[Wanted, npt.NDArray[Any]]], start: int, stop: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for first, last in slices(stop - start, BATCH_ROWS):
        arrays = [from_numpy(values[start + first : start + last], column.role) for column, values in columns]
        yield pa.RecordBatch.from_arrays(arrays, names=[column.name for column, _ in columns])
