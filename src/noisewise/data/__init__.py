"""The only room that reads confidential rows.

Sources hand out batches of rows; a statistic is a mergeable partial sum over them. What leaves this room is an exact sum
and nothing else. Cells that do not fit are mapped by the public rules of the schema, so that neither an exception nor a
warning ever depends on a value: errors name columns and types only.

    sources/     parquet, csv, arrow, tables in memory, databases, spark -> Arrow record batches of the wanted columns
    columns      Arrow columns -> numbers to be scaled, or codes of declared levels
    plan         basis -> the rows of a block and how each is computed
    block        8192 rows at a time -> their exact Gram matrix
    exact        partial sums in whole numbers of 2**-40
    threads      what other threads make, in its order: batches that are decoded ahead, blocks of text that are parsed
    reading      all rows in their order, and who hears of progress
    passes       one pass over all rows: threads here, or where the rows are
    cluster      partial sums of the machines of a cluster, added up there
    splitting/   random orders, random parts, at most k rows of each privacy unit
    statistics/  what is summed up, one file for each kind of release
    parts/       regressions within random parts of the table

All but `parts` import PyArrow, so that nothing here is imported before it is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noisewise.data.sources import open_source
    from noisewise.data.statistics.averaged import averaged_gram_sum
    from noisewise.data.statistics.gram import GramSum, gram_sum
    from noisewise.data.statistics.moments import MomentsSum, moments_sum

__all__ = ["GramSum", "MomentsSum", "averaged_gram_sum", "gram_sum", "moments_sum", "open_source"]

_HOMES = {"GramSum": "statistics.gram", "MomentsSum": "statistics.moments", "averaged_gram_sum": "statistics.averaged",
          "gram_sum": "statistics.gram", "moments_sum": "statistics.moments", "open_source": "sources"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
