"""Formulas: from text to terms, with formulaic's parser but never its evaluation, and from terms to columns.

formulaic expands ``a * b``, ``(a + b)**2``, ``- 1`` and the like. The result is a list of terms, which are products of factors.
Each factor is the name of a column, ``C(name)`` or ``I(arithmetic)``. Anything else is refused, in particular any other function
call. `TermReader` turns terms into columns, each with its name, its polynomial and its bounds in the user's units.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from noisewise.errors import DeclarationError, FormulaError
from noisewise.schema.columns import Categorical, Numeric
from noisewise.schema.polynomial import Expression, indicator, number, read_expression, variable
from noisewise.schema.schema import Schema

MAX_LENGTH, MAX_TERMS = 50_000, 10_000
MAX_CATEGORIES: Final = 6
"""A limit, because the coding of a term looks at all subsets of its categories."""


@dataclass(frozen=True)
class FactorText:
    """One factor of a term: the name of a column (``category`` if written as ``C(name)``), or the text inside ``I(...)``."""

    text: str
    arithmetic: bool = False
    category: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        return f"I({self.text})" if self.arithmetic else self.text


@dataclass(frozen=True)
class Formula:
    """A parsed formula: the response (None for a list of terms), whether it has an intercept, and the terms."""

    response: str | None
    intercept: bool
    terms: tuple[tuple[FactorText, ...], ...]


def parse_formula(text: str, columns: Sequence[str] | None = None) -> Formula:
    """Parse ``response ~ terms``. Given the names of all ``columns``, ``.`` means all of them except the response.

    >>> parse_formula("y ~ a + C(b) - 1")
    Formula(response='y', intercept=False,
            terms=((FactorText(text='a', arithmetic=False),), (FactorText(text='b', arithmetic=False),)))
    """
    tree = _parse(text, columns)
    if not hasattr(tree, "lhs") or not hasattr(tree, "rhs"):
        raise FormulaError("a formula has a response and predictors", found=text,
                           remedy="write: response ~ predictor + predictor")
    left = [_factors(term, text) for term in tree.lhs if hasattr(term, "factors")]
    unquoted = re.sub(r"`[^`]*`", "", text).split("~")[0]  # formulaic drops subtracted terms, so check the text too
    if len(left) != 1 or len(left[0]) != 1 or left[0][0].arithmetic or re.search(r"[-+*/^|]", unquoted):
        raise FormulaError("the response must be the name of one column", found=text.split("~")[0].strip(),
                           remedy="to use a transformed response, add it to the table as a column and declare its bounds")
    intercept, terms = _split_intercept(tree.rhs, text)
    return Formula(left[0][0].text, intercept, terms)


def parse_terms(text: str) -> tuple[tuple[FactorText, ...], ...]:
    """Parse a list of terms without a response, such as ``a:b + I(a**2)``."""
    if isinstance(text, str) and "~" in text:
        raise FormulaError("terms have no response", found=text, remedy="leave out everything up to and including the ~")
    tree = _parse(text)
    return _split_intercept(getattr(tree, "root", tree), text)[1]


def _parse(text: str, columns: Sequence[str] | None = None) -> object:
    from formulaic.errors import FormulaParsingError
    from formulaic.parser import DefaultFormulaParser

    if not isinstance(text, str) or not text.strip():
        raise FormulaError("a formula must be a string", found=repr(text), remedy="write: response ~ predictor + predictor")
    if len(text) > MAX_LENGTH:
        raise FormulaError(f"a formula can have at most {MAX_LENGTH} characters", found=f"{len(text)} characters")
    parser = DefaultFormulaParser()
    try:
        if _expansion(parser.get_ast(text), len(columns or ())) > MAX_TERMS:
            raise FormulaError(f"the products and powers of a formula can expand to at most {MAX_TERMS} terms", found=text[:200],
                               remedy="write out the interactions you want")
        known = {} if columns is None else {"__formulaic_variables_available__": list(columns)}
        return parser.get_terms(text, context=known)
    except (FormulaParsingError, SyntaxError, ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError,
            NotImplementedError) as error:
        raise FormulaError("the formula cannot be read", found=text[:200],
                           remedy="write: response ~ a + b + a:b + C(c) + I(a**2)") from error


def _expansion(tree: object, columns: int) -> int:
    """An upper bound on the number of terms formulaic goes through, before it multiplies anything out. ``.`` is all columns."""
    counts: list[int] = []
    waiting = [(tree, False)]
    while waiting:  # without recursion: a sum of a thousand columns is a tree a thousand levels deep
        node, arguments_counted = waiting.pop()
        arguments = getattr(node, "args", None)
        if arguments is None:
            counts.append(1)
        elif arguments_counted:
            first = len(counts) - len(arguments)
            counts[first:] = [_expansion_of(node, arguments, counts[first:]) if arguments else columns]
        else:
            waiting.append((node, True))
            waiting += [(argument, False) for argument in reversed(arguments)]
    return counts[0]


def _expansion_of(node: object, arguments: Sequence[object], counts: list[int]) -> int:
    """The same for one operator, from the counts of its arguments."""
    symbol = node.operator.symbol  # type: ignore[attr-defined]
    if symbol in ("**", "^"):
        exponent = str(getattr(arguments[1], "token", ""))
        return int(max(2, counts[0]) ** min(64, int(exponent) if exponent.isdecimal() else 1))
    if symbol in ("*", ":", "/", "in", "%in%") and len(counts) == 2:
        return counts[0] * counts[1] + sum(counts)
    return sum(counts)


def _split_intercept(terms: object, text: str) -> tuple[bool, tuple[tuple[FactorText, ...], ...]]:
    intercept = False
    result = []
    if not hasattr(terms, "__iter__"):
        raise FormulaError("a formula must have one right-hand side", found=text)
    for term in terms:
        if not hasattr(term, "factors"):
            raise FormulaError("a formula must have one right-hand side", found=text, remedy="remove the | part")
        if [str(factor.expr) for factor in term.factors] == ["1"]:
            intercept = True
        else:
            result.append(_factors(term, text))
    return intercept, tuple(result)


def _factors(term: object, text: str) -> tuple[FactorText, ...]:
    factors = []
    for factor in term.factors:  # type: ignore[attr-defined]
        written = str(factor.expr)
        method = factor.eval_method.value
        if method == "lookup":
            factors.append(FactorText(written))
        elif method == "python" and (inside := re.fullmatch(r"C\(\s*([^()',\"]+?)\s*\)", written)):
            factors.append(FactorText(inside[1].strip("` "), category=True))
        elif method == "python" and (inside := re.fullmatch(r"I\((.*)\)", written, flags=re.DOTALL)):
            factors.append(FactorText(inside[1], arithmetic=True))
        else:
            raise FormulaError("a formula can hold column names, C(name) and I(arithmetic); functions are not evaluated",
                               found=written, remedy="to use a transformed column, add it to the table and declare its bounds")
    return tuple(factors)


@dataclass(frozen=True)
class TermColumn:
    """One column of a design: its display name and its value."""

    name: str
    value: Expression
    sources: frozenset[str]
    term: str = ""


Coding: TypeAlias = dict[FactorText, bool]
"""The categories of a term that are coded, and whether each leaves out its first level."""


class TermReader:
    """Turns terms into columns, given a schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.two_level = frozenset(c.name for c in schema.columns if isinstance(c, Categorical) and c.two_level)

    def column(self, name: str) -> Expression:
        """A column's own value, which categories with three or more levels do not have."""
        try:
            declared = self.schema.column(name)
        except DeclarationError as error:
            raise FormulaError("the formula names a column that was not declared", found=name, known=error.known) from error
        if isinstance(declared, Categorical):
            if not declared.two_level:
                raise FormulaError(f"'{name}' is a category with {len(declared.levels)} levels and has no numeric value",
                                   found=name, remedy=f"use '{name}' as a predictor, where it becomes one column per level")
            return Expression(variable(declared), 0.0, 1.0)
        assert isinstance(declared, Numeric), "columns without bounds first go through Schema.with_unit_bounds"
        return Expression(variable(declared), declared.lower, declared.upper)

    def read(self, terms: Sequence[tuple[FactorText, ...]], intercept: bool) -> list[TermColumn]:
        """All columns of a formula's right-hand side.

        As usual in formulas, a category is coded without its first level where smaller terms or the intercept already cover that
        level, and with all its levels otherwise.
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
        """The codings that make a term add everything new and nothing twice. Adds to ``spanned``.

        A category is its reduced coding plus a constant. So a term is a sum over the subsets of its categories. Subsets that
        earlier terms cover are left out, and a pair that differs by one category is merged into that category's full coding.
        """
        categories = [factor for factor in term if self._category(factor) is not None]
        if len(categories) > MAX_CATEGORIES:
            raise FormulaError(f"a term can have at most {MAX_CATEGORIES} categories", found=":".join(map(str, term)))
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
            columns = [TermColumn(f"{left.name}:{right.name}" if left.name else right.name,
                                  left.value.times(right.value, self.two_level), left.sources | right.sources)
                       for left in columns for right in choices]
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
                raise FormulaError("C(...) is for columns declared with levels", found=f"C({factor.text})",
                                   remedy=f"write {factor.text}, or declare its levels in the schema")
            return [TermColumn(factor.text, self.column(factor.text), frozenset({factor.text}))]
        return [TermColumn(f"{declared.name}[{'T.' if reduced else ''}{level}]", Expression(indicator(declared, level), 0.0, 1.0),
                           frozenset({declared.name}))
                for level in (declared.levels[1:] if reduced else declared.levels)]


def _differing_by_one(codings: list[Coding]) -> tuple[Coding, Coding] | None:
    """A coding and a later one that has one more category, reduced."""
    for short, long in itertools.combinations(codings, 2):
        extra = long.keys() - short.keys()
        if len(extra) == 1 and len(long) == len(short) + 1 and long[next(iter(extra))]:
            if all(long[factor] == reduced for factor, reduced in short.items()):
                return short, long
    return None
