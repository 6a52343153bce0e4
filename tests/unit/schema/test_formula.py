"""The grammar: which formulas are read as which terms, and which are refused."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import FormulaError, NoisewiseError
from noisewise.schema import Basis, Design, Schema
from noisewise.schema.formula import MAX_LENGTH, parse_formula, parse_terms

READ: dict[str, tuple[bool, list[str]]] = {
    "y ~ 1": (True, []),
    "y ~ a": (True, ["a"]),
    "y~a+b": (True, ["a", "b"]),
    "  y  ~  a  +  b  ": (True, ["a", "b"]),
    "y ~ a\n + b": (True, ["a", "b"]),
    "y ~ a + a": (True, ["a"]),
    "y ~ a - a": (True, []),
    "y ~ 0 + a": (False, ["a"]),
    "y ~ a - 1": (False, ["a"]),
    "y ~ -1 + a": (False, ["a"]),
    "y ~ a + 0 + 1": (True, ["a"]),
    "y ~ a:b": (True, ["a:b"]),
    "y ~ a:b + b:a": (True, ["a:b"]),
    "y ~ a*b": (True, ["a", "b", "a:b"]),
    "y ~ a*b - a": (True, ["b", "a:b"]),
    "y ~ a/b": (True, ["a", "a:b"]),
    "y ~ (a + b)**2": (True, ["a", "a:b", "b"]),
    "y ~ (a + b)^2": (True, ["a", "a:b", "b"]),
    "y ~ a**3": (True, ["a"]),
    "y ~ (a + b + c):d": (True, ["a:d", "b:d", "c:d"]),
    "y ~ C(c)": (True, ["c"]),
    "y ~ C( c ):a": (True, ["c:a"]),
    "y ~ C(`odd name`)": (True, ["odd name"]),
    "y ~ `odd name` + `two  words`": (True, ["odd name", "two  words"]),
    "y ~ I(a**2)": (True, ["I(a ** 2)"]),
    "y ~ I( a  **2 )": (True, ["I(a ** 2)"]),
    "y ~ I(a*b):c": (True, ["I(a * b):c"]),
    "y ~ a.b": (True, ["a.b"]),
    "`the response` ~ a": (True, ["a"]),
}


@pytest.mark.parametrize(("text", "expected"), READ.items(), ids=READ.keys())
def test_a_formula_is_read_as_its_terms(text: str, expected: tuple[bool, list[str]]) -> None:
    formula = parse_formula(text)
    assert formula.response == text.split("~")[0].strip().strip("`")
    assert (formula.intercept, [":".join(map(str, term)) for term in formula.terms]) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("y ~ .", ["a", "odd name", "c"]),
    ("y ~ . - c", ["a", "odd name"]),
    ("a ~ 0 + .", ["y", "odd name", "c"]),
    ("y ~ . + a:c", ["a", "odd name", "c", "a:c"]),
])
def test_a_dot_stands_for_all_columns_but_the_response(text: str, expected: list[str]) -> None:
    found = parse_formula(text, ["y", "a", "odd name", "c"])
    assert [":".join(map(str, term)) for term in found.terms] == expected
    assert found.intercept is ("0" not in text)


def test_without_columns_a_dot_cannot_be_read() -> None:
    with pytest.raises(FormulaError, match="cannot be read"):
        parse_formula("y ~ .")


def test_a_formula_has_a_thousand_predictors() -> None:
    names = [f"column_{number}" for number in range(1000)]
    assert parse_formula("y ~ " + " + ".join(names)) == parse_formula("y ~ .", ["y", *names])
    with pytest.raises(FormulaError, match="expand to at most"):
        parse_formula("y ~ .**2", ["y", *names])


def test_a_design_knows_the_columns_that_a_dot_stands_for() -> None:
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
        "y": {"bounds": [0, 1]}, "a": {"bounds": [0, 1]}, "c": {"levels": ["u", "v", "w"]}}})
    design = Design.of("y ~ .", Basis.of(schema))
    assert design.terms == ("Intercept", "a", "c[T.v]", "c[T.w]")
    assert Design.from_dict(design.to_dict()).terms == design.terms


def test_terms_alone_have_no_response() -> None:
    assert [":".join(map(str, term)) for term in parse_terms("a:b + I(a**2) + C(c)")] == ["a:b", "I(a ** 2)", "c"]
    assert parse_terms("1") == parse_terms("0") == ()


REFUSED: dict[str, str] = {
    "": "a formula must be a string",
    "   ": "a formula must be a string",
    "y": "a response and predictors",
    "a + b": "a response and predictors",
    "~ a": "a response and predictors",
    "y ~ a ~ b": "cannot be read",
    "y ~ a | b": "one right-hand side",
    "y ~ a | b | c": "one right-hand side",
    "y ~ .": "cannot be read",
    "y ~ a +": "cannot be read",
    "y ~ (a": "cannot be read",
    "y ~ a)": "cannot be read",
    "y ~ a b": "cannot be read",
    "y ~ 'a'": "cannot be read",
    "y ~ 2": "cannot be read",
    "y ~ 2 + a": "cannot be read",
    "y ~ 2*a": "cannot be read",
    "y ~ 2:a": "not evaluated",
    "y ~ a:0.5": "not evaluated",
    "y ~ a**b": "cannot be read",
    "y ~ a**-1": "cannot be read",
    "y ~ \x00": "cannot be read",
    "y ~ log(a)": "not evaluated",
    "y ~ np.log(a)": "not evaluated",
    "y ~ a + poly(b, 2)": "not evaluated",
    "y ~ bs(a, df=3)": "not evaluated",
    "y ~ center(a)": "not evaluated",
    "y ~ lag(a)": "not evaluated",
    "y ~ C(c, contr.sum)": "not evaluated",
    "y ~ C(c, levels=['a'])": "not evaluated",
    "y ~ C('c')": "not evaluated",
    "y ~ C(C(c))": "not evaluated",
    "y ~ {a + b}": "not evaluated",
    "y ~ {__import__('os')}": "not evaluated",
    "y ~ a[0]": "not evaluated",
    "y ~ a.__class__()": "not evaluated",
    "y ~ __import__('os').system('true')": "cannot be read",
    "log(y) ~ a": "not evaluated",
    "I(y**2) ~ a": "the response must be the name of one column",
    "y + z ~ a": "the response must be the name of one column",
    "y - z ~ a": "the response must be the name of one column",
    "y + 0 ~ a": "the response must be the name of one column",
    "y:z ~ a": "the response must be the name of one column",
    "y | z ~ a": "the response must be the name of one column",
    "1 ~ a": "not evaluated",
    "y ~ " + "a + " * MAX_LENGTH + "a": f"at most {MAX_LENGTH} characters",
    "y ~ (a + b + c + d + e)**9": "expand to at most",
    "y ~ a**1000000000": "expand to at most",
    "y ~ " + "*".join("abcdefghijklmnopqrstuvwxyz"): "expand to at most",
    "y ~ ((a + b)**8)**8": "expand to at most",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=[text[:40] for text in REFUSED])
def test_a_formula_outside_the_grammar_is_refused(text: str, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        parse_formula(text)


@pytest.mark.parametrize("text", [None, 3, b"y ~ a", ["y ~ a"]])
def test_a_formula_is_a_text(text: Any) -> None:
    with pytest.raises(FormulaError, match="a formula must be a string"):
        parse_formula(text)


SCHEMA = Schema.from_dict(
    {
        "adjacency": "replace-one",
        "columns": {"y": {"bounds": [0, 1]}, "a": {"bounds": [0, 1]}, "b": {"bounds": [0, 1]}, "c": {"levels": ["p", "q", "r"]}},
    }
)


@pytest.mark.parametrize("depth", [50, 300, 3000])
def test_deeply_nested_formulas_are_read_or_refused(depth: int) -> None:
    for text in (
        "y ~ " + "(" * depth + "a" + ")" * depth,
        "y ~ " + "(a + " * depth + "b" + ")" * depth,
        "y ~ " + "-" * depth + "a",
    ):
        try:
            assert parse_formula(text).response == "y"
        except FormulaError as error:
            assert len(str(error)) < 1000


# fmt: off
pieces = st.sampled_from([
    "y", "a", "b", "c", "C(", "I(", "(", ")", "~", "+", "-", "*", ":", "/", "**", "^", "|", "2", "0", "1", ".", "`", "'", '"',
    "{", "}", "[", "]", ",", "%in%", "__import__", "sys.exit(", "=", " ", "\\", "\n", "#", "@", "é",
])
# fmt: on


@given(st.lists(pieces, max_size=14).map("".join))
def test_no_text_does_anything_but_give_a_design_or_one_of_our_errors(text: str) -> None:
    before = set(sys.modules)
    try:
        design = Design.of("y ~ " + text, Basis.of(SCHEMA, "(a + b + c)**2"))
    except NoisewiseError:
        return
    assert design.response == "y"
    assert set(sys.modules) >= before
