"""Columns as polynomials in the scaled columns of a schema.

A declared number becomes ``u = (value − centre) / half_width`` in [−1, 1]. A category with two levels is coded −1 and +1; one
with more levels becomes 0/1 indicators. Every column that a formula can name is a polynomial in these. It is written in products
of Chebyshev polynomials T_k(u), because each such product stays within [−1, 1] on the whole box. A released column then uses the
range that its sensitivity pays for, and a number and its square are nearly uncorrelated.

An `Expression` carries its bounds along. The inside of ``I(...)`` consists of sums, products and whole powers of columns and
numbers. It is parsed into a syntax tree in which only a few node types are allowed; nothing is ever evaluated as Python.
"""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from noisewise.errors import FormulaError
from noisewise.schema.columns import Categorical, Column, Level, Numeric


@dataclass(frozen=True)
class Factor:
    """T_degree of a scaled column, or the 0/1 indicator of one level of a category with three or more."""

    column: str
    degree: int = 1
    level: Level | None = None

    def __str__(self) -> str:
        if self.level is not None:
            return f"{self.column}[{self.level}]"
        return self.column if self.degree == 1 else f"T{self.degree}({self.column})"


Product: TypeAlias = tuple[Factor, ...]
Polynomial: TypeAlias = Mapping[Product, float]

ONE: Product = ()
MAX_DEGREE = 8
MAX_PRODUCTS = 20_000
"""The most pairs of summands in one multiplication, so that a short formula cannot take forever."""


def variable(column: Column) -> Polynomial:
    """The column's own value in the user's units (for a two-level category, 0 for the first level and 1 for the second)."""
    if isinstance(column, Categorical):
        return indicator(column, column.levels[1])
    assert isinstance(column, Numeric)
    return {ONE: column.centre, (Factor(column.name),): column.half_width}


def indicator(column: Categorical, level: Level) -> Polynomial:
    """1 where the column has this level, else 0."""
    first = level == column.levels[0]
    if column.two_level:
        return {ONE: 0.5, (Factor(column.name),): -0.5 if first else 0.5}
    if first:
        return {ONE: 1.0} | {(Factor(column.name, level=other),): -1.0 for other in column.levels[1:]}
    return {(Factor(column.name, level=level),): 1.0}


def add(left: Polynomial, right: Polynomial) -> Polynomial:
    """The sum of two polynomials."""
    total = dict(left)
    for product, weight in right.items():
        total[product] = total.get(product, 0.0) + weight
    return {product: weight for product, weight in total.items() if weight != 0.0}


def multiply(left: Polynomial, right: Polynomial, two_level: frozenset[str]) -> Polynomial:
    """The product in the Chebyshev basis. ``two_level`` names the columns that are always −1 or +1."""
    total: dict[Product, float] = {}
    for one, one_weight in left.items():
        for other, other_weight in right.items():
            for product, weight in _multiply_products(one, other, two_level).items():
                total[product] = total.get(product, 0.0) + weight * one_weight * other_weight
    return {product: weight for product, weight in total.items() if weight != 0.0}


def _multiply_products(left: Product, right: Product, two_level: frozenset[str]) -> dict[Product, float]:
    by_column = {factor.column: factor for factor in right}
    result: dict[Product, float] = {ONE: 1.0}
    for factor in left:
        other = by_column.pop(factor.column, None)
        choices = {(factor,): 1.0} if other is None else _multiply_factors(factor, other, two_level)
        result = {done + choice: weight * choice_weight
                  for done, weight in result.items() for choice, choice_weight in choices.items()}
    rest = tuple(by_column.values())
    ordered: dict[Product, float] = defaultdict(float)
    for product, weight in result.items():
        ordered[tuple(sorted(product + rest, key=lambda factor: (factor.column, str(factor.level))))] += weight
    return ordered


def _multiply_factors(left: Factor, right: Factor, two_level: frozenset[str]) -> dict[Product, float]:
    """Multiply factors of the same column: T_i T_j = (T_{i+j} + T_{|i−j|}) / 2; s² = 1 for ±1; indicators exclude each other."""
    if left.level is not None:
        return {(left,): 1.0} if left.level == right.level else {}
    if left.column in two_level:
        return {ONE: 1.0}
    total: dict[Product, float] = {}
    for degree in (left.degree + right.degree, abs(left.degree - right.degree)):
        product = (Factor(left.column, degree),) if degree else ONE
        total[product] = total.get(product, 0.0) + 0.5
    return total


@dataclass(frozen=True)
class Expression:
    """A polynomial in the scaled columns, and an interval in the user's units that contains all its values."""

    polynomial: Polynomial
    lower: float
    upper: float

    @property
    def degrees(self) -> dict[str, int]:
        """The degree in each column."""
        found: dict[str, int] = defaultdict(int)
        for factor in (factor for product in self.polynomial for factor in product):
            found[factor.column] = max(factor.degree, found[factor.column])
        return found

    def plus(self, other: Expression) -> Expression:
        """The sum of two expressions."""
        return Expression(add(self.polynomial, other.polynomial), self.lower + other.lower, self.upper + other.upper)

    def times(self, other: Expression, two_level: frozenset[str]) -> Expression:
        """The product of two expressions."""
        degrees, others = self.degrees, other.degrees
        highest = max((degree + others.get(name, 0) for name, degree in degrees.items()), default=0)
        summands = len(self.polynomial) * len(other.polynomial)
        if highest > MAX_DEGREE or summands > MAX_PRODUCTS:
            raise FormulaError(f"a product can have at most degree {MAX_DEGREE} in each column and {MAX_PRODUCTS} summands",
                               found=f"degree {highest}, {summands} summands", remedy="use lower powers or fewer columns")
        corners = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Expression(multiply(self.polynomial, other.polynomial, two_level), min(corners), max(corners))

    def power(self, exponent: int, two_level: frozenset[str]) -> Expression:
        """A whole power of the expression."""
        result = number(1.0)
        for _ in range(exponent):
            result = result.times(self, two_level)
        ends = sorted((self.lower**exponent, self.upper**exponent))
        lower = 0.0 if exponent % 2 == 0 and self.lower < 0 < self.upper else ends[0]
        return Expression(result.polynomial, lower, ends[1])


def number(value: float) -> Expression:
    """A constant expression."""
    return Expression({ONE: value}, value, value)


def read_expression(text: str, lookup: Callable[[str], Expression], two_level: frozenset[str]) -> Expression:
    """Read the arithmetic inside ``I(...)``."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormulaError("I(...) must hold arithmetic on column names", found=f"I({text})") from error
    try:
        value = _reader(lookup, two_level, text)(tree.body)
    except (OverflowError, RecursionError) as error:
        raise FormulaError("I(...) is too large or too deeply nested", found=f"I({text})"[:200]) from error
    if not all(map(math.isfinite, (value.lower, value.upper, *value.polynomial.values()))):
        raise FormulaError("I(...) must be finite for all values within the bounds", found=f"I({text})",
                           remedy="use smaller numbers or lower powers")
    return value


def _reader(lookup: Callable[[str], Expression], two_level: frozenset[str], text: str) -> Callable[[ast.expr], Expression]:
    def read(node: ast.expr) -> Expression:
        match node:
            case ast.Name(id=name):
                return lookup(name)
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return number(float(value))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return read(operand).times(number(-1.0), two_level)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
                second = read(right)
                if isinstance(operator, ast.Sub):
                    second = second.times(number(-1.0), two_level)
                return read(left).plus(second)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return read(left).times(read(right), two_level)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                divisor = read(right)
                if divisor.polynomial.keys() == {ONE} and divisor.lower == divisor.upper != 0:
                    return read(left).times(number(1.0 / divisor.lower), two_level)
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as exponent)) if 1 <= exponent <= MAX_DEGREE:
                return read(left).power(exponent, two_level)
        raise FormulaError("I(...) may hold column names, numbers, + − *, division by a number and whole powers up to "
                           f"{MAX_DEGREE}", found=f"I({text})", remedy="for any other transformation, add a column to the table "
                           "and declare its bounds in the schema")

    return read
