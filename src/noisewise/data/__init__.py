"""The only room that reads confidential rows.

Sources hand out batches of rows; a statistic is a mergeable partial sum over them. What leaves this room is an exact sum
and nothing else. Cells that do not fit are mapped by the public rules of the schema, so that neither an exception nor a
warning ever depends on a value: errors name columns and types only.

    sources/    parquet, csv, arrow, pandas, polars, arrays, spark, database -> Arrow record batches of the wanted columns
    cells       untyped cells (text, Python objects) -> numbers or texts, by a total function
    series      series of pandas and polars -> Arrow arrays
    columns     Arrow columns -> numbers to be scaled, or codes of declared levels
    plan        basis -> the rows of a block and how each is computed
    block       8192 rows at a time -> their exact Gram matrix
    exact       partial sums in whole numbers of 2**-40
    units       at most k rows of each privacy unit, and unit_counts, which counts them
    threads     what other threads make, in its order: batches that are decoded ahead, blocks of text that are parsed
    reading     all rows in their order
    passes      one pass over all rows: threads here, or where the rows are
    cluster     partial sums of the machines of a cluster, added up there
    gram        all of it, put together
    counts      cells at and between the points of a public grid, for private bounds
    groups      random groups of rows, and the exact matrix of their sums
    averaged    the same for rows that are averaged in such groups
    moments     sums of monomials of other orders, for a release of kind moments
"""

from noisewise.data.averaged import averaged_gram_sum
from noisewise.data.exact import GramSum
from noisewise.data.gram import gram_sum
from noisewise.data.moments import MomentsSum, moments_sum
from noisewise.data.sources import open_source

__all__ = ["GramSum", "MomentsSum", "averaged_gram_sum", "gram_sum", "moments_sum", "open_source"]
