"""From a basis to the rows of a block, and how to compute each.

A block is laid out column by column: first numbers, so that one instruction scales them all, then categories, then Chebyshev
polynomials and products. These last two are computed from the rounded values of their factors and rounded again, so every value
in a block is a whole multiple of 2**-20 within [-1, 1].
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.data.columns import Codes, LevelReader
from noisewise.data.exact import ONE
from noisewise.errors import DeclarationError
from noisewise.schema.basis import Basis
from noisewise.schema.columns import DROP, Categorical, Numeric
from noisewise.schema.polynomial import Factor, Product

NORM_COLUMNS: Final = 8191  # with more, squared norms in units of 2**-40 could reach 2**53 and would not be exact


@dataclass(frozen=True)
class ScaledNumber:
    """A numeric column: ``(value - centre) * scale``, clipped to [-ONE, ONE] and rounded."""

    name: str
    centre: float
    scale: float
    fill: float | None
    """The value of a missing cell, in units of 2**-20; None if its row is dropped."""

    @classmethod
    def of(cls, column: Numeric) -> ScaledNumber:
        """The scaled form of a declared column."""
        # If the bounds are so close that the scale overflows, the largest double keeps 0 * scale == 0.
        scale = min(ONE / column.half_width, sys.float_info.max)
        fill = column.fill
        scaled = None if fill == DROP else float(np.rint(np.clip((float(fill) - column.centre) * scale, -ONE, ONE)))
        return cls(column.name, column.centre, scale, scaled)


@dataclass(frozen=True)
class Indicator:
    """ONE where a category has a given level; elsewhere 0, or -ONE for a category with two levels."""

    row: int
    column: str
    code: int
    signed: bool

    def fill(self, block: Array, codes: Codes) -> None:
        """Compute its row of a block from the codes of the category."""
        row = block[self.row]
        np.multiply(codes == self.code, 2 * ONE if self.signed else ONE, out=row)
        if self.signed:
            np.subtract(row, ONE, out=row)


@dataclass(frozen=True)
class Chebyshev:
    """T_degree of another row, by the three-term recurrence."""

    row: int
    of: int
    degree: int

    def fill(self, block: Array) -> None:
        """Compute its row of a block from the other row."""
        value = block[self.of] / ONE
        before, now = np.ones_like(value), value
        for _ in range(self.degree - 1):
            before, now = now, 2.0 * value * now - before
        np.rint(np.clip(now, -1.0, 1.0) * ONE, out=block[self.row])


@dataclass(frozen=True)
class Multiplied:
    """A product of other rows, rounded."""

    row: int
    of: tuple[int, ...]

    def fill(self, block: Array) -> None:
        """Compute its row of a block from the other rows."""
        value = block[self.of[0]]
        for index in self.of[1:]:
            value = value * block[index] / ONE
        np.rint(value, out=block[self.row])


@dataclass(frozen=True)
class NormBound:
    """Shortens rows longer than the declared norm to that norm."""

    rows: npt.NDArray[np.intp]
    radius: float
    """The norm, in units of 2**-20."""
    squared: float
    """The largest whole number that is at most its square."""

    @classmethod
    def of(cls, rows: npt.NDArray[np.intp], bound: float) -> NormBound:
        """The bound for a declared norm."""
        return cls(rows, float(bound) * ONE, float(floor((Fraction(bound) * int(ONE)) ** 2)))

    def clip(self, block: Array) -> None:
        """Shorten long rows, rounding towards zero.

        Squared norms are whole numbers below 2**53 (for at most `NORM_COLUMNS` columns), so the comparison is exact. The factor
        is reduced by more than its four roundings can have increased it (4 * 2**-53), so no shortened value exceeds its exact
        one, and rounding towards zero makes it smaller still: the norm cannot exceed the bound.
        """
        released = block[self.rows]
        squares = np.einsum("ij,ij->j", released, released)
        (long,) = np.nonzero(squares > self.squared)
        if long.size:
            factor = self.radius / np.sqrt(squares[long]) * (1.0 - 2.0**-50)
            block[np.ix_(self.rows, long)] = np.trunc(released[:, long] * factor)


@dataclass(frozen=True)
class Plan:
    """Everything public about the pass: the rows of a block, and the places of the basis columns among them."""

    numbers: tuple[ScaledNumber, ...]
    categories: tuple[LevelReader, ...]
    indicators: tuple[Indicator, ...]
    derived: tuple[Chebyshev | Multiplied, ...]
    norm: NormBound | None
    size: int
    order: npt.NDArray[np.intp]

    @classmethod
    def of(cls, basis: Basis) -> Plan:
        """Lay out a basis."""
        layout = _Layout(basis)
        order = np.array([layout.row(column.factors) for column in basis.columns], dtype=np.intp)
        bound = basis.schema.norm_bound
        norm = NormBound.of(order[1:], bound) if basis.norm_clipped and bound is not None else None
        if norm is not None and len(norm.rows) > NORM_COLUMNS:
            raise DeclarationError(f"with a norm bound, a release can have at most {NORM_COLUMNS} columns",
                                   found=f"{len(norm.rows)} columns",
                                   remedy="declare fewer columns, levels or terms, or leave norm_bound out")
        return cls(tuple(ScaledNumber.of(column) for column in layout.numbers),
                   tuple(LevelReader(column) for column in layout.categories),
                   tuple(layout.indicators), tuple(layout.derived), norm, len(layout.rows), order)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns to read."""
        return (*(column.name for column in self.numbers), *(reader.column.name for reader in self.categories))


class _Layout:
    """Gives every product one row, after the rows it is computed from."""

    def __init__(self, basis: Basis) -> None:
        self.schema = basis.schema
        used = {factor.column for column in basis.columns for factor in column.factors}
        declared = [column for column in basis.schema.columns if column.name in used]
        self.numbers = [column for column in declared if isinstance(column, Numeric)]
        self.categories = [column for column in declared if isinstance(column, Categorical)]
        self.indicators: list[Indicator] = []
        self.derived: list[Chebyshev | Multiplied] = []
        self.rows: dict[Product, int] = {(): 0}
        for number in self.numbers:
            self.rows[(Factor(number.name),)] = len(self.rows)

    def row(self, product: Product) -> int:
        """The row of a product, added if necessary."""
        if product in self.rows:
            return self.rows[product]
        first = product[0]
        if len(product) > 1:
            parts = tuple(self.row((factor,)) for factor in product)
            self.derived.append(Multiplied(len(self.rows), parts))
        elif first.degree > 1:
            base = self.row((Factor(first.column),))
            self.derived.append(Chebyshev(len(self.rows), base, first.degree))
        else:
            column = self.schema.column(first.column)
            assert isinstance(column, Categorical)
            code = 1 if first.level is None else column.levels.index(first.level)
            self.indicators.append(Indicator(len(self.rows), first.column, code, signed=first.level is None))
        return self.rows.setdefault(product, len(self.rows))
