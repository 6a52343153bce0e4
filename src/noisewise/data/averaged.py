"""The Gram statistic of rows averaged in random groups: see `noisewise.data.groups` for the groups and the exact sums.

The number of rows must be known before they can be put into groups. Most sources know it (Parquet footers, tables in memory); a
CSV file is counted in a pass of its own; a stream that can be read only once is held in memory.

Memory: the sums of the groups, 8 bytes times columns times rows/k, and up to 32 bytes for each row while the groups are
drawn. One thread reads the rows and another adds them up, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.data.block import Block
from noisewise.data.columns import numbers, require_columns, wanted_columns
from noisewise.data.exact import BLOCK_ROWS
from noisewise.data.groups import LARGEST_GROUP, AveragedGramSum, Groups, GroupSums, random_groups
from noisewise.data.passes import count_workers
from noisewise.data.plan import Matrix, Plan
from noisewise.data.progress import reporting
from noisewise.data.reading import batches, count_rows, readable_twice
from noisewise.data.sources import open_source
from noisewise.data.sources.base import slices
from noisewise.data.threads import blas
from noisewise.errors import DataError
from noisewise.progress import Tick
from noisewise.schema.basis import Basis
from noisewise.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


def averaged_gram_sum(
    source: Any,
    schema: Schema,
    basis: Basis,
    group: int,
    *,
    threads: int | None = None,
    progress: Tick | bool | None = None,
    groups: Groups | None = None,
) -> AveragedGramSum:
    """Sum (1/k)(Σa)(Σa)ᵀ over random groups of ``group`` rows; the arguments are those of `gram_sum`.

    ``groups`` is for tests: the group of each row, instead of a random one.

    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [0, 100]}}})
    >>> averaged_gram_sum({"age": np.full(3, 75.0)}, schema, Basis.of(schema), 2).to_grid() / 2**16
    array([[3.  , 1.5 ],
           [1.5 , 0.75]])
    """
    _check(schema, group)
    count_workers(threads, in_order=True)
    opened = open_source(source)
    plan = Plan.of(basis)
    wanted = wanted_columns([schema.column(name) for name in plan.columns], None)
    require_columns(opened, wanted)
    opened = readable_twice(opened, wanted)
    rows = opened.rows if opened.rows is not None else count_rows(opened, wanted, progress)
    sums = GroupSums(basis.size - 1, random_groups(rows, group) if groups is None else groups, group)
    with (reporting(progress, rows) as counter, blas().limit(limits=1, user_api="blas"),
          closing(batches(opened, wanted, threads)) as found):
        block = Block(plan)
        for batch in found:
            for values in _scaled(plan, block, batch):
                sums.add(values)
            counter.add(batch.num_rows)
        return sums.gram(basis.names)


def _check(schema: Schema, group: int) -> None:
    if not (isinstance(group, int) and not isinstance(group, bool) and 2 <= group <= LARGEST_GROUP):
        raise DataError(f"rows are averaged in groups of 2 to {LARGEST_GROUP}", found=repr(group),
                        remedy="give a smaller group; ten rows already make averages nearly normal")
    if not schema.rows_are_public:
        raise DataError("rows can be averaged only where a row is a unit and the number of rows is public",
                        found=f"adjacency {schema.adjacency}, unit {schema.unit.to_dict()!r}",
                        remedy='declare adjacency = "replace-one" and unit = "row", or leave averaging out')


def _scaled(plan: Plan, block: Block, batch: pa.RecordBatch) -> Iterator[Matrix]:
    """The released columns of a batch, some thousand rows at a time."""
    values = [numbers(batch.column(number.name)) for number in plan.numbers]
    codes = {reader.column.name: reader.codes(batch.column(reader.column.name)) for reader in plan.categories}
    with np.errstate(all="ignore"):  # as in `gram_sum`: what does not fit is clipped
        for start, stop in slices(batch.num_rows, BLOCK_ROWS):
            part = slice(start, stop)
            yield block.released([column[part] for column in values], {name: column[part] for name, column in codes.items()})
