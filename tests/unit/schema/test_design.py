"""Formula and schema to design columns: compared with formulaic's own matrices, bounds, refusals, round trips."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from formulaic import model_matrix
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import FormulaError
from noisewise.schema import Basis, Design, Schema

DECLARED = {
    "y": {"bounds": [-5, 5]},
    "a": {"bounds": [0, 10]},
    "b": {"bounds": [-5, 3]},
    "x": {"bounds": [1000, 2000]},
    "s": {"levels": ["F", "M"]},
    "c": {"levels": ["p", "q", "r"]},
    "d": {"levels": [1, 2, 3, 4]},
}
SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": DECLARED})


def rows(count: int = 120, seed: int = 1) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": generator.uniform(-5, 5, count),
            "a": generator.uniform(0, 10, count),
            "b": generator.uniform(-5, 3, count),
            "x": generator.uniform(1000, 2000, count),
            "s": generator.choice(["F", "M"], count),
            "c": generator.choice(["p", "q", "r"], count),
            "d": generator.choice([1, 2, 3, 4], count),
        }
    )


def arrays(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    return {str(name): frame[name].to_numpy() for name in frame}


FORMULAS = [
    text.strip()
    for text in """
    1; a; a + b; a + b - 1; 0 + a; a*b; a:b; (a + b + x)**2; a*b*x; a/b; b %in% a; a^2; a - a;
    (a + b + x)**2 - a:b; c; c - 1; s; s - 1; c + d; c + d - 1; d + c - 1; a + c; a*c; a:c; a:c - 1; c:d; c:d - 1;
    c*d; c*d - 1; c + c:d; d + c:d; c:d + c; a + a:c; c + a:c; c/a; a/c; s*c; s:c; a:s; a*s*c; s*c*d; s:c:d; C(c);
    C(c)*a; C(s) + C(d); c + C(c); I(a**2); a + I(a**2); I(a*b); I(a + b); I(a**2):b; I(a**2)*c; I((a + b)**2);
    I(2*a - 3*b + 1); I(a/2); I(-a); a + I(a**2) + I(a**3); I(x**2) + x; a + c + a:c + d; c:a + a; s + s:c;
    c:d + a:c - 1; a:c + a:d; I(a**2):c:s + c
    """.replace("\n", " ").split(";")
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_design_has_the_columns_and_the_values_that_formulaic_gives(text: str) -> None:
    """The oracle learns levels from the data, which has all of them here. It sorts terms: columns are compared by name."""
    frame = rows()
    design = Design.of(f"y ~ {text}", Basis.of(SCHEMA, text))
    # formulaic must be told which numbers are levels, and it keeps C() in names, as in c + C(c), where it is redundant.
    oracle = model_matrix(text.replace("c + C(c)", "c"), frame.astype({"d": "category"}))
    names = [name.replace("C(c)", "c").replace("C(s)", "s").replace("C(d)", "d") for name in oracle.columns]
    assert sorted(design.terms) == sorted(names)
    expected = oracle.to_numpy(dtype=float)[:, [names.index(term) for term in design.terms]]
    np.testing.assert_allclose(design.matrix(arrays(frame)), expected, rtol=1e-9, atol=1e-9)


TERMS = {
    "y ~ a + c": ("Intercept", "a", "c[T.q]", "c[T.r]"),
    "y ~ c - 1": ("c[p]", "c[q]", "c[r]"),
    "y ~ s": ("Intercept", "s[T.M]"),
    "y ~ s + a:s": ("Intercept", "s[T.M]", "a:s[F]", "a:s[M]"),
    "y ~ C(d)": ("Intercept", "d[T.2]", "d[T.3]", "d[T.4]"),
    "y ~ a*c": ("Intercept", "a", "c[T.q]", "c[T.r]", "a:c[T.q]", "a:c[T.r]"),
    "y ~ c:a": ("Intercept", "c[p]:a", "c[q]:a", "c[r]:a"),
    "y ~ I( a**2 )": ("Intercept", "I(a ** 2)"),
    "y ~ 1": ("Intercept",),
    "s ~ a": ("Intercept", "a"),
}


@pytest.mark.parametrize(("formula", "terms"), TERMS.items())
def test_the_names_of_terms(formula: str, terms: tuple[str, ...]) -> None:
    assert Design.of(formula, Basis.of(SCHEMA, "a:c + I(a**2) + a:s")).terms == terms


@given(st.sampled_from(FORMULAS), st.integers(0, 2**32 - 1))
def test_every_column_stays_within_its_bounds_and_the_response_is_the_target(text: str, seed: int) -> None:
    frame = rows(30, seed)
    frame.loc[:9, "a"], frame.loc[5:14, "b"], frame.loc[8:20, "x"] = 10.0, -5.0, 1000.0
    basis = Basis.of(SCHEMA, text)
    design = Design.of(f"y ~ {text}", basis)
    matrix = design.matrix(arrays(frame))
    lower, upper = np.array(design.term_bounds).T
    slack = 1e-9 * np.maximum(1, np.maximum(abs(lower), abs(upper)))
    assert np.all(matrix >= lower - slack)
    assert np.all(matrix <= upper + slack)
    released = basis.evaluate(arrays(frame))
    np.testing.assert_allclose(released @ design.features, matrix, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(released @ design.target, frame["y"], atol=1e-12)
    assert design.response_bounds == (-5, 5)


def test_a_wrong_value_would_be_noticed() -> None:
    frame = rows()
    design = Design.of("y ~ a + I(a**2)", Basis.of(SCHEMA, "I(a**2)"))
    wrong = frame.assign(a=frame["a"] * (1 + 1e-6))
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(design.matrix(arrays(frame)), design.matrix(arrays(wrong)), rtol=1e-9, atol=1e-9)


def test_a_two_level_category_can_be_a_response() -> None:
    frame = rows()
    basis = Basis.of(SCHEMA)
    design = Design.of("s ~ a", basis)
    assert (design.response, design.response_bounds) == ("s", (0.0, 1.0))
    np.testing.assert_allclose(basis.evaluate(arrays(frame)) @ design.target, frame["s"] == "M", atol=1e-12)


def test_only_the_columns_of_the_predictors_are_needed() -> None:
    design = Design.of("y ~ c + a:c", Basis.of(SCHEMA, "a:c"))
    assert design.columns_needed == ("a", "c")
    matrix = design.matrix({"a": np.array([2.0]), "c": np.array(["q"])})
    np.testing.assert_allclose(matrix, [[1, 1, 0, 0, 2, 0]], atol=1e-12)


def test_a_mean_needs_no_column_but_as_many_rows_as_there_are() -> None:
    design = Design.of("y ~ 1", Basis.of(SCHEMA))
    assert design.columns_needed == ()
    np.testing.assert_array_equal(design.matrix({"a": np.zeros(3)}), np.ones((3, 1)))
    assert design.matrix({}).shape == (0, 1)


REFUSED = {
    "y ~ z": "not declared.*found: z.*y, a, b, x, s, c, d",
    "z ~ a": "not declared.*found: z",
    "y ~ a.__class__": "not declared",
    "y ~ ().__class__": "not declared",
    "y ~ C(z)": "not declared",
    "y ~ C(a)": r"declared with levels.*found: C\(a\).*write a",
    "y ~ y": "response cannot be among its own predictors",
    "y ~ a + a:y": "response cannot be among its own predictors.*found: a:y",
    "y ~ I(y**2)": "response cannot be among its own predictors",
    "y ~ I(y - y + a)": "response cannot be among its own predictors",
    "s ~ a + s:a": "response cannot be among its own predictors",
    "c ~ a": "category with 3 levels and has no numeric value",
    "y ~ I(c*2)": "category with 3 levels",
    "y ~ 0": "an intercept or at least one predictor",
    "y ~ a - a - 1": "an intercept or at least one predictor",
    "y ~ a + I(2*a)": r"combination of the others.*found: 'I\(2 \* a\)' given Intercept, a",
    "y ~ a + b + I(a - b)": "combination of the others",
    "y ~ a + I(a)": "combination of the others",
    "y ~ s + I(s**2)": "combination of the others",
    "y ~ I(3)": "combination of the others.*given Intercept",
    "y ~ I(a - a)": "combination of the others",
    "y ~ 0 + I(a - a)": "combination of the others.*given nothing else",
    "y ~ I((a + b)**2) + I((a - b)**2) + I(a*b)": "combination of the others",
}


@pytest.mark.parametrize(("formula", "message"), REFUSED.items())
def test_a_formula_that_the_schema_contradicts_is_refused(formula: str, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        Design.of(formula, Basis.of(SCHEMA, "(a + b + s)**2 + I(a**2) + I(b**2) + a:y + I(y**2)"))


@pytest.mark.parametrize(
    ("formula", "missing", "remedy"),
    [
        ("y ~ a*b", "a:b", 'terms="a:b"'),
        ("y ~ I(a**2)", r"T2\(a\)", r'terms="I\(a \*\* 2\)"'),
        ("y ~ a + a:c", r"a:c\[q\]", 'terms="a:c"'),
        ("y ~ s*a", "a:s", 'terms="s:a"'),
    ],
)
def test_what_was_not_released_is_named_with_the_remedy(formula: str, missing: str, remedy: str) -> None:
    with pytest.raises(FormulaError, match=f"not in the release.*found: {missing}.*{remedy}; released are y, a, b, x, s"):
        Design.of(formula, Basis.of(SCHEMA))


@pytest.mark.parametrize(("formula", "missing"), [("y ~ a*b", "a:b"), ("y ~ I(a**3)", "I(a ** 3)"), ("y ~ c:d", "c:d")])
def test_the_remedy_works(formula: str, missing: str) -> None:
    with pytest.raises(FormulaError) as caught:
        Design.of(formula, Basis.of(SCHEMA))
    assert caught.value.remedy is not None
    assert f'terms="{missing}"' in caught.value.remedy
    assert Design.of(formula, Basis.of(SCHEMA, missing)).response == "y"


@pytest.mark.parametrize(("name", "written"), [("sigma", "sigma"), ("Intercept", "Intercept"), ("c[T.q]", "c + `c[T.q]`")])
def test_a_term_may_not_have_the_name_of_another_parameter(name: str, written: str) -> None:
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {**DECLARED, name: {"bounds": [0, 1]}}})
    with pytest.raises(FormulaError, match="different names"):
        Design.of(f"y ~ {written}", Basis.of(schema))
    assert Design.of("y ~ I(a + 1)", Basis.of(schema)).terms == ("Intercept", "I(a + 1)")


def test_the_way_round_a_taken_name_works() -> None:
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {**DECLARED, "sigma": {"bounds": [0, 1]}}})
    assert Design.of("y ~ I(sigma)", Basis.of(schema)).terms == ("Intercept", "I(sigma)")


@pytest.mark.parametrize("text", FORMULAS)
def test_a_design_survives_a_dictionary(text: str) -> None:
    design = Design.of(f"y ~ {text}", Basis.of(SCHEMA, text), text)
    again = Design.from_dict(design.to_dict())
    assert (again.formula, again.terms, again.term_bounds, again.basis) == (
        design.formula,
        design.terms,
        design.term_bounds,
        design.basis,
    )
    assert (again.response, again.response_bounds, again.columns_needed) == (
        design.response,
        design.response_bounds,
        design.columns_needed,
    )
    np.testing.assert_array_equal(again.features, design.features)
    np.testing.assert_array_equal(again.target, design.target)


def test_columns_far_from_zero_are_told_apart() -> None:
    schema = Schema.from_dict(
        {"adjacency": "replace-one", "columns": {"y": {"bounds": [0, 1]}, "year": {"bounds": [1900, 2100]}}}
    )
    design = Design.of("y ~ year + I(year**2) + I(year**3)", Basis.of(schema, "I(year**3)"))
    year = np.array([1900.0, 1987.5, 2100.0])
    np.testing.assert_allclose(design.matrix({"year": year}), np.column_stack([year**0, year, year**2, year**3]), rtol=1e-12)


@pytest.mark.parametrize(("count", "refused"), [(6, False), (7, True)])
def test_a_term_has_a_limited_number_of_categories(count: int, refused: bool) -> None:
    names = [f"c{index}" for index in range(count)]
    columns = {"y": {"bounds": [0, 1]}, **{name: {"levels": ["A", "B"]} for name in names}}
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": columns})
    if refused:
        with pytest.raises(FormulaError, match="at most 6 categories"):
            Basis.of(schema, ":".join(names))
    else:
        assert Basis.of(schema, ":".join(names)).size == 2**count + 1
        assert len(Design.of("y ~ " + ":".join(names), Basis.of(schema, ":".join(names))).terms) == 2**count
