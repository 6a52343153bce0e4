"""The Gram matrix of a few thousand rows at a time, in memory that is reused for each block."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from noisewise.arrays import Array, Flags, Values
from noisewise.data.columns import DROPPED, Codes, numbers
from noisewise.data.exact import BLOCK_ROWS, ONE
from noisewise.data.plan import Plan
from noisewise.data.sources.base import slices

SMALL_PRODUCT: Final = 1_000_000
"""Up to this size (rows times columns times depth), OpenBLAS multiplies with kernels that do not copy their operands."""
PANEL: Final = 8
"""Rows of the matrix to compute in one product."""
MANY_COLUMNS: Final = 128
"""From this many columns on, the symmetric product of the whole block is as fast as panels."""


class Piece(NamedTuple):
    """At most `BLOCK_ROWS` rows: numbers, codes of levels, and flags of the rows that count (None for all)."""

    rows: int
    numbers: list[Values]
    codes: Mapping[str, Codes]
    keep: Flags | None = None

    def left_out(self) -> Flags | None:
        """Flags of the rows that do not count or have a cell that drops them; None if there are none."""
        left_out = None if self.keep is None or self.keep.all() else ~self.keep
        for values in self.codes.values():
            dropped = values == DROPPED
            if dropped.any():
                left_out = dropped if left_out is None else left_out | dropped
        return left_out


def pieces(plan: Plan, batch: pa.RecordBatch, keep: Flags | None = None) -> Iterator[Piece]:
    """The columns of a plan, a few thousand rows of a batch at a time."""
    values = [numbers(batch.column(number.name)) for number in plan.numbers]
    codes = {reader.column.name: reader.codes(batch.column(reader.column.name)) for reader in plan.categories}
    for start, stop in slices(batch.num_rows, BLOCK_ROWS):
        part = slice(start, stop)
        yield Piece(stop - start, [column[part] for column in values], {name: column[part] for name, column in codes.items()},
                    None if keep is None else keep[part])


class Panel(NamedTuple):
    """Some rows of the matrix from the diagonal to the right, and how many rows of the table to multiply at a time."""

    rows: slice
    columns: slice
    depth: int

    @classmethod
    def cover(cls, size: int) -> tuple[Panel, ...]:
        """Panels that cover the upper triangle except for its corner.

        The second operand starts one column before the first (after it in the first panel). If both started at the same place,
        NumPy would call the symmetric product, which takes up to eight times as long for a few columns. The constant alone has
        only a corner, and so no panel.
        """
        if size == 1:
            return ()
        panels = []
        for start in range(0, size, PANEL):
            rows, columns = slice(start, min(start + PANEL, size)), slice(start - 1 if start else 1, size)
            area = (rows.stop - rows.start) * (columns.stop - columns.start)
            panels.append(cls(rows, columns, min(BLOCK_ROWS, SMALL_PRODUCT // area)))
        return tuple(panels)


class SymmetricProduct:
    """``rows @ rows.T`` of whole numbers of at most 2**20, exactly: in any order, all partial sums are at most 2**53.

    Only the upper triangle without its corner is valid, and only until the next call.
    """

    def __init__(self, size: int) -> None:
        self._product: Array = np.zeros((size, size))
        self._panels = Panel.cover(size)

    def __call__(self, rows: Array) -> Array:
        """The product of at most `BLOCK_ROWS` columns."""
        if len(rows) > MANY_COLUMNS:
            return np.matmul(rows, rows.T, out=self._product)
        for panel in self._panels:
            left, right = rows[panel.rows], rows[panel.columns].T
            part = left[:, : panel.depth] @ right[: panel.depth]
            for start in range(panel.depth, rows.shape[1], panel.depth):
                stop = start + panel.depth
                part += left[:, start:stop] @ right[start:stop]
            self._product[panel.rows, panel.columns] = part
        return self._product


class Block:
    """A workspace for blocks of rows, for one thread."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._values: Array = np.zeros((plan.size, BLOCK_ROWS))
        self._values[0] = ONE
        # Arrays of double precision, so that narrower columns are widened and not the other way round.
        self._centres = [np.array(number.centre) for number in plan.numbers]
        self._scales = np.array([[number.scale] for number in plan.numbers]).reshape(-1, 1)
        self._multiply = SymmetricProduct(plan.size)
        self._expect_missing = False

    def gram(self, piece: Piece) -> tuple[Array, int]:
        """The matrix of some rows, in units of 2**-40, and the number of rows that count, which is its corner entry.

        Only the upper triangle without the corner is valid, and only until the next call.
        """
        left_out = piece.left_out()
        if not self._expect_missing:
            product, rows = self._finish(self._load(piece), left_out)
            # A missing number is NaN, which shows up in the product with the constant at no cost.
            self._expect_missing = math.isnan(product[0, 1:].sum())
        if self._expect_missing:
            block = self._load(piece)
            product, rows = self._finish(block, self._repair(block, left_out))
        return product, rows

    def released(self, piece: Piece) -> Array:
        """The released columns without the constant, in units of 2**-20. No row may be left out."""
        values, left_out = self.kept(piece)
        assert left_out is None, "rows are dropped under add-remove only"
        return values

    def kept(self, piece: Piece) -> tuple[Array, Flags | None]:
        """The released columns without the constant, in units of 2**-20, and flags of the rows to leave out, if any."""
        block, left_out = self.laid_out(piece)
        return block[self.plan.order[1:]], left_out

    def laid_out(self, piece: Piece) -> tuple[Array, Flags | None]:
        """All columns as the plan lays them out, until the next call, and flags of the rows to leave out, if any."""
        block = self._load(piece)
        left_out = self._repair(block, piece.left_out())
        self._derive(block)
        return block, left_out

    def _load(self, piece: Piece) -> Array:
        block = self._values[:, : piece.rows]
        scaled = block[1 : 1 + len(piece.numbers)]
        for row, values, centre in zip(scaled, piece.numbers, self._centres, strict=True):
            np.subtract(values, centre, out=row)
        np.multiply(scaled, self._scales, out=scaled)
        np.clip(scaled, -ONE, ONE, out=scaled)
        np.rint(scaled, out=scaled)
        for step in self.plan.indicators:
            step.fill(block, piece.codes[step.column])
        return block

    def _repair(self, block: Array, left_out: Flags | None) -> Flags | None:
        """Fill in the declared value where a number is missing. Return flags of the rows to leave out, if any."""
        for row, number in enumerate(self.plan.numbers, start=1):
            missing = np.isnan(block[row])
            if number.fill is not None:
                block[row, missing] = number.fill
            elif missing.any():
                left_out = missing if left_out is None else left_out | missing
        return left_out

    def _derive(self, block: Array) -> None:
        for step in self.plan.derived:
            step.fill(block)
        if self.plan.norm is not None:
            self.plan.norm.clip(block)

    def _finish(self, block: Array, left_out: Flags | None) -> tuple[Array, int]:
        self._derive(block)
        if left_out is None:
            return self._multiply(block), block.shape[1]
        block[:, left_out] = 0.0  # a row of zeros, including its constant, adds nothing
        product = self._multiply(block)
        block[0] = ONE
        return product, block.shape[1] - int(left_out.sum())
