"""The inside of ``I(...)``: sums, products and whole powers of columns and numbers, with bounds carried along.

The text is read into a syntax tree and only the node types below are accepted; nothing is ever evaluated as Python.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass

from noisewise.errors import FormulaError
from noisewise.schema.polynomial import ONE, Polynomial, add, constant, multiply

MAX_DEGREE = 8
MAX_PRODUCTS = 20_000
"""How many pairs of summands one multiplication may have: what keeps a short formula from taking for ever."""


@dataclass(frozen=True)
class Expression:
    """A polynomial in the scaled columns and the interval, in the user's units, that it cannot leave."""

    polynomial: Polynomial
    lower: float
    upper: float

    @property
    def degrees(self) -> dict[str, int]:
        """The degree in each column."""
        found: dict[str, int] = {}
        for product in self.polynomial:
            for factor in product:
                found[factor.column] = max(factor.degree, found.get(factor.column, 0))
        return found

    def plus(self, other: Expression) -> Expression:
        return Expression(add(self.polynomial, other.polynomial), self.lower + other.lower, self.upper + other.upper)

    def times(self, other: Expression, two_level: frozenset[str]) -> Expression:
        degrees, others = self.degrees, other.degrees
        highest = max((degree + others.get(name, 0) for name, degree in degrees.items()), default=0)
        if highest > MAX_DEGREE or len(self.polynomial) * len(other.polynomial) > MAX_PRODUCTS:
            raise FormulaError(f"a product has at most degree {MAX_DEGREE} in each column and {MAX_PRODUCTS} summands",
                               found=f"degree {highest}, {len(self.polynomial) * len(other.polynomial)} summands",
                               remedy="use lower powers or fewer columns")
        corners = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Expression(multiply(self.polynomial, other.polynomial, two_level), min(corners), max(corners))

    def power(self, exponent: int, two_level: frozenset[str]) -> Expression:
        result = number(1.0)
        for _ in range(exponent):
            result = result.times(self, two_level)
        ends = sorted((self.lower**exponent, self.upper**exponent))
        lower = 0.0 if exponent % 2 == 0 and self.lower < 0 < self.upper else ends[0]
        return Expression(result.polynomial, lower, ends[1])


def number(value: float) -> Expression:
    return Expression(constant(value), value, value)


def read_expression(text: str, lookup: Callable[[str], Expression], two_level: frozenset[str]) -> Expression:
    """Read the arithmetic between the parentheses of ``I(...)``."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormulaError("I(...) holds arithmetic on column names", found=f"I({text})") from error
    try:
        value = _read(tree.body, lookup, two_level, text)
    except (OverflowError, RecursionError) as error:
        raise FormulaError("I(...) is too large or too deeply nested to be computed", found=f"I({text})"[:200]) from error
    if not all(map(math.isfinite, (value.lower, value.upper, *value.polynomial.values()))):
        raise FormulaError("I(...) must be finite for all values within the bounds", found=f"I({text})",
                           remedy="use smaller numbers or lower powers")
    return value


def _read(node: ast.expr, lookup: Callable[[str], Expression], two_level: frozenset[str], text: str) -> Expression:
    match node:
        case ast.Name(id=name):
            return lookup(name)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return number(float(value))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _read(operand, lookup, two_level, text).times(number(-1.0), two_level)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            second = _read(right, lookup, two_level, text)
            if isinstance(operator, ast.Sub):
                second = second.times(number(-1.0), two_level)
            return _read(left, lookup, two_level, text).plus(second)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _read(left, lookup, two_level, text).times(_read(right, lookup, two_level, text), two_level)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            divisor = _read(right, lookup, two_level, text)
            if divisor.polynomial.keys() == {ONE} and divisor.lower == divisor.upper != 0:
                return _read(left, lookup, two_level, text).times(number(1.0 / divisor.lower), two_level)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as exponent)) if 1 <= exponent <= MAX_DEGREE:
            return _read(left, lookup, two_level, text).power(exponent, two_level)
    raise FormulaError(
        f"I(...) may hold column names, numbers, + − *, division by a number and whole powers up to {MAX_DEGREE}",
        found=f"I({text})",
        remedy="other transformations are columns of their own: add one to the table and declare its bounds in the schema",
    )
