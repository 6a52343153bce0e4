"""pandas data frames, with NumPy, nullable, Arrow, categorical or object columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from noisewise.data.series import pandas_array, pandas_is_object, pandas_type
from noisewise.data.sources.base import BATCH_ROWS, Task, Wanted, slices, unique_types
from noisewise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True)
class PandasSource:
    """A data frame in memory; the index is not read."""

    frame: pd.DataFrame
    types: dict[str, pa.DataType]
    untyped: frozenset[str]
    description: str = "pandas data frame"
    header_is_text: bool = False

    @property
    def rows(self) -> int:
        return len(self.frame)

    def column_types(self) -> dict[str, pa.DataType]:
        return dict(self.types)

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        places = {str(name): index for index, name in enumerate(self.frame.columns)}
        columns = [(column, self.frame.iloc[:, places[column.name]]) for column in wanted]
        return [partial(_read, columns, start, stop) for start, stop in slices(self.rows)]


def open_pandas(data: Any) -> PandasSource:
    """Open a data frame."""
    import pandas as pd

    if not isinstance(data, pd.DataFrame):
        raise DataError("pandas data must be a DataFrame", found=type(data).__name__,
                        remedy="pass a DataFrame, for example series.to_frame()")
    columns = [(str(name), data.iloc[:0, index]) for index, name in enumerate(data.columns)]
    types = unique_types(((name, pandas_type(column)) for name, column in columns), "pandas data frame")
    return PandasSource(data, types, frozenset(name for name, column in columns if pandas_is_object(column)))


def _read(columns: list[tuple[Wanted, pd.Series[Any]]], start: int, stop: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for first, last in slices(stop - start, BATCH_ROWS):
        arrays = [pandas_array(series.iloc[start + first : start + last], column.role) for column, series in columns]
        yield pa.RecordBatch.from_arrays(arrays, names=[column.name for column, _ in columns])
