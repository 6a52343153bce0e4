"""Terms of a formula as columns: each with its name, its polynomial and its bounds in the user's units."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from noisewise.errors import DeclarationError, FormulaError
from noisewise.schema.columns import Categorical, Numeric
from noisewise.schema.expression import Expression, number, read_expression
from noisewise.schema.formula import FactorText
from noisewise.schema.polynomial import indicator, variable
from noisewise.schema.schema import Schema


@dataclass(frozen=True)
class TermColumn:
    """One column of a design: its name as shown to people, and what it is."""

    name: str
    value: Expression
    sources: frozenset[str]
    term: str = ""


Coding: TypeAlias = dict[FactorText, bool]
"""Which categories of a term are coded, and whether without their first level."""


MAX_CATEGORIES: Final = 6
"""The coding of a term looks at all subsets of its categories."""


class TermReader:
    """Turns terms into columns, by the declarations of one schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.two_level = frozenset(c.name for c in schema.columns if isinstance(c, Categorical) and c.two_level)

    def column(self, name: str) -> Expression:
        """A column's own value; categories with three or more levels have none."""
        try:
            declared = self.schema.column(name)
        except DeclarationError as error:
            raise FormulaError("the formula names a column that was not declared", found=name, remedy=error.remedy) from error
        if isinstance(declared, Categorical):
            if not declared.two_level:
                raise FormulaError(f"'{name}' is a category with {len(declared.levels)} levels and has no numeric value",
                                   found=name, remedy=f"use '{name}' as a predictor: it becomes one column per level")
            return Expression(variable(declared), 0.0, 1.0)
        assert isinstance(declared, Numeric), "columns without bounds have stand-ins: Schema.with_unit_bounds"
        return Expression(variable(declared), declared.lower, declared.upper)

    def read(self, terms: Sequence[tuple[FactorText, ...]], intercept: bool) -> list[TermColumn]:
        """All columns of a formula's right-hand side.

        A category is coded by its levels without the first one where smaller terms, or the intercept, already stand for that
        one, and by all of its levels otherwise, as is usual for formulas.
        """
        terms = tuple(dict.fromkeys(terms))  # c and C(c) are the same
        spanned = {frozenset[FactorText]()} if intercept else set()
        codings = {term: self._codings(term, spanned) for term in sorted(terms, key=len)}
        columns = [TermColumn("Intercept", number(1.0), frozenset())] if intercept else []
        for term in terms:
            written = ":".join(map(str, term))
            for coding in codings[term]:
                columns += [replace(column, term=written) for column in self._columns(term, coding)]
        return columns

    def _codings(self, term: tuple[FactorText, ...], spanned: set[frozenset[FactorText]]) -> list[Coding]:
        """How to code a term so that it adds all that is new and nothing twice; ``spanned`` grows by it.

        A category is its reduced coding and a constant. So a term is a sum over the subsets of its categories; subsets that
        earlier terms stand for are left out, and a pair that differs by one category is put together as its full coding.
        """
        categories = [factor for factor in term if self._category(factor) is not None]
        if len(categories) > MAX_CATEGORIES:
            raise FormulaError(f"a term has at most {MAX_CATEGORIES} categories", found=":".join(map(str, term)))
        numbers = frozenset(term) - frozenset(categories)
        subsets = [subset for size in range(len(categories) + 1) for subset in itertools.combinations(categories, size)]
        new = [subset for subset in subsets if numbers | frozenset(subset) not in spanned]
        spanned.update(numbers | frozenset(subset) for subset in new)
        codings: list[Coding] = [dict.fromkeys(subset, True) for subset in new]
        while (pair := _differing_by_one(codings)) is not None:
            short, long = pair
            (extra,) = long.keys() - short.keys()
            codings[codings.index(long)] = {**long, **short, extra: False}
            codings.remove(short)
        return codings

    def _category(self, factor: FactorText) -> Categorical | None:
        if factor.arithmetic or factor.text not in self.schema.names:
            return None
        declared = self.schema.column(factor.text)
        return declared if isinstance(declared, Categorical) else None

    def _columns(self, term: tuple[FactorText, ...], coding: Coding) -> list[TermColumn]:
        columns = [TermColumn("", number(1.0), frozenset())]
        for factor in term:
            if self._category(factor) is not None and factor not in coding:
                continue
            choices = self._choices(factor, reduced=coding.get(factor, False))
            columns = [
                TermColumn(
                    f"{left.name}:{right.name}" if left.name else right.name,
                    left.value.times(right.value, self.two_level),
                    left.sources | right.sources,
                )
                for left in columns
                for right in choices
            ]
        return columns

    def _choices(self, factor: FactorText, *, reduced: bool) -> list[TermColumn]:
        if factor.arithmetic:
            used: set[str] = set()

            def lookup(name: str) -> Expression:
                used.add(name)
                return self.column(name)

            value = read_expression(factor.text, lookup, self.two_level)
            return [TermColumn(str(factor), value, frozenset(used))]
        declared = self._category(factor)
        if declared is None:
            if factor.category and factor.text in self.schema.names:
                raise FormulaError("C(...) is for columns that are declared by levels", found=f"C({factor.text})",
                                   remedy=f"write {factor.text}, or declare its levels in the schema")
            return [TermColumn(factor.text, self.column(factor.text), frozenset({factor.text}))]
        return [
            TermColumn(
                f"{declared.name}[{'T.' if reduced else ''}{level}]",
                Expression(indicator(declared, level), 0.0, 1.0),
                frozenset({declared.name}),
            )
            for level in (declared.levels[1:] if reduced else declared.levels)
        ]


def _differing_by_one(codings: list[Coding]) -> tuple[Coding, Coding] | None:
    """A coding and a later one that has one category more, reduced."""
    for short, long in itertools.combinations(codings, 2):
        extra = long.keys() - short.keys()
        if len(extra) == 1 and len(long) == len(short) + 1 and long[next(iter(extra))]:
            if all(long[factor] == reduced for factor, reduced in short.items()):
                return short, long
    return None
