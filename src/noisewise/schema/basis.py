"""The released columns: the products of scaled columns that make up a statistic, and how large a row of them can be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from noisewise.arrays import Array, Values
from noisewise.errors import DeclarationError
from noisewise.schema.columns import Categorical, Level, Numeric
from noisewise.schema.formula import TermReader, parse_terms
from noisewise.schema.polynomial import ONE, Factor, Product, indicator, variable
from noisewise.schema.schema import Schema

STATISTIC_GRID: Final = 2.0**-16
"""A released statistic is a whole multiple of this, before and after noise, in the scaled units of the basis."""


@dataclass(frozen=True)
class BasisColumn:
    """A product of factors, each within [−1, 1]; the empty product is the constant 1."""

    factors: Product

    @property
    def name(self) -> str:
        """The column's name in a release file: ``1``, ``age``, ``T2(age)``, ``ward[B]``, ``age:ward[B]``."""
        return ":".join(map(str, self.factors)) or "1"

    @property
    def block(self) -> tuple[object, ...] | None:
        """The block of the column, or None. Columns of one block exclude each other: in each row at most one is nonzero."""
        categories = tuple(factor.column for factor in self.factors if factor.level is not None)
        numbers = tuple(factor for factor in self.factors if factor.level is None)
        return (categories, numbers) if categories else None


@dataclass(frozen=True)
class Basis:
    """The columns of a `gram` statistic: the constant, every declared column and the requested products.

    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
    ...     "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}}})
    >>> Basis.of(schema, "I(age**2)").names
    ('1', 'age', 'ward[B]', 'ward[C]', 'T2(age)')
    >>> Basis.of(schema, None).radius_squared
    2.0
    """

    schema: Schema
    columns: tuple[BasisColumn, ...]

    @classmethod
    def of(cls, schema: Schema, terms: str | None = None) -> Basis:
        """The basis of a release: all declared columns, and those that ``terms`` (``"a:b + I(a**2)"``) adds."""
        schema.require_bounds()
        products: dict[Product, None] = {ONE: None}
        for column in schema.columns:
            if isinstance(column, Categorical):
                polynomials = [indicator(column, level) for level in column.levels[1:]]
            else:
                polynomials = [variable(column)]
            products.update((product, None) for polynomial in polynomials for product in polynomial)
        if terms is not None:
            added = TermReader(schema).read(parse_terms(terms), intercept=True)
            new = {product for column in added for product in column.value.polynomial} - set(products)
            products.update((product, None) for product in sorted(
                new, key=lambda product: (sum(factor.degree for factor in product), len(product), BasisColumn(product).name)))
        basis = cls(schema, tuple(BasisColumn(product) for product in products))
        if len(set(basis.names)) < basis.size:
            name = next(name for index, name in enumerate(basis.names) if name in basis.names[:index])
            raise DeclarationError("released columns must have different names", found=repr(name),
                                   remedy="rename the column: 1 is the constant, and T2(a) is a square")
        return basis

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def position(self) -> Mapping[Product, int]:
        """The index of each product among the columns."""
        return {column.factors: index for index, column in enumerate(self.columns)}

    @property
    def size(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @property
    def scalars(self) -> int:
        """The number of columns, except the constant, that can be anywhere in [−1, 1]."""
        return sum(1 for column in self.columns[1:] if column.block is None)

    @property
    def blocks(self) -> int:
        """The number of blocks: groups of columns of which at most one is nonzero in a row."""
        return len({column.block for column in self.columns} - {None})

    @property
    def norm_clipped(self) -> bool:
        """True if the schema declares a smaller norm than the bounds imply, so that rows are shortened to it."""
        bound = self.schema.norm_bound
        return bound is not None and bound**2 < self.scalars + self.blocks

    @property
    def radius_squared(self) -> float:
        """A bound on the squared norm of a row without its constant."""
        bound = self.schema.norm_bound
        return float(bound) ** 2 if bound is not None and self.norm_clipped else float(self.scalars + self.blocks)

    @property
    def radius(self) -> float:
        """A bound on the norm of a row without its constant."""
        bound = self.schema.norm_bound
        return float(bound) if bound is not None and self.norm_clipped else math.sqrt(self.radius_squared)

    def evaluate(self, values: Mapping[str, Values]) -> Array:
        """The basis columns at the given values, one array per declared column, in the user's units. For predictions.

        Numbers are scaled but not clipped, so a polynomial is extrapolated as a polynomial. Levels must be declared.
        """
        length = len(next(iter(values.values())))
        result = np.ones((length, self.size))
        for index, column in enumerate(self.columns):
            for factor in column.factors:
                if factor.column in values:
                    result[:, index] *= self._factor(factor, values[factor.column])
                else:
                    result[:, index] = np.nan
        return result

    def _factor(self, factor: Factor, values: Values) -> Array:
        declared = self.schema.column(factor.column)
        if isinstance(declared, Categorical):
            level: Level = declared.levels[1] if factor.level is None else factor.level
            matches = np.fromiter((str(value) == str(level) for value in values), dtype=bool, count=len(values))
            return matches.astype(float) if factor.level is not None else np.where(matches, 1.0, -1.0)
        assert isinstance(declared, Numeric)
        scaled = (np.asarray(values, dtype=float) - declared.centre) / declared.half_width
        result: Array = np.polynomial.chebyshev.chebval(scaled, [0.0] * factor.degree + [1.0]).astype(float)
        return result
