"""Where rows come from: one small file per kind of source, and the choice among them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from noisewise.data.sources.base import Source, Wanted
from noisewise.database_query import Query, is_database, shown_address
from noisewise.errors import DataError

__all__ = ["Source", "Wanted", "open_source"]


def open_source(data: Any) -> Source:
    """Open whatever holds rows: a path, a data frame, Arrow data, or arrays. No row is read yet.

    >>> open_source({"age": np.array([30.0, 41.0])}).rows
    2
    """
    library = type(data).__module__.partition(".")[0]
    if library == "pyspark" or (isinstance(data, str) and data.startswith("spark:")):
        from noisewise.data.sources.spark import open_spark

        return open_spark(data)
    if isinstance(data, Query):
        from noisewise.data.sources.database import open_query

        return open_query(data)
    if library in ("duckdb", "_duckdb"):  # its rows could be those of any query, and in any order
        raise DataError("rows of DuckDB are read by a query, so that it can be checked", found=f"a {type(data).__name__}",
                        remedy='give noisewise.query(connection, "SELECT ..."); a result that you vouch for, as a table: '
                        ".to_arrow_table()")
    if isinstance(data, (str, os.PathLike)):
        return _open_path(os.fspath(data))
    if library == "pandas":
        from noisewise.data.sources.pandas import open_pandas

        return open_pandas(data)
    if library == "polars":
        from noisewise.data.sources.polars import open_polars

        return open_polars(data)
    if isinstance(data, (Mapping, np.ndarray)):
        from noisewise.data.sources.arrays import open_arrays

        return open_arrays(data)
    if library == "pyarrow" or hasattr(data, "__arrow_c_stream__"):
        from noisewise.data.sources.arrow import open_arrow

        return open_arrow(data)
    if hasattr(data, "column_types") and hasattr(data, "tasks"):
        source: Source = data
        return source
    raise DataError(
        "rows must come from a path, a data frame (pandas, polars, Spark), Arrow data or a dictionary of arrays",
        found=f"an object of type {type(data).__module__}.{type(data).__qualname__}",
        remedy="convert it to one of these",
    )


def _open_path(path: str | bytes) -> Source:
    text = os.fsdecode(path)
    ending = text.lower()
    if is_database(text):
        raise DataError("a database is read by a query", found=shown_address(text),
                        remedy='give noisewise.query(address, "SELECT age, stay FROM patients"), or --query on the command line')
    if os.path.isdir(text) or ending.endswith((".parquet", ".pq")) or _matches_parquet(text):
        _require(text, exists=os.path.exists(text) or any(mark in text for mark in "*?["))
        from noisewise.data.sources.parquet import open_parquet

        return open_parquet(text)
    if ending.endswith((".csv", ".csv.gz")):
        _require(text, exists=os.path.exists(text))
        from noisewise.data.sources.csv import open_csv

        return open_csv(text)
    raise DataError("a data file must end in .parquet, .pq, .csv or .csv.gz", found=shown_address(text),
                    remedy="convert or rename the file; in Python a data frame may be given instead")


def _matches_parquet(text: str) -> bool:
    """A pattern such as ``data/year=*/*`` that does not say its ending."""
    return not os.path.exists(text) and any(mark in text for mark in "*?[") and not text.lower().endswith((".csv", ".csv.gz"))


def _require(path: str, *, exists: bool) -> None:
    if not exists:
        raise DataError("the file does not exist", found=path, remedy="check the path")
