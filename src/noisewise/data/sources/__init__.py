"""Where rows come from: one small file per type of source, and the choice among them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Final, cast

import numpy as np

from noisewise.data.sources.base import Source, Wanted
from noisewise.database_query import Query, is_database, shown_address
from noisewise.errors import DataError
from noisewise.words import either

__all__ = ["Source", "Wanted", "open_source"]


LIBRARIES: Final = {"pyspark": "spark:open_spark", "pandas": "memory:open_pandas", "polars": "memory:open_polars",
                    "pyarrow": "arrow:open_arrow"}
"""The file and function that open the objects of each library."""


def open_source(data: object) -> Source:
    """Open anything that holds rows: a path, a data frame, Arrow data or arrays. No row is read yet.

    >>> open_source({"age": np.array([30.0, 41.0])}).rows
    2
    """
    if isinstance(data, (str, os.PathLike)):
        data = os.fsdecode(os.fspath(data))
    place = _place_of_path(data) if isinstance(data, str) else _place(data)
    if place is not None:
        module, _, function = place.partition(":")
        opened: Source = getattr(import_module(f"{__name__}.{module}"), function)(data)
        return opened
    if hasattr(data, "column_types") and hasattr(data, "tasks"):
        return cast(Source, data)
    raise DataError("data must be a path, a data frame (pandas, polars, Spark), Arrow data or a dictionary of arrays",
                    found=f"an object of type {type(data).__module__}.{type(data).__qualname__}",
                    remedy="convert it to one of these")


def _place(data: object) -> str | None:
    """The file and function that open such data."""
    library = type(data).__module__.partition(".")[0]
    if library in ("duckdb", "_duckdb"):  # it could hold the rows of any query, in any order
        raise DataError("DuckDB must be read through a query that can be checked", found=f"a {type(data).__name__}",
                        remedy='use noisewise.query(connection, "SELECT ..."), or pass a result that you vouch for as a table, '
                        "with .to_arrow_table()")
    if isinstance(data, Query):
        return "database:open_query"
    if isinstance(data, (Mapping, np.ndarray)):
        return "memory:open_arrays"
    return LIBRARIES.get(library) or ("arrow:open_arrow" if hasattr(data, "__arrow_c_stream__") else None)


def _place_of_path(text: str) -> str:
    if text.startswith("spark:"):
        return LIBRARIES["pyspark"]
    if is_database(text):
        raise DataError("a database must be read through a query", found=shown_address(text),
                        remedy="use " + either('noisewise.query(address, "SELECT age, stay FROM patients")',
                                               '--query "SELECT age, stay FROM patients"'))
    ending, pattern = text.lower(), not os.path.exists(text) and any(mark in text for mark in "*?[")
    is_csv = ending.endswith((".csv", ".csv.gz"))
    if os.path.isdir(text) or ending.endswith((".parquet", ".pq")) or (pattern and not is_csv):  # data/year=*/* has no ending
        place, readable = "parquet:open_parquet", pattern
    elif is_csv:
        place, readable = "csv:open_csv", False
    else:
        raise DataError("a data file must end in .parquet, .pq, .csv or .csv.gz", found=shown_address(text),
                        remedy="convert or rename the file; in Python you can also pass a data frame")
    if not (readable or os.path.exists(text)):
        raise DataError("the file does not exist", found=text, remedy="check the path")
    return place
