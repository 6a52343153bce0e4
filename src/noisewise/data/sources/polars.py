"""polars data frames, through their Arrow form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from noisewise.data.series import polars_type
from noisewise.data.sources.base import BATCH_ROWS, Task, Wanted, slices, unique_types
from noisewise.errors import DataError

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


@dataclass(frozen=True)
class PolarsSource:
    """A data frame in memory, converted slice by slice."""

    frame: pl.DataFrame
    types: dict[str, pa.DataType]
    description: str = "polars data frame"
    untyped: frozenset[str] = frozenset()
    header_is_text: bool = False

    @property
    def rows(self) -> int:
        return self.frame.height

    def column_types(self) -> dict[str, pa.DataType]:
        return dict(self.types)

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        frame = self.frame.select([column.name for column in wanted])
        return [partial(_slice, frame, start, stop) for start, stop in slices(self.rows)]


def open_polars(data: Any) -> PolarsSource:
    """Open a data frame; a lazy one must be collected first."""
    import polars as pl

    if not isinstance(data, pl.DataFrame):
        raise DataError("polars data must be a DataFrame", found=type(data).__name__,
                        remedy="call .collect() or .to_frame() first")
    pairs = ((name, polars_type(data.get_column(name).clear())) for name in data.columns)
    return PolarsSource(data, unique_types(pairs, "polars data frame"))


def _slice(frame: pl.DataFrame, start: int, stop: int) -> Iterator[pa.RecordBatch]:
    return iter(frame.slice(start, stop - start).to_arrow().to_batches(max_chunksize=BATCH_ROWS))
