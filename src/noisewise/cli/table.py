"""The table that a data holder names on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from noisewise.errors import DataError

if TYPE_CHECKING:
    from noisewise.data.sources import Source

RELEASE_ENDINGS: Final = (".nwr", ".nwb")


def open_table(data: str) -> Source:
    """Open a table, unless it is a CSV file whose first line is plainly no header: someone's cells would pass for names."""
    from noisewise.data import open_source

    if data.lower().endswith(RELEASE_ENDINGS):
        raise DataError("this is a release, where a table is wanted", found=data,
                        remedy="give the rows, in Parquet or CSV; `noisewise show` says what is in a release")
    source = open_source(data)
    if any(name in source.untyped and _is_no_name(name) for name in source.column_types()):
        raise DataError("the first line of a CSV file must hold the names of the columns",
                        found="a name that is empty or a number (not shown here: it could be someone's)",
                        remedy="add a header line")
    return source


def _is_no_name(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True
