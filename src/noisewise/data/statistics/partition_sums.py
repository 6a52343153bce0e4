"""The sums of each part's rows: how cells become the columns of a regression, and buffers in which rows wait.

Nothing here is exact or needs to be, because the results are clipped later. But to the last bit, the numbers of a part must
depend only on its own rows and their relative order (P2 of privacy/sensitivity/partition.md). So rows wait in a buffer for their
part and are multiplied when it is full, which makes the result independent of how the table was cut into batches.

With an intercept, columns are taken relative to the mean of the part's first rows. Otherwise years, or identifiers in the
millions, would leave few digits for differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from noisewise.arrays import Array, Flags
from noisewise.data.columns import DROPPED, Codes, LevelReader, numbers
from noisewise.schema.columns import DROP, Categorical, Numeric, Unbounded
from noisewise.schema.design import Design
from noisewise.schema.polynomial import Product
from noisewise.schema.schema import Schema

BUFFER_NUMBERS: Final = 1 << 22
"""The most numbers in the buffers of all parts together."""
SMALLEST_BUFFER, LARGEST_BUFFER = 8, 512
"""Limits for the rows of one part's buffer."""


class Recipe:
    """Turns the cells of a row into the columns of the design."""

    def __init__(self, schema: Schema, design: Design) -> None:
        both = np.column_stack([design.features, design.target])
        used = np.flatnonzero(np.any(both != 0.0, axis=1))
        self.weights = both[used]
        self.intercept = "Intercept" in design.terms
        self.products: list[Product] = [design.basis.columns[index].factors for index in used]
        names = {factor.column for product in self.products for factor in product}
        declared = [column for column in schema.columns if column.name in names]
        self.numbers = [column for column in declared if isinstance(column, (Numeric, Unbounded))]
        self.categories = [LevelReader(column) for column in declared if isinstance(column, Categorical)]
        self.columns = [column.name for column in declared]

    def values(self, batch: pa.RecordBatch) -> tuple[Array, Flags]:
        """The products that make up the design, and flags of the rows to keep. Each row is treated separately."""
        keep = np.ones(batch.num_rows, dtype=bool)
        scaled: dict[str, Array] = {}
        for column in self.numbers:
            cells = numbers(batch.column(column.name)).astype(np.float64)
            missing = ~np.isfinite(cells) if isinstance(column, Unbounded) else np.isnan(cells)
            if column.fill == DROP:
                keep &= ~missing
            cells = np.where(missing, 0.0 if column.fill == DROP else column.fill, cells)
            if isinstance(column, Numeric):
                cells = (np.clip(cells, column.lower, column.upper) - column.centre) / column.half_width
            scaled[column.name] = cells
        codes = {reader.column.name: reader.codes(batch.column(reader.column.name)) for reader in self.categories}
        for found in codes.values():
            keep &= found != DROPPED
        result = np.empty((len(self.products), batch.num_rows))  # column by column in memory, which is faster from here on
        for index, product in enumerate(self.products):
            result[index] = self._product(product, scaled, codes)
        return result.T, keep

    def _product(self, product: Product, scaled: Mapping[str, Array], codes: Mapping[str, Codes]) -> Array | float:
        result: Array | float = 1.0
        for factor in product:
            if factor.column in scaled:
                value = _chebyshev(scaled[factor.column], factor.degree)
            else:
                levels = next(reader.column.levels for reader in self.categories if reader.column.name == factor.column)
                value = np.where(codes[factor.column] == 1, 1.0, -1.0) if factor.level is None else (
                    codes[factor.column] == levels.index(factor.level)).astype(np.float64)
            result = value if factor is product[0] else result * value
        return result


def _chebyshev(value: Array, degree: int) -> Array:
    before: Array | float = 1.0
    now = value
    for _ in range(degree - 1):
        before, now = now, 2.0 * value * now - before
    return now


class PartSums:
    """Sums up the rows of each part, in the order of a file."""

    def __init__(self, parts: int, recipe: Recipe) -> None:
        width, size = recipe.weights.shape
        self._plain = np.array_equal(recipe.weights, np.eye(width, size)) if width == size else False
        self._turn = np.ascontiguousarray(recipe.weights.T)
        self._intercept = recipe.intercept
        self._length = int(np.clip(BUFFER_NUMBERS // (parts * width), SMALLEST_BUFFER, LARGEST_BUFFER))
        self._buffers: Array = np.empty((parts, width, self._length))
        self._filled = [0] * parts
        self._begun = np.zeros(parts, dtype=bool)
        self._counts = np.zeros(parts)
        self._shift = np.zeros((parts, size))
        self._products = np.zeros((parts, size, size))

    def add(self, values: Array, belongs: npt.NDArray[np.int64]) -> None:
        """Add rows to the parts they belong to; -1 is none."""
        order = np.argsort(belongs.astype(np.int16 if len(self._filled) < 2**15 else np.int32), kind="stable")  # narrow is fast
        ordered = np.take(values.T, order, axis=1)
        left_out = int(np.count_nonzero(belongs < 0))
        sizes = np.bincount(belongs[belongs >= 0], minlength=len(self._filled))
        ends = np.concatenate([[left_out], left_out + np.cumsum(sizes)]).tolist()
        for part in range(len(self._filled)):
            self._put(part, ordered[:, ends[part]:ends[part + 1]])

    def _put(self, part: int, rows: Array) -> None:
        while rows.shape[1]:
            filled = self._filled[part]
            piece, rows = np.split(rows, [self._length - filled], axis=1)
            self._buffers[part, :, filled:filled + piece.shape[1]] = piece
            self._filled[part] = filled + piece.shape[1]
            if self._filled[part] == self._length:
                self._multiply(part)

    def _multiply(self, part: int) -> None:
        rows = self._buffers[part, :, :self._filled[part]]
        design = rows if self._plain else self._turn @ rows
        if not self._begun[part] and self._intercept:
            self._shift[part, 1:] = design[1:].mean(axis=1)
        self._begun[part] = True
        design = design - self._shift[part][:, None]
        self._products[part] += design @ design.T
        self._counts[part] += self._filled[part]
        self._filled[part] = 0

    def finished(self) -> tuple[Array, Array, Array]:
        """The counts, products and shifts of all parts, after the last row."""
        for part, filled in enumerate(self._filled):
            if filled:
                self._multiply(part)
        return self._counts, self._products, self._shift
