"""The only room that reads confidential rows.

Sources hand out batches of rows, and a statistic is a mergeable partial sum over them. Only exact sums leave this room. Values
that do not fit are mapped by the public rules of the schema, so that no exception or warning ever depends on a value. Errors name
only columns and types.

    sources/     parquet, csv, arrow, tables in memory, databases, spark -> Arrow record batches of the wanted columns
    columns      Arrow columns -> numbers to scale, or codes of declared levels
    plan         basis -> the rows of a block and how to compute each
    block        8192 rows at a time -> their exact Gram matrix
    exact        partial sums in whole multiples of 2**-40
    threads      ordered output of other threads: batches decoded ahead, parsed blocks of text
    reading      all rows in order, with progress
    passes       one pass over all rows: in threads here, or where the rows are
    cluster      partial sums of the machines of a cluster, added up there
    splitting/   random orders, random parts, at most k rows of each privacy unit
    statistics/  the sums, one file for each kind of release
    parts/       regressions within random parts of the table

All except `parts` import PyArrow, so nothing here is imported before it is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noisewise.data.sources import open_source
    from noisewise.data.statistics.averaged import averaged_gram_sum
    from noisewise.data.statistics.gram import GramSum, gram_sum
    from noisewise.data.statistics.model import ModelRows
    from noisewise.data.statistics.moments import MomentsSum, moments_sum

__all__ = ["GramSum", "ModelRows", "MomentsSum", "averaged_gram_sum", "gram_sum", "moments_sum", "open_source"]

_HOMES = {"GramSum": "statistics.gram", "ModelRows": "statistics.model", "MomentsSum": "statistics.moments",
          "averaged_gram_sum": "statistics.averaged", "gram_sum": "statistics.gram", "moments_sum": "statistics.moments",
          "open_source": "sources"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
