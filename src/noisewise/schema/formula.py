"""Formulas as text to formulas as terms: formulaic's parser for the grammar, and never its evaluation.

formulaic expands ``a * b``, ``(a + b)**2``, ``- 1`` and the like. What is left are terms made of factors; each factor is the
name of a column, ``C(name)`` or ``I(arithmetic)``. Anything else, in particular any other function call, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from noisewise.errors import FormulaError

MAX_LENGTH = 50_000
MAX_TERMS = 10_000


@dataclass(frozen=True)
class FactorText:
    """One factor of a term: the name of a column (``category``: written as ``C(name)``), or the text inside ``I(...)``."""

    text: str
    arithmetic: bool = False
    category: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        return f"I({self.text})" if self.arithmetic else self.text


@dataclass(frozen=True)
class Formula:
    """A formula in parts: the response (None for a list of terms), whether there is an intercept, and the terms."""

    response: str | None
    intercept: bool
    terms: tuple[tuple[FactorText, ...], ...]


def parse_formula(text: str, columns: Sequence[str] | None = None) -> Formula:
    """Parse ``response ~ terms``; with the names of all ``columns``, ``.`` stands for all of them but the response.

    >>> parse_formula("y ~ a + C(b) - 1")
    Formula(response='y', intercept=False,
            terms=((FactorText(text='a', arithmetic=False),), (FactorText(text='b', arithmetic=False),)))
    """
    tree = _parse(text, columns)
    if not hasattr(tree, "lhs") or not hasattr(tree, "rhs"):
        raise FormulaError("a formula has a response and predictors", found=text,
                           remedy="write: response ~ predictor + predictor")
    left = [_factors(term, text) for term in tree.lhs if hasattr(term, "factors")]
    unquoted = re.sub(r"`[^`]*`", "", text).split("~")[0]  # formulaic forgets what is subtracted, so the text is looked at too
    if len(left) != 1 or len(left[0]) != 1 or left[0][0].arithmetic or re.search(r"[-+*/^|]", unquoted):
        raise FormulaError(
            "the response is the name of one column",
            found=text.split("~")[0].strip(),
            remedy="a transformed response is a column of its own: add it to the table and declare its bounds",
        )
    intercept, terms = _split_intercept(tree.rhs, text)
    return Formula(left[0][0].text, intercept, terms)


def parse_terms(text: str) -> tuple[tuple[FactorText, ...], ...]:
    """Parse a list of terms without a response, such as ``a:b + I(a**2)``."""
    if isinstance(text, str) and "~" in text:
        raise FormulaError("terms have no response", found=text, remedy="leave out everything up to and with the ~")
    tree = _parse(text)
    return _split_intercept(getattr(tree, "root", tree), text)[1]


def _parse(text: str, columns: Sequence[str] | None = None) -> object:
    from formulaic.errors import FormulaParsingError
    from formulaic.parser import DefaultFormulaParser

    if not isinstance(text, str) or not text.strip():
        raise FormulaError("a formula is a text", found=repr(text), remedy="write: response ~ predictor + predictor")
    if len(text) > MAX_LENGTH:
        raise FormulaError(f"a formula has at most {MAX_LENGTH} characters", found=f"{len(text)} characters")
    parser = DefaultFormulaParser()
    try:
        if _expansion(parser.get_ast(text), len(columns or ())) > MAX_TERMS:
            raise FormulaError(f"the products and powers of a formula expand to at most {MAX_TERMS} terms", found=text[:200],
                               remedy="write out the interactions that are wanted")
        known = {} if columns is None else {"__formulaic_variables_available__": list(columns)}
        return parser.get_terms(text, context=known)
    except (FormulaParsingError, SyntaxError, ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError,
            NotImplementedError) as error:
        raise FormulaError("the formula cannot be read", found=text[:200],
                           remedy="write: response ~ a + b + a:b + C(c) + I(a**2)") from error


def _expansion(tree: object, columns: int) -> int:
    """At least as many terms as formulaic will go through, counted before it multiplies anything out; ``.`` is all columns."""
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
    """The same for one operator, from the counts of what it is applied to."""
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
        raise FormulaError("a formula has one right-hand side", found=text)
    for term in terms:
        if not hasattr(term, "factors"):
            raise FormulaError("a formula has one right-hand side", found=text, remedy="remove the | part")
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
            raise FormulaError(
                "a formula knows column names, C(name) and I(arithmetic); functions are not evaluated",
                found=written,
                remedy="a transformed column is a column of its own: add it to the table and declare its bounds",
            )
    return tuple(factors)
