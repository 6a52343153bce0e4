"""The Gram statistic of a table: the sum of a aᵀ over its rows, where a = (1, u), in one pass and constant memory.

Every scaled value is rounded to a multiple of 2**-20 before it is summed, and sums are exact (see `noisewise.data.exact`). So the
result does not depend on the source, the batches or the number of threads or machines, and one row changes it by exactly what its
own rounded values contribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from noisewise.data.block import Piece
from noisewise.data.exact import ExactSum, Total
from noisewise.data.passes import RowWorker, sum_over_rows
from noisewise.data.plan import Plan
from noisewise.data.splitting.units import UnitLimit
from noisewise.run import DEFAULT, Run
from noisewise.schema.basis import Basis
from noisewise.schema.schema import Schema


def gram_sum(source: object, schema: Schema, basis: Basis, *, run: Run = DEFAULT) -> GramSum:
    """Sum a aᵀ over the rows of a source, or of anything that `open_source` takes.

    With a unit column, one thread sums up, in the order of the rows. Progress is in rows.

    >>> import numpy as np
    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [0, 100]}}})
    >>> gram_sum({"age": np.array([100.0, 50.0, 25.0])}, schema, Basis.of(schema)).to_grid() / 2**16
    array([[3.  , 0.5 ],
           [0.5 , 1.25]])
    """
    plan = Plan.of(basis)
    return sum_over_rows(source, schema, plan, partial(_GramWorker, plan, schema.unit.column, basis.names), run=run)


class GramSum(ExactSum):
    """The exact sum of a aᵀ over rows."""

    @classmethod
    def zero(cls, names: Sequence[str]) -> GramSum:
        """The sum over no rows."""
        nothing = np.zeros((len(names), len(names)), dtype=np.int64)
        return cls.of(names, nothing, nothing)

    @property
    def rows(self) -> int:
        """The number of rows in the sum."""
        return int(self.high[0, 0])


class Accumulator(Total):
    """Adds up the upper triangles of the Gram matrices of blocks, in one thread."""

    def __init__(self, size: int) -> None:
        super().__init__(size, size)
        self._rows = 0

    def add(self, block: npt.NDArray[np.float64], rows: int) -> None:
        """Add a block's matrix (whole numbers of at most 2**53) and its number of rows."""
        self.add_block(block)
        self._rows += rows

    def sum(self, names: Sequence[str], order: npt.NDArray[np.intp]) -> GramSum:
        """The total, with the columns in the order of the basis."""
        high, low = (np.triu(part) + np.triu(part, 1).T for part in self.parts)
        high[0, 0], low[0, 0] = self._rows, 0
        chosen = np.ix_(order, order)
        return GramSum.of(names, high[chosen], low[chosen])


class _GramWorker(RowWorker[GramSum]):
    def __init__(self, plan: Plan, unit: str | None, names: tuple[str, ...], limit: UnitLimit | None) -> None:
        super().__init__(plan, unit, limit)
        self.names = names
        self.accumulator = Accumulator(plan.size)

    def add_rows(self, piece: Piece) -> None:
        self.accumulator.add(*self.block.gram(piece))

    def result(self) -> GramSum:
        return self.accumulator.sum(self.names, self.plan.order)
