"""The Gram statistic of a table: the sum of a aᵀ over its rows, a = (1, u), in one pass and constant memory.

Every scaled value is rounded to a multiple of 2**-20 before it is summed, and sums are exact: see `noisewise.data.exact`. The
result is therefore the same whatever the source, the batches and the number of threads or machines, and one row changes it by
exactly what that row's own rounded values say.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.data.columns import Codes
from noisewise.data.exact import Accumulator, GramSum
from noisewise.data.passes import RowWorker, sum_over_rows
from noisewise.data.plan import Plan
from noisewise.data.units import UnitLimit
from noisewise.progress import Tick
from noisewise.schema.basis import Basis
from noisewise.schema.schema import Schema


def gram_sum(
    source: Any, schema: Schema, basis: Basis, *, threads: int | None = None, progress: Tick | bool | None = None
) -> GramSum:
    """Sum a aᵀ over the rows of a source (or of anything that `open_source` takes).

    ``threads``: at most so many (default: one per processor); with a unit column always one, in the order of the rows.
    ``progress``: a callback ``(rows_done, rows_total)``; True shows a bar, None only on a terminal, False does not.

    >>> import numpy as np
    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [0, 100]}}})
    >>> gram_sum({"age": np.array([100.0, 50.0, 25.0])}, schema, Basis.of(schema)).to_grid() / 2**16
    array([[3.  , 0.5 ],
           [0.5 , 1.25]])
    """
    plan = Plan.of(basis)
    return sum_over_rows(source, schema, plan, partial(_GramWorker, plan, schema.unit.column, basis.names),
                         threads=threads, progress=progress)


class _GramWorker(RowWorker[GramSum]):
    def __init__(self, plan: Plan, unit: str | None, names: tuple[str, ...], limit: UnitLimit | None) -> None:
        super().__init__(plan, unit, limit)
        self.names = names
        self.accumulator = Accumulator(plan.size)

    def add_rows(self, numbers: list[npt.NDArray[Any]], codes: Mapping[str, Codes], keep: npt.NDArray[np.bool_] | None) -> None:
        self.accumulator.add(*self.block.gram(numbers, codes, keep))

    def result(self) -> GramSum:
        return self.accumulator.sum(self.names, self.plan.order)
