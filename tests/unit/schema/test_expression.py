"""Arithmetic inside I(...): what is read, what is refused, and bounds that no value leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import FormulaError
from noisewise.schema import Basis, Schema
from noisewise.schema.basis import BasisColumn
from noisewise.schema.formula import TermReader
from noisewise.schema.polynomial import MAX_DEGREE, Expression, read_expression

SCHEMA = Schema.from_dict(
    {
        "adjacency": "replace-one",
        "columns": {
            "a": {"bounds": [0, 10]},
            "b": {"bounds": [-5, 3]},
            "c": {"bounds": [2, 2.5]},
            "s": {"levels": ["F", "M"]},
            "ward": {"levels": ["A", "B", "C"]},
        },
    }
)
READER = TermReader(SCHEMA)


def read(text: str) -> Expression:
    return read_expression(text, READER.column, READER.two_level)


def evaluated(expression: Expression, values: dict[str, np.ndarray]) -> np.ndarray:
    products = tuple(expression.polynomial)
    basis = Basis(SCHEMA, tuple(BasisColumn(product) for product in products))
    return basis.evaluate(values) @ np.array([expression.polynomial[product] for product in products])


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("a", 0, 10),
        ("-a", -10, 0),
        ("a + b", -5, 13),
        ("a - b", -3, 15),
        ("2 * a - 1", -1, 19),
        ("a / 4", 0, 2.5),
        ("a / -4", -2.5, 0),
        ("a / (2 * 5)", 0, 1),
        ("b ** 2", 0, 25),
        ("b ** 3", -125, 27),
        ("c ** 2", 4, 6.25),
        ("(b - 3) ** 2", 0, 64),
        ("(b - 4) ** 2", 1, 81),
        ("a * b", -50, 30),
        ("b * b", -15, 25),
        ("s", 0, 1),
        ("s * a", 0, 10),
        ("1e2 * s", 0, 100),
        ("b ** 1", -5, 3),
        ("3", 3, 3),
    ],
)
def test_bounds_are_carried_along(text: str, lower: float, upper: float) -> None:
    expression = read(text)
    assert (expression.lower, expression.upper) == pytest.approx((lower, upper))


leaves = st.sampled_from(["a", "b", "c", "s", "2", "0.5", "3.25"])
texts = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", " - ", " * "]), inner).map(lambda parts: f"({''.join(parts)})"),
        st.tuples(inner, st.sampled_from(["** 2", "** 3", "/ 3", "/ 0.5"])).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda text: f"(-{text})"),
    ),
    max_leaves=5,
)


@given(texts, st.integers(0, 2**32 - 1))
def test_random_expressions_evaluate_as_python_does_and_stay_within_their_bounds(text: str, seed: int) -> None:
    try:
        expression = read(text)
    except FormulaError as error:
        assert "at most degree" in str(error)
        return
    generator = np.random.default_rng(seed)
    corners = generator.choice([0.0, 0.5, 1.0], size=(3, 20))
    share = np.where(generator.random((3, 20)) < 0.5, generator.random((3, 20)), corners)
    levels = generator.choice(["F", "M"], 20)
    numbers = {"a": 10 * share[0], "b": -5 + 8 * share[1], "c": 2 + share[2] / 2}
    found = evaluated(expression, {**numbers, "s": levels})
    # The oracle may evaluate Python: the text is made from the pieces above.
    expected = np.broadcast_to(eval(text, {}, {**numbers, "s": (levels == "M").astype(float)}), 20)
    scale = max(1.0, sum(map(abs, expression.polynomial.values())), abs(expression.lower), abs(expression.upper))
    np.testing.assert_allclose(found, expected, atol=1e-9 * scale)
    assert np.all(expected >= expression.lower - 1e-12 * scale)
    assert np.all(expected <= expression.upper + 1e-12 * scale)


REFUSED = [
    "f(a)",
    "a.real",
    "a.__class__",
    "a.__class__.__bases__[0]",
    "__import__('os').system('true')",
    "().__class__",
    "a[0]",
    "[a]",
    "{a}",
    "(a, b)",
    "lambda: a",
    "a if b else c",
    "a and b",
    "not a",
    "a < b",
    "a == b",
    "a := b",
    "a // 2",
    "a % 2",
    "a @ b",
    "a & b",
    "~a",
    "+a",
    "a / b",
    "1 / a",
    "a / 0",
    "a / (b - b)",
    "a / (2 - 2)",
    "a ** 0",
    "a ** -1",
    "a ** 0.5",
    "a ** b",
    "a ** 9",
    "2 ** a",
    "True",
    "None",
    "'a'",
    "1j",
    "f'{a}'",
    "*a",
    "a; b",
    "a = 1",
    "",
    "a +",
    "a) + (b",
    "await a",
    "`a`",
]


@pytest.mark.parametrize("text", REFUSED)
def test_anything_but_sums_products_and_powers_is_refused(text: str) -> None:
    with pytest.raises(FormulaError, match=r"I\(\.\.\.\)"):
        read(text)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(FormulaError, match="not declared.*found: z.*a, b, c, s, ward"):
        read("a + z")


def test_a_category_has_no_numeric_value_unless_it_has_two_levels() -> None:
    with pytest.raises(FormulaError, match="category with 3 levels"):
        read("ward ** 2")
    assert (read("s ** 5").lower, read("s ** 5").upper) == (0, 1)
    assert read("s ** 5").polynomial == read("s").polynomial


@pytest.mark.parametrize(
    "text", ["a * 1e308 * 1e308", "a * 1e999", "(a * 1e100) ** 8", "a * 1" + "0" * 400, "a / 1" + "0" * 400, "a / 1e-320"]
)
def test_numbers_that_leave_the_doubles_are_refused(text: str) -> None:
    with pytest.raises(FormulaError, match="finite|too large"):
        read(text)


@pytest.mark.parametrize("text", ["((a ** 8) ** 8) ** 8", "*".join(["a"] * 9), "a ** 5 * a ** 4", "((a + b) ** 8) ** 2"])
def test_high_powers_are_refused_however_they_are_written(text: str) -> None:
    with pytest.raises(FormulaError, match=f"at most degree {MAX_DEGREE}"):
        read(text)


def test_the_highest_power_is_allowed_in_each_column() -> None:
    assert read(f"a ** {MAX_DEGREE} * b ** {MAX_DEGREE}").degrees == {"a": MAX_DEGREE, "b": MAX_DEGREE}


@pytest.mark.parametrize(
    "text", ["+".join(["a"] * 2500), "-" * 3000 + "a", "(" * 150 + "a" + ")" * 150, "(" * 5000 + "a" + ")" * 5000]
)
def test_deep_nesting_is_read_or_refused_but_never_crashes(text: str) -> None:
    try:
        assert read(text).degrees == {"a": 1}
    except FormulaError as error:
        assert "I(...)" in str(error)
