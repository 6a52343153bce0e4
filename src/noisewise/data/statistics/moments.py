"""The sums of a `moments` release: sums of all monomials of some degrees in the predictors, alone or times the response.

It takes one pass. All sums are exact, as for the Gram matrix. A monomial of order one or two is a product of two values of a row.
One of higher order is the product of two factors that are themselves monomials, each rounded to a whole multiple of 2**-20 (M5
of `noisewise/privacy/sensitivity/moments.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.data.block import Piece
from noisewise.data.exact import ONE, ExactSum, Integers, Total
from noisewise.data.passes import RowWorker, sum_over_rows
from noisewise.data.plan import NormBound, Plan
from noisewise.data.sources.base import slices
from noisewise.data.splitting.units import UnitLimit
from noisewise.run import DEFAULT, Run
from noisewise.schema.basis import Basis
from noisewise.schema.moment_blocks import ROWS, MomentBlock
from noisewise.schema.schema import Schema

WORKSPACE: Final = 2**20
"""The most numbers in one list of factors."""


def moments_sum(source: object, schema: Schema, basis: Basis, blocks: Sequence[str], *, run: Run = DEFAULT) -> MomentsSum:
    """Sum the monomials of the named blocks over the rows of a source. The other arguments are those of `gram_sum`.

    ``basis`` has the constant first and the response last. A declared norm bound applies to the predictors only.

    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
    ...     "age": {"bounds": [0, 100]}, "visits": {"bounds": [0, 10]}}})
    >>> rows = {"age": np.array([100.0, 50.0, 25.0]), "visits": np.array([10.0, 0.0, 5.0])}
    >>> found = moments_sum(rows, schema, Basis.of(schema), ["xx", "y", "yxx"])
    >>> {name: (values / 2**16).tolist() for name, values in found.to_blocks().items()}
    {'xx': [1.25], 'y': [0.0], 'yxx': [1.0]}
    """
    plan = _plan(basis)
    products = Products(tuple(MomentBlock.named(name) for name in blocks), basis.size - 2)
    worker = partial(_MomentsWorker, plan, schema.unit.column, basis.names, products)
    return MomentsSum(sum_over_rows(source, schema, plan, worker, run=run), products)


def _plan(basis: Basis) -> Plan:
    """The plan of a Gram matrix, except that the norm bound applies only to the predictors: all columns except the last."""
    plan, bound = Plan.of(basis), basis.schema.norm_bound
    clipped = Basis(basis.schema, basis.columns[:-1]).norm_clipped
    return replace(plan, norm=NormBound.of(plan.order[1:-1], bound) if clipped and bound is not None else None)


@dataclass(frozen=True, eq=False)
class MomentsSum:
    """The number of rows, then the exact sums of the monomials of some blocks, one block after the other."""

    exact: ExactSum
    products: Products

    @property
    def rows(self) -> int:
        """The number of rows in the sums."""
        return int(self.exact.high[0])

    def to_blocks(self) -> dict[str, Integers]:
        """The sums of each block, rounded down to whole multiples of the statistic's grid (2**-16)."""
        ends = np.cumsum(self.products.sizes)
        return dict(zip(self.products.names, np.split(self.exact.to_grid()[1:], ends[:-1]), strict=True))


class Products:
    """Computes each monomial as a product of two factors, one from each of two lists."""

    def __init__(self, blocks: tuple[MomentBlock, ...], predictors: int) -> None:
        self.blocks = blocks
        self.names = [block.name for block in blocks]
        self.sizes = [block.size(predictors) for block in blocks]
        degrees = sorted({degree for block in blocks for degree in block.halves()})
        self.monomials = {degree: MomentBlock(False, degree).monomials(predictors) for degree in degrees}
        self._places = [self._places_of(block, predictors) for block in blocks]
        self._counts_rows = np.repeat([name == ROWS for name in self.names], self.sizes)

    def _places_of(self, block: MomentBlock, predictors: int) -> npt.NDArray[np.intp]:
        """The place of each monomial in the matrix of all products. Its first predictors form one factor, the rest the other."""
        first, second = block.halves()
        monomials = block.monomials(predictors)
        rows, columns = (_codes(self.monomials[degree], predictors) for degree in (first, second))
        at_row, at_column = (_codes(part, predictors) for part in (monomials[:, :first], monomials[:, first:]))
        return np.searchsorted(rows, at_row) * len(columns) + np.searchsorted(columns, at_column)

    def sums(self, x: Array, y: Array, rows: int) -> Array:
        """The number of rows and the sum of each monomial, in units of 2**-40, over columns of values in units of 2**-20."""
        step = max(1, WORKSPACE // max(map(len, self.monomials.values())))
        found = sum(self._sums(x[:, start:stop], y[start:stop]) for start, stop in slices(x.shape[1], step))
        return np.append(rows * ONE * ONE, np.where(self._counts_rows, rows * ONE * ONE, found))

    def _sums(self, x: Array, y: Array) -> Array:
        factors = {degree: _factors(monomials, x) for degree, monomials in self.monomials.items()}
        found = []
        for block, places in zip(self.blocks, self._places, strict=True):
            first, second = block.halves()
            left = _factors(self.monomials[first], x, y) if block.response else factors[first]
            found.append((left @ factors[second].T).ravel()[places])
        return np.concatenate(found)


def _codes(monomials: npt.NDArray[np.intp], predictors: int) -> npt.NDArray[np.intp]:
    """Each monomial as a number whose digits are its predictors, in the order of the monomials."""
    codes = np.zeros(len(monomials), dtype=np.intp)
    for digits in monomials.T:
        codes = codes * predictors + digits
    return codes


def _factors(monomials: npt.NDArray[np.intp], x: Array, y: Array | None = None) -> Array:
    """Monomials of degree 0 to 3, or 0 to 2 times the response. Before rounding, products of two values are exact."""
    values = [x[places] for places in monomials.T]
    if y is not None:
        values.insert(0, np.broadcast_to(y, (len(monomials), len(y))))
    if not values:
        return np.full((1, x.shape[1]), ONE)
    product: Array = reduce(np.multiply, values)
    return product if len(values) == 1 else np.rint(product * ONE ** (1 - len(values)))  # a power of two: this product is exact


class _MomentsWorker(RowWorker[ExactSum]):
    def __init__(self, plan: Plan, unit: str | None, names: tuple[str, ...], products: Products, limit: UnitLimit | None) -> None:
        super().__init__(plan, unit, limit)
        self.names = names
        self.products = products
        self.total = Total(1 + sum(products.sizes))

    def add_rows(self, piece: Piece) -> None:
        values, left_out = self.block.kept(piece)
        rows = values.shape[1]
        if left_out is not None:
            values[:, left_out] = 0.0  # its monomials add nothing
            rows -= int(left_out.sum())
        self.total.add_block(self.products.sums(values[:-1], values[-1], rows))

    def result(self) -> ExactSum:
        return ExactSum.of(self.names, *self.total.parts)
