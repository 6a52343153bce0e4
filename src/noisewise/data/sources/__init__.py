"""Where rows come from: one small file per kind of source, and the choice among them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import numpy as np

from noisewise.data.sources.base import Source, Wanted
from noisewise.database_query import Query, is_database, shown_address
from noisewise.errors import DataError
from noisewise.words import either

__all__ = ["Source", "Wanted", "open_source"]


LIBRARIES: Final = {"pyspark": "spark:open_spark", "pandas": "memory:open_pandas", "polars": "memory:open_polars",
                    "pyarrow": "arrow:open_arrow"}
"""Which file opens the objects of a library, and its function."""


def open_source(data: Any) -> Source:
    """Open whatever holds rows: a path, a data frame, Arrow data, or arrays. No row is read yet.

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
        source: Source = data
        return source
    raise DataError("rows must come from a path, a data frame (pandas, polars, Spark), Arrow data or a dictionary of arrays",
                    found=f"an object of type {type(data).__module__}.{type(data).__qualname__}",
                    remedy="convert it to one of these")


def _place(data: Any) -> str | None:
    """The file here that opens such data, and its function."""
    library = type(data).__module__.partition(".")[0]
    if library in ("duckdb", "_duckdb"):  # its rows could be those of any query, and in any order
        raise DataError("rows of DuckDB are read by a query, so that it can be checked", found=f"a {type(data).__name__}",
                        remedy='give noisewise.query(connection, "SELECT ..."); a result that you vouch for, as a table: '
                        ".to_arrow_table()")
    if isinstance(data, Query):
        return "database:open_query"
    if isinstance(data, (Mapping, np.ndarray)):
        return "memory:open_arrays"
    return LIBRARIES.get(library) or ("arrow:open_arrow" if hasattr(data, "__arrow_c_stream__") else None)


def _place_of_path(text: str) -> str:
    if text.startswith("spark:"):
        return LIBRARIES["pyspark"]
    if is_database(text):
        raise DataError("a database is read by a query", found=shown_address(text),
                        remedy="give " + either('noisewise.query(address, "SELECT age, stay FROM patients")',
                                                '--query "SELECT age, stay FROM patients"'))
    ending, pattern = text.lower(), not os.path.exists(text) and any(mark in text for mark in "*?[")
    is_csv = ending.endswith((".csv", ".csv.gz"))
    if os.path.isdir(text) or ending.endswith((".parquet", ".pq")) or (pattern and not is_csv):  # data/year=*/* says no ending
        place, readable = "parquet:open_parquet", pattern
    elif is_csv:
        place, readable = "csv:open_csv", False
    else:
        raise DataError("a data file must end in .parquet, .pq, .csv or .csv.gz", found=shown_address(text),
                        remedy="convert or rename the file; in Python a data frame may be given instead")
    if not (readable or os.path.exists(text)):
        raise DataError("the file does not exist", found=text, remedy="check the path")
    return place
