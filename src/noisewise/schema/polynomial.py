"""Columns as polynomials in the scaled columns of a schema.

A declared number becomes ``u = (value − centre) / half_width`` in [−1, 1]; a category with two levels is coded −1 and +1; one
with more levels becomes 0/1 indicators. Every column that a formula can name is a polynomial in these. It is written in the
products of Chebyshev polynomials T_k(u), because each such product stays within [−1, 1] on the whole box: a released column
then uses the range that its sensitivity pays for, and a number and its square are nearly uncorrelated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from noisewise.schema.columns import Categorical, Column, Level, Numeric


@dataclass(frozen=True)
class Factor:
    """T_degree of a scaled column, or the 0/1 indicator of one level of a category with three or more."""

    column: str
    degree: int = 1
    level: Level | None = None


Product: TypeAlias = tuple[Factor, ...]
Polynomial: TypeAlias = Mapping[Product, float]

ONE: Product = ()


def constant(value: float) -> Polynomial:
    return {ONE: value}


def variable(column: Column) -> Polynomial:
    """The column's own value in the user's units (a two-level category: 0 for its first level, 1 for its second)."""
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
    total = dict(left)
    for product, weight in right.items():
        total[product] = total.get(product, 0.0) + weight
    return {product: weight for product, weight in total.items() if weight != 0.0}


def multiply(left: Polynomial, right: Polynomial, two_level: frozenset[str]) -> Polynomial:
    """The product, written again in the Chebyshev basis; ``two_level`` names the columns that only take −1 and +1."""
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
        result = {
            done + choice: weight * choice_weight
            for done, weight in result.items()
            for choice, choice_weight in choices.items()
        }
    rest = tuple(by_column.values())
    ordered: dict[Product, float] = {}
    for product, weight in result.items():
        key = tuple(sorted(product + rest, key=lambda factor: (factor.column, str(factor.level))))
        ordered[key] = ordered.get(key, 0.0) + weight
    return ordered


def _multiply_factors(left: Factor, right: Factor, two_level: frozenset[str]) -> dict[Product, float]:
    """Two factors of the same column: T_i T_j = (T_{i+j} + T_{|i−j|}) / 2; s² = 1 for ±1; indicators exclude one another."""
    if left.level is not None:
        return {(left,): 1.0} if left.level == right.level else {}
    if left.column in two_level:
        return {ONE: 1.0}
    total: dict[Product, float] = {}
    for degree in (left.degree + right.degree, abs(left.degree - right.degree)):
        product = (Factor(left.column, degree),) if degree else ONE
        total[product] = total.get(product, 0.0) + 0.5
    return total
